"""The contract of a store, for the logs of jobs. What `store.py` says of all operations holds here too."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress


class LogPage(Struct, frozen=True):
    entries: list[LogEntry]
    next: int
    """The position behind the last entry; give it as `after` to read on."""


class LogBatch(Struct, frozen=True):
    """What one attempt says: lines of its log, and perhaps how far it has come."""

    queue: str
    job_id: str
    token: str
    entries: list[LogEntry]
    progress: Progress | None = None


class LogStore(Protocol):
    """What runs of jobs wrote."""

    def append_logs(self, batches: Sequence[LogBatch]) -> frozenset[str]:
        """Add log lines of running jobs, and put their progress in the place of what they said before; returns the ids
        that were refused because the token no longer holds the job. Atomic per job."""
        ...

    def delete_logs(self, job_ids: Sequence[str]) -> list[bool]:
        """Forget the logs of ended jobs, which stay themselves. False: unknown or not ended. May be many steps, like
        `trim_history`. Where logs are long there may be answers for the first of the jobs only, even for none: it goes
        on with the next call, for those without one."""
        ...

    def count_logs(self, job_id: str) -> int:
        """How many log lines a job has: the position behind the last one. Unknown jobs have none."""
        ...

    def read_logs(self, job_id: str, *, after: int = 0, limit: int = 1000) -> LogPage:
        """Log lines of all attempts from position `after` on, oldest first. Unknown jobs have no lines."""
        ...

    def read_progress(self, queue: str, job_ids: Sequence[str]) -> dict[str, Progress]:
        """How far jobs of a queue have come, by id: only those that ever said so. It is kept as long as their logs."""
        ...

    def restore_logs(
        self, queue: str, job_id: str, entries: Sequence[LogEntry], *, after: int, progress: Progress | None = None
    ) -> None:
        """Keep log lines of a restored job from the position `after` on, and how far it had come. Lines that are there
        already stay as they are."""
        ...
