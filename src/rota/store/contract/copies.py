"""The contract of a store, for copies: a queue as of one moment, and bringing what was read elsewhere into an empty
store. What `store.py` says of all operations holds here too.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rota.model.events.event import Event
from rota.model.job import Job, JobState
from rota.model.schedules.schedule import Schedule, ScheduleState
from rota.store.contract.events import ConfigurationEntry
from rota.store.contract.queues import Stats


class QueueCopy(Struct, frozen=True, kw_only=True):
    """Everything of a queue as of one moment, but the histories of what is in it, which are long and only grow."""

    queue: str
    jobs: list[Job]
    """Those that have not ended, each as it is."""
    ended: list[str]
    """The ids of the others."""
    schedules: list[tuple[Schedule, ScheduleState]]
    configurations: list[ConfigurationEntry]
    outbox: list[Event]
    """Oldest first."""
    fence: int
    """The last fencing number; 0 if none was given."""
    totals: Stats
    is_paused: bool


def refuse_claimed(jobs: Sequence[Job]) -> None:
    """A job that a node has cannot be restored: nobody has it here."""
    if claimed := next((job for job in jobs if job.state is JobState.RUNNING), None):
        raise ValueError(f"job {claimed.id} is in the hands of a node")


class CopyStore(Protocol):
    """Reading everything, and writing it as it was."""

    def copy_queue(self, queue: str) -> QueueCopy:
        """A queue as of one moment, whatever nodes and clients do meanwhile. What cannot be read is left out, as
        everywhere, and jobs of that kind have their stand-ins. Takes time and memory with the number of jobs that have
        not ended, in one step."""
        ...

    def restore_jobs(self, queue: str, jobs: Sequence[Job]) -> None:
        """Keep jobs as they were elsewhere, whatever their state: attempts, times, results. They are counted nowhere,
        and wake nobody. `ValueError` for one that a node has. A job whose id is known here stays as it is."""
        ...

    def restore_queue(self, copy: QueueCopy, minutes: Sequence[Stats]) -> None:
        """Keep what was counted in a queue, its outbox and its fencing number. Comes after its jobs, which are
        not written here, nor are schedules, configurations and whether it is paused."""
        ...
