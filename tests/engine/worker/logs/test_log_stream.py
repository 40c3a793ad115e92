"""Log lines on their way to the store: live, in order, bounded."""

import asyncio

import pytest
from msgspec import structs

from rota.clock import ManualClock
from rota.engine.worker.logs.log_stream import (
    CROWDED_CHARS,
    CROWDED_IN_ALL,
    CROWDED_LINES,
    MAX_PENDING_CHARS,
    MAX_PENDING_LINES,
    PATIENCE_S,
    SHARE_CHARS,
    SHARE_LINES,
    LogStream,
)
from rota.model.job import Claim, JobState
from rota.store import Store
from rota.store.contract.logs import LogBatch
from tests.contract.building import NOW, new_queue, spec
from tests.engine.job_functions import new_stage
from tests.engine.working import until, working
from tests.installation import Installation


def some_claim() -> Claim:
    return Claim(spec(new_queue()), "node/1", rank=0, attempts=0, deaths=0)


def stream() -> LogStream:
    return LogStream(ManualClock(NOW))


def messages(batches: list[LogBatch]) -> list[str]:
    return [entry.message for batch in batches for entry in batch.entries]


def take_all(lines: LogStream) -> list[LogBatch]:
    """Share after share, all of them written."""
    taken: list[LogBatch] = []
    while batches := lines.take():
        lines.written(batches)
        taken += batches
    return taken


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
    assert lines.take() == []
    assert lines.has_lines(), "until they are written"
    lines.written([batch])
    assert not lines.has_lines()


def test_each_line_has_an_instant_of_its_own_in_the_order_of_the_lines() -> None:
    clock, claim = ManualClock(NOW), some_claim()
    lines = LogStream(clock)
    lines.add_lines(claim, ["same"] * 1_500, "info")
    lines.add(claim, "same", "error")
    clock.advance(1)
    lines.add(claim, "still behind", "info")
    clock.advance(1_000)
    lines.add(claim, "later", "info")

    entries = [entry for batch in take_all(lines) for entry in batch.entries]

    instants = [entry.time * 1000 + entry.micros for entry in entries]
    assert instants[:1502] == list(range(NOW * 1000, NOW * 1000 + 1502))
    assert instants[1502:] == [(NOW + 1_001) * 1000]
    assert all(0 <= entry.micros < 1000 for entry in entries)


def test_lines_follow_a_clock_that_was_set_back() -> None:
    clock, claim = ManualClock(NOW), some_claim()
    lines = LogStream(clock)
    lines.add(claim, "before", "info")
    clock.set(NOW - 5_000)

    lines.add(claim, "after", "info")

    (batch,) = lines.take()
    assert [entry.time for entry in batch.entries] == [NOW, NOW - 5_000]


def test_many_lines_of_which_some_find_no_room_lose_only_these() -> None:
    lines, claim = stream(), some_claim()
    lines.add_lines(claim, ["x"] * (MAX_PENDING_LINES - 1), "info")

    lines.add_lines(claim, ["last", "too much", "too much"], "info")

    taken = messages(take_all(lines))
    assert taken[-2:] == ["last", "[2 lines dropped: the store was too slow]"]
    assert len(taken) == MAX_PENDING_LINES + 1


def test_with_much_waiting_of_all_jobs_together_each_is_asked_to_wait() -> None:
    lines, claims = stream(), [some_claim() for _ in range(5)]
    for claim in claims[:4]:
        lines.add_lines(claim, ["x"] * (CROWDED_IN_ALL // 4 - 1), "info")
    assert not lines.is_crowded(claims[0])

    lines.add_lines(claims[4], ["x"] * 4, "info")

    assert all(map(lines.is_crowded, claims))


def test_many_lines_are_taken_in_small_shares() -> None:
    lines, claim = stream(), some_claim()
    count = SHARE_LINES * 3 + 1
    for number in range(count):
        lines.add(claim, str(number), "info")

    batches = take_all(lines)

    assert [len(batch.entries) for batch in batches] == [SHARE_LINES] * 3 + [1]
    assert messages(batches) == [str(number) for number in range(count)]


def test_a_share_of_long_lines_has_few_of_them() -> None:
    lines, claim = stream(), some_claim()
    for _ in range(80):
        lines.add(claim, "x" * 16_000, "info")

    shares = take_all(lines)

    assert len(shares) > 3
    assert max(sum(len(entry.message) for entry in share.entries) for share in shares) < SHARE_CHARS + 16_000


def test_a_flood_leaves_its_neighbours_their_part_of_every_share() -> None:
    lines, flood = stream(), some_claim()
    neighbours = [some_claim() for _ in range(4)]
    for number in range(CROWDED_LINES):
        lines.add(flood, str(number), "info")
    for claim in neighbours:
        lines.add(claim, "hello", "info")

    share = lines.take()

    assert {batch.job_id for batch in share} == {claim.spec.id for claim in [flood, *neighbours]}
    assert sum(len(batch.entries) for batch in share) <= SHARE_LINES


def test_more_jobs_than_a_share_has_lines_take_turns() -> None:
    lines, claims = stream(), [some_claim() for _ in range(SHARE_LINES + 50)]
    for claim in claims:
        for number in range(2):
            lines.add(claim, str(number), "info")

    first = lines.take()
    lines.written(first)
    second = lines.take()

    assert len(first) == SHARE_LINES
    assert {batch.job_id for batch in second} >= {claim.spec.id for claim in claims[SHARE_LINES:]}


def test_lines_behind_those_that_are_being_written_wait() -> None:
    lines, claim = stream(), some_claim()
    lines.add(claim, "one", "info")
    batches = lines.take()
    lines.add(claim, "two", "info")

    assert lines.take() == []
    lines.written(batches)
    assert messages(lines.take()) == ["two"]


def test_lines_that_were_put_back_come_before_later_ones() -> None:
    lines, claim = stream(), some_claim()
    for number in range(3):
        lines.add(claim, str(number), "info")
    batches = lines.take()
    lines.add(claim, "later", "info")

    lines.put_back(batches)

    assert messages(take_all(lines)) == ["0", "1", "2", "later"]


def test_two_attempts_at_one_job_are_kept_apart() -> None:
    lines, first = stream(), some_claim()
    second = structs.replace(first, token="node/2")
    lines.add(first, "old", "info")
    lines.add(second, "new", "info")

    assert {(batch.token, batch.entries[0].message) for batch in lines.take()} == {("node/1", "old"), ("node/2", "new")}


def test_the_last_lines_of_a_job_go_with_its_end() -> None:
    lines, ended, running = stream(), some_claim(), some_claim()
    lines.add(ended, "last", "info")
    lines.add(running, "not yet", "info")

    batches, late = lines.last_lines([ended, some_claim()])

    assert messages(batches) == ["last"]
    assert late == set()


def test_the_end_of_a_job_with_more_lines_than_a_share_waits_for_them() -> None:
    lines, flood, quiet = stream(), some_claim(), some_claim()
    for number in range(SHARE_LINES + 1):
        lines.add(flood, str(number), "info")
    lines.add(quiet, "last", "info")

    batches, late = lines.last_lines([flood, quiet])

    assert messages(batches) == ["last"]
    assert late == {flood.spec.id}
    lines.written(batches)
    lines.written(lines.take())
    batches, late = lines.last_lines([flood])
    assert messages(batches) == [str(SHARE_LINES)]
    assert late == set()


def test_the_end_of_a_job_whose_lines_are_being_written_waits_for_them() -> None:
    lines, claim = stream(), some_claim()
    lines.add(claim, "one", "info")
    batches = lines.take()

    assert lines.last_lines([claim], at_once=True) == ([], {claim.spec.id})
    lines.written(batches)
    assert lines.last_lines([claim]) == ([], set())


def test_at_once_all_lines_go_with_the_end() -> None:
    lines, flood = stream(), some_claim()
    for number in range(SHARE_LINES * 2):
        lines.add(flood, str(number), "info")

    batches, late = lines.last_lines([flood], at_once=True)

    assert len(messages(batches)) == SHARE_LINES * 2
    assert late == set()


def test_a_job_that_writes_a_lot_is_asked_to_wait_and_its_neighbours_are_not() -> None:
    lines, flood, neighbour = stream(), some_claim(), some_claim()
    lines.add(neighbour, "hello", "info")
    for _ in range(CROWDED_LINES):
        lines.add(flood, "x", "info")

    assert lines.is_crowded(flood)
    assert not lines.is_crowded(neighbour)
    take_all(lines)
    assert not lines.is_crowded(flood)


def test_nobody_is_asked_to_wait_for_a_store_that_is_away() -> None:
    clock, flood = ManualClock(NOW), some_claim()
    lines = LogStream(clock)
    for _ in range(CROWDED_LINES + SHARE_LINES):
        lines.add(flood, "x", "info")
    share = lines.take()
    assert lines.is_crowded(flood)

    lines.put_back(share)
    clock.advance(int(PATIENCE_S * 1000) + 1)

    assert not lines.is_crowded(flood)
    lines.written(lines.take())
    assert lines.is_crowded(flood)


def test_more_lines_than_may_wait_are_dropped_and_the_log_says_how_many_and_where() -> None:
    lines, first, late = stream(), some_claim(), some_claim()
    for _ in range(MAX_PENDING_LINES + 5):
        lines.add(first, "x", "info")
    lines.add(late, "a job whose only line found no room", "info")
    taken = lines.take()
    lines.written(taken)
    lines.add(first, "room again", "info")

    taken += take_all(lines)

    of_first = [entry.message for batch in taken if batch.job_id == first.spec.id for entry in batch.entries]
    assert of_first[-3:] == ["x", "[5 lines dropped: the store was too slow]", "room again"]
    of_late = [entry.message for batch in taken if batch.job_id == late.spec.id for entry in batch.entries]
    assert of_late == ["[1 lines dropped: the store was too slow]"]


def test_long_lines_take_the_room_of_many() -> None:
    lines, claim = stream(), some_claim()
    length = 16_000

    for _ in range(MAX_PENDING_CHARS // length + 10):
        lines.add(claim, "x" * length, "info")

    taken = messages(take_all(lines))
    assert sum(map(len, taken)) <= MAX_PENDING_CHARS + 100
    assert taken[-1] == "[10 lines dropped: the store was too slow]"


def test_the_bounds_of_what_waits_are_these() -> None:
    assert (MAX_PENDING_LINES, MAX_PENDING_CHARS) == (40_000, 8 * 1024 * 1024)
    assert (CROWDED_LINES, CROWDED_CHARS) == (4_000, 512 * 1024)
    assert (SHARE_LINES, SHARE_CHARS, PATIENCE_S) == (2_000, 256 * 1024, 1.0)


def waiting_lines(lines: LogStream) -> int:
    """How many lines come out, marks of dropped ones apart."""
    return sum("dropped" not in message for message in messages(take_all(lines)))


def test_exactly_so_many_lines_may_wait_also_when_some_were_put_back() -> None:
    lines, claim = stream(), some_claim()
    for _ in range(40_000):
        lines.add(claim, "", "info")
    for _ in range(3):
        lines.put_back(lines.take())

    lines.add(claim, "one too many", "info")

    assert waiting_lines(lines) == 40_000


def test_what_is_being_written_gives_its_room_to_others() -> None:
    lines, claim = stream(), some_claim()
    for _ in range(40_000):
        lines.add(claim, "", "info")
    share = lines.take()

    for _ in range(2_500):
        lines.add(claim, "", "info")

    lines.written(share)
    assert waiting_lines(lines) == 40_000


def test_exactly_so_many_characters_may_wait_also_when_some_were_put_back() -> None:
    lines, claim = stream(), some_claim()
    for _ in range(128):
        lines.add(claim, "x" * 65_536, "info")
    lines.put_back(lines.take())

    lines.add(claim, "x", "info")

    assert sum(len(message) for message in messages(take_all(lines)) if "dropped" not in message) == 8 * 1024 * 1024


@pytest.mark.parametrize(("count", "length", "expected"), [(3_999, 0, False), (4_000, 0, True)])
def test_a_job_is_crowded_by_lines(count: int, length: int, expected: bool) -> None:
    lines, claim = stream(), some_claim()
    for _ in range(count):
        lines.add(claim, "x" * length, "info")

    assert lines.is_crowded(claim) is expected


@pytest.mark.parametrize(("chars", "expected"), [(524_287, False), (524_288, True)])
def test_a_job_is_crowded_by_characters_also_when_they_were_put_back(chars: int, expected: bool) -> None:
    lines, claim = stream(), some_claim()
    lines.add(claim, "x" * chars, "info")
    assert lines.is_crowded(claim) is expected

    lines.put_back(lines.take())
    assert lines.is_crowded(claim) is expected


def test_a_line_that_came_while_others_were_written_is_not_forgotten_with_them() -> None:
    lines, claim = stream(), some_claim()
    lines.add(claim, "one", "info")
    share = lines.take()
    lines.add(claim, "two", "info")

    lines.written(share)

    assert lines.has_lines()
    assert messages(take_all(lines)) == ["two"]
    assert not lines.has_lines()


def test_whoever_writes_is_told_of_the_first_line_only() -> None:
    told: list[int] = []
    lines, claim = LogStream(ManualClock(NOW), lambda: told.append(1)), some_claim()

    lines.add(claim, "one", "info")
    lines.add(claim, "two", "info")
    lines.add(some_claim(), "three", "info")
    assert len(told) == 1

    take_all(lines)
    lines.add(claim, "four", "info")
    assert len(told) == 2


def test_several_attempts_that_are_put_back_keep_their_turn_and_their_lines() -> None:
    lines, claims = stream(), [some_claim() for _ in range(3)]
    for number, claim in enumerate(claims):
        lines.add(claim, f"first of {number}", "info")
    share = lines.take()
    for number, claim in enumerate(claims):
        lines.add(claim, f"second of {number}", "info")

    lines.put_back(share)

    for number, batch in enumerate(lines.take()):
        assert [entry.message for entry in batch.entries] == [f"first of {number}", f"second of {number}"]


@pytest.mark.stores("sqlite-file", "redis")
def test_lines_are_in_the_store_in_order_while_the_job_still_runs(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("speak_and_wait")
        async with working(store):
            job_id = installation.enqueue("speak_and_wait", {"lines": 50})

            await until(lambda: len(installation.messages(job_id)) == 50, "the lines")

            assert installation.job(job_id).state is JobState.RUNNING
            assert installation.messages(job_id) == [f"line {number}" for number in range(50)]
            stage.gate.set()
            await installation.ended(job_id)

    asyncio.run(scene())


@pytest.mark.stores("sqlite-file", "redis")
def test_all_lines_are_in_the_store_when_the_job_has_ended(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("count_aloud")
        async with working(store):
            jobs = [installation.enqueue("count_aloud", {"lines": 700}) for _ in range(10)]
            for job_id in jobs:
                await installation.ended(job_id)
                assert installation.messages(job_id) == [f"line {number}" for number in range(700)]

    asyncio.run(scene())


@pytest.mark.stores("sqlite-file", "redis")
def test_output_and_errors_of_a_command_are_lines_of_different_levels(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        installation.define_command("echo out; echo err >&2")
        async with working(store):
            job_id = installation.enqueue("command")
            await installation.ended(job_id)

            entries = store.read_logs(job_id).entries
            assert sorted((entry.message, entry.level) for entry in entries) == [("err", "error"), ("out", "info")]

    asyncio.run(scene())


def test_of_several_notes_of_progress_the_last_one_is_written() -> None:
    lines, claim = stream(), some_claim()
    lines.note(claim, 1, 10, "")
    lines.note(claim, 2, 10, "second")
    lines.add(claim, "line", "info")

    (batch,) = lines.take()

    assert batch.progress is not None
    assert (batch.progress.done, batch.progress.total, batch.progress.message) == (2, 10, "second")
    assert [entry.message for entry in batch.entries] == ["line"]
    lines.written([batch])
    assert not lines.has_lines()


def test_a_note_that_could_not_be_written_gives_way_to_a_later_one() -> None:
    lines, claim = stream(), some_claim()
    lines.note(claim, 1, None, "")
    taken = lines.take()
    lines.put_back(taken)
    again = lines.take()
    assert [batch.progress for batch in again] == [taken[0].progress]

    lines.note(claim, 2, None, "")
    lines.put_back(again)

    (batch,) = lines.take()
    assert batch.progress is not None
    assert batch.progress.done == 2


def test_a_store_that_has_nothing_to_write_is_not_one_that_does_not_answer() -> None:
    clock, claim = ManualClock(NOW), some_claim()
    lines = LogStream(clock)
    assert lines.take() == []
    clock.advance(int(PATIENCE_S * 1000) + 1)

    lines.add_lines(claim, ["line"] * CROWDED_LINES, "info")

    assert lines.is_crowded(claim)
