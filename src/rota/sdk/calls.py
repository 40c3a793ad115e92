"""Every verb of the API, once: its arguments and the request that they make. `client.py` gives each two colours.

Times are epoch milliseconds; durations are milliseconds, or text with a unit such as `90s`. Job types, node types and
schedules are named by uuid or name.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from rota.errors import InvalidInput
from rota.sdk.call import Call, path_to, present
from rota.sdk.inputs import NewJob, Which
from rota.sdk.shapes import (
    Cancelled,
    Changed,
    Enqueued,
    Job,
    JobPage,
    JobType,
    JobTypePage,
    LogPage,
    Node,
    NodeType,
    Schedule,
    SchedulePage,
    Tick,
    Why,
)

Arguments = Mapping[str, object]


# -- job types -----------------------------------------------------------------------------------------------------


def list_job_types(*, cursor: str | None = None) -> Call[JobTypePage]:
    """Job types, by name; all of them, unless they are too long for one answer."""
    return Call(method="GET", path=path_to("job_types"), query=present({"cursor": cursor}), answer=JobTypePage)


def get_job_type(uuid: str) -> Call[JobType]:
    """One job type."""
    return Call(method="GET", path=path_to("job_types", uuid), answer=JobType)


def create_job_type(
    name: str,
    executor: str,
    *,
    metadata: Arguments | None = None,
    unique: bool | str = False,
    node_type: str = "default",
    timeout: int | str | None = None,
    retries: Mapping[str, int | float] | None = None,
    on_node_death: str | None = None,
    rate: str | None = None,
    rate_key: str | None = None,
) -> Call[str]:
    """Create a job type; gives its uuid."""
    fields = {"name": name, "executor": executor, "metadata": metadata or {}, "unique": unique, "node_type": node_type}
    body = (
        fields
        | {"timeout": timeout}
        | present({"retries": retries, "on_node_death": on_node_death, "rate": rate, "rate_key": rate_key})
    )
    return Call(method="POST", path=path_to("job_types"), answer=str, within="uuid", body=body)


def change_job_type(uuid: str, **fields: object) -> Call[JobType]:
    """Change some fields of a job type; the others stay."""
    return Call(method="PATCH", path=path_to("job_types", uuid), answer=JobType, body=fields)


def delete_job_type(uuid: str) -> Call[str]:
    """Remove a job type. Jobs of it that still wait will fail when they are run."""
    return Call(method="DELETE", path=path_to("job_types", uuid), answer=str, within="uuid")


# -- node types and nodes ------------------------------------------------------------------------------------------


def list_node_types() -> Call[list[NodeType]]:
    """All node types, by name."""
    return Call(method="GET", path=path_to("node_types"), answer=list[NodeType], within="node_types")


def get_node_type(uuid: str) -> Call[NodeType]:
    """One node type."""
    return Call(method="GET", path=path_to("node_types", uuid), answer=NodeType)


def put_node_type(uuid: str, name: str, thread_count: int) -> Call[str]:
    """Create a node type, or change the one of this uuid."""
    body = {"uuid": uuid, "name": name, "thread_count": thread_count}
    return Call(method="POST", path=path_to("node_types", uuid), answer=str, within="status", body=body)


def delete_node_type(uuid: str) -> Call[str]:
    """Remove a node type that no job type uses and whose queue holds no live jobs."""
    return Call(method="DELETE", path=path_to("node_types", uuid), answer=str, within="uuid")


def pause_node_type(uuid: str) -> Call[str]:
    """Give out no jobs of this queue until it is resumed."""
    return Call(method="POST", path=path_to("node_types", uuid, "pause"), answer=str, within="uuid")


def resume_node_type(uuid: str) -> Call[str]:
    """Give out jobs again."""
    return Call(method="POST", path=path_to("node_types", uuid, "resume"), answer=str, within="uuid")


def list_nodes() -> Call[list[Node]]:
    """Nodes that were active in the last 20 seconds."""
    return Call(method="GET", path=path_to("nodes"), answer=list[Node], within="nodes")


def get_node(uuid: str) -> Call[Node]:
    """One node."""
    return Call(method="GET", path=path_to("nodes", uuid), answer=Node)


def drain_node(uuid: str) -> Call[str]:
    """Ask a node to claim nothing more, let its jobs end, and stop."""
    return Call(method="POST", path=path_to("nodes", uuid, "drain"), answer=str, within="uuid")


# -- jobs ----------------------------------------------------------------------------------------------------------


def enqueue(
    job_type: str,
    arguments: Arguments | None = None,
    *,
    priority: int | None = None,
    delay: int | str | None = None,
    run_at: int | None = None,
    expires: int | str | None = None,
    expires_at: int | None = None,
    unique_key: str | None = None,
    timeout: int | str | None = None,
    retries: Mapping[str, int | float] | None = None,
    uuid: str | None = None,
) -> Call[Enqueued]:
    """Make a job. While a live job has its unique key, that one is the answer."""
    when = {"delay": delay, "run_at": run_at, "expires": expires, "expires_at": expires_at, "timeout": timeout}
    body = {"job_type_uuid": job_type, "arguments": arguments or {}}
    body |= present({**when, "priority": priority, "unique_key": unique_key, "retries": retries, "uuid": uuid})
    return Call(method="POST", path=path_to("jobs"), answer=Enqueued, body=body)


def enqueue_many(jobs: Sequence[NewJob]) -> Call[list[Enqueued]]:
    """Make up to 10,000 jobs: all of them or, if one is bad, none. One answer per job, in order."""
    body = {"jobs": list(jobs)}
    return Call(method="POST", path=path_to("jobs", "bulk"), answer=list[Enqueued], within="jobs", body=body)


def get_job(uuid: str) -> Call[Job]:
    """One job, whatever its state."""
    return Call(method="GET", path=path_to("jobs", uuid), answer=Job)


def why_job(uuid: str) -> Call[Why]:
    """Why a job does not run yet, or what it does instead."""
    return Call(method="GET", path=path_to("jobs", uuid, "why"), answer=Why)


def list_jobs(which: Which | None = None, *, limit: int = 100, cursor: str | None = None) -> Call[JobPage]:
    """A page of jobs: waiting ones, running ones, then the latest that ended. `jobs` walks through all pages."""
    query = _conditions(which) | present({"limit": limit, "cursor": cursor})
    return Call(method="GET", path=path_to("jobs"), answer=JobPage, query=query)


def cancel_job(uuid: str) -> Call[Cancelled]:
    """Cancel a job: at once if it waits; of a running one its node is told, which ends it."""
    return Call(method="POST", path=path_to("jobs", uuid, "cancel"), answer=Cancelled)


def retry_job(uuid: str) -> Call[str]:
    """Bring a failed or cancelled job back into its queue, as new."""
    return Call(method="POST", path=path_to("jobs", uuid, "retry"), answer=str, within="uuid")


def delete_job(uuid: str) -> Call[str]:
    """Forget an ended job with its log."""
    return Call(method="DELETE", path=path_to("jobs", uuid), answer=str, within="uuid")


def cancel_jobs(which: Which, *, dry_run: bool = False) -> Call[Changed]:
    """Cancel jobs that are not over, up to 10,000 in one call."""
    return _change_many("cancel", which, dry_run)


def retry_jobs(which: Which, *, dry_run: bool = False) -> Call[Changed]:
    """Bring failed and cancelled jobs back, up to 10,000 in one call."""
    return _change_many("retry", which, dry_run)


def delete_jobs(which: Which, *, dry_run: bool = False) -> Call[Changed]:
    """Forget ended jobs with their logs, up to 10,000 in one call."""
    return _change_many("delete", which, dry_run)


def _change_many(verb: str, which: Which, dry_run: bool) -> Call[Changed]:
    conditions = _conditions(which)
    body = {**conditions, "dry_run": dry_run, **({} if conditions else {"all": True})}
    return Call(method="POST", path=path_to("jobs", verb), answer=Changed, body=body)


def _conditions(which: Which | None) -> dict[str, Any]:
    if which is None:
        return {}
    if which.state == []:  # which was put together, and is not to mean all jobs
        raise InvalidInput("state", "names no state; leave it out for jobs of every state")
    return present({name: getattr(which, name) for name in which.__struct_fields__})


# -- logs ----------------------------------------------------------------------------------------------------------


def read_logs(
    uuid: str,
    *,
    level: str | None = None,
    start: int | None = None,
    end: int | None = None,
    after: int | None = None,
    limit: int | None = None,
) -> Call[LogPage]:
    """A page of a job's log, all attempts, oldest first. `follow_logs` goes on until the job has ended."""
    query = present({"level": level, "start": start, "end": end, "after": after, "limit": limit})
    return Call(method="GET", path=path_to("jobs", uuid, "logs"), answer=LogPage, query=query)


# -- schedules -----------------------------------------------------------------------------------------------------


def create_schedule(
    job_type: str,
    *,
    interval: int | str | None = None,
    cron: str | None = None,
    job_arguments: Arguments | None = None,
    **fields: object,
) -> Call[str]:
    """Create a schedule; gives its uuid. Further fields are the API's own: `name`, `tz`, `overlap`, `catch_up`, ..."""
    body = {_reference(job_type): job_type, "job_arguments": job_arguments or {}}
    body |= present({"interval": interval, "cron": cron, **fields})
    return Call(method="POST", path=path_to("schedules"), answer=str, within="uuid", body=body)


def _reference(job_type: str) -> str:
    """By a uuid, as Synchrony does it, the schedule gets Synchrony's defaults."""
    try:
        UUID(job_type)
    except ValueError:
        return "job_type"
    return "job_type_uuid"


def list_schedules(*, limit: int | None = None, cursor: str | None = None) -> Call[SchedulePage]:
    """A page of schedules. `schedules` walks through all pages."""
    query = present({"limit": limit, "cursor": cursor})
    return Call(method="GET", path=path_to("schedules"), answer=SchedulePage, query=query)


def get_schedule(uuid: str) -> Call[Schedule]:
    """One schedule."""
    return Call(method="GET", path=path_to("schedules", uuid), answer=Schedule)


def why_queue(name: str) -> Call[Why]:
    """Why nothing of a queue, by the name or uuid of its node type, begins at this moment."""
    return Call(method="GET", path=path_to("queues", name, "why"), answer=Why)


def why_schedule(uuid: str) -> Call[Why]:
    """Why a schedule does not fire at this moment, and when it will."""
    return Call(method="GET", path=path_to("schedules", uuid, "why"), answer=Why)


def delete_schedule(uuid: str) -> Call[str]:
    """Remove a schedule. Its jobs stay."""
    return Call(method="DELETE", path=path_to("schedules", uuid), answer=str, within="uuid")


def pause_schedule(uuid: str) -> Call[str]:
    """Decide no ticks until it is resumed."""
    return Call(method="POST", path=path_to("schedules", uuid, "pause"), answer=str, within="uuid")


def resume_schedule(uuid: str) -> Call[str]:
    """Decide ticks again, from now on."""
    return Call(method="POST", path=path_to("schedules", uuid, "resume"), answer=str, within="uuid")


def list_ticks(uuid: str, *, limit: int | None = None, before: int | None = None) -> Call[list[Tick]]:
    """What became of a schedule's ticks, the latest first."""
    query = present({"limit": limit, "before": before})
    return Call(method="GET", path=path_to("schedules", uuid, "ticks"), answer=list[Tick], within="ticks", query=query)
