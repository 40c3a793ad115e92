"""Node types (queues with a concurrency) and nodes (the processes that serve them)."""

from msgspec import Struct

from rota.model.limits import check_name, check_range

DEAD_AFTER_MS = 20_000
"""A node that was seen to be silent for this long is dead, and its jobs are taken from it (Synchrony's figure)."""
MAX_THREADS = 10_000


class NodeType(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A queue, and how many jobs one node of this type runs at a time."""

    uuid: str
    name: str
    thread_count: int = 16
    managed_by: str = ""
    """`file` when it is defined in a configuration file, which then owns it."""

    def check(self) -> None:
        check_name("name", self.name)
        check_range("thread_count", self.thread_count, 1, MAX_THREADS)


class Node(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One process. Its uuid is random for each start, never derived from a host name."""

    uuid: str
    node_type: str
    """Uuid of its node type."""
    last_ping: int
    started_at: int = 0
    host: str = ""
    pid: int = 0
    version: str = ""
    roles: tuple[str, ...] = ()
    slots: int = 0
    running: int = 0
    draining: bool = False
    trouble: str | None = None
    """What is wrong with it, in its own words."""

    @property
    def takes_jobs(self) -> bool:
        """Whether it claims jobs, as far as its last beat says."""
        return self.slots > 0 and not self.draining

    def is_alive(self, now: int, dead_after_ms: int = DEAD_AFTER_MS) -> bool:
        return now - self.last_ping < dead_after_ms
