"""A worker that hears late, from its listener, what its heart told it already."""

import asyncio

import pytest

from rota.engine.worker.times import WorkerTimes
from rota.model.job import JobState, node_of_token
from rota.store import Store
from tests.engine.job_functions import new_stage
from tests.engine.worker.waking import WatchedStore
from tests.engine.working import until, working
from tests.installation import Installation

pytestmark = pytest.mark.stores("sqlite-file", "redis")

OFTEN = WorkerTimes(idle_check_s=0.05)
"""Of a node that looks for jobs by itself, since nobody wakes it."""


def test_a_job_that_was_cancelled_and_is_tried_again_is_not_cancelled_by_what_is_heard_late(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage, watched = new_stage(), WatchedStore(store)
        installation.define_python("pass_gate")
        job_id = installation.enqueue("pass_gate")
        watched.hold_back()
        async with working(watched.store, threads=1, dead_after_ms=1_000, worker_times=OFTEN) as node:
            await until(lambda: stage.inside == 1, "the first attempt")
            installation.cancel(job_id)
            (first,) = await installation.ended(job_id)  # the heart heard of it
            store.retry_jobs([job_id], now=installation.clock.now())
            await until(lambda: stage.inside == 1, "the second attempt")
            second = await installation.running(job_id)

            watched.go_on()
            # A second wait ends after what the first one brought was told.
            await until(lambda: watched.waits >= 2, "the late news")
            await asyncio.sleep(0)
            stage.gate.set()
            (ended,) = await installation.ended(job_id)

            assert first.state is JobState.CANCELLED
            assert node_of_token(second.token) == node.uuid
            assert ended.state is JobState.SUCCEEDED

    asyncio.run(scene())
