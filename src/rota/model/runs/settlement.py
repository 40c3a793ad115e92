"""What becomes of a job after a run, or after the death of the node that ran it. The only place with these rules."""

from msgspec import Struct, structs

from rota.model.events.event import JOB, Event
from rota.model.job import (
    MAX_PAST,
    MAX_PAST_ERROR,
    Claim,
    Ending,
    Job,
    JobSpec,
    JobState,
    PastAttempt,
    node_of_token,
    rank_of,
)
from rota.model.job_type import OnNodeDeath
from rota.model.runs.failure import failure_words
from rota.model.runs.outcome import Outcome, OutcomeKind, cancelled, expired
from rota.model.runs.retry import MAX_DELAY_MS, RetryPolicy

SUSPECT_DEATHS = 2
"""A job that was in hand at this many deaths of nodes may be the cause, and runs where it can hurt nobody else."""
MOST_DEATHS = 10
"""A job that was in hand at this many deaths is not run again, whatever their cause."""


FAILED_SILENTLY = "it failed without saying why"


class Settlement(Struct, frozen=True):
    """A move of a claimed job to its next state. A store carries it out only for the token that holds the claim."""

    claim: Claim
    state: JobState
    attempts: int
    """Attempts used up, this one included if it counts."""
    deaths: int
    ending: Ending | None = None
    """Present exactly when `state` is final."""
    run_at: int | None = None
    """Present exactly when `state` is delayed."""
    returned_run: tuple[int, int] | None = None
    """When the run of a job that returns began and ended; an ending says so itself."""
    past: tuple[PastAttempt, ...] = ()
    """Of a job that returns: its attempts so far, as far as they are kept."""

    @property
    def ran(self) -> tuple[int, int] | None:
        """When the run began and ended; None if it never began."""
        if self.ending is None:
            return self.returned_run
        return None if self.ending.started_at is None else (self.ending.started_at, self.ending.ended_at)

    @property
    def failure(self) -> str | None:
        """What went wrong in the attempt, in words; None if nothing did."""
        if self.state is JobState.DELAYED and self.past:
            return self.past[-1].error
        if self.ending is None or self.state is not JobState.FAILED:
            return None
        return failure_words(self.ending.errors, self.ending.results) or FAILED_SILENTLY

    @property
    def rank(self) -> int:
        """The place in the queue of a job that returns: where it was, or by its new time."""
        if self.run_at is None:
            return self.claim.rank
        return rank_of(self.claim.spec.priority, self.run_at)


_FINAL_STATE = {
    OutcomeKind.SUCCEEDED: JobState.SUCCEEDED,
    OutcomeKind.FAILED: JobState.FAILED,
    OutcomeKind.REFUSED: JobState.FAILED,
    OutcomeKind.CANCELLED: JobState.CANCELLED,
}


def settle(
    claim: Claim, outcome: Outcome, *, policy: RetryPolicy, started_at: int | None, now: int, chance: float
) -> Settlement:
    """The next state of a job whose attempt ended with `outcome`."""
    kind, attempt = outcome.kind, claim.attempt
    run = None if started_at is None else (started_at, now)
    if kind is OutcomeKind.INTERRUPTED:
        past = _interrupted(claim, started_at=started_at, now=now)
        return Settlement(claim, JobState.QUEUED, claim.attempts, claim.deaths, returned_run=run, past=past)
    if kind is OutcomeKind.FAILED and attempt < policy.attempts:
        asked_ms = _asked_wait_ms(outcome)
        run_at = now + (policy.delay_after(attempt, chance) if asked_ms is None else asked_ms)
        # It ran to an end and killed nobody, so what it was suspected of is forgotten.
        past = _with_attempt(claim, failure_words(outcome.errors, outcome.results), started_at=started_at, now=now)
        return Settlement(claim, JobState.DELAYED, attempt, 0, run_at=run_at, returned_run=run, past=past)
    ending = Ending(
        state=_FINAL_STATE[kind],
        ended_at=now,
        token=claim.token,
        attempts=attempt,
        deaths=claim.deaths,
        started_at=started_at,
        results=outcome.results,
        errors=outcome.errors,
        past=claim.past,
    )
    return Settlement(claim, ending.state, attempt, claim.deaths, ending)


def _interrupted(claim: Claim, *, started_at: int | None, now: int) -> tuple[PastAttempt, ...]:
    """A stop costs no attempt and leaves no trace; but of a job that expires it is kept, once, that it began in
    time."""
    if expiry_of(claim.spec, claim) is None or started_at is None:
        return claim.past
    return _with_attempt(claim, "its node stopped", started_at=started_at, now=now)


def _asked_wait_ms(outcome: Outcome) -> int | None:
    """How long the run asked to wait, bounded; None if it did not. Code of others says so, and may say anything."""
    asked: object = outcome.retry_in_ms
    if not isinstance(asked, int | float) or isinstance(asked, bool) or asked != asked:
        return None
    return round(max(0, min(asked, MAX_DELAY_MS)))


def _with_attempt(claim: Claim, error: str | None, *, started_at: int | None, now: int) -> tuple[PastAttempt, ...]:
    """The attempts of a job with the one that just ended, of which the latest are kept."""
    one = PastAttempt(
        number=claim.attempt,
        started_at=started_at,
        ended_at=now,
        node=node_of_token(claim.token),
        error=(error or FAILED_SILENTLY)[:MAX_PAST_ERROR],
    )
    return (*claim.past, one)[-MAX_PAST:]


def settle_death(claim: Claim, *, on_node_death: OnNodeDeath, now: int) -> Settlement:
    """The next state of a job whose node died while it held the claim. The attempt is not counted, the death is. A job
    that had not begun, as far as the store knows, dies none; that it was there is noted (`was_at_a_death`)."""
    if not claim.is_begun:
        noted = _with_attempt(claim, "its node died, perhaps before it began", started_at=None, now=now)
        return Settlement(claim, JobState.QUEUED, claim.attempts, claim.deaths, past=noted)
    deaths = claim.deaths + 1
    past = _with_attempt(claim, "its node died", started_at=None, now=now)
    if on_node_death is OnNodeDeath.REQUEUE and deaths < MOST_DEATHS:
        return Settlement(claim, JobState.QUEUED, claim.attempts, deaths, past=past)
    if on_node_death is OnNodeDeath.FAIL:
        errors = {"type": "node_lost", "message": "the node that ran it died; its job type says: fail then"}
    else:
        errors = {"type": "poison", "message": f"its node died {deaths} times in a row; it is not run again by itself"}
    ending = Ending(
        state=JobState.FAILED,
        ended_at=now,
        token=claim.token,
        attempts=claim.attempts,
        deaths=deaths,
        started_at=claim.began_at,
        errors=errors,
        past=claim.past,
    )
    return Settlement(claim, JobState.FAILED, claim.attempts, deaths, ending)


def is_suspect(claim: Claim) -> bool:
    """Whether the job may have killed the nodes that ran it."""
    return claim.deaths >= SUSPECT_DEATHS


def has_expired(job: Claim | Job, now: int) -> bool:
    """Whether nobody needs the job any more because it did not begin in time."""
    expires_at = expiry_of(job.spec, job)
    return expires_at is not None and now >= expires_at


def expiry_of(spec: JobSpec, known: Claim | Job | Settlement) -> int | None:
    """When a job expires; None if it never does, as one that has begun before: that one is needed."""
    return None if known.attempts or known.deaths or known.past else spec.expires_at


def end_event(job_id: str, ending: Ending, job_type: str) -> Event:
    """The end of a job as an event; `job_type` is a name. The attempt token in the event's id, or the time of an end
    without an attempt, tells repeats from ends of a job that was brought back."""
    return Event(
        id=f"{job_id}/{ending.token or ending.ended_at}",
        type=JOB,
        resource=job_type,
        time=ending.ended_at * 1_000,
        received_at=ending.ended_at,
        has_own_id=True,
        outcome=ending.state.value,
    )


def job_of_event(event: Event) -> str:
    """The id of the job whose end an event is."""
    return event.id.partition("/")[0]


def cancelled_ending(settlement: Settlement, now: int) -> Ending:
    """The ending of a job that was on its way back to its queue when its cancellation was found."""
    return Ending(
        state=JobState.CANCELLED,
        ended_at=now,
        token=settlement.claim.token,
        attempts=settlement.attempts,
        deaths=settlement.deaths,
        errors=cancelled().errors,
        past=settlement.past,
    )


def cancelled_before_run(now: int) -> Ending:
    """The ending of a job that was cancelled while it waited."""
    return Ending(state=JobState.CANCELLED, ended_at=now, errors=cancelled().errors)


def expired_before_run(now: int) -> Ending:
    """The ending of a job that expired while it waited."""
    return Ending(state=JobState.CANCELLED, ended_at=now, errors=expired().errors)


def given_back(job: Job, now: int) -> Job:
    """A job as a copy of its store has it, where no node has any: what runs is to be run again, its attempt is not
    counted, and what was to be cancelled is."""
    if job.state is not JobState.RUNNING:
        return job
    waiting = structs.replace(
        job, state=JobState.QUEUED, attempts=job.attempts - 1, token="", started_at=None, cancel_requested=False
    )
    if not job.cancel_requested:
        return waiting
    return structs.replace(waiting, state=JobState.CANCELLED, ended_at=now, errors=cancelled().errors)


def ending_of(job: Job) -> Ending | None:
    """The record of how a job ended, if it did."""
    if job.ended_at is None:
        return None
    return Ending(
        state=job.state,
        ended_at=job.ended_at,
        token=job.token,
        attempts=job.attempts,
        deaths=job.deaths,
        started_at=job.started_at,
        results=job.results,
        errors=job.errors,
        past=job.past,
    )


def was_carried_out(settlement: Settlement, job: Job | None) -> bool:
    """Whether a job shows that this settlement took effect earlier, so that repeating it is not a zombie's write.

    A job that returned may since have become ready, or have been cancelled; an ended one stays as it is.
    """
    if job is None or job.token != settlement.claim.token:
        return False
    if settlement.ending:
        return job.state is settlement.state
    return job.state in (JobState.DELAYED, JobState.QUEUED, JobState.CANCELLED)
