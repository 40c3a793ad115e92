"""Tasks and their logs in the original's words."""

import pytest

from rota.dialects.sync_tasks.task import LogLines, base_priority
from rota.dialects.sync_tasks.times import iso, read_micros
from rota.errors import InvalidInput
from rota.model.log import LogEntry


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


@pytest.mark.parametrize(("score", "expected"), [(299_998_384_585_588, 300), (10**12 - 1, 1), (9007 * 10**12, 9007)])
def test_a_score_tells_its_class(score: float, expected: int) -> None:
    assert base_priority(score) == expected


@pytest.mark.parametrize("score", [0, -5, 9008 * 10**12])
def test_a_score_of_no_class_is_refused(score: float) -> None:
    with pytest.raises(InvalidInput):
        base_priority(score)


def test_times_are_iso_in_utc() -> None:
    assert iso(1_615_414_412_345) == "2021-03-10T22:13:32.345000Z"
    assert iso(None) == ""
    same = ["2021-03-10T22:13:32.345Z", "2021-03-10T23:13:32.345 01:00", "2021-03-10T22:13:32.345000"]
    assert {read_micros("start", text) for text in same} == {1_615_414_412_345_000}
    with pytest.raises(InvalidInput, match=r"start: 'now' is not an ISO timestamp"):
        read_micros("start", "now")
