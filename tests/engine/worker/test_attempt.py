"""A claimed job in a worker's hands: it is stopped once, for the first reason."""

import asyncio

import pytest

from rota.engine.executors.executor import Run
from rota.engine.worker.attempt import Attempt, Stop
from rota.model.job import Claim
from rota.model.job_type import JobType
from tests.contract.building import new_queue, spec


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
