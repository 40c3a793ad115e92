"""Job types that Rota makes for itself when something first needs them: `rota.log` for configurations that name no job,
`rota.emit` for schedules that emit an event, `rota.light` for task definitions of the light scheduler."""

from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE, Definitions
from rota.engine.definitions.ownership import MANAGED_BY_ROTA
from rota.errors import Conflict
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.runs.retry import RetryPolicy
from rota.model.schedules.request import EMIT_JOB_TYPE

LOG_JOB_TYPE = "rota.log"
LIGHT_JOB_TYPE = "rota.light"
LIGHT_NODE_TYPE = "light"
"""Due tasks have a queue of their own, so that no long job makes them late."""
LIGHT_THREADS = 64
_EXECUTORS = {EMIT_JOB_TYPE: "event", LIGHT_JOB_TYPE: "light"}


def ensure_built_in(definitions: Definitions, name: str, now: int) -> JobType:
    """The job type of this name, made if it is not there."""
    found = definitions.known_job_type(name)
    if found is None:
        _ensure_node_type(definitions, name, now)
        found = definitions.known_job_type(name)
    if found is None:
        try:
            definitions.define_job_type(_made(name, new_id(now)))
        except Conflict:
            definitions.refresh()  # another process was faster
        found = definitions.job_type(name)
    return found


def _ensure_node_type(definitions: Definitions, name: str, now: int) -> None:
    if name == LIGHT_JOB_TYPE:
        node_type = NodeType(
            uuid=new_id(now), name=LIGHT_NODE_TYPE, thread_count=LIGHT_THREADS, managed_by=MANAGED_BY_ROTA
        )
        definitions.ensure_node_type(node_type)
    else:
        ensure_default_node_type(definitions, now)


def ensure_default_node_type(definitions: Definitions, now: int) -> None:
    definitions.ensure_node_type(NodeType(uuid=new_id(now), name=DEFAULT_NODE_TYPE))


def _made(name: str, uuid: str) -> JobType:
    if executor := _EXECUTORS.get(name):
        # Posting the same event or task again is harmless, and without it something would not happen.
        retry = RetryPolicy(attempts=10, delay_ms=500, max_delay_ms=60_000)
        queue = LIGHT_NODE_TYPE if name == LIGHT_JOB_TYPE else DEFAULT_NODE_TYPE
        return JobType(
            uuid=uuid, name=name, executor=executor, node_type=queue, retry=retry, managed_by=MANAGED_BY_ROTA
        )
    metadata: dict[str, object] = {"message": "job triggered: {arguments}"}
    return JobType(uuid=uuid, name=name, executor="log", metadata=metadata, managed_by=MANAGED_BY_ROTA)
