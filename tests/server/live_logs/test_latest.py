"""The latest lines of a log: within bounds, without gaps."""

from rota.model.runs.log import LogEntry
from rota.model.runs.log_pages import LETTERS_PER_PAGE, PageSize
from rota.server.live_logs.latest import LETTERS_TOGETHER, MOST_LETTERS, MOST_LINES, Latest, Line, letters_per_feed


def line(position: int, size: int = 10) -> Line:
    return Line(position, LogEntry(0, "x" * size))


def positions(latest: Latest) -> list[int]:
    return [one.next for one in latest.lines]


def test_the_latest_lines_are_kept_within_their_number() -> None:
    latest = Latest()

    latest.add([line(number) for number in range(1, MOST_LINES + 11)], MOST_LETTERS)

    assert positions(latest) == list(range(11, MOST_LINES + 11))


def test_the_latest_lines_are_kept_within_their_letters_and_the_last_one_in_any_case() -> None:
    latest = Latest()

    latest.add([line(number, 1_000) for number in range(1, 101)], 10 * line(1, 1_000).size)
    assert positions(latest) == list(range(91, 101))

    latest.shrink(1)
    assert positions(latest) == [100]
    assert latest.size == line(1, 1_000).size


def test_lines_behind_a_gap_take_the_place_of_those_before_it() -> None:
    latest = Latest()
    latest.add([line(1), line(2)], MOST_LETTERS)

    latest.add([line(50), line(51)], MOST_LETTERS)

    assert positions(latest) == [50, 51]
    assert latest.size == 2 * line(1).size


def test_all_feeds_together_keep_no_more_than_a_few_may() -> None:
    assert LETTERS_TOGETHER == 32 * 1024 * 1024, "as docs/security.md says"
    assert letters_per_feed(1) == letters_per_feed(16) == MOST_LETTERS == LETTERS_TOGETHER // 16
    assert all(count * letters_per_feed(count) <= LETTERS_TOGETHER for count in (1, 16, 17, 300, 500, 5_000))


def test_pages_of_long_lines_have_few_of_them_and_those_of_short_lines_as_many_as_may_be() -> None:
    size = PageSize(200)

    size.learn(["x" * 16_384] * 3)
    assert size.lines == LETTERS_PER_PAGE // 16_384
    size.learn(["x" * 10 * LETTERS_PER_PAGE])
    assert size.lines == 1
    size.learn([""])
    assert size.lines == 200
