"""A job: one execution of a job type. Here are its values, its states and the only legal moves between them."""

from enum import StrEnum

from msgspec import Struct

from rota.model.flows.flow import Flow
from rota.model.runs.retry import RetryPolicy


class JobState(StrEnum):
    """Where a job is. It is in exactly one of these at any moment."""

    DELAYED = "delayed"
    """Waits for its time: enqueued for later, or between two attempts."""
    QUEUED = "queued"
    """Waits for a node. This includes waiting for another job that holds the same lock."""
    RUNNING = "running"
    """Claimed by a node, which presents an attempt token with everything it reports."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return self in FINAL_STATES


FINAL_STATES = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
LIVE_STATES = frozenset({JobState.DELAYED, JobState.QUEUED, JobState.RUNNING})

MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.DELAYED: frozenset({JobState.QUEUED, JobState.CANCELLED}),
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.RUNNING: frozenset(
        {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.DELAYED, JobState.QUEUED}
    ),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset({JobState.QUEUED}),
    JobState.CANCELLED: frozenset({JobState.QUEUED}),
}
"""Every legal move. Queued to delayed does not exist: a job that became due stays due. A person may bring a failed or
cancelled job back; a succeeded one is enqueued anew instead, so that its success stays in history."""


class Cause(Struct, frozen=True, omit_defaults=True):
    """What made a job: a schedule's tick, an event, another job, a person.

    The kind `unreadable` stands for a record that this version cannot read; the name then says why."""

    kind: str
    name: str = ""
    instant: int | None = None


class JobSpec(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What was asked for. Written once when the job is accepted, never changed."""

    id: str
    job_type: str
    """Uuid of the job type."""
    queue: str
    """Uuid of the node type whose nodes may run it."""
    enqueued_at: int
    arguments: dict[str, object] = {}
    priority: int = 0
    """Higher runs first."""
    run_at: int | None = None
    """Not before this instant; absent means at once."""
    unique_key: str | None = None
    """While a live job has this key in this queue, another one with the key is not accepted."""
    lock_key: str | None = None
    """At most one job with this key runs at a time in this queue; the others wait in order."""
    rate_key: str | None = None
    """No more jobs with this key start within a period in this queue than it says itself; the others wait in order."""
    timeout_ms: int | None = None
    """Overrides the job type's."""
    retry: RetryPolicy | None = None
    """Overrides the job type's."""
    expires_at: int | None = None
    """An attempt that does not begin before this instant is not begun: the job is cancelled."""
    cause: Cause | None = None
    flow: Flow | None = None
    """The flow that it is part of, and what comes after it there."""
    series: tuple[str, ...] = ()
    """Lists of its queue in which it is found, by the time of its making, for as long as it is remembered."""
    has_own_id: bool = False
    """Whether whoever asked for it chose its id, and may have handed it in before."""

    @property
    def available_at(self) -> int:
        """When it is first ready. A `run_at` in the past gives no place ahead of jobs that were there before."""
        return self.enqueued_at if self.run_at is None else max(self.enqueued_at, self.run_at)


class PastAttempt(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An attempt that failed, or whose node died, and after which the job was to be tried again. Of a job that expires
    also the first one, if its node stopped: so it is known to have begun in time."""

    number: int
    """Counted from 1. An attempt whose node died has the same number as the one after it."""
    ended_at: int
    error: str
    """What went wrong, in words, cut to `MAX_PAST_ERROR` characters."""
    started_at: int | None = None
    node: str = ""


def was_at_a_death(past: tuple[PastAttempt, ...]) -> bool:
    """Whether a job was in a node's hands when that died, the last time it was in any. Then it begins as soon as it is
    claimed, so that a further death is counted."""
    return bool(past) and past[-1].started_at is None


MAX_PAST = 20
"""Past attempts that a job keeps, the latest ones."""
MAX_PAST_ERROR = 500


class Ending(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """How a job ended: the part of its record that is written once, by whoever ended it."""

    state: JobState
    ended_at: int
    token: str = ""
    """The attempt token that was presented; empty for a job that was cancelled before it ran."""
    attempts: int = 0
    deaths: int = 0
    started_at: int | None = None
    results: object = None
    errors: object = None
    past: tuple[PastAttempt, ...] = ()
    """The attempts before the last one."""


class Job(Struct, frozen=True, kw_only=True):
    """A job as history shows it: what was asked, where it is, what came of it."""

    spec: JobSpec
    state: JobState
    attempts: int = 0
    """Attempts begun. A graceful stop and the death of a node give theirs back."""
    deaths: int = 0
    """How often the node that ran it died."""
    token: str = ""
    available_at: int = 0
    """When it became, or becomes, ready to run."""
    started_at: int | None = None
    ended_at: int | None = None
    results: object = None
    errors: object = None
    cancel_requested: bool = False
    past: tuple[PastAttempt, ...] = ()
    """Attempts that failed before; not the one that runs now, nor the one by which the job ended."""

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def node(self) -> str | None:
        """The node that runs it or ran it last."""
        return node_of_token(self.token) if self.token else None


class Claim(Struct, frozen=True):
    """A job in the hands of a node: the right to run it once and to report on it."""

    spec: JobSpec
    token: str
    rank: int
    attempts: int
    """Attempts used up before this one."""
    deaths: int
    fence: int = 0
    """For a job under a lock a number that is greater than that of any run before it; 0 for others."""
    past: tuple[PastAttempt, ...] = ()
    is_begun: bool = True
    """Whether it runs, as far as the store knows. One that was claimed ahead waits in its node's buffer first."""
    began_at: int | None = None
    """When it began; told only of claims that are looked up later."""

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self.attempts + 1


def make_token(node: str, serial: int) -> str:
    """The attempt token of one claim call. Unique because node ids are random for each process start."""
    return f"{node}/{serial}"


def node_of_token(token: str) -> str:
    return token.partition("/")[0]


def serial_of_token(token: str) -> int:
    """Which of its node's claim calls a token is of."""
    return int(token.rpartition("/")[2])


_RANK_STEP_MS = 16
_RANK_PRIORITY = 1 << 38
MAX_PRIORITY = 10_000


def rank_of(priority: int, available_at: int) -> int:
    """A job's place in its queue, smallest first: by priority, then by the time it became ready, then (in the stores)
    by id.

    One number, so that every store can keep it in one ordered index. It must stay exact in a double, which is what
    Redis gives a score: time in steps of 16 ms takes 37 bits until 2039 and 38 until 2109, the priority the rest.
    Within a step ids decide, and they are in the order of making.
    """
    return available_at // _RANK_STEP_MS - priority * _RANK_PRIORITY


def available_at_of_rank(rank: int) -> int:
    """The ready time within a rank, rounded down to its step."""
    return rank % _RANK_PRIORITY * _RANK_STEP_MS
