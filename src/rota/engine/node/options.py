"""What one process is told to be."""

from msgspec import Struct

from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.worker.times import WorkerTimes
from rota.model.node import DEAD_AFTER_MS

WORKER = "worker"
SCHEDULER = "scheduler"


class NodeOptions(Struct, frozen=True, kw_only=True):
    """What one process is to be."""

    node_type: str = DEFAULT_NODE_TYPE
    roles: frozenset[str] = frozenset({WORKER, SCHEDULER})
    threads: int | None = None
    """Overrides the node type's thread_count for this process."""
    stop_grace_s: float = 25.0
    """How long running jobs may go on after the first signal to stop."""
    dead_after_ms: int = DEAD_AFTER_MS
    """How long a node may be silent before its jobs are taken from it. All nodes of an installation agree on it."""
    worker_times: WorkerTimes = WorkerTimes()
    history_max_age_ms: int = 30 * 24 * 3600 * 1000
    audit_max_age_ms: int = 365 * 24 * 3600 * 1000
    history_max_count: int = 1_000_000
