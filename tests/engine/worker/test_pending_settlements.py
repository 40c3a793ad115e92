"""A settlement that no store can carry is told as what it is, and the others beside it are told."""

import asyncio

import pytest

from rota.clock import ManualClock
from rota.engine.worker.logs.log_stream import LogStream
from rota.engine.worker.pending_settlements import PendingSettlements, tellable
from rota.model.job import Claim, JobSpec, JobState
from rota.model.runs.outcome import Outcome, OutcomeKind, failed, succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import Settlement, settle
from rota.store import Store
from rota.store.records.codec import encode
from rota.testing import Faults
from tests.engine.job_functions import new_stage
from tests.engine.working import working
from tests.installation import Installation

AGAIN = RetryPolicy(attempts=2)


def settled(outcome: Outcome, policy: RetryPolicy = RetryPolicy()) -> Settlement:  # noqa: B008 - it is frozen
    spec = JobSpec(id="j", job_type="t", queue="q", enqueued_at=0)
    claim = Claim(spec, token="n/1", rank=7, attempts=0, deaths=0)
    return settle(claim, outcome, policy=policy, started_at=5, now=9, chance=0.0)


@pytest.mark.parametrize("outcome", [succeeded({"b": object()}), Outcome(OutcomeKind.CANCELLED, None, "\ud800")])
def test_an_end_that_cannot_be_encoded_is_one_that_says_so(outcome: Outcome) -> None:
    told = tellable(settled(outcome), 20)

    assert told.state is JobState.FAILED
    assert told.claim.token == "n/1"
    assert told.ending is not None
    assert (told.ending.started_at, told.ending.ended_at) == (5, 20)
    assert "could not be settled" in str(told.ending.errors)
    encode(told.ending)


def test_an_attempt_of_a_job_that_returns_is_looked_at_as_well() -> None:
    told = tellable(settled(failed({"message": "\ud800"}), AGAIN), 20)

    encode(told.ending)
    encode(told.past)


@pytest.mark.parametrize("one", [settled(succeeded({"a": 1})), settled(failed({"message": "no"}), AGAIN)])
def test_what_can_be_told_stays_as_it_is(one: Settlement) -> None:
    assert tellable(one, 20) is one


def test_ends_that_could_not_be_told_go_before_those_that_came_meanwhile() -> None:
    pending = PendingSettlements(LogStream(ManualClock()))
    first, second, third = (settled(succeeded({"number": number})) for number in range(3))
    pending.add(first)
    pending.add(second)
    told, batches = pending.take(at_once=False)
    pending.add(third)

    pending.put_back(told, batches)

    assert (len(pending), pending.can_be_told) == (3, True)
    assert pending.take(at_once=False) == ([first, second, third], [])


@pytest.mark.stores("sqlite-memory", "redis")
def test_a_fault_in_telling_ends_costs_none_of_them(store: Store) -> None:
    def be_at_fault() -> None:
        raise TypeError("out of order")

    async def scene() -> None:
        new_stage()
        installation, faults = Installation(store), Faults(store)
        installation.define_python("nothing")
        faults.before("finish_and_claim_jobs", *[be_at_fault] * 5)
        async with working(faults.store, threads=2):
            jobs = await installation.ended(*[installation.enqueue("nothing") for _ in range(3)])

        assert [(job.state, job.attempts) for job in jobs] == [(JobState.SUCCEEDED, 1)] * 3

    asyncio.run(scene())
