"""What a job's spec does not tell: the mark of a job, and the records of where it is."""

from typing import Any

import msgspec
from msgspec import Struct

from rota.model.job import Claim, Job, JobSpec, JobState, available_at_of_rank
from rota.store.codec import decode_ending, decode_spec, encode


class Mark(Struct, frozen=True, omit_defaults=True):
    """Kept only for jobs about which there is something to know. `rank` is text, because Lua's numbers lose digits."""

    rank: str
    attempts: int = 0
    deaths: int = 0
    lock: str | None = None
    unique: str | None = None
    token: str = ""
    """Of the attempt that brought it back, so that repeating that settlement is recognised."""


decode_mark = msgspec.json.Decoder(Mark).decode
NO_MARK = Mark("")


def mark_of(spec: JobSpec, rank: int, *, waits: bool) -> bytes:
    """The mark of a new job, or nothing if it needs none."""
    if not waits and spec.lock_key is None and spec.unique_key is None:
        return b""
    return encode(Mark(str(rank), lock=spec.lock_key, unique=spec.unique_key))


def whole_rank(rank: bytes) -> int:
    """The rank as everybody knows it. One of a job that a dialect adopted may have a part behind the point, which only
    Redis needs."""
    try:
        return int(rank)
    except ValueError:
        return int(float(rank))


def rank_of_held(text: bytes) -> float:
    """The rank within a member of the jobs that wait for a lock, as `includes/locks.lua` writes it."""
    whole, _, part = text.partition(b".")
    rank = int(whole) - (1 << 52)
    return rank + int(part) / (1 << 15) if part else rank


def claim_of(spec: bytes, token: str, rank: bytes, mark: bytes) -> Claim:
    past = decode_mark(mark) if mark else NO_MARK
    place = int(rank) if rank.isdigit() else whole_rank(rank)  # nearly all are digits, and this is done for every job
    return Claim(decode_spec(spec), token, place, past.attempts, past.deaths)


def job_of(spec: bytes, place: bytes, there: bytes, mark: bytes, cancelling: bytes) -> Job | None:
    """A job from what `find_jobs` returns for it."""
    if not spec:
        return None
    past = decode_mark(mark) if mark else NO_MARK
    base: dict[str, Any] = {
        "spec": decode_spec(spec),
        "attempts": past.attempts,
        "deaths": past.deaths,
        "token": past.token,
    }
    if place == b"ended":
        return _ended(base, there)
    if place == b"running":
        token, rank, claimed_at = there.rsplit(b" ", 2)
        return Job(
            **base | {"token": token.decode(), "attempts": past.attempts + 1},
            state=JobState.RUNNING,
            started_at=int(claimed_at),
            available_at=available_at_of_rank(whole_rank(rank)),
            cancel_requested=bool(cancelling),
        )
    if place == b"delayed":
        return Job(**base, state=JobState.DELAYED, available_at=int(there))
    return Job(**base, state=JobState.QUEUED, available_at=available_at_of_rank(whole_rank(there)))


def _ended(base: dict[str, Any], there: bytes) -> Job:
    ending = decode_ending(there)
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
    )
