"""Instants and lengths of time as sentences tell them."""

import pytest

from rota.model.why.words import count_of, roughly

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (-5, "less than a second"),
        (0, "less than a second"),
        (SECOND - 1, "less than a second"),
        (SECOND, "1 second"),
        (MINUTE - 1, "59 seconds"),
        (MINUTE, "1 minute"),
        (5 * MINUTE + 7 * SECOND + 999, "5 minutes 7 seconds"),
        (3 * HOUR + 5 * MINUTE + 59 * SECOND, "3 hours 5 minutes"),
        (DAY - 1, "23 hours 59 minutes"),
        (2 * DAY + HOUR + 59 * MINUTE, "2 days 1 hour"),
    ],
)
def test_a_length_of_time_is_told_in_its_two_largest_units(ms: int, words: str) -> None:
    assert roughly(ms) == words


def test_one_is_told_as_one() -> None:
    assert [count_of(number, "job", "jobs") for number in (0, 1, 2)] == ["0 jobs", "1 job", "2 jobs"]
