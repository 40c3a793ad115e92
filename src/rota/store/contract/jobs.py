"""The contract of a store, for jobs as they are handed in, looked for and changed. What nodes do is in `claims.py`.
What `store.py` says of all operations holds here too.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from rota.model.job import Job, JobSpec, JobState


class Admission(Struct, frozen=True):
    """The answer to one job that was handed in."""

    job_id: str
    """The surviving job: the one handed in, or the live one that holds its unique key."""
    is_new: bool


class CancelAnswer(StrEnum):
    """The answer to one job that is to be cancelled."""

    CANCELLED = "cancelled"
    """It waited and now is cancelled."""
    REQUESTED = "requested"
    """It runs; its node is told and ends it."""
    FINAL = "final"
    """It had ended already; nothing changed."""
    UNKNOWN = "unknown"


class JobQuery(Struct, frozen=True, kw_only=True):
    """Which jobs to list. An absent condition accepts everything."""

    queue: str | None = None
    states: frozenset[JobState] = frozenset()
    job_type: str | None = None
    node: str | None = None
    since: int | None = None
    """Enqueued at this instant or later."""
    until: int | None = None
    """Enqueued before this instant."""
    schedule: str | None = None
    """Made by the schedule of this uuid or name."""
    search: str | None = None
    """Has this text, in any case, in its id, unique key, arguments, results or errors."""


class JobPage(Struct, frozen=True):
    """One page of a listing: live jobs in the order in which they will run, or ended ones with the latest first."""

    jobs: list[Job]
    cursor: str | None = None
    """Give it back to get the next page; None when there is none."""


class Wait(Struct, frozen=True):
    """What a queued job waits behind."""

    ahead: int
    """Jobs that are given out before it: ready ones, or those that wait for the same lock or rate."""
    lock_holder: str | None = None
    """The running job that holds its lock."""
    limited_until: int | None = None
    """If its rate is used up: when the next job with its rate key may start. Those ahead wait for the same rate."""


MOST_AHEAD = 100_000
"""A store may stop counting the jobs ahead of another here."""


class JobStore(Protocol):
    """Jobs: accepted, found, cancelled, brought back, forgotten."""

    def enqueue_jobs(self, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        """Accept jobs, each as delayed (if `run_at` is after `now`) or queued. One answer per spec, in order.

        A job whose id is known already, in whichever queue, is not stored again; a store whose queues are in several
        places may accept one id in each of two queues to which it is given at the same moment. A job whose unique key
        belongs to a live job of its queue is not stored; the answer names that job. If that one waits and has expired,
        it is ended as `expired`, and the new one accepted. The same holds between specs of one call. Atomic
        per queue: all of a queue's jobs are accepted, or none, but those that take the place of expired ones may be
        accepted in a second step. If there are several steps, `StoreFull` says how many jobs were accepted. A store may
        refuse a call with more jobs than it can take in one step (`InvalidInput`); it takes 100,000.
        """
        ...

    def enqueue_jobs_within(self, connection: object, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        """`enqueue_jobs` as part of a transaction of the caller's own connection to the database that holds the store:
        the jobs are there, and waiting nodes hear of them, when that is committed, and never were if it is not. A
        connection to anything else is refused (`InvalidInput`); a store that is no database refuses every one."""
        ...

    def find_jobs(self, job_ids: Sequence[str], *, queue: str | None = None) -> list[Job | None]:
        """One answer per id, in order. With `queue` only jobs of that one are found, and nothing else is asked: on a
        cluster, other servers may be away."""
        ...

    def list_jobs(self, query: JobQuery, *, limit: int, cursor: str | None = None) -> JobPage:
        """A page of jobs, at most `limit`. A page may be short, or empty, and still have a cursor.

        Order: delayed by due time, queued by rank, queued that wait for a lock by rank, running by the time they
        began, then ended ones, latest end first.
        """
        ...

    def list_series(
        self,
        queue: str,
        series: str,
        *,
        since: int = 0,
        until: int | None = None,
        limit: int,
        after: Job | None = None,
        latest_first: bool = False,
    ) -> list[Job]:
        """Jobs of a series, whatever their state, by the time at which they were enqueued: from `since` on and before
        `until`, the oldest first or the latest. A page goes on behind the job `after`, the last of the page before,
        also when that is forgotten. Costs as much as it gives."""
        ...

    def count_series(self, queue: str, series: str) -> int:
        """How many jobs of a series are remembered."""
        ...

    def read_wait(self, queue: str, job_id: str) -> Wait | None:
        """What a queued job waits behind; None if no such job is queued there."""
        ...

    def cancel_jobs(self, job_ids: Sequence[str], *, now: int) -> list[CancelAnswer]:
        """Cancel waiting jobs at once; mark running ones, so that their nodes hear of it. One answer per id, in
        order. The ends of waiting ones are told as those of `finish_jobs` are."""
        ...

    def retry_jobs(self, job_ids: Sequence[str], *, now: int) -> list[bool]:
        """Bring failed and cancelled jobs back into their queue as new, with no attempts used. False: not in such a
        state, or its unique key meanwhile belongs to another live job."""
        ...

    def delete_jobs(self, job_ids: Sequence[str]) -> list[bool]:
        """Forget ended jobs with their logs. False: unknown or not ended. May be many steps, like `trim_history`."""
        ...
