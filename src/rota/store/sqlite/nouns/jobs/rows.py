"""Between model values and rows of the `jobs` table."""

import sqlite3

from rota.model.job import Claim, Ending, Job, JobSpec, JobState, PastAttempt, available_at_of_rank, rank_of
from rota.model.runs.settlement import Settlement, cancelled_ending, ending_of
from rota.store.records.codec import decode_ending, decode_past, decode_spec, encode
from rota.store.records.unreadable import UNREADABLE_ERRORS, reason_of, unreadable_errors, unreadable_spec


def new_row(spec: JobSpec, now: int) -> dict[str, object]:
    waits = spec.run_at is not None and spec.run_at > now
    return {
        "id": spec.id,
        "queue": spec.queue,
        "state": "delayed" if waits else "queued",
        "rank": rank_of(spec.priority, spec.available_at),
        "due": spec.run_at if waits else None,
        "spec": encode(spec),
        "lock_key": spec.lock_key,
        "unique_key": spec.unique_key,
        "rate_key": spec.rate_key,
    }


def restored_row(job: Job) -> dict[str, object]:
    """A job as it was elsewhere."""
    spec, ending = job.spec, ending_of(job)
    return {
        "id": spec.id,
        "queue": spec.queue,
        "state": job.state,
        "rank": rank_of(spec.priority, job.available_at),
        "due": job.available_at if job.state is JobState.DELAYED else None,
        "spec": encode(spec),
        "attempts": job.attempts,
        "deaths": job.deaths,
        "lock_key": spec.lock_key,
        "unique_key": spec.unique_key,
        "rate_key": spec.rate_key,
        "token": job.token,
        "ended_at": job.ended_at,
        "ending": encode(ending) if ending else None,
        "past": encode(job.past) if job.past and not ending else None,
    }


def ended_row(queue: str, one: Settlement, ending: Ending) -> dict[str, object]:
    return {
        "id": one.claim.spec.id,
        "queue": queue,
        "token": one.claim.token,
        "state": ending.state,
        "ended_at": ending.ended_at,
        "ending": encode(ending),
        "attempts": one.attempts,
        "deaths": one.deaths,
    }


def returned_row(queue: str, one: Settlement, now: int) -> dict[str, object]:
    return {
        "id": one.claim.spec.id,
        "queue": queue,
        "token": one.claim.token,
        "state": one.state,
        "due": one.run_at,
        "rank": one.rank,
        "attempts": one.attempts,
        "deaths": one.deaths,
        "past": encode(one.past) if one.past else None,
        "now": now,
        "cancelled_ending": encode(cancelled_ending(one, now)),
    }


def claim_of(row: sqlite3.Row, token: str, fence: int, is_begun: bool) -> Claim:
    past = decode_past(row["past"]) if row["past"] else ()
    return Claim(decode_spec(row["spec"]), token, row["rank"], row["attempts"], row["deaths"], fence, past, is_begun)


def readable_claim(row: sqlite3.Row, token: str, fence: int = 0) -> Claim:
    """As `claim_of`, from a whole row, also for a job whose record cannot be read."""
    is_begun = row["claimed_at"] > 0
    return Claim(spec_of(row), token, row["rank"], row["attempts"], row["deaths"], fence, _past_of(row), is_begun)


def spec_of(row: sqlite3.Row) -> JobSpec:
    """What was handed in, or what takes its place if it cannot be read."""
    try:
        return decode_spec(row["spec"])
    except UNREADABLE_ERRORS as error:
        keys = {"lock_key": row["lock_key"], "unique_key": row["unique_key"]}
        return unreadable_spec(row["id"], row["queue"], reason_of(error), **keys)


def job_of(row: sqlite3.Row) -> Job:
    ending = _ending_of(row) if row["ending"] is not None else None
    state = JobState.QUEUED if row["claimed_at"] == 0 else JobState(row["state"])
    return Job(
        spec=spec_of(row),
        state=state,
        attempts=row["attempts"] + (state is JobState.RUNNING),
        deaths=row["deaths"],
        token=row["token"],
        available_at=row["due"] or available_at_of_rank(row["rank"]),
        started_at=ending.started_at if ending else row["claimed_at"] or None,
        ended_at=row["ended_at"],
        results=ending.results if ending else None,
        errors=ending.errors if ending else None,
        cancel_requested=bool(row["cancel_requested"]),
        past=ending.past if ending else _past_of(row),
    )


def _past_of(row: sqlite3.Row) -> tuple[PastAttempt, ...]:
    """The attempts before, or none if they cannot be read."""
    try:
        return decode_past(row["past"]) if row["past"] else ()
    except UNREADABLE_ERRORS:
        return ()


def _ending_of(row: sqlite3.Row) -> Ending:
    try:
        return decode_ending(row["ending"])
    except UNREADABLE_ERRORS as error:
        state, ended_at = JobState(row["state"]), row["ended_at"]
        return Ending(state=state, ended_at=ended_at, errors=unreadable_errors(reason_of(error)))
