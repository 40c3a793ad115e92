"""The log of a task, as a whole and by period, a page at a time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.dialects.sync_tasks import task_log
from rota.dialects.sync_tasks.task_log import LogLine, LogLines, Period, last_line, read_log
from rota.dialects.sync_tasks.times import read_micros
from rota.model.job import Claim, Job
from rota.model.runs.log import LogEntry
from rota.model.runs.outcome import failed, timed_out
from rota.model.runs.retry import RetryPolicy
from rota.store import Store
from rota.store.contract.logs import LogBatch
from rota.testing import Faults
from tests.contract.building import claim_one, die, finish, reclaim, settled
from tests.dialects.sync_tasks.source import Shop

FIRST = 1_700_000_000_000_000


class Written:
    """A running task with a log of 5,000 lines, ten in each millisecond."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.shop = Shop(store, folder)
        made, _ = self.shop.tasks.create("shop", "orders")
        self.claim: Claim = claim_one(store, self.shop.queue, now=self.shop.clock.now())
        self.id = made.id
        self.store = store
        for start in range(0, 5_000, 700):
            self.write([FIRST + number * 100 for number in range(start, min(start + 700, 5_000))])

    def write(self, instants: list[int]) -> None:
        entries = [LogEntry(one // 1000, f"at {one - FIRST}", micros=one % 1000) for one in instants]
        spec = self.claim.spec
        assert not self.store.append_logs([LogBatch(spec.queue, spec.id, self.claim.token, entries)])

    @property
    def job(self) -> Job:
        return self.shop.engine.jobs.find(self.id)

    def read(self, first: float = float("-inf"), last: float = float("inf")) -> list[str]:
        pages = read_log(self.store, self.job, self.store.count_logs(self.id), Period(first, last))
        return [line.message for page in pages for line in page]


@pytest.fixture
def written(store: Store, tmp_path: Path) -> Written:
    return Written(store, tmp_path)


def test_the_whole_log_is_read_in_order(written: Written) -> None:
    assert written.read() == [f"at {number * 100}" for number in range(5_000)]


@pytest.mark.parametrize(
    ("first", "last"), [(0, 0), (1, 99), (250, 320_000), (499_900, 10**9), (-5, -1), (10**9, 10**9)]
)
def test_a_period_is_that_part_of_the_whole(written: Written, first: int, last: int) -> None:
    expected = [f"at {number * 100}" for number in range(5_000) if first <= number * 100 <= last]

    assert written.read(FIRST + first, FIRST + last) == expected


def test_a_period_is_found_without_reading_what_is_before_and_behind_it(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_log, "_PAGE", 100)
    faults = Faults(written.store)

    pages = read_log(faults.store, written.job, 5_000, Period(FIRST + 250_000, FIRST + 250_500))

    assert [len(page) for page in pages] == [6]
    assert faults.calls.count("read_logs") <= 15, "13 looks to find the place, and a page"


def test_whoever_still_writes_is_not_chased(written: Written) -> None:
    pages = read_log(written.store, written.job, 4_950)
    count = 0
    for number, page in enumerate(pages):
        count += len(page)
        written.write([FIRST + 10**9 + number * 10_000 + one for one in range(1_500)])

    assert count == 4_950


@pytest.mark.parametrize("first", [0, 499_950, 10**12])
def test_the_last_words_of_a_failed_task_have_the_same_time_in_every_period(written: Written, first: int) -> None:
    ended = FIRST // 1000 + 400
    finish(written.store, settled(written.claim, timed_out(5), ended), now=ended)

    def lines(period: Period) -> Iterator[LogLine]:
        for page in read_log(written.store, written.job, written.store.count_logs(written.id), period):
            yield from page

    *_, whole = lines(Period())
    assert (whole.level, whole.message != "at 499900") == ("error", True)
    behind = read_micros("time", whole.time) > FIRST + first
    assert list(lines(Period(FIRST + first)))[-1:] == ([whole] if behind else [])
    assert last_line(written.store, written.job) == whole


def test_a_task_that_said_nothing_has_no_last_line(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path)
    job = shop.run()

    assert last_line(store, job) is None
    assert list(read_log(store, job, 0)) == []


def test_equal_lines_of_one_millisecond_have_times_of_their_own() -> None:
    entries = [LogEntry(1_000, "same")] * 3 + [LogEntry(999, "a clock that was set back", "error")]

    lines = list(LogLines().read(entries))

    assert [micros for micros, _ in lines] == [1_000_000, 1_000_001, 1_000_002, 1_000_003]
    assert [line.level for _, line in lines] == ["info"] * 3 + ["error"]
    assert lines[1][1].time == "1970-01-01T00:00:01.000001Z"


def test_a_copy_goes_on_where_the_first_one_is() -> None:
    first = LogLines()
    list(first.read([LogEntry(1_000, "a")]))

    assert [micros for micros, _ in first.copy().read([LogEntry(1_000, "b")])] == [1_000_001]


def test_a_page_of_long_lines_is_short(written: Written) -> None:
    spec = written.claim.spec
    long_lines = [LogEntry(FIRST // 1000 + 10_000 + number, "x" * 16_000) for number in range(300)]
    assert not written.store.append_logs([LogBatch(spec.queue, spec.id, written.claim.token, long_lines)])
    faults = Faults(written.store)

    pages = list(read_log(faults.store, written.job, 5_300, Period(FIRST + 10**7)))

    assert sum(map(len, pages)) == 300
    assert sorted(map(len, pages))[-2] <= 4, "after the first page it is known how long the lines are"


def test_lines_of_a_second_attempt_whose_clock_is_behind_are_found(store: Store, tmp_path: Path) -> None:
    written = Written(store, tmp_path)
    retry = settled(written.claim, failed("once more"), FIRST // 1000 + 500, policy=RetryPolicy(attempts=2))
    finish(store, retry, now=FIRST // 1000 + 500)
    written.claim = claim_one(store, written.shop.queue, now=retry.run_at or 0)
    written.write([FIRST - 10**9 + number for number in range(6_000)])

    whole = [line for page in read_log(store, written.job, 11_000) for line in page]
    first = read_micros("time", whole[4_000].time)
    part = [line for page in read_log(store, written.job, 11_000, Period(first)) for line in page]

    assert len(whole) == 11_000
    assert part == whole[4_000:]


def test_lines_of_a_run_behind_the_death_of_a_node_are_found_though_its_clock_is_behind(
    store: Store, tmp_path: Path
) -> None:
    """A run whose node died counts as no attempt."""
    written, now = Written(store, tmp_path), FIRST // 1000 + 500
    reclaim(store, die(written.claim, now), now=now)
    written.claim = claim_one(store, written.shop.queue, now=now)
    written.write([FIRST - 10**9 + number for number in range(6_000)])

    whole = [line for page in read_log(store, written.job, 11_000) for line in page]
    first = read_micros("time", whole[4_000].time)
    part = [line for page in read_log(store, written.job, 11_000, Period(first)) for line in page]

    assert written.job.attempts == 1
    assert len(whole) == 11_000
    assert part == whole[4_000:]
