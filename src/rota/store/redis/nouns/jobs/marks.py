"""What a job's spec does not tell: the mark of a job, and the records of where it is."""

from math import ceil
from typing import Any

import msgspec
from msgspec import Struct

from rota.model.job import Claim, Ending, Job, JobSpec, JobState, PastAttempt, available_at_of_rank
from rota.model.runs.settlement import Settlement, expiry_of
from rota.store.records.codec import decode_ending, decode_spec, encode
from rota.store.records.unreadable import UNREADABLE_ERRORS, reason_of, unreadable_errors, unreadable_spec


class Mark(Struct, frozen=True, omit_defaults=True):
    """Kept only for jobs about which there is something to know. `rank` is text, because Lua's numbers lose digits."""

    rank: str
    attempts: int = 0
    deaths: int = 0
    lock: str | None = None
    unique: str | None = None
    token: str = ""
    """Of the attempt that brought it back, so that repeating that settlement is recognised."""
    past: tuple[PastAttempt, ...] = ()
    rate: str | None = None
    expires: int | None = None
    """When a job with a rate expires that has not begun yet: from then on it needs no start, as it is only ended."""


decode_mark = msgspec.json.Decoder(Mark).decode
NO_MARK = Mark("")


def mark_of(spec: JobSpec, rank: int, *, waits: bool) -> bytes:
    """The mark of a new job, or nothing if it needs none."""
    has_keys = spec.lock_key is not None or spec.unique_key is not None or spec.rate_key is not None
    if not waits and not has_keys and not spec.series:
        return b""
    expires = None if spec.rate_key is None else spec.expires_at
    return encode(Mark(str(rank), lock=spec.lock_key, unique=spec.unique_key, rate=spec.rate_key, expires=expires))


def mark_of_known(spec: JobSpec, known: Job | Settlement, rank: int, token: str) -> Mark:
    """The mark of a job that may have run before."""
    keys, expires = (spec.lock_key, spec.unique_key), expiry_of(spec, known) if spec.rate_key else None
    return Mark(str(rank), known.attempts, known.deaths, *keys, token, known.past, spec.rate_key, expires)


def whole_rank(rank: bytes) -> int:
    """The rank as everybody knows it. One of a job that a dialect adopted may have a part behind the point, which only
    Redis needs."""
    try:
        return int(rank)
    except ValueError:
        return int(float(rank))


def whole_instant(score: bytes) -> int:
    """An instant from a score. One that is no whole millisecond has passed when the next one has."""
    return int(score) if score.isdigit() else ceil(float(score))


def rank_of_blocked(text: bytes) -> float:
    """The rank within a member of the jobs that wait for a lock, as `includes/locks.lua` writes it."""
    whole, _, part = text.partition(b".")
    rank = int(whole) - (1 << 52)
    return rank + int(part) / (1 << 15) if part else rank


class Hold(Struct, frozen=True):
    """What is known of a job in the hands of a node."""

    token: str
    rank: bytes
    began_at: int
    """0 while it waits in its node's buffer."""

    @property
    def is_begun(self) -> bool:
        return self.began_at > 0


def hold_of(text: bytes) -> Hold:
    """From what `claim_jobs` and `begin_jobs` write."""
    token, rank, began_at = text.rsplit(b" ", 2)
    return Hold(token.decode(), rank, int(began_at))


def claim_of(spec: bytes, token: str, rank: bytes, mark: bytes, fence: bytes = b"", is_begun: bool = True) -> Claim:
    past = decode_mark(mark) if mark else NO_MARK
    place = int(rank) if rank.isdigit() else whole_rank(rank)  # nearly all are digits, and this is done for every job
    number = int(fence) if fence else 0
    return Claim(decode_spec(spec), token, place, past.attempts, past.deaths, number, past.past, is_begun)


def job_of(
    queue: str, job_id: str, spec: bytes | None, place: bytes, there: bytes, mark: bytes, cancelling: bytes
) -> Job | None:
    """A job from what `find_jobs` returns for it."""
    if spec is None:
        return None
    past, found = _past_and_spec(queue, job_id, spec, mark)
    base: dict[str, Any] = {
        "spec": found,
        "attempts": past.attempts,
        "deaths": past.deaths,
        "token": past.token,
        "past": past.past,
    }
    if place == b"ended":
        return _ended(base, there)
    if place == b"running":
        hold = hold_of(there)
        return Job(
            **base | {"token": hold.token, "attempts": past.attempts + hold.is_begun},
            state=JobState.RUNNING if hold.is_begun else JobState.QUEUED,
            started_at=hold.began_at or None,
            available_at=available_at_of_rank(whole_rank(hold.rank)),
            cancel_requested=bool(cancelling),
        )
    if place == b"delayed":
        return Job(**base, state=JobState.DELAYED, available_at=whole_instant(there))
    return Job(**base, state=JobState.QUEUED, available_at=available_at_of_rank(whole_rank(there)))


def _past_and_spec(queue: str, job_id: str, spec: bytes, mark: bytes) -> tuple[Mark, JobSpec]:
    """What is known of a job, or what stands for it if one of the two cannot be read."""
    past = NO_MARK
    try:
        past = decode_mark(mark) if mark else NO_MARK
        return past, decode_spec(spec)
    except UNREADABLE_ERRORS as error:
        return past, unreadable_spec(job_id, queue, reason_of(error), lock_key=past.lock, unique_key=past.unique)


def _ending_of(there: bytes) -> Ending:
    try:
        return decode_ending(there)
    except UNREADABLE_ERRORS as error:
        return Ending(state=JobState.FAILED, ended_at=0, errors=unreadable_errors(reason_of(error)))


def _ended(base: dict[str, Any], there: bytes) -> Job:
    ending = _ending_of(there)
    spec: JobSpec = base["spec"]
    return Job(
        spec=spec,
        state=ending.state,
        attempts=ending.attempts or base["attempts"],
        deaths=ending.deaths or base["deaths"],
        token=ending.token,
        available_at=spec.available_at,
        started_at=ending.started_at,
        ended_at=ending.ended_at,
        results=ending.results,
        errors=ending.errors,
        past=ending.past,
    )
