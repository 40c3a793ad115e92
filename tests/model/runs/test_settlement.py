"""What becomes of a job after a run, or after the death of its node."""

from typing import Any

import pytest
from msgspec import structs

from rota.model.job import (
    FINAL_STATES,
    Claim,
    Ending,
    Job,
    JobSpec,
    JobState,
    PastAttempt,
    rank_of,
    was_at_a_death,
)
from rota.model.job_type import OnNodeDeath
from rota.model.runs.outcome import INTERRUPTED, Outcome, OutcomeKind, cancelled, failed, refused, succeeded, timed_out
from rota.model.runs.retry import MAX_DELAY_MS, RetryPolicy
from rota.model.runs.settlement import (
    FAILED_SILENTLY,
    MOST_DEATHS,
    SUSPECT_DEATHS,
    Settlement,
    cancelled_before_run,
    cancelled_ending,
    end_event,
    ending_of,
    expiry_of,
    given_back,
    has_expired,
    is_suspect,
    settle,
    settle_death,
    was_carried_out,
)

NOW = 1_700_000_000_000
SPEC = JobSpec(id="job", job_type="type", queue="queue", enqueued_at=NOW, priority=3)
THREE = RetryPolicy(attempts=3, delay_ms=1_000, factor=2, jitter=0)


def claim(attempts: int = 0, deaths: int = 0) -> Claim:
    return Claim(SPEC, "node/1", rank_of(3, NOW), attempts, deaths)


def end(outcome: Outcome, *, attempts: int = 0, policy: RetryPolicy = THREE) -> Settlement:
    return settle(claim(attempts), outcome, policy=policy, started_at=NOW - 10, now=NOW, chance=0.5)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (succeeded({"x": 1}), JobState.SUCCEEDED),
        (refused("function", "no such thing"), JobState.FAILED),
        (cancelled(), JobState.CANCELLED),
    ],
)
def test_these_outcomes_end_a_job_at_once(outcome: Outcome, state: JobState) -> None:
    settlement = end(outcome)

    assert settlement.state is state
    assert settlement.ending is not None
    assert settlement.ending.attempts == 1
    assert settlement.ending.results == outcome.results
    assert settlement.ending.errors == outcome.errors


@pytest.mark.parametrize(
    ("asked", "waits_ms"),
    [(0, 0), (7, 7), (1.5, 2), (-5, 0), (10**30, MAX_DELAY_MS), (float("inf"), MAX_DELAY_MS)]
    + [(odd, 1_000) for odd in (None, "soon", float("nan"), [5], True)],
)
def test_a_wait_that_was_asked_for_is_bounded_and_what_is_no_number_is_left_to_the_policy(
    asked: Any, waits_ms: int
) -> None:
    settlement = end(Outcome(OutcomeKind.FAILED, None, "no", asked))

    assert settlement.run_at == NOW + waits_ms
    assert type(settlement.run_at) is int


def test_a_failure_with_attempts_left_waits_and_tries_again() -> None:
    settlement = end(failed("no"), attempts=1)

    assert settlement.state is JobState.DELAYED
    assert settlement.run_at == NOW + 2_000
    assert settlement.attempts == 2
    assert settlement.rank == rank_of(3, NOW + 2_000)


@pytest.mark.parametrize("outcome", [failed("no"), timed_out(5)])
def test_the_last_attempt_that_fails_ends_the_job(outcome: Outcome) -> None:
    assert end(outcome, attempts=2).state is JobState.FAILED


def test_an_interruption_counts_no_attempt_and_keeps_the_place() -> None:
    settlement = end(INTERRUPTED, attempts=1)

    assert settlement.state is JobState.QUEUED
    assert settlement.attempts == 1
    assert settlement.rank == claim().rank


def test_of_a_job_that_expires_an_interruption_keeps_that_it_had_begun() -> None:
    expiring = claim()
    expiring = structs.replace(expiring, spec=structs.replace(expiring.spec, expires_at=NOW + 1))

    begun = settle(expiring, INTERRUPTED, policy=THREE, started_at=NOW, now=NOW, chance=0.5)
    not_begun = settle(expiring, INTERRUPTED, policy=THREE, started_at=None, now=NOW, chance=0.5)
    again = settle(
        structs.replace(expiring, past=begun.past), INTERRUPTED, policy=THREE, started_at=NOW, now=NOW, chance=0.5
    )

    assert [(one.number, one.started_at, one.error) for one in begun.past] == [(1, NOW, "its node stopped")]
    assert again.past == begun.past
    assert not_begun.past == end(INTERRUPTED).past == ()
    assert (begun.attempts, begun.rank) == (0, expiring.rank)


def test_a_death_counts_as_death_and_not_as_attempt() -> None:
    settlement = settle_death(claim(attempts=1), on_node_death=OnNodeDeath.REQUEUE, now=NOW)

    assert settlement.state is JobState.QUEUED
    assert (settlement.attempts, settlement.deaths) == (1, 1)


def test_a_job_type_may_ask_to_fail_when_the_node_dies() -> None:
    lost = structs.replace(claim(), began_at=NOW - 5)

    settlement = settle_death(lost, on_node_death=OnNodeDeath.FAIL, now=NOW)

    assert settlement.state is JobState.FAILED
    assert settlement.ending is not None
    assert settlement.ending.started_at == NOW - 5
    assert isinstance(settlement.ending.errors, dict)
    assert settlement.ending.errors["type"] == "node_lost"


def test_a_job_that_was_there_at_two_deaths_is_suspect() -> None:
    assert [is_suspect(claim(deaths=deaths)) for deaths in range(SUSPECT_DEATHS + 2)] == [False, False, True, True]


def test_a_suspect_goes_back_when_its_node_dies_once_more() -> None:
    settlement = settle_death(claim(deaths=MOST_DEATHS - 2), on_node_death=OnNodeDeath.REQUEUE, now=NOW)

    assert (settlement.state, settlement.deaths) == (JobState.QUEUED, MOST_DEATHS - 1)


def test_a_suspect_that_only_failed_is_cleared() -> None:
    suspect = claim(deaths=SUSPECT_DEATHS)
    settlement = settle(suspect, failed("no"), policy=THREE, started_at=NOW, now=NOW, chance=0.5)

    assert (settlement.state, settlement.deaths) == (JobState.DELAYED, 0)


def test_an_interrupted_suspect_stays_one() -> None:
    suspect = claim(deaths=SUSPECT_DEATHS)
    settlement = settle(suspect, INTERRUPTED, policy=THREE, started_at=NOW, now=NOW, chance=0.5)

    assert (settlement.state, settlement.deaths) == (JobState.QUEUED, SUSPECT_DEATHS)


def test_a_job_that_outlived_its_nodes_again_and_again_is_not_run_any_more() -> None:
    settlement = settle_death(claim(deaths=MOST_DEATHS - 1), on_node_death=OnNodeDeath.REQUEUE, now=NOW)

    assert settlement.state is JobState.FAILED
    assert settlement.ending is not None
    assert isinstance(settlement.ending.errors, dict)
    assert settlement.ending.errors["type"] == "poison"


def job(state: JobState, token: str = "node/1") -> Job:
    return Job(spec=SPEC, state=state, token=token)


def test_an_ending_is_recognised_by_token_and_state() -> None:
    settlement = end(succeeded())

    assert was_carried_out(settlement, job(JobState.SUCCEEDED))
    assert not was_carried_out(settlement, job(JobState.QUEUED))
    assert not was_carried_out(settlement, job(JobState.SUCCEEDED, token="node/2"))
    assert not was_carried_out(settlement, None)


@pytest.mark.parametrize("state", sorted(JobState))
def test_a_return_is_recognised_while_the_job_waits_or_was_cancelled(state: JobState) -> None:
    settlement = end(INTERRUPTED)

    expected = state in {JobState.DELAYED, JobState.QUEUED, JobState.CANCELLED}
    assert was_carried_out(settlement, job(state)) is expected


@pytest.mark.parametrize("outcome", [succeeded(), failed("x"), refused("a", "b"), cancelled(), INTERRUPTED])
def test_a_settlement_has_an_ending_exactly_when_its_state_is_final(outcome: Outcome) -> None:
    settlement = end(outcome)

    assert (settlement.ending is not None) == (settlement.state in FINAL_STATES)
    assert (settlement.run_at is not None) == (settlement.state is JobState.DELAYED)


@pytest.mark.parametrize("deaths", range(12))
def test_a_tenth_death_is_the_last(deaths: int) -> None:
    settlement = settle_death(claim(attempts=2, deaths=deaths), on_node_death=OnNodeDeath.REQUEUE, now=NOW)

    assert (settlement.state is JobState.QUEUED) == (deaths < 9)
    assert (settlement.attempts, settlement.deaths) == (2, deaths + 1)


@pytest.mark.parametrize(("deaths", "expected"), [(0, False), (1, False), (2, True), (3, True)])
def test_two_deaths_make_a_suspect(deaths: int, expected: bool) -> None:
    assert is_suspect(claim(deaths=deaths)) is expected


def test_an_ending_tells_everything_about_the_last_attempt() -> None:
    settlement = settle(
        claim(attempts=2, deaths=1), failed("no"), policy=THREE, started_at=NOW - 10, now=NOW, chance=0.5
    )

    assert settlement.ending == Ending(
        state=JobState.FAILED,
        ended_at=NOW,
        token="node/1",
        attempts=3,
        deaths=1,
        started_at=NOW - 10,
        results=None,
        errors=failed("no").errors,
    )
    assert (settlement.attempts, settlement.deaths) == (3, 1)


def test_a_job_that_returns_and_was_to_be_cancelled_keeps_what_it_used_up() -> None:
    settlement = end(failed("no"), attempts=1)

    assert [(one.number, one.error) for one in settlement.past] == [(2, "no")]
    assert cancelled_ending(settlement, NOW + 5) == Ending(
        state=JobState.CANCELLED,
        ended_at=NOW + 5,
        token="node/1",
        attempts=2,
        deaths=0,
        errors=cancelled().errors,
        past=settlement.past,
    )


def test_a_job_that_was_cancelled_before_it_ran_used_up_nothing() -> None:
    assert cancelled_before_run(NOW) == Ending(state=JobState.CANCELLED, ended_at=NOW, errors=cancelled().errors)


def test_the_end_of_a_job_is_an_event_that_only_its_repetition_equals() -> None:
    ending = end(succeeded()).ending
    assert ending is not None

    event = end_event("job", ending, "report")

    assert (event.id, event.type, event.resource, event.outcome) == ("job/node/1", "JOB", "report", "succeeded")
    assert (event.time, event.received_at, event.has_own_id) == (NOW * 1_000, NOW, True)
    assert end_event("job", structs.replace(ending, token="node/2"), "report").id == "job/node/2"


def test_ends_of_a_job_that_never_ran_are_told_apart_by_their_time() -> None:
    ids = {end_event("job", cancelled_before_run(now), "report").id for now in (NOW, NOW, NOW + 1)}

    assert len(ids) == 2


# What was before

EARLIER = PastAttempt(number=1, ended_at=NOW - 100, error="no", started_at=NOW - 200, node="other")
AT_A_DEATH = PastAttempt(number=1, ended_at=NOW - 100, error="its node died", node="other")


def test_a_death_before_a_job_began_is_noted_and_counts_as_nothing() -> None:
    ahead = structs.replace(claim(attempts=1, deaths=SUSPECT_DEATHS), is_begun=False, past=(EARLIER,))

    settlement = settle_death(ahead, on_node_death=OnNodeDeath.FAIL, now=NOW)

    assert (settlement.state, settlement.attempts, settlement.deaths) == (JobState.QUEUED, 1, SUSPECT_DEATHS)
    assert settlement.past[:-1] == (EARLIER,)
    assert was_at_a_death(settlement.past)


def test_a_job_was_at_a_death_if_that_is_the_last_that_is_known_of_it() -> None:
    assert was_at_a_death((EARLIER, AT_A_DEATH))
    assert not was_at_a_death((AT_A_DEATH, EARLIER))
    assert not was_at_a_death(())


@pytest.mark.parametrize("on_node_death", list(OnNodeDeath))
def test_an_ending_keeps_the_attempts_before_the_last_one(on_node_death: OnNodeDeath) -> None:
    last = structs.replace(claim(attempts=2, deaths=MOST_DEATHS - 1), past=(EARLIER,))

    ended = settle(last, failed("no"), policy=THREE, started_at=NOW, now=NOW, chance=0.5).ending
    lost = settle_death(last, on_node_death=on_node_death, now=NOW).ending

    assert ended is not None
    assert lost is not None
    assert ended.past == lost.past == (EARLIER,)
    assert (lost.token, lost.attempts, lost.deaths, lost.ended_at) == ("node/1", 2, MOST_DEATHS, NOW)


def test_what_went_wrong_is_told_of_a_failure_and_of_nothing_else() -> None:
    before = structs.replace(claim(), past=(EARLIER,))

    def told(outcome: Outcome, policy: RetryPolicy) -> str | None:
        return settle(before, outcome, policy=policy, started_at=NOW, now=NOW, chance=0.5).failure

    once = RetryPolicy(attempts=1)
    assert told(failed("it broke"), THREE) == told(failed("it broke"), once) == "it broke"
    assert told(Outcome(OutcomeKind.FAILED), THREE) == told(Outcome(OutcomeKind.FAILED), once) == FAILED_SILENTLY
    assert [told(outcome, once) for outcome in (succeeded(), cancelled(), INTERRUPTED)] == [None, None, None]


def test_a_run_is_told_of_what_returns_and_of_what_ended_but_only_if_it_began() -> None:
    outcomes = (failed("no"), INTERRUPTED, succeeded())
    begun = [settle(claim(), one, policy=THREE, started_at=NOW - 5, now=NOW, chance=0.5).ran for one in outcomes]
    not_begun = [settle(claim(), one, policy=THREE, started_at=None, now=NOW, chance=0.5).ran for one in outcomes]

    assert begun == [(NOW - 5, NOW)] * 3
    assert not_begun == [None] * 3


@pytest.mark.parametrize(
    ("known", "expires"),
    [
        ({}, NOW + 5),
        ({"attempts": 1}, None),
        ({"deaths": 1}, None),
        ({"past": (EARLIER,)}, None),
    ],
)
def test_a_job_that_has_begun_once_expires_no_more(known: dict[str, Any], expires: int | None) -> None:
    spec = structs.replace(SPEC, expires_at=NOW + 5)
    waiting = structs.replace(job(JobState.QUEUED), spec=spec, **known)

    assert expiry_of(spec, waiting) == expires
    assert [has_expired(waiting, now) for now in (NOW + 4, NOW + 5)] == [False, expires is not None]


def test_what_runs_is_given_back_as_if_it_had_not_begun() -> None:
    running = structs.replace(
        job(JobState.RUNNING), attempts=2, deaths=1, started_at=NOW - 5, available_at=NOW - 10, past=(EARLIER,)
    )

    waiting = given_back(running, NOW)
    cancelled_meanwhile = given_back(structs.replace(running, cancel_requested=True), NOW)

    assert waiting == Job(
        spec=SPEC, state=JobState.QUEUED, attempts=1, deaths=1, available_at=NOW - 10, past=(EARLIER,)
    )
    assert cancelled_meanwhile == structs.replace(
        waiting, state=JobState.CANCELLED, ended_at=NOW, errors=cancelled().errors
    )


@pytest.mark.parametrize("state", [JobState.DELAYED, JobState.QUEUED, JobState.FAILED])
def test_what_does_not_run_is_not_given_back(state: JobState) -> None:
    waiting = structs.replace(job(state), attempts=2, cancel_requested=True)

    assert given_back(waiting, NOW) == waiting


def test_an_ending_is_read_from_a_job_as_it_was_written() -> None:
    last = structs.replace(claim(attempts=1, deaths=1), past=(EARLIER,))
    ending = settle(last, cancelled({"x": 1}), policy=THREE, started_at=NOW - 5, now=NOW, chance=0.5).ending
    assert ending is not None

    ended = Job(spec=SPEC, **structs.asdict(ending))

    assert ending_of(ended) == ending
    assert ending_of(job(JobState.RUNNING)) is None
