"""The contract of a store. The docstrings are the promises; `tests/contract` holds every store to them.

A store is synchronous and thread-safe: any thread may call any method at any time. Every operation is atomic: it
happens whole or not at all, also when the process or the store is killed in the middle, and also when many nodes call
at once. Operations take many items, because a round trip costs more than a job. `now` is an argument; a store reads a
clock in `now()` only.

All jobs of one queue (the uuid of a node type) live together, so that one operation on a queue is one atomic step on a
cluster too. An operation that must not happen (a stale token, a job in another state) returns that as a value which the
caller has to look at.

Errors: `StoreUnavailable` when the store cannot be reached, `StoreFull` when it has no room. After one, the caller does
not know whether the operation happened, and may repeat it: jobs are enqueued once, and a settlement that took effect is
recognised. The jobs of a repeated claim are others; `recover_claims` puts back those whose answer was lost. Log lines
that are repeated stand twice.

Who lives is not decided here, and no time in a store says it. A node's *pulse* on a queue is a text that is another one
after each of its claims and renewals; whoever watched it stay the same may act on that, by naming the pulse it saw.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from rota.model.job import Claim, Job, JobSpec, JobState
from rota.model.job_type import JobType
from rota.model.log import LogEntry
from rota.model.node import Node, NodeType
from rota.model.settlement import Settlement
from rota.store.events import EventStore
from rota.store.schedules import ScheduleStore
from rota.store.unreadable import Unreadable

STATS_STEP_MS = 60_000
STATS_KEPT_MS = 48 * 3600 * 1000
"""Stats of minutes are forgotten after so long; those of all time stay."""
MAX_PROMOTED = 1_000
"""Delayed jobs that one claim makes ready at most, so that no single step takes long."""
MAX_SCANNED = 1_000
"""Ready jobs that one claim looks at at most, for the same reason: those whose lock is taken are set aside."""


class Admission(Struct, frozen=True):
    """The answer to one job that was handed in."""

    job_id: str
    """The surviving job: the one handed in, or the live one that holds its unique key."""
    is_new: bool


class Claims(Struct, frozen=True):
    """The answer to a claim."""

    claims: list[Claim]
    """In the order in which they are to run."""
    next_due: int | None = None
    """When the next delayed job of the queue becomes ready, if one is known; `now` if more may be ready already."""
    refused: frozenset[str] = frozenset()
    """Ids from `finish_and_claim_jobs` whose settlement was refused, because their token no longer holds the job."""


class Renewal(Struct, frozen=True):
    """The answer to `renew_claims`."""

    cancelled: list[str]
    """Held jobs that somebody asked to cancel."""
    lost: list[str]
    """Jobs that the node believes it holds, but no longer does. Their runs must be stopped."""


class CancelAnswer(StrEnum):
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


class LogPage(Struct, frozen=True):
    entries: list[LogEntry]
    next: int
    """The position behind the last entry; give it as `after` to read on."""


class LogBatch(Struct, frozen=True):
    """Log lines of one attempt."""

    queue: str
    job_id: str
    token: str
    entries: list[LogEntry]


class Waker(Protocol):
    """Tells one node that one queue may have work for it. Used by one waiting thread; `nudge` comes from any."""

    def wait(self, timeout_s: float, *, wants_jobs: bool) -> list[str]:
        """Block until something may have changed, `nudge` is called, or the time is over.

        Returns the ids of held jobs whose cancellation was asked for, as far as they are known. With `wants_jobs` it
        also returns when jobs may have become ready; of several waiting nodes at least one is woken for new jobs. It
        may return for no reason. It raises `StoreUnavailable` like any operation.
        """
        ...

    def nudge(self) -> None:
        """End the current `wait`, or the next one if none is under way."""
        ...

    def close(self) -> None:
        """Give up the waker's resources; a wait under way ends."""
        ...


class Lifeline(Protocol):
    """One node's own line to a store, for its signs of life: a connection that nobody else occupies, and a short
    patience. Used by one thread."""

    def renew_claims(self, queue: str, node: str, held: dict[str, str]) -> Renewal:
        """Say that the node lives and holds these jobs (id to token): it has a new pulse on the queue."""
        ...

    def beat(self, node: Node) -> None:
        """Write a node's record; its `last_ping` says when."""
        ...

    def close(self) -> None:
        """Give up the connection."""
        ...


class Store(ScheduleStore, EventStore, Protocol):
    """Everything Rota remembers."""

    # -- the store itself ------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        ...

    def now(self) -> int:
        """The store's own clock, in epoch milliseconds. Nodes follow it."""
        ...

    def problems(self) -> list[str]:
        """What an operator should know about this store's set-up, one sentence each, such as that nothing persists."""
        ...

    def troubles(self) -> list[str]:
        """What is wrong with the store right now, one sentence each: refused writes, failed syncs, a log that only
        grows. Cheap: asked with every beat."""

    def unreadable_records(self) -> list[Unreadable]:
        """Records that this handle came across and could not read: broken ones, and kinds that only a newer version
        knows. They stay as they are and stop nobody.

        Fields that are not known make no record unreadable. A job without a readable record has a spec of cause
        `unreadable`, which fails when it is run; a node type or job type is managed by `unreadable`; a line of a log
        says that it cannot be read. Everything else is left out, an event in an outbox for good: it is kept as a
        setting instead.
        """
        ...

    def close(self) -> None:
        """Give up all connections. A closed store is not used again."""
        ...

    # -- definitions -----------------------------------------------------------------------------------------------

    def put_node_types(self, node_types: Sequence[NodeType]) -> None:
        """Create or replace, by uuid. A name belongs to one node type: `Conflict` if another uuid has it."""
        ...

    def list_node_types(self) -> list[NodeType]:
        """All of them, by name."""
        ...

    def delete_node_types(self, uuids: Iterable[str]) -> int:
        """Remove definitions; returns how many there were. `Conflict` while the queue holds live jobs."""
        ...

    def put_job_types(self, job_types: Sequence[JobType]) -> None:
        """Create or replace, by uuid. A name belongs to one job type: `Conflict` if another uuid has it."""
        ...

    def list_job_types(self) -> list[JobType]:
        """All of them, by name."""
        ...

    def delete_job_types(self, uuids: Iterable[str]) -> int:
        """Remove definitions; returns how many there were. Jobs that are still queued will fail when they are run."""
        ...

    def definitions_version(self) -> int:
        """A number that changes whenever a node type or job type does."""
        ...

    def get_setting(self, name: str) -> str | None:
        """A small value that belongs to the installation, such as the hash of the API key."""
        ...

    def put_setting(self, name: str, value: str, *, only_if_absent: bool = False) -> str:
        """Keep a value; returns the one that is kept, which is the older one with `only_if_absent`."""
        ...

    def list_settings(self, prefix: str) -> dict[str, str]:
        """Values by name, of all whose name begins so."""
        ...

    def delete_setting(self, name: str) -> bool:
        """Forget a value; tells whether there was one."""
        ...

    # -- a job's way -----------------------------------------------------------------------------------------------

    def enqueue_jobs(self, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        """Accept jobs, each as delayed (if `run_at` is after `now`) or queued. One answer per spec, in order.

        A job whose id is known already, in whichever queue, is not stored again. A job whose unique key belongs to a
        live job of its queue is not stored; the answer names that job. The same holds between specs of one call. Atomic
        per queue: all of a queue's jobs are accepted, or none. A store may refuse a call with more jobs than it can
        take in one step (`InvalidInput`); it takes 100,000.
        """
        ...

    def claim_jobs(self, queue: str, *, token: str, limit: int, now: int) -> Claims:
        """Hand up to `limit` ready jobs to the node of `token`: pop, token and pulse in one atomic step. Fewer may come
        than there are; only none means that there is none, unless `next_due` is not after `now`: then `MAX_SCANNED`
        jobs were looked at, all of them waiting for a lock, and the caller asks again at once.

        First makes delayed jobs ready whose time has come (up to `MAX_PROMOTED` in one call). Jobs come by rank, then
        id, and each is given to one node only. A job whose lock is held by a running job is set aside until that lock
        is free, and another is given instead; it keeps its place among those that wait for the lock. A job with a lock
        is given with a fencing number that is greater than any before in its queue. A paused queue gives nothing,
        and names no time that has passed. When jobs are handed out, the node has a new pulse on the queue; a claim of
        nothing writes nothing.

        A claim that comes late takes nothing: one whose serial is not above the floor that `recover_claims` set for
        its node. A store whose clock is its own makes nothing ready before that clock says so, whatever `now` is.
        """
        ...

    def finish_jobs(self, queue: str, settlements: Sequence[Settlement], *, now: int) -> frozenset[str]:
        """Carry out settlements of claimed jobs; returns the ids that were refused.

        A settlement is carried out if its token holds the job, which then moves to the settlement's state: an ended
        job gets its ending, a returning one its new attempts, deaths, rank and time; a returning job whose
        cancellation was asked for is cancelled instead. An ended job frees its unique key; every settled job frees its
        lock, and the next job that waits for the lock is ready at once. Refused is whatever another token holds, or
        none; a settlement that had been carried out before is not refused and changes nothing.

        An end that some configuration waits for is put into the outbox in the same step, whatever the process that
        settles it knew of that configuration.
        """
        ...

    def finish_and_claim_jobs(
        self, queue: str, settlements: Sequence[Settlement], *, token: str, limit: int, now: int
    ) -> Claims:
        """`finish_jobs`, then `claim_jobs`, in one round trip where the store can."""
        ...

    def lifeline(self, *, timeout_s: float) -> Lifeline:
        """A node's own line to the store, whose calls give up after about `timeout_s`."""
        ...

    def recover_claims(self, queue: str, node: str, held: dict[str, str], *, floor: int, now: int) -> int:
        """Put back jobs that the store holds for the node, but of which the node knows nothing; returns how many.

        That is what a claim leaves whose answer was lost on the way. They return as they were: no attempt, no death
        counted. One whose cancellation was asked for is cancelled. From then on claims of the node up to the serial
        `floor` take nothing, so that one which is still on its way cannot leave more of the kind. Need not be one
        step: nobody but the node claims for it.
        """
        ...

    def leave_queue(self, queue: str, node: str, *, floor: int, now: int) -> None:
        """The node leaves the queue: what it still holds there goes back as in `recover_claims`, and it has no pulse
        any more."""
        ...

    def read_pulses(self, queue: str) -> dict[str, str]:
        """The pulse of each node that claimed or renewed on the queue and has not left."""
        ...

    def claims_of_node(self, queue: str, node: str, *, limit: int) -> list[Claim]:
        """What the node holds. Costs as much as the queue has running jobs, so it is asked for dead nodes only."""
        ...

    def reclaim_jobs(
        self, queue: str, settlements: Sequence[Settlement], *, node: str, pulse: str, now: int
    ) -> frozenset[str]:
        """`finish_jobs` on behalf of a dead node: everything is refused if its pulse is no longer the one given."""
        ...

    def forget_pulse(self, queue: str, node: str, *, pulse: str) -> None:
        """Forget a dead node, unless it has another pulse now."""
        ...

    def mark_orphans(self, queue: str) -> int:
        """Give nodes that hold claims without having a pulse one that never changes, so that they are found dead;
        returns how many. No operation here leaves such a node, but people and restored backups do."""
        ...

    def cancel_jobs(self, job_ids: Sequence[str], *, now: int) -> list[CancelAnswer]:
        """Cancel waiting jobs at once; mark running ones, so that their nodes hear of it. One answer per id, in
        order."""
        ...

    def retry_jobs(self, job_ids: Sequence[str], *, now: int) -> list[bool]:
        """Bring failed and cancelled jobs back into their queue as new, with no attempts used. False: not in such a
        state, or its unique key meanwhile belongs to another live job."""
        ...

    def delete_jobs(self, job_ids: Sequence[str]) -> list[bool]:
        """Forget ended jobs with their logs. False: unknown or not ended. May be many steps, like `trim_history`."""
        ...

    # -- queues ----------------------------------------------------------------------------------------------------

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
        nothing changed, while it has a node type, jobs, schedules or configurations."""
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

    # -- reading ---------------------------------------------------------------------------------------------------

    def find_jobs(self, job_ids: Sequence[str]) -> list[Job | None]:
        """One answer per id, in order."""
        ...

    def list_jobs(self, query: JobQuery, *, limit: int, cursor: str | None = None) -> JobPage:
        """A page of jobs, at most `limit`. A page may be short, or empty, and still have a cursor.

        Order: delayed by due time, queued by rank, queued that wait for a lock by rank, running by claim time, then
        ended ones, latest end first.
        """
        ...

    def trim_history(self, queue: str, *, ended_before: int, keep: int, limit: int) -> int:
        """Forget ended jobs with their logs: those that ended before an instant, and the oldest beyond `keep`.

        At most `limit` in one call; returns how many. Fewer may be forgotten than there are; only 0 means that nothing
        is left to forget. The call may be many steps, so that others need not wait for it: a long log is forgotten
        piece by piece, from its beginning, and its job with the last piece.
        """
        ...

    # -- logs ------------------------------------------------------------------------------------------------------

    def append_logs(self, batches: Sequence[LogBatch]) -> frozenset[str]:
        """Add log lines of running jobs; returns the ids that were refused because the token no longer holds the job.
        Atomic per job."""
        ...

    def read_logs(self, job_id: str, *, after: int = 0, limit: int = 1000) -> LogPage:
        """Log lines of all attempts from position `after` on, oldest first. Unknown jobs have no lines."""
        ...

    # -- nodes -----------------------------------------------------------------------------------------------------

    def list_nodes(self, *, since: int) -> list[Node]:
        """Nodes whose last beat was at `since` or later."""
        ...

    def remove_nodes(self, *, uuid: str | None = None, silent_since: int | None = None) -> int:
        """Forget one node, or all whose last beat was before an instant; returns how many."""
        ...

    # -- waiting ---------------------------------------------------------------------------------------------------

    def waker(self, queue: str, node: str) -> Waker:
        """A waker for one node on one queue."""
        ...
