"""Which jobs are meant: the conditions that a listing takes as parameters and a bulk change as a body."""

from msgspec import Struct

from rota.model.ids import is_id, reference
from rota.model.job import JobState
from rota.server.api import Api
from rota.shapes import fields
from rota.store.contract.jobs import JobQuery


class JobFilter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Conditions that a job must all meet. An absent one accepts everything."""

    state: list[JobState] = []
    status: list[JobState] = []
    """Another name for `state`."""
    job_type: fields.Reference | None = None
    node_type: fields.Reference | None = None
    queue: fields.Reference | None = None
    """Another name for `node_type`."""
    node: fields.Uuid | None = None
    """The node that runs it or ran it last."""
    schedule: fields.Reference | None = None
    """The schedule that made it."""
    since: fields.Instant | None = None
    """Enqueued at this instant or later."""
    until: fields.Instant | None = None
    """Enqueued before this instant."""
    search: fields.Search | None = None


def job_query(api: Api, given: JobFilter) -> JobQuery:
    """The query that is meant, with names made into uuids."""
    queue = given.node_type or given.queue
    return JobQuery(
        queue=api.engine.definitions.node_type(queue).uuid if queue else None,
        states=frozenset([*given.state, *given.status]),
        job_type=api.engine.definitions.job_type(given.job_type).uuid if given.job_type else None,
        node=given.node,
        schedule=_schedule(api, given.schedule) if given.schedule else None,
        since=given.since,
        until=given.until,
        search=given.search,
    )


def _schedule(api: Api, name: str) -> str:
    """Its uuid: the jobs of one that is gone are found by it too."""
    uuid = reference(name)
    return uuid if is_id(uuid) else api.engine.schedules.find(name).schedule.uuid
