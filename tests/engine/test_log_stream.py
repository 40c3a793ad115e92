"""Log lines on their way to the store: live, in order, bounded."""

import asyncio

import pytest

from rota.clock import ManualClock
from rota.engine.log_stream import MAX_PENDING_CHARS, MAX_PENDING_LINES, MOST_PER_BATCH, LogStream
from rota.model.job import Claim, JobState
from rota.store import Store
from rota.store.store import LogBatch
from tests.contract.building import NOW, new_queue, spec
from tests.engine.jobs import new_stage
from tests.engine.working import Shop, until, working


def some_claim() -> Claim:
    return Claim(spec(new_queue()), "node/1", rank=0, attempts=0, deaths=0)


def stream() -> LogStream:
    return LogStream(ManualClock(NOW))


def messages(batches: list[LogBatch]) -> list[str]:
    return [entry.message for batch in batches for entry in batch.entries]


def test_lines_are_taken_once_in_order_and_with_the_claims_token() -> None:
    lines, claim = stream(), some_claim()
    lines.add(claim, "one", "info")
    lines.add(claim, "two", "error")

    (batch,) = lines.take()

    assert (batch.job_id, batch.queue, batch.token) == (claim.spec.id, claim.spec.queue, "node/1")
    assert [(entry.message, entry.level, entry.time) for entry in batch.entries] == [
        ("one", "info", NOW),
        ("two", "error", NOW),
    ]
    assert not lines.has_lines()
    assert lines.take() == []


def test_many_lines_are_cut_into_batches() -> None:
    lines, claim = stream(), some_claim()
    for number in range(MOST_PER_BATCH + 1):
        lines.add(claim, str(number), "info")

    batches = lines.take()

    assert [len(batch.entries) for batch in batches] == [MOST_PER_BATCH, 1]
    assert messages(batches) == [str(number) for number in range(MOST_PER_BATCH + 1)]


def test_lines_that_were_put_back_come_before_later_ones() -> None:
    lines, claim = stream(), some_claim()
    for number in range(MOST_PER_BATCH + 1):
        lines.add(claim, str(number), "info")
    batches = lines.take()
    lines.add(claim, "later", "info")

    lines.put_back(batches, {claim.spec.id: claim})

    assert messages(lines.take()) == [*(str(number) for number in range(MOST_PER_BATCH + 1)), "later"]


def test_lines_of_a_job_that_is_no_longer_held_are_not_put_back() -> None:
    lines, claim = stream(), some_claim()
    lines.add(claim, "one", "info")

    lines.put_back(lines.take(), {})

    assert not lines.has_lines()


def test_more_lines_than_may_wait_are_dropped_and_the_log_says_how_many() -> None:
    lines, first, late = stream(), some_claim(), some_claim()
    for _ in range(MAX_PENDING_LINES + 5):
        lines.add(first, "x", "info")
    lines.add(late, "a job whose only line found no room", "info")

    batches = lines.take()

    assert messages(batches).count("x") == MAX_PENDING_LINES
    assert [(batch.job_id, batch.entries[-1].message) for batch in batches[-2:]] == [
        (first.spec.id, "[5 lines dropped: the store was too slow]"),
        (late.spec.id, "[1 lines dropped: the store was too slow]"),
    ]


def test_long_lines_take_the_room_of_many() -> None:
    lines, claim = stream(), some_claim()
    length = 16_000

    for _ in range(MAX_PENDING_CHARS // length + 10):
        lines.add(claim, "x" * length, "info")

    taken = messages(lines.take())
    assert sum(map(len, taken)) <= MAX_PENDING_CHARS + 100
    assert taken[-1] == "[10 lines dropped: the store was too slow]"


def test_lines_that_find_no_room_when_they_are_put_back_are_counted() -> None:
    lines, claim = stream(), some_claim()
    lines.add(claim, "early", "info")
    early = lines.take()
    for _ in range(MAX_PENDING_LINES):
        lines.add(claim, "x", "info")

    lines.put_back(early, {claim.spec.id: claim})

    assert messages(lines.take())[-1] == "[1 lines dropped: the store was too slow]"


@pytest.mark.stores("sqlite-file", "redis")
def test_lines_are_in_the_store_in_order_while_the_job_still_runs(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        shop = Shop(store)
        shop.python("speak_and_wait")
        async with working(store):
            job_id = shop.enqueue("speak_and_wait", {"lines": 50})

            await until(lambda: len(shop.messages(job_id)) == 50, "the lines")

            assert shop.job(job_id).state is JobState.RUNNING
            assert shop.messages(job_id) == [f"line {number}" for number in range(50)]
            stage.gate.set()
            await shop.ended(job_id)

    asyncio.run(scene())


@pytest.mark.stores("sqlite-file", "redis")
def test_all_lines_are_in_the_store_when_the_job_has_ended(store: Store) -> None:
    async def scene() -> None:
        new_stage()
        shop = Shop(store)
        shop.python("count_aloud")
        async with working(store):
            jobs = [shop.enqueue("count_aloud", {"lines": 700}) for _ in range(10)]
            for job_id in jobs:
                await shop.ended(job_id)
                assert shop.messages(job_id) == [f"line {number}" for number in range(700)]

    asyncio.run(scene())


@pytest.mark.stores("sqlite-file", "redis")
def test_output_and_errors_of_a_command_are_lines_of_different_levels(store: Store) -> None:
    async def scene() -> None:
        shop = Shop(store)
        shop.bash("echo out; echo err >&2")
        async with working(store):
            job_id = shop.enqueue("command")
            await shop.ended(job_id)

            entries = store.read_logs(job_id).entries
            assert sorted((entry.message, entry.level) for entry in entries) == [("err", "error"), ("out", "info")]

    asyncio.run(scene())
