"""Triggers from what users write."""

import msgspec
import pytest

from rota.errors import InvalidInput
from rota.model.triggers.cron.fires import Dst
from rota.model.triggers.interval import Anchor, TimeUnit
from rota.model.triggers.make_trigger import (
    check_trigger,
    make_cron,
    make_frequency,
    make_interval,
    make_once,
    read_bounds,
)
from rota.model.triggers.trigger import CronTrigger, FrequencyTrigger, IntervalTrigger, OnceTrigger, Trigger
from tests.model.triggers.instants import ms

NOW = ms("2026-05-01")


def test_a_cron_is_made_with_its_bounds() -> None:
    bounds = read_bounds(start="2026-06-01 00:00", end=ms("2026-12-01"), tz="Europe/Berlin", jitter_ms=5_000)

    trigger = make_cron("30 2 * * *", bounds, dst="skip", now=NOW)

    assert trigger == CronTrigger(
        cron="30 2 * * *",
        dst=Dst.SKIP,
        start=ms("2026-06-01T00:00+02:00"),
        end=ms("2026-12-01"),
        tz="Europe/Berlin",
        jitter_ms=5_000,
    )


def test_utc_reads_dates_in_utc_whatever_the_zone() -> None:
    assert read_bounds(start="2026-06-01", tz="Europe/Berlin", utc=True).start == ms("2026-06-01")


def test_every_makes_an_interval() -> None:
    assert make_cron("@every 90s") == IntervalTrigger(every_ms=90_000)


def test_the_other_kinds_are_made_from_plain_values() -> None:
    assert make_interval(5_000, anchor="ended") == IntervalTrigger(every_ms=5_000, anchor=Anchor.ENDED)
    assert make_frequency(3, "minutes") == FrequencyTrigger(time=3, unit=TimeUnit.MINUTES)
    assert make_once(at="2026-05-01T00:00Z") == OnceTrigger(at=NOW)
    assert make_once(delay_ms=1_000) == OnceTrigger(delay_ms=1_000)


@pytest.mark.parametrize("every_ms", [0, -1, 1.5, True, "5", None, 10**15])
def test_an_interval_that_is_no_positive_whole_number_is_refused(every_ms: object) -> None:
    with pytest.raises(InvalidInput, match=r"^interval: must be"):
        make_interval(every_ms)


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^endDate: .* is before the start, \d{4}-"):
        read_bounds(start="2026-06-02", end="2026-06-01")
    with pytest.raises(InvalidInput, match=r"^tz: .*America/New_York"):
        read_bounds(tz="America/NewYork")
    with pytest.raises(InvalidInput, match=r"^jitter: "):
        read_bounds(jitter_ms=-1)
    with pytest.raises(InvalidInput, match=r"^timeUnit: must be one of MILLISECONDS, SECONDS"):
        make_frequency(1, "WEEKS")
    with pytest.raises(InvalidInput, match=r"^time: "):
        make_frequency(0, "DAYS")
    with pytest.raises(InvalidInput, match=r"^at: give an instant or a delay"):
        make_once()
    with pytest.raises(InvalidInput, match=r"^dst: must be one of vixie, literal, skip, got 'both'"):
        make_cron("* * * * *", dst="both")
    with pytest.raises(InvalidInput, match="names no time"):
        make_cron("@reboot")


def test_a_line_that_never_fires_is_refused_and_one_that_is_over_only_when_asked() -> None:
    over = "0 0 0 1 1 ? 2020"

    with pytest.raises(InvalidInput, match="day 30 does not exist in February"):
        make_cron("0 0 30 2 *")
    with pytest.raises(InvalidInput, match="its last year is 2020"):
        make_cron(over, now=NOW)
    assert isinstance(make_cron(over), CronTrigger)


def test_a_line_that_does_not_fire_within_its_bounds_is_refused() -> None:
    spring = read_bounds(start="2026-03-01", end="2026-05-30")

    with pytest.raises(InvalidInput, match="never fires before its end; its next time would be 2027-01-01"):
        make_cron("0 0 1 1 *", spring, now=NOW)


@pytest.mark.parametrize(
    "trigger",
    [
        CronTrigger(cron="* * * *"),
        CronTrigger(cron="* * * * *", tz="Nowhere"),
        CronTrigger(cron="* * * * *", start=2, end=1),
        IntervalTrigger(every_ms=0),
        IntervalTrigger(every_ms=5, jitter_ms=-1),
        FrequencyTrigger(time=0, unit=TimeUnit.DAYS),
        OnceTrigger(),
        OnceTrigger(at=1, delay_ms=1),
    ],
)
def test_a_trigger_from_json_is_checked_as_well(trigger: Trigger) -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(trigger), type=Trigger)

    with pytest.raises(InvalidInput):
        check_trigger(decoded)


def test_a_good_trigger_from_json_passes() -> None:
    check_trigger(CronTrigger(cron="0 0 * * *"), now=NOW)
    check_trigger(IntervalTrigger(every_ms=5))
    check_trigger(FrequencyTrigger(time=1, unit=TimeUnit.DAYS))
    check_trigger(OnceTrigger(at=0))
