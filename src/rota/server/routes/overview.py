"""The installation at one glance: what is wrong, how much there is to do, how long jobs wait, what comes next."""

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct, structs

from rota import __version__
from rota.engine.access.keys.access import Scope
from rota.engine.schedules.planned import Planned, planned_fires
from rota.model.job import FINAL_STATES, Job
from rota.model.node import DEAD_AFTER_MS
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.server.routes.queues import queue_shapes
from rota.shapes.nodes import QueueShape
from rota.shapes.schedules import ScheduleShape, schedule_shape
from rota.store.contract.jobs import JobQuery
from rota.store.contract.queues import STATS_STEP_MS, Stats

routes = Routes("overview")
_MOST_PLANNED = 200
"""Schedules whose fires are counted for one answer."""
_HOUR_MS = 3_600_000
_ENDED = JobQuery(states=FINAL_STATES)


class Overview(Struct, frozen=True, kw_only=True):
    """An installation at one moment."""

    time: int
    version: str
    store: str
    """Its kind: `sqlite`, `redis` and so on."""
    store_ms: float
    """How long the store took to answer a small question."""
    trouble: str | None
    """What is wrong with this server's node, in one line; null when all is well."""
    nodes: int
    slots: int
    jobs: dict[str, int]
    """How many there are in each state, in all queues."""
    paused: list[str]
    """Queues that give out nothing."""
    unserved: list[str]
    """Queues in which jobs wait, and no node that lives runs any of them."""
    ended_last_minute: int
    """In the last whole minute."""
    ended_last_hour: int
    failed_last_hour: int


class Spread(Struct, frozen=True):
    """Milliseconds: half of the jobs are below the first, all but one in twenty below the second."""

    median: int
    p95: int
    most: int


class Duration(Struct, frozen=True):
    """When a job ended, and for how many milliseconds it was ready before it began, and then ran."""

    time: int
    wait: int
    run: int


class DurationList(Struct, frozen=True, kw_only=True):
    """The latest ended jobs that ever ran, oldest first. The spreads are null when there are none."""

    wait: Spread | None
    run: Spread | None
    jobs: list[Duration]


class DurationQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 200


class UpcomingQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class Upcoming(Struct, frozen=True):
    """Schedules, soonest first."""

    schedules: list[ScheduleShape]


class PlannedQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    hours: Annotated[int, Meta(ge=1, le=168)] = 24


class PlannedLoad(Planned, frozen=True, kw_only=True):
    """Fires that are planned, of each hour."""

    more: bool
    """Whether there are further schedules, which were not counted."""


@routes.get("/api/overview", needs=Scope.QUEUES_READ, answer=Overview)
def show_overview(api: Api, call: Call[None, None]) -> Overview:
    """The installation at one glance."""
    now = api.engine.clock.now()
    began = api.engine.clock.monotonic()
    queues = list(queue_shapes(api))
    store_ms = (api.engine.clock.monotonic() - began) * 1000 / (2 + len(queues))
    nodes = api.engine.store.list_nodes(since=now - DEAD_AFTER_MS + 1)
    minutes = [one for queue in queues for one in _last_hour(api, queue, now)]
    last_minute = now // STATS_STEP_MS * STATS_STEP_MS - STATS_STEP_MS
    return Overview(
        time=now,
        version=__version__,
        store=urlsplit(api.engine.store.url).scheme,
        store_ms=round(store_ms, 2),
        trouble=api.health(),
        nodes=len(nodes),
        slots=sum(node.slots for node in nodes),
        jobs={state: sum(queue.jobs[state] for queue in queues) for state in (queues[0].jobs if queues else {})},
        paused=[queue.name for queue in queues if queue.paused],
        unserved=[queue.name for queue in queues if queue.jobs["queued"] and not queue.workers],
        ended_last_minute=sum(_ended(one) for one in minutes if one.minute == last_minute),
        ended_last_hour=sum(map(_ended, minutes)),
        failed_last_hour=sum(one.failed for one in minutes),
    )


@routes.get("/api/durations", needs=Scope.JOBS_READ, query=DurationQuery, answer=DurationList)
def list_durations(api: Api, call: Call[None, DurationQuery]) -> DurationList:
    """How long the latest ended jobs waited and ran."""
    found = [_duration(job) for job in api.engine.store.list_jobs(_ENDED, limit=call.query.limit).jobs]
    jobs = sorted((one for one in found if one is not None), key=lambda one: one.time)
    return DurationList(wait=_spread([one.wait for one in jobs]), run=_spread([one.run for one in jobs]), jobs=jobs)


@routes.get("/api/planned", needs=Scope.SCHEDULES_READ, query=PlannedQuery, answer=PlannedLoad)
def read_planned(api: Api, call: Call[None, PlannedQuery]) -> PlannedLoad:
    """How many fires are planned, hour by hour, of the first 200 schedules by name."""
    page = api.engine.store.list_schedules(limit=_MOST_PLANNED + 1)
    found = planned_fires(page.entries[:_MOST_PLANNED], api.engine.clock.now(), call.query.hours)
    more = len(page.entries) > _MOST_PLANNED or page.cursor is not None
    return PlannedLoad(**structs.asdict(found), more=more)


@routes.get("/api/upcoming", needs=Scope.SCHEDULES_READ, query=UpcomingQuery, answer=Upcoming)
def list_upcoming(api: Api, call: Call[None, UpcomingQuery]) -> Upcoming:
    """The schedules that fire next, soonest first."""
    names, limit = api.engine.definitions.known_job_type_names(), call.query.limit
    queues = api.engine.definitions.node_types()
    found = [entry for queue in queues for entry in api.engine.store.next_schedules(queue.uuid, limit=limit)]
    shapes = [schedule_shape(entry, names) for entry in found if entry.state.nominal is not None]
    return Upcoming(sorted(shapes, key=lambda one: one.next or 0)[:limit])


def _last_hour(api: Api, queue: QueueShape, now: int) -> list[Stats]:
    return api.engine.store.read_stats(queue.uuid, since=now - _HOUR_MS, until=now + 1)


def _ended(one: Stats) -> int:
    return one.succeeded + one.failed + one.cancelled


def _duration(job: Job) -> Duration | None:
    if job.started_at is None or job.ended_at is None:
        return None
    ready = min(job.available_at or job.spec.available_at, job.started_at)
    return Duration(job.ended_at, job.started_at - ready, max(job.ended_at - job.started_at, 0))


def _spread(values: Sequence[int]) -> Spread | None:
    ranked = sorted(values)
    if not ranked:
        return None
    return Spread(ranked[(len(ranked) - 1) // 2], ranked[(len(ranked) - 1) * 95 // 100], ranked[-1])
