"""Lines that never fire, and why they do not."""

import pytest

from rota.errors import InvalidInput
from rota.model.triggers.cron.check import check_fires
from rota.model.triggers.cron.fires import Dst, next_fire
from rota.model.triggers.cron.parser import parse_cron
from tests.model.triggers.instants import ms

NOW = ms("2026-06-01")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0 0 30 2 *", "day 30 does not exist in February"),
        ("0 0 31 4,6 *", "day 31 does not exist in April or June"),
        ("0 0 0 29 2 ? 2027", "day 29 does not exist in February of 2027"),
        ("0 0 0 1 1 ? 2020", "its last year is 2020"),
        ("0 0 0 1 1 ? 2026", "nothing matches after 2026-06-01 00:00 UTC"),
    ],
)
def test_a_line_that_never_fires_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_fires(parse_cron(text), NOW)

    assert str(caught.value) == f'cron: "{text}" never fires: {reason}'


def test_a_time_that_the_clock_always_leaves_out_is_refused() -> None:
    cron = parse_cron("0 30 2 29 3 ? 2026")

    assert check_fires(cron, ms("2026-01-01"), zone="Europe/Berlin") == ms("2026-03-29T03:00+02:00")
    with pytest.raises(InvalidInput, match="in Europe/Berlin the clock leaves that time out; choose dst vixie"):
        check_fires(cron, ms("2026-01-01"), zone="Europe/Berlin", dst=Dst.SKIP)


def test_a_day_that_both_fields_never_share_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no day has the month, day and weekday it asks for"):
        check_fires(parse_cron("0 0 */30 2 1#2"), NOW)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("0 0 29 2 *", "2028-02-29"),
        ("0 0 29 2 */7", "2032-02-29"),  # A Sunday: the weekday begins with a star, so both must hold.
        ("0 0 0 1 1 ? 2099", "2099-01-01"),
    ],
)
def test_a_rare_line_is_fine(text: str, first: str) -> None:
    assert check_fires(parse_cron(text), NOW) == ms(first)


def test_the_rarest_day_is_found_over_a_century_without_leap_year() -> None:
    # 29 February is a Sunday in 2088 and, because 2100 is no leap year, next in 2128: forty years later.
    assert next_fire(parse_cron("0 0 29 2 */7"), ms("2088-03-01")) == ms("2128-02-29")


@pytest.mark.parametrize("after", ["0003-01-01", "1583-10-15", "1900-01-01", "9990-01-01"])
def test_any_year_that_a_datetime_can_name_is_searched(after: str) -> None:
    assert next_fire(parse_cron("0 12 * * *"), ms(after), "Europe/Berlin") is not None


def test_beyond_all_years_there_is_no_fire() -> None:
    assert next_fire(parse_cron("* * * * *"), ms("9999-12-31")) is None
    assert next_fire(parse_cron("* * * * *"), 10**18) is None
    assert next_fire(parse_cron("0 0 0 1 1 ? 2050"), -(10**18)) == ms("2050-01-01")


def test_the_next_fire_is_strictly_after() -> None:
    cron, noon = parse_cron("0 12 * * *"), ms("2026-06-01T12:00")

    assert next_fire(cron, noon - 1) == noon
    assert next_fire(cron, noon) == ms("2026-06-02T12:00")
    assert next_fire(cron, noon - 999) == noon
