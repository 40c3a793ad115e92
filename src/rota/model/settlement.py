"""What becomes of a job after a run, or after the death of the node that ran it. The only place with these rules."""

from msgspec import Struct

from rota.model.events.event import JOB, Event
from rota.model.job import Claim, Ending, Job, JobState, rank_of
from rota.model.job_type import OnNodeDeath
from rota.model.outcome import Outcome, OutcomeKind, cancelled
from rota.model.retry import RetryPolicy

SUSPECT_DEATHS = 2
"""A job that was in hand at this many deaths of nodes may be the cause, and runs where it can hurt nobody else."""
MOST_DEATHS = 10
"""A job that was in hand at this many deaths is not run again, whatever their cause."""


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

    @property
    def ran(self) -> tuple[int, int] | None:
        """When the run began and ended; None if it never began."""
        if self.ending is None:
            return self.returned_run
        return None if self.ending.started_at is None else (self.ending.started_at, self.ending.ended_at)

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
    kind = outcome.kind
    run = None if started_at is None else (started_at, now)
    if kind is OutcomeKind.INTERRUPTED:
        return Settlement(claim, JobState.QUEUED, claim.attempts, claim.deaths, returned_run=run)
    if kind is OutcomeKind.FAILED and claim.attempt < policy.attempts:
        run_at = now + policy.delay_after(claim.attempt, chance)
        # It ran to an end and killed nobody, so what it was suspected of is forgotten.
        return Settlement(claim, JobState.DELAYED, claim.attempt, 0, run_at=run_at, returned_run=run)
    ending = Ending(
        state=_FINAL_STATE[kind],
        ended_at=now,
        token=claim.token,
        attempts=claim.attempt,
        deaths=claim.deaths,
        started_at=started_at,
        results=outcome.results,
        errors=outcome.errors,
    )
    return Settlement(claim, ending.state, claim.attempt, claim.deaths, ending)


def settle_death(claim: Claim, *, on_node_death: OnNodeDeath, now: int) -> Settlement:
    """The next state of a job whose node died while it held the claim. The attempt is not counted, the death is; a job
    that had not begun was not there, and is as it was before."""
    if not claim.is_begun:
        return Settlement(claim, JobState.QUEUED, claim.attempts, claim.deaths)
    deaths = claim.deaths + 1
    if on_node_death is OnNodeDeath.REQUEUE and deaths < MOST_DEATHS:
        return Settlement(claim, JobState.QUEUED, claim.attempts, deaths)
    if on_node_death is OnNodeDeath.FAIL:
        errors = {"type": "node_lost", "message": "the node that ran it died; its job type says: fail then"}
    else:
        errors = {"type": "poison", "message": f"its node died {deaths} times in a row; it is not run again by itself"}
    ending = Ending(
        state=JobState.FAILED, ended_at=now, token=claim.token, attempts=claim.attempts, deaths=deaths, errors=errors
    )
    return Settlement(claim, JobState.FAILED, claim.attempts, deaths, ending)


def is_suspect(claim: Claim) -> bool:
    """Whether the job may have killed the nodes that ran it."""
    return claim.deaths >= SUSPECT_DEATHS


def end_event(claim: Claim, ending: Ending, job_type: str) -> Event:
    """The end of a job as an event; `job_type` is a name. The attempt token in the event's id tells repeats from ends
    of a job that was brought back."""
    return Event(
        id=f"{claim.spec.id}/{claim.token}",
        type=JOB,
        resource=job_type,
        time=ending.ended_at * 1_000,
        received_at=ending.ended_at,
        has_own_id=True,
        outcome=ending.state.value,
    )


def cancelled_ending(settlement: Settlement, now: int) -> Ending:
    """The ending of a job that was on its way back to its queue when its cancellation was found."""
    return Ending(
        state=JobState.CANCELLED,
        ended_at=now,
        token=settlement.claim.token,
        attempts=settlement.attempts,
        deaths=settlement.deaths,
        errors=cancelled().errors,
    )


def cancelled_before_run(now: int) -> Ending:
    """The ending of a job that was cancelled while it waited."""
    return Ending(state=JobState.CANCELLED, ended_at=now, errors=cancelled().errors)


def was_carried_out(settlement: Settlement, job: Job | None) -> bool:
    """Whether a job shows that this settlement took effect earlier, so that repeating it is not a zombie's write.

    A job that returned may since have become ready, or have been cancelled; an ended one stays as it is.
    """
    if job is None or job.token != settlement.claim.token:
        return False
    if settlement.ending:
        return job.state is settlement.state
    return job.state in (JobState.DELAYED, JobState.QUEUED, JobState.CANCELLED)
