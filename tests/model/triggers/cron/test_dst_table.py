"""Clock changes by hand: what fires in each zone under each rule, written with offsets from the zones' published rules.

The changes used: New York 2026-03-08 02:00 to 03:00 and 2026-11-01 02:00 back to 01:00; Berlin 2026-03-29 and
2026-10-25; Lord Howe, half an hour, 2026-10-04 02:00 to 02:30 and 2026-04-05 02:00 back to 01:30; Apia leaves out
2011-12-30; Casablanca's Ramadan, 2025-02-23 03:00 back to 02:00 and 2025-04-06 02:00 to 03:00; St. John's, one minute
past midnight in 2010; Troll, two hours, 2026-03-29 01:00 to 03:00 and 2026-10-25 03:00 back to 01:00; Kathmandu
1986-01-01 00:00 to 00:15, and 1920-01-01 00:00 back to 23:48:44; Monrovia 1972-01-07 00:00 to 00:44:30; New York 1918;
Berlin 1947, summer time on top of summer time; Juneau 1867, a day again.
"""

import pytest

from rota.model.triggers.cron.fires import Dst, count_between, fires_between, next_fire
from rota.model.triggers.cron.parser import parse_cron
from tests.model.triggers.instants import ms, show, show_same

NEW_YORK, BERLIN, LORD_HOWE = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"
APIA, CASABLANCA, ST_JOHNS = "Pacific/Apia", "Africa/Casablanca", "America/St_Johns"
TROLL, KATHMANDU = "Antarctica/Troll", "Asia/Kathmandu"

Case = tuple[str, str, str, str, dict[Dst, list[str]]]


def every_rule(*fires: str) -> dict[Dst, list[str]]:
    return {rule: list(fires) for rule in Dst}


def by_rule(*, vixie: list[str], literal: list[str], skip: list[str]) -> dict[Dst, list[str]]:
    return {Dst.VIXIE: vixie, Dst.LITERAL: literal, Dst.SKIP: skip}


# Zone, line, first and last instant of the range (both included), fires by rule.
GAPS: list[Case] = [
    (
        BERLIN,
        "30 2 * * *",
        "2026-03-28T12:00+01:00",
        "2026-03-30T12:00+02:00",
        by_rule(
            vixie=["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"],
            literal=["2026-03-30T02:30+02:00"],
            skip=["2026-03-30T02:30+02:00"],
        ),
    ),
    (
        NEW_YORK,
        "30 2 * * *",
        "2026-03-07T00:00-05:00",
        "2026-03-09T12:00-04:00",
        by_rule(
            vixie=["2026-03-07T02:30-05:00", "2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"],
            literal=["2026-03-07T02:30-05:00", "2026-03-09T02:30-04:00"],
            skip=["2026-03-07T02:30-05:00", "2026-03-09T02:30-04:00"],
        ),
    ),
    (  # Several fixed times in the gap fire once, and a fixed time at its end fires with them.
        NEW_YORK,
        "0,30 2,3 * * *",
        "2026-03-08T00:00-05:00",
        "2026-03-08T12:00-04:00",
        by_rule(
            vixie=["2026-03-08T03:00-04:00", "2026-03-08T03:30-04:00"],
            literal=["2026-03-08T03:00-04:00", "2026-03-08T03:30-04:00"],
            skip=["2026-03-08T03:00-04:00", "2026-03-08T03:30-04:00"],
        ),
    ),
    (  # Interval-like: nothing is made up for, real time goes on.
        NEW_YORK,
        "*/20 1-3 * * *",
        "2026-03-08T01:30-05:00",
        "2026-03-08T03:30-04:00",
        every_rule("2026-03-08T01:40-05:00", "2026-03-08T03:00-04:00", "2026-03-08T03:20-04:00"),
    ),
    (
        NEW_YORK,
        "30 * * * *",
        "2026-03-08T01:00-05:00",
        "2026-03-08T04:00-04:00",
        every_rule("2026-03-08T01:30-05:00", "2026-03-08T03:30-04:00"),
    ),
    (NEW_YORK, "*/19 */2 * * *", "2026-03-08T01:00-05:00", "2026-03-08T03:59-04:00", every_rule()),
    *(  # The gap takes all that such a line has on the day, and no day's work is lost, however the line is spelled.
        (
            NEW_YORK,
            line,
            "2026-03-08T00:00-05:00",
            "2026-03-08T23:00-04:00",
            by_rule(vixie=["2026-03-08T03:00-04:00"], literal=[], skip=[]),
        )
        for line in ("*/20 2 * * *", "0-59/20 2 * * *", "0,30 2-2 * * *", "* 2 * * *", "0/20 0/20 2 * * *")
    ),
    (  # It has other times on the day, so it just goes on.
        NEW_YORK,
        "*/30 2,5 * * *",
        "2026-03-08T00:00-05:00",
        "2026-03-08T23:00-04:00",
        every_rule("2026-03-08T05:00-04:00", "2026-03-08T05:30-04:00"),
    ),
    (
        LORD_HOWE,
        "15 2 * * *",
        "2026-10-03T12:00+10:30",
        "2026-10-05T12:00+11:00",
        by_rule(
            vixie=["2026-10-04T02:30+11:00", "2026-10-05T02:15+11:00"],
            literal=["2026-10-05T02:15+11:00"],
            skip=["2026-10-05T02:15+11:00"],
        ),
    ),
    (
        LORD_HOWE,
        "*/15 * * * *",
        "2026-10-04T01:45+10:30",
        "2026-10-04T02:45+11:00",
        every_rule("2026-10-04T01:45+10:30", "2026-10-04T02:30+11:00", "2026-10-04T02:45+11:00"),
    ),
    (
        APIA,
        "30 10 * * *",
        "2011-12-29T00:00-10:00",
        "2011-12-31T23:00+14:00",
        by_rule(
            vixie=["2011-12-29T10:30-10:00", "2011-12-31T00:00+14:00", "2011-12-31T10:30+14:00"],
            literal=["2011-12-29T10:30-10:00", "2011-12-31T10:30+14:00"],
            skip=["2011-12-29T10:30-10:00", "2011-12-31T10:30+14:00"],
        ),
    ),
    (
        APIA,
        "0 12 30 12 *",
        "2011-12-01T00:00-10:00",
        "2012-12-31T00:00+14:00",
        by_rule(
            vixie=["2011-12-31T00:00+14:00", "2012-12-30T12:00+14:00"],
            literal=["2012-12-30T12:00+14:00"],
            skip=["2012-12-30T12:00+14:00"],
        ),
    ),
    (
        APIA,
        "0 */8 * * *",
        "2011-12-29T10:00-10:00",
        "2011-12-31T10:00+14:00",
        every_rule("2011-12-29T16:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T08:00+14:00"),
    ),
    (
        CASABLANCA,
        "30 2 * * *",
        "2025-04-05T12:00+00:00",
        "2025-04-07T12:00+01:00",
        by_rule(
            vixie=["2025-04-06T03:00+01:00", "2025-04-07T02:30+01:00"],
            literal=["2025-04-07T02:30+01:00"],
            skip=["2025-04-07T02:30+01:00"],
        ),
    ),
    (  # The gap begins and ends at one minute past the hour.
        ST_JOHNS,
        "30 0 * * *",
        "2010-03-13T12:00-03:30",
        "2010-03-15T12:00-02:30",
        by_rule(
            vixie=["2010-03-14T01:01-02:30", "2010-03-15T00:30-02:30"],
            literal=["2010-03-15T00:30-02:30"],
            skip=["2010-03-15T00:30-02:30"],
        ),
    ),
    (
        ST_JOHNS,
        "30 2 * * *",
        "2026-03-08T00:00-03:30",
        "2026-03-08T12:00-02:30",
        by_rule(vixie=["2026-03-08T03:00-02:30"], literal=[], skip=[]),
    ),
    (
        TROLL,
        "30 1,2 * * *",
        "2026-03-29T00:00+00:00",
        "2026-03-30T00:00+02:00",
        by_rule(vixie=["2026-03-29T03:00+02:00"], literal=[], skip=[]),
    ),
    (
        TROLL,
        "*/30 * * * *",
        "2026-03-29T00:30+00:00",
        "2026-03-29T03:30+02:00",
        every_rule("2026-03-29T00:30+00:00", "2026-03-29T03:00+02:00", "2026-03-29T03:30+02:00"),
    ),
    (
        KATHMANDU,
        "10 0 * * *",
        "1985-12-31T00:00+05:30",
        "1986-01-02T12:00+05:45",
        by_rule(
            vixie=["1985-12-31T00:10+05:30", "1986-01-01T00:15+05:45", "1986-01-02T00:10+05:45"],
            literal=["1985-12-31T00:10+05:30", "1986-01-02T00:10+05:45"],
            skip=["1985-12-31T00:10+05:30", "1986-01-02T00:10+05:45"],
        ),
    ),
    (
        KATHMANDU,
        "0 0 1 * *",
        "2026-01-15T00:00+05:45",
        "2026-03-15T00:00+05:45",
        every_rule("2026-02-01T00:00+05:45", "2026-03-01T00:00+05:45"),
    ),
    (
        NEW_YORK,
        "15 2 * * *",
        "1918-03-30T12:00-05:00",
        "1918-04-01T12:00-04:00",
        by_rule(
            vixie=["1918-03-31T03:00-04:00", "1918-04-01T02:15-04:00"],
            literal=["1918-04-01T02:15-04:00"],
            skip=["1918-04-01T02:15-04:00"],
        ),
    ),
    (  # Liberia's clock was 44:30 behind, and went on at no full minute.
        "Africa/Monrovia",
        "20 0 7 1 *",
        "1972-01-06T00:00-00:44:30",
        "1972-01-08T00:00+00:00",
        by_rule(vixie=["1972-01-07T00:44:30+00:00"], literal=[], skip=[]),
    ),
    (
        BERLIN,
        "30 3 * * *",
        "1947-05-10T12:00+02:00",
        "1947-05-12T12:00+03:00",
        by_rule(
            vixie=["1947-05-11T04:00+03:00", "1947-05-12T03:30+03:00"],
            literal=["1947-05-12T03:30+03:00"],
            skip=["1947-05-12T03:30+03:00"],
        ),
    ),
]

REPEATS: list[Case] = [
    (
        BERLIN,
        "30 2 * * *",
        "2026-10-25T00:00+02:00",
        "2026-10-26T12:00+01:00",
        by_rule(
            vixie=["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
            literal=["2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00", "2026-10-26T02:30+01:00"],
            skip=["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
        ),
    ),
    (
        BERLIN,
        "*/30 * * * *",
        "2026-10-25T02:00+02:00",
        "2026-10-25T03:00+01:00",
        by_rule(
            vixie=[
                "2026-10-25T02:00+02:00",
                "2026-10-25T02:30+02:00",
                "2026-10-25T02:00+01:00",
                "2026-10-25T02:30+01:00",
                "2026-10-25T03:00+01:00",
            ],
            literal=[
                "2026-10-25T02:00+02:00",
                "2026-10-25T02:30+02:00",
                "2026-10-25T02:00+01:00",
                "2026-10-25T02:30+01:00",
                "2026-10-25T03:00+01:00",
            ],
            skip=["2026-10-25T02:00+02:00", "2026-10-25T02:30+02:00", "2026-10-25T03:00+01:00"],
        ),
    ),
    (
        NEW_YORK,
        "30 1 * * *",
        "2026-11-01T00:00-04:00",
        "2026-11-02T12:00-05:00",
        by_rule(
            vixie=["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"],
            literal=["2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00", "2026-11-02T01:30-05:00"],
            skip=["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"],
        ),
    ),
    (
        NEW_YORK,
        "0 * * * *",
        "2026-11-01T00:30-04:00",
        "2026-11-01T02:00-05:00",
        by_rule(
            vixie=["2026-11-01T01:00-04:00", "2026-11-01T01:00-05:00", "2026-11-01T02:00-05:00"],
            literal=["2026-11-01T01:00-04:00", "2026-11-01T01:00-05:00", "2026-11-01T02:00-05:00"],
            skip=["2026-11-01T01:00-04:00", "2026-11-01T02:00-05:00"],
        ),
    ),
    (NEW_YORK, "0 9 * * *", "2026-11-01T00:00-04:00", "2026-11-01T23:00-05:00", every_rule("2026-11-01T09:00-05:00")),
    (
        LORD_HOWE,
        "45 1 * * *",
        "2026-04-05T00:00+11:00",
        "2026-04-05T12:00+10:30",
        by_rule(
            vixie=["2026-04-05T01:45+11:00"],
            literal=["2026-04-05T01:45+11:00", "2026-04-05T01:45+10:30"],
            skip=["2026-04-05T01:45+11:00"],
        ),
    ),
    (
        LORD_HOWE,
        "15 1 * * *",
        "2026-04-05T00:00+11:00",
        "2026-04-05T12:00+10:30",
        every_rule("2026-04-05T01:15+11:00"),
    ),
    (
        CASABLANCA,
        "15,45 2 * * *",
        "2025-02-23T00:00+01:00",
        "2025-02-23T12:00+00:00",
        by_rule(
            vixie=["2025-02-23T02:15+01:00", "2025-02-23T02:45+01:00"],
            literal=[
                "2025-02-23T02:15+01:00",
                "2025-02-23T02:45+01:00",
                "2025-02-23T02:15+00:00",
                "2025-02-23T02:45+00:00",
            ],
            skip=["2025-02-23T02:15+01:00", "2025-02-23T02:45+01:00"],
        ),
    ),
    (  # The clock goes back over midnight: the evening of the 6th and the first minute of the 7th come again.
        ST_JOHNS,
        "0 0 * * *",
        "2010-11-06T12:00-02:30",
        "2010-11-07T12:00-03:30",
        by_rule(
            vixie=["2010-11-07T00:00-02:30"],
            literal=["2010-11-07T00:00-02:30", "2010-11-07T00:00-03:30"],
            skip=["2010-11-07T00:00-02:30"],
        ),
    ),
    (
        ST_JOHNS,
        "30 23 * * *",
        "2010-11-06T12:00-02:30",
        "2010-11-08T12:00-03:30",
        by_rule(
            vixie=["2010-11-06T23:30-02:30", "2010-11-07T23:30-03:30"],
            literal=["2010-11-06T23:30-02:30", "2010-11-06T23:30-03:30", "2010-11-07T23:30-03:30"],
            skip=["2010-11-06T23:30-02:30", "2010-11-07T23:30-03:30"],
        ),
    ),
    (
        TROLL,
        "30 1,2 * * *",
        "2026-10-25T00:00+02:00",
        "2026-10-25T12:00+00:00",
        by_rule(
            vixie=["2026-10-25T01:30+02:00", "2026-10-25T02:30+02:00"],
            literal=[
                "2026-10-25T01:30+02:00",
                "2026-10-25T02:30+02:00",
                "2026-10-25T01:30+00:00",
                "2026-10-25T02:30+00:00",
            ],
            skip=["2026-10-25T01:30+02:00", "2026-10-25T02:30+02:00"],
        ),
    ),
    (  # Local mean time was 5:41:16 ahead, and no whole number of minutes.
        KATHMANDU,
        "50 23 31 12 *",
        "1919-12-31T12:00+05:41:16",
        "1920-01-01T12:00+05:30",
        by_rule(
            vixie=["1919-12-31T23:50+05:41:16"],
            literal=["1919-12-31T23:50+05:41:16", "1919-12-31T23:50+05:30"],
            skip=["1919-12-31T23:50+05:41:16"],
        ),
    ),
    (
        NEW_YORK,
        "45 1 * * *",
        "1918-10-27T00:00-04:00",
        "1918-10-27T12:00-05:00",
        by_rule(
            vixie=["1918-10-27T01:45-04:00"],
            literal=["1918-10-27T01:45-04:00", "1918-10-27T01:45-05:00"],
            skip=["1918-10-27T01:45-04:00"],
        ),
    ),
    (
        BERLIN,
        "30 2 * * *",
        "1947-06-29T00:00+03:00",
        "1947-06-29T12:00+02:00",
        by_rule(
            vixie=["1947-06-29T02:30+03:00"],
            literal=["1947-06-29T02:30+03:00", "1947-06-29T02:30+02:00"],
            skip=["1947-06-29T02:30+03:00"],
        ),
    ),
    (  # A whole day came again when Alaska changed sides of the date line.
        "America/Juneau",
        "0 18 18 10 *",
        "1867-10-18T00:00+15:02:19",
        "1867-10-19T12:00-08:57:41",
        by_rule(
            vixie=["1867-10-18T18:00+15:02:19"],
            literal=["1867-10-18T18:00+15:02:19", "1867-10-18T18:00-08:57:41"],
            skip=["1867-10-18T18:00+15:02:19"],
        ),
    ),
]


@pytest.mark.parametrize("rule", Dst)
@pytest.mark.parametrize(("zone", "line", "first", "last", "expected"), GAPS + REPEATS)
def test_clock_changes_follow_the_rule(
    rule: Dst, zone: str, line: str, first: str, last: str, expected: dict[Dst, list[str]]
) -> None:
    cron, start, end = parse_cron(line), ms(first) - 1, ms(last)

    listed = list(fires_between(cron, start, end, zone=zone, dst=rule))
    walked, instant = [], next_fire(cron, start, zone, rule)
    while instant is not None and instant <= end:
        walked.append(instant)
        instant = next_fire(cron, instant, zone, rule)

    assert show(listed) == show_same(expected[rule])
    assert walked == listed
    assert count_between(cron, start, end, zone=zone, dst=rule) == len(listed)


def test_every_quarter_hour_of_a_year_has_one_fire_through_both_changes() -> None:
    cron = parse_cron("*/15 * * * *")

    count = count_between(cron, ms("2026-01-01T00:00+01:00") - 1, ms("2026-12-31T23:59+01:00"), zone=BERLIN)

    assert count == 365 * 24 * 4


@pytest.mark.parametrize("line", ["30 2 * * *", "0 0 * * *", "59 23 * * *"])
@pytest.mark.parametrize("zone", [NEW_YORK, BERLIN, LORD_HOWE, CASABLANCA, ST_JOHNS, TROLL, KATHMANDU])
def test_a_fixed_daily_time_fires_once_on_each_day_of_ten_years(zone: str, line: str) -> None:
    cron = parse_cron(line)

    count = count_between(cron, ms("2015-06-01T12:00"), ms("2025-06-01T12:00"), zone=zone)

    assert count == 3653


# The last second before the clock leaps, those that it leaves out, and the first one after: 2026-03-29 in Berlin, where
# 02:00 is 03:00. Line, the fires of that morning by rule.
SECONDS_AT_A_GAP = [
    ("59 59 1 * * *", every_rule("2026-03-29T01:59:59+01:00")),
    (
        "0 0 2 * * *",
        by_rule(vixie=["2026-03-29T03:00:00+02:00"], literal=[], skip=[]),
    ),
    (
        "59 59 2 * * *",
        by_rule(vixie=["2026-03-29T03:00:00+02:00"], literal=[], skip=[]),
    ),
    ("0 0 3 * * *", every_rule("2026-03-29T03:00:00+02:00")),
    ("1 0 3 * * *", every_rule("2026-03-29T03:00:01+02:00")),
    ("0 59 1 * * *", every_rule("2026-03-29T01:59:00+01:00")),
    (
        "59 59 1,2 * * *",
        by_rule(
            vixie=["2026-03-29T01:59:59+01:00", "2026-03-29T03:00:00+02:00"],
            literal=["2026-03-29T01:59:59+01:00"],
            skip=["2026-03-29T01:59:59+01:00"],
        ),
    ),
    (
        "59 59 * * * *",
        every_rule("2026-03-29T00:59:59+01:00", "2026-03-29T01:59:59+01:00", "2026-03-29T03:59:59+02:00"),
    ),
    ("0 0 * * * *", every_rule("2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00")),
]

# And where 03:00 is 02:00 again: 2026-10-25.
SECONDS_AT_A_REPEAT = [
    ("59 59 1 * * *", every_rule("2026-10-25T01:59:59+02:00")),
    (
        "0 0 2 * * *",
        by_rule(
            vixie=["2026-10-25T02:00:00+02:00"],
            literal=["2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00"],
            skip=["2026-10-25T02:00:00+02:00"],
        ),
    ),
    (
        "59 59 2 * * *",
        by_rule(
            vixie=["2026-10-25T02:59:59+02:00"],
            literal=["2026-10-25T02:59:59+02:00", "2026-10-25T02:59:59+01:00"],
            skip=["2026-10-25T02:59:59+02:00"],
        ),
    ),
    ("0 0 3 * * *", every_rule("2026-10-25T03:00:00+01:00")),
    (
        "59 59 * * * *",
        by_rule(
            vixie=["2026-10-25T01:59:59+02:00", "2026-10-25T02:59:59+02:00", "2026-10-25T02:59:59+01:00"],
            literal=["2026-10-25T01:59:59+02:00", "2026-10-25T02:59:59+02:00", "2026-10-25T02:59:59+01:00"],
            skip=["2026-10-25T01:59:59+02:00", "2026-10-25T02:59:59+02:00"],
        ),
    ),
]


@pytest.mark.parametrize("rule", Dst)
@pytest.mark.parametrize(
    ("first", "last", "line", "expected"),
    [("2026-03-29T00:30+01:00", "2026-03-29T04:30+02:00", *case) for case in SECONDS_AT_A_GAP]
    + [("2026-10-25T01:30+02:00", "2026-10-25T03:30+01:00", *case) for case in SECONDS_AT_A_REPEAT],
)
def test_the_seconds_next_to_a_clock_change_are_each_found_from_every_side(
    rule: Dst, first: str, last: str, line: str, expected: dict[Dst, list[str]]
) -> None:
    cron = parse_cron(line)
    fires = [ms(text) for text in expected[rule]]
    start, end = ms(first) - 1, ms(last)

    assert show(fires_between(cron, start, end, zone=BERLIN, dst=rule)) == show(fires)
    assert count_between(cron, start, end, zone=BERLIN, dst=rule) == len(fires)
    for before, fire in zip([start, *fires], fires, strict=False):
        for after in (before, fire - 1_001, fire - 1_000, fire - 999, fire - 1):
            assert show([next_fire(cron, max(after, before), BERLIN, rule) or 0]) == show([fire])
        assert list(fires_between(cron, fire - 1, fire, zone=BERLIN, dst=rule)) == [fire]
        assert count_between(cron, fire - 1, fire, zone=BERLIN, dst=rule) == 1
        assert count_between(cron, fire, fire + 999, zone=BERLIN, dst=rule) == 0
        assert count_between(cron, before, fire - 1, zone=BERLIN, dst=rule) == 0
