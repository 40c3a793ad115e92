"""A claimed job in a worker's hands: it is stopped once, for the first reason."""

import asyncio
from collections.abc import Coroutine

import pytest

from rota.engine.executors.executor import Run
from rota.engine.worker.attempt import Attempt, Stop
from rota.engine.worker.single_step import SingleStep
from rota.model.job import Claim, JobState
from rota.model.job_type import JobType
from rota.store import Store
from tests.contract.building import find, new_queue, spec
from tests.engine.job_functions import new_stage
from tests.engine.working import until
from tests.installation import Installation


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


def attempt() -> Attempt:
    return Attempt(Claim(spec(new_queue()), "node/1", 0, 0, 0), claimed_at=0.0)


@pytest.mark.parametrize("second", Stop)
@pytest.mark.parametrize("first", Stop)
def test_a_second_reason_to_stop_changes_nothing(first: Stop, second: Stop) -> None:
    async def scene() -> None:
        stopped = attempt()
        stopped.task = asyncio.create_task(wait_for_ever())

        stopped.stop(first)
        stopped.stop(second)

        assert stopped.reason is first
        assert stopped.task is not None
        assert stopped.task.cancelling() == 1
        with pytest.raises(asyncio.CancelledError):
            await stopped.task

    asyncio.run(scene())


def test_one_that_has_not_begun_remembers_that_it_must_not() -> None:
    waiting = attempt()

    waiting.stop(Stop.CANCELLED)

    assert waiting.reason is Stop.CANCELLED


def test_a_grace_only_becomes_shorter() -> None:
    running = attempt()
    running.shorten_grace(1.0)
    job_type = JobType(uuid="t", name="t", executor="log")
    running.run = Run(running.claim.spec, job_type, 1, lambda message, level: None)
    before = running.run.stop_grace_s

    running.shorten_grace(before + 1.0)
    assert running.run.stop_grace_s == before

    running.shorten_grace(before - 1.0)
    assert running.run.stop_grace_s == before - 1.0


def begin_step(store: Store) -> tuple[asyncio.AbstractEventLoop, Coroutine[None, None, object], str]:
    """A loop that has stood still since the job began that one step runs, the step, and the job."""
    installation = Installation(store)
    installation.define_python("pass_gate")
    job_id = installation.enqueue("pass_gate")
    loop, stage = asyncio.new_event_loop(), new_stage()
    step = SingleStep(installation.engine, installation.clock)
    running = step.run_one(installation.queue)
    loop.create_task(running, name="step")
    loop.run_until_complete(until(lambda: stage.inside == 1, "the job to begin"))
    return loop, running, job_id


@pytest.mark.stores("sqlite-memory")
def test_a_caller_who_is_cancelled_is_told_and_the_job_has_not_ended(store: Store) -> None:
    loop, _, job_id = begin_step(store)
    (caller,) = asyncio.all_tasks(loop)

    caller.cancel()

    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(caller)
    loop.close()
    assert find(store, job_id).state is JobState.RUNNING


@pytest.mark.stores("sqlite-memory")
def test_a_job_whose_coroutine_is_thrown_away_with_its_loop_has_not_ended(store: Store) -> None:
    loop, running, job_id = begin_step(store)

    running.close()

    assert find(store, job_id).state is JobState.RUNNING
    for task in asyncio.all_tasks(loop):
        task.cancel()
        with pytest.raises((RuntimeError, asyncio.CancelledError)):  # there is nothing left to go on with
            loop.run_until_complete(task)
    loop.close()
