"""Jobs that are handed in together share one round trip, and each is still accepted or refused for itself."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rota.clock import ManualClock
from rota.engine.engine import Engine
from rota.engine.jobs.enqueue_batcher import MOST_PER_BATCH, EnqueueBatcher
from rota.engine.jobs.intake import JobRequest
from rota.errors import InvalidInput, NotFound, StoreError, StoreUnavailable
from rota.model.job import JobSpec
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store.contract.jobs import Admission
from rota.store.sqlite.database.database import Database
from rota.store.sqlite.store import SqliteStore

WISH = JobRequest(job_type="report")


class CountingStore(SqliteStore):
    """The real store; it notes the size of each batch, waits at a gate, and can be unplugged."""

    def __init__(self, path: Path) -> None:
        super().__init__(Database(str(path)).open())
        self.batches: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.is_unplugged = False

    def enqueue_jobs(self, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        self.batches.append(len(specs))
        assert self.gate.wait(300)
        if self.is_unplugged:
            raise StoreUnavailable("unplugged")
        return super().enqueue_jobs(specs, now=now)


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[CountingStore]:
    store = CountingStore(tmp_path / "rota.db")
    store.put_node_types([NodeType(uuid="0190b0c0-0000-7000-8000-000000000002", name="default")])
    store.put_job_types([JobType(uuid="0190b0c0-0000-7000-8000-000000000001", name="report", executor="log")])
    yield store
    store.close()


@pytest.fixture
def batcher(counting: CountingStore) -> Iterator[EnqueueBatcher]:
    clock = ManualClock()
    made = EnqueueBatcher(counting, Engine(counting, clock).intake, clock)
    yield made
    made.close()


def test_a_single_job_waits_for_nobody(batcher: EnqueueBatcher, counting: CountingStore) -> None:
    (admission,) = asyncio.run(batcher.enqueue([WISH], by=None))

    assert admission.is_new
    assert counting.find_jobs([admission.job_id])[0] is not None


def test_requests_of_one_moment_share_a_round_trip(batcher: EnqueueBatcher, counting: CountingStore) -> None:
    async def together() -> list[list[Admission]]:
        await batcher.enqueue([WISH], by=None)  # from now on the job type is known
        return await asyncio.gather(*[batcher.enqueue([WISH] * n, by=None) for n in (1, 2, 3)])

    answers = asyncio.run(together())

    assert [len(one) for one in answers] == [1, 2, 3]
    assert counting.batches == [1, 6]
    ids = [admission.job_id for one in answers for admission in one]
    assert len(set(ids)) == 6
    assert all(counting.find_jobs(ids))


def test_who_comes_while_a_batch_is_under_way_goes_with_the_next(
    batcher: EnqueueBatcher, counting: CountingStore
) -> None:
    async def live() -> None:
        await batcher.enqueue([WISH], by=None)
        counting.gate.clear()
        first = asyncio.create_task(batcher.enqueue([WISH], by=None))
        while len(counting.batches) < 2:  # noqa: ASYNC110, the store cannot set an event of this loop
            await asyncio.sleep(0)
        others = [asyncio.create_task(batcher.enqueue([WISH], by=None)) for _ in range(5)]
        await asyncio.sleep(0)
        counting.gate.set()
        await asyncio.gather(first, *others)

    asyncio.run(live())

    assert counting.batches == [1, 1, 5]


def test_a_batch_stays_within_bounds(batcher: EnqueueBatcher, counting: CountingStore) -> None:
    async def live() -> None:
        await batcher.enqueue([WISH], by=None)
        await asyncio.gather(*[batcher.enqueue([WISH] * 600, by=None) for _ in range(3)])

    asyncio.run(live())

    assert counting.batches == [1, 600, 600, 600]
    assert max(counting.batches) <= MOST_PER_BATCH


def test_a_bad_request_is_refused_alone(batcher: EnqueueBatcher) -> None:
    async def live() -> list[list[Admission] | BaseException]:
        wishes = [WISH, JobRequest(job_type="report", priority=10**9), JobRequest(job_type="nothing"), WISH]
        return await asyncio.gather(*[batcher.enqueue([one], by=None) for one in wishes], return_exceptions=True)

    first, priority, unknown, last = asyncio.run(live())

    assert isinstance(first, list)
    assert isinstance(last, list)
    assert isinstance(priority, InvalidInput)
    assert isinstance(unknown, NotFound)


def test_when_the_store_is_away_everybody_hears_of_it_and_may_try_again(
    batcher: EnqueueBatcher, counting: CountingStore
) -> None:
    async def live() -> list[list[Admission] | BaseException]:
        await batcher.enqueue([WISH], by=None)
        counting.is_unplugged = True
        refused = await asyncio.gather(*[batcher.enqueue([WISH], by=None) for _ in range(3)], return_exceptions=True)
        counting.is_unplugged = False
        assert (await batcher.enqueue([WISH], by=None))[0].is_new
        return refused

    assert all(isinstance(one, StoreError) for one in asyncio.run(live()))


def test_a_caller_who_gave_up_disturbs_nobody(batcher: EnqueueBatcher, counting: CountingStore) -> None:
    async def live() -> list[Admission]:
        await batcher.enqueue([WISH], by=None)
        counting.gate.clear()
        gone, stays = (asyncio.create_task(batcher.enqueue([WISH], by=None)) for _ in range(2))
        await asyncio.sleep(0)
        gone.cancel()
        counting.gate.set()
        return await stays

    assert asyncio.run(live())[0].is_new
