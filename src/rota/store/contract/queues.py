"""The contract of a store, for queues: what they give out, what is in them, what happened in them, and how to wait.
What `store.py` says of all operations holds here too.
"""

from typing import Protocol

from msgspec import Struct

from rota.model.job import JobState

STATS_STEP_MS = 60_000
STATS_KEPT_MS = 48 * 3600 * 1000
"""Stats of minutes are kept for this long; those of all time stay."""


class Stats(Struct, frozen=True, kw_only=True):
    """How many jobs came and ended, within a minute or in all."""

    minute: int = 0
    """When the minute began, in epoch milliseconds; 0 in those of all time."""
    enqueued: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0


STATS_WORDS = frozenset(Stats.__struct_fields__) - {"minute"}
"""What is counted; a newer version may count more."""


class Cancellation(Struct, frozen=True):
    """A request to end one attempt at a job, which a node has."""

    job_id: str
    token: str | None = None
    """Of the attempt; None if it is not known, as in a request that an older version of Rota made."""


class Waker(Protocol):
    """Tells one node that one queue may have work for it. Used by one waiting thread; `nudge` comes from any."""

    def wait(self, timeout_s: float, *, wants_jobs: bool) -> list[Cancellation]:
        """Block until something may have changed, `nudge` is called, or the time is over.

        Returns the cancellations of held jobs that were requested, as far as they are known. They may come late, when
        the node has heard of them otherwise and has another attempt at the job: they name the attempt that was meant.
        With `wants_jobs` it also returns when jobs may have become ready; of several waiting nodes at least one is
        woken for new jobs. It may return for no reason. It raises `StoreUnavailable` like any operation.
        """
        ...

    def nudge(self) -> None:
        """End the current `wait`, or the next one if none is under way."""
        ...

    def close(self) -> None:
        """Give up the waker's resources; a wait under way ends."""
        ...


class QueueStore(Protocol):
    """Everything Rota remembers of queues as such, and waiting for work in them."""

    def pause_queue(self, queue: str) -> None:
        """Give out no jobs of this queue until it is resumed. Running jobs go on; new ones are accepted."""
        ...

    def resume_queue(self, queue: str) -> None: ...

    def paused_queues(self) -> frozenset[str]: ...

    def list_queues(self) -> list[str]:
        """Every queue that has a node type, or of which anything is remembered although its node type is gone."""
        ...

    def forget_queue(self, queue: str) -> bool:
        """Forget what is left of a queue whose node type is gone: what was counted, that it was paused. False, and
        nothing changed, while it has a node type, jobs, schedules, configurations or ends in its outbox."""
        ...

    def count_jobs(self, queue: str) -> dict[JobState, int]:
        """How many jobs of each state the queue has."""
        ...

    def read_stats(self, queue: str, *, since: int, until: int) -> list[Stats]:
        """What happened in the queue, one per minute that has any, oldest first: minutes that begin at `since` or
        later and before `until`. A job is counted when it is accepted and each time it ends, in the same step."""
        ...

    def read_totals(self, queue: str) -> Stats:
        """What happened in the queue since there is one."""
        ...

    def waker(self, queue: str, node: str) -> Waker:
        """A waker for one node on one queue."""
        ...
