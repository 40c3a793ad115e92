"""How often somebody may ask: nobody saves up more than a burst, nobody pays for another, and memory has an end."""

import pytest

from rota.clock import ManualClock
from rota.engine.access.keys import rate
from rota.engine.access.keys.rate import RateLimit


def taken(limit: RateLimit, who: str, times: int) -> list[float]:
    return [limit.take(who) for _ in range(times)]


def test_a_burst_is_taken_at_once_and_then_one_at_a_time() -> None:
    clock = ManualClock()
    limit = RateLimit(clock, per_second=2, burst=3)

    assert taken(limit, "ada", 4) == [0, 0, 0, 0.5]
    clock.advance(250)
    assert taken(limit, "ada", 1) == [0.25]
    clock.advance(250)
    assert taken(limit, "ada", 2) == [0, 0.5]
    clock.advance(1_000)
    assert taken(limit, "ada", 3) == [0, 0, 0.5]


@pytest.mark.parametrize("quiet_ms", [1_500, 2_000, 60_000, 365 * 24 * 3_600_000])
def test_who_was_quiet_has_saved_up_a_burst_and_no_more(quiet_ms: int) -> None:
    clock = ManualClock()
    limit = RateLimit(clock, per_second=2, burst=3)
    taken(limit, "ada", 3)

    clock.advance(quiet_ms)

    assert taken(limit, "ada", 5) == [0, 0, 0, 0.5, 0.5]


def test_who_asks_slowly_enough_is_never_held_up() -> None:
    clock = ManualClock()
    limit = RateLimit(clock, per_second=2, burst=1)

    for _ in range(50):
        assert limit.take("ada") == 0
        clock.advance(500)


def test_being_refused_costs_nothing() -> None:
    clock = ManualClock()
    limit = RateLimit(clock, per_second=1, burst=1)
    taken(limit, "ada", 100)

    clock.advance(1_000)

    assert taken(limit, "ada", 1) == [0]


def test_one_does_not_pay_for_another() -> None:
    limit = RateLimit(ManualClock(), per_second=1, burst=1)
    taken(limit, "ada", 2)

    assert (limit.take("bob"), limit.take("ada")) == (0, 1)


def test_a_token_that_was_given_back_can_be_taken_again_and_no_more_than_there_are() -> None:
    limit = RateLimit(ManualClock(), per_second=2, burst=2)
    limit.give_back("ada")

    assert taken(limit, "ada", 3) == [0, 0, 0.5]
    limit.give_back("ada")
    assert taken(limit, "ada", 2) == [0, 0.5]
    for _ in range(5):
        limit.give_back("ada")
    assert taken(limit, "ada", 3) == [0, 0, 0.5]


def test_the_wall_clock_has_no_say() -> None:
    clock = ManualClock()
    limit = RateLimit(clock, per_second=1, burst=1)
    taken(limit, "ada", 1)

    clock.set(clock.now() + 3_600_000)
    assert limit.take("ada") == 1
    clock.set(0)
    assert limit.take("ada") == 1


def test_a_rate_of_zero_limits_nothing_and_remembers_nobody() -> None:
    limit = RateLimit(ManualClock(), per_second=0, burst=1)

    assert taken(limit, "ada", 1_000) == [0] * 1_000
    limit.give_back("ada")
    assert limit._buckets == {}


def test_ten_thousand_are_remembered_whatever_they_did_and_who_asked_last_is_among_them() -> None:
    assert rate._MOST_BUCKETS == 10_000
    limit = RateLimit(ManualClock(), per_second=1, burst=2)
    for number in range(10_000):
        limit.take(str(number))
    limit.take("0")

    for number in range(10_000, 19_999):
        limit.take(str(number))

    assert len(limit._buckets) == 10_000
    assert limit.take("0") == 1, "nobody gets a new burst for asking more often than others"
    assert taken(limit, "1", 3) == [0, 0, 1], "who asked least lately is as new"


def test_who_is_there_already_takes_nobodys_place() -> None:
    limit = RateLimit(ManualClock(), per_second=1, burst=2)
    for number in range(10_000):
        limit.take(str(number))

    limit.take("9999")

    assert len(limit._buckets) == 10_000
    assert taken(limit, "0", 2) == [0, 1]
