"""Reading cron lines: every form, what it means, and what the errors say."""

import pytest

from rota.errors import InvalidInput
from rota.model.triggers.cron.cron import Cron, Days, Dialect
from rota.model.triggers.cron.fires import fires_between
from rota.model.triggers.cron.parser import Every, Reboot, parse_cron, parse_cron_line
from tests.model.triggers.instants import ms

MONDAY_TO_SUNDAY = (1, 2, 3, 4, 5, 6, 0)


def days_of(cron: Cron, month: str, length: int = 31) -> list[int]:
    """The days of a month on which it fires."""
    found = fires_between(cron, ms(f"{month}-01") - 1, ms(f"{month}-{length}T23:59:59"))
    return sorted({(instant - ms(f"{month}-01")) // 86_400_000 + 1 for instant in found})


@pytest.mark.parametrize(
    ("text", "field", "values"),
    [
        ("5 * * * *", "minute", (5,)),
        ("1,5,3 * * * *", "minute", (1, 3, 5)),
        ("10-13 * * * *", "minute", (10, 11, 12, 13)),
        ("*/15 * * * *", "minute", (0, 15, 30, 45)),
        ("5/15 * * * *", "minute", (5, 20, 35, 50)),
        ("10-20/5 * * * *", "minute", (10, 15, 20)),
        ("5-5 * * * *", "minute", (5,)),
        ("5-5/2 * * * *", "minute", (5,)),
        ("*/90 * * * *", "minute", (0,)),
        ("58-2 * * * *", "minute", (0, 1, 2, 58, 59)),
        ("0 22-2 * * *", "hour", (0, 1, 2, 22, 23)),
        ("0 22-2/2 * * *", "hour", (0, 2, 22)),
        ("0 0 * JAN,mar *", "month", (1, 3)),
        ("0 0 * NOV-FEB *", "month", (1, 2, 11, 12)),
        ("0 0 25-3 * *", "day", (1, 2, 3, 25, 26, 27, 28, 29, 30, 31)),
        ("0 0 * * 0", "weekday", (0,)),
        ("0 0 * * 7", "weekday", (0,)),
        ("0 0 * * 7-2", "weekday", (0, 1, 2)),
        ("0 0 * * 5-7", "weekday", (0, 5, 6)),
        ("0 0 * * 0-7", "weekday", (0, 1, 2, 3, 4, 5, 6)),
        ("0 0 * * FRI-MON", "weekday", (0, 1, 5, 6)),
        ("0 0 * * FRI-MON/2", "weekday", (0, 5)),
        ("0 0 * * 7/2", "weekday", (0, 2, 4, 6)),
        ("0 0 0 ? * 1", "weekday", (0,)),
        ("0 0 0 ? * 2-6", "weekday", (1, 2, 3, 4, 5)),
        ("0 0 0 ? * 6-2", "weekday", (0, 1, 5, 6)),
        ("0 0 0 ? * L", "weekday", (6,)),
        ("0 0 0 * * 1 2030", "weekday", (0,)),
        ("0 0 0 * * 1", "weekday", (1,)),
        ("0 0 0 1 1 ? 2030,2032-2034", "year", (2030, 2032, 2033, 2034)),
        ("0/20 * * * * *", "second", (0, 20, 40)),
        ("  5\t*  * * *  ", "minute", (5,)),
    ],
)
def test_a_field_holds_the_values_its_text_names(text: str, field: str, values: tuple[int, ...]) -> None:
    assert getattr(parse_cron(text), field).values == values


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("0 0 * * 1", Dialect.UNIX),
        ("0 0 ? * 1", Dialect.UNIX),
        ("0 9 * * ?", Dialect.UNIX),
        ("0 0 0 * * 1", Dialect.UNIX),
        ("0 0 0 * * ?", Dialect.QUARTZ),
        ("0 0 0 * * 1 *", Dialect.QUARTZ),
    ],
)
def test_auto_is_quartz_with_seven_fields_or_six_and_a_question_mark(text: str, dialect: Dialect) -> None:
    assert parse_cron(text).dialect is dialect


def test_a_named_dialect_wins_over_the_shape_of_the_line() -> None:
    assert parse_cron("0 0 * * 1", Dialect.QUARTZ).weekday.values == (0,)
    assert parse_cron("0 0 0 ? * 1 *", Dialect.UNIX).weekday.values == (1,)


@pytest.mark.parametrize(
    ("text", "month", "length", "days"),
    [
        ("0 0 L * *", "2026-02", 28, [28]),
        ("0 0 L * *", "2028-02", 29, [29]),
        ("0 0 L-3 * *", "2026-04", 30, [27]),
        ("0 0 L-30 * *", "2026-04", 30, []),
        ("0 0 L-30 * *", "2026-05", 31, [1]),
        ("0 0 LW * *", "2026-05", 31, [29]),  # The 31st is a Sunday.
        ("0 0 LW * *", "2026-06", 30, [30]),
        ("0 0 L-1W * *", "2026-05", 31, [29]),  # The 30th is a Saturday.
        ("0 0 L-6W * *", "2026-05", 31, [25]),
        ("0 0 L-7W * *", "2026-05", 31, [25]),  # The 24th is a Sunday.
        ("0 0 L-30W * *", "2026-05", 31, [1]),
        ("0 0 L-30W * *", "2026-06", 30, []),
        ("0 0 * * MONL", "2026-05", 31, [25]),
        ("0 0 15W * *", "2026-08", 31, [14]),  # A Saturday: the Friday before.
        ("0 0 15W * *", "2026-11", 30, [16]),  # A Sunday: the Monday after.
        ("0 0 1W * *", "2026-08", 31, [3]),  # A Saturday, and the day before is in July.
        ("0 0 31W * *", "2026-05", 31, [29]),  # A Sunday, and the day after is in June.
        ("0 0 31W * *", "2026-06", 30, []),
        ("0 0 * * 5L", "2026-05", 31, [29]),
        ("0 0 * * L5", "2026-05", 31, [29]),
        ("0 0 * * friL", "2026-05", 31, [29]),
        ("0 0 0 ? * 6L", "2026-05", 31, [29]),
        ("0 0 * * FRI#2", "2026-05", 31, [8]),
        ("0 0 0 ? * 2#1 *", "2026-05", 31, [4]),
        ("0 0 * * 5#5", "2026-05", 31, [29]),
        ("0 0 * * 5#5", "2026-06", 30, []),
        ("0 0 1,L * *", "2026-05", 31, [1, 31]),
        ("0 0 * * 1#1,5L", "2026-05", 31, [4, 29]),
    ],
)
def test_days_that_depend_on_the_month(text: str, month: str, length: int, days: list[int]) -> None:
    assert days_of(parse_cron(text), month, length) == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 0 13 * FRI", [1, 8, 13, 15, 22, 29]),
        ("0 0 */10 * FRI", [1]),  # Begins with a star: days 1, 11, 21, 31 that are Fridays.
        ("0 0 13 * */5", []),  # Weekdays 0 and 5; the 13th is a Wednesday.
        ("0 0 1-31 * FRI", list(range(1, 32))),
        ("0 0 ? * FRI", [7, 14, 21, 28]),  # Quartz: 6 would be Friday; a name is the same in both.
    ],
)
def test_day_and_weekday_follow_the_vixie_rule(text: str, days: list[int]) -> None:
    month = "2026-08" if "?" in text else "2026-05"

    assert days_of(parse_cron(text), month) == days


def test_both_day_and_weekday_can_be_asked_for() -> None:
    cron = parse_cron("0 0 13 * FRI", days=Days.BOTH)

    assert days_of(cron, "2026-05") == []
    assert days_of(cron, "2026-02", 28) == [13]


@pytest.mark.parametrize(
    ("macro", "line"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@HOURLY", "0 * * * *"),
    ],
)
def test_a_macro_is_the_line_it_stands_for(macro: str, line: str) -> None:
    assert parse_cron(macro) == parse_cron(line)


@pytest.mark.parametrize(
    ("text", "every_ms"),
    [("@every 90s", 90_000), ("@every 5m", 300_000), ("@every 1h30m", 5_400_000), ("@every 1.5s", 1_500)],
)
def test_every_is_an_interval(text: str, every_ms: int) -> None:
    assert parse_cron_line(text) == Every(every_ms)


def test_reboot_is_recognised_and_has_no_time() -> None:
    assert parse_cron_line("@reboot") == Reboot()
    with pytest.raises(InvalidInput, match="names no time"):
        parse_cron("@reboot")


def test_a_hash_is_the_same_for_the_same_seed_and_spreads_over_the_field() -> None:
    minutes = {parse_cron("H * * * *", seed=f"job {number}").minute.values for number in range(200)}

    assert parse_cron("H H * * *", seed="nightly") == parse_cron("H H * * *", seed="nightly")
    assert parse_cron("H H * * *", seed="nightly").times.first == 3_540  # Nodes of all releases must agree.
    assert len(minutes) > 40
    assert all(len(values) == 1 for values in minutes)


@pytest.mark.parametrize("seed", ["", "a", "nightly", "ü"])
def test_a_hash_keeps_to_its_range_and_its_step(seed: str) -> None:
    in_range = parse_cron("H(10-14) * * * *", seed=seed).minute.values
    stepped = parse_cron("H/15 * * * *", seed=seed).minute.values
    both = parse_cron("H(0-29)/10 * * * *", seed=seed).minute.values
    day = parse_cron("0 0 H * *", seed=seed).day.values

    assert 10 <= in_range[0] <= 14
    assert [value - stepped[0] for value in stepped] == [0, 15, 30, 45]
    assert stepped[0] < 15
    assert [value - both[0] for value in both] == [0, 10, 20]
    assert 1 <= day[0] <= 28


def test_a_hash_is_a_fixed_time_and_a_stepped_one_a_rhythm() -> None:
    assert not parse_cron("H H * * *").is_interval_like
    assert parse_cron("H/15 2 * * *").is_interval_like
    assert parse_cron("H H * * *").uses_hash
    assert not parse_cron("0 0 * * THU").uses_hash


@pytest.mark.parametrize(
    ("text", "is_interval_like"),
    [
        ("30 2 * * *", False),
        ("0,30 2,3 * * *", False),
        ("0 30 2 * * *", False),
        ("5-5 2-2/3 * * *", False),
        ("* 2 * * *", True),
        ("30 * * * *", True),
        ("30 1-3 * * *", True),
        ("*/30 2 * * *", True),
        ("0 30/5 2 * * *", True),
        ("*/10 30 2 * * *", True),
    ],
)
def test_a_line_is_interval_like_by_its_star_range_or_step(text: str, is_interval_like: bool) -> None:
    assert parse_cron(text).is_interval_like is is_interval_like


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 25 * * *", 'cron: field 2 (hour) "25": must be 0-23'),
        ("60 * * * *", 'cron: field 1 (minute) "60": must be 0-59'),
        ("1,2,61 * * * *", 'cron: field 1 (minute) "61": must be 0-59'),
        ("60 * * * * *", 'cron: field 1 (second) "60": must be 0-59'),
        ("* * 0 * *", 'cron: field 3 (day) "0": must be 1-31'),
        ("* * * 13 *", 'cron: field 4 (month) "13": must be 1-12 or JAN-DEC'),
        ("* * * Janu *", 'cron: field 4 (month) "Janu": must be 1-12 or JAN-DEC'),
        ("* * * * 8", 'cron: field 5 (weekday) "8": must be 0-7 (0 and 7 are Sunday) or SUN-SAT'),
        ("0 0 0 ? * 0", 'cron: field 6 (weekday) "0": must be 1-7 (1 is Sunday) or SUN-SAT'),
        ("0 0 0 1 1 ? 1969", 'cron: field 7 (year) "1969": must be 1970-2099'),
        ("0 0 0 1 1 ? 2030-2020", 'cron: field 7 (year) "2030-2020": ends before it begins; must be 1970-2099'),
        (f"{'9' * 40} * * * *", f'cron: field 1 (minute) "{"9" * 40}": must be 0-59'),
        (f"{'9' * 41} * * * *", f'cron: field 1 (minute) "{"9" * 40}…": must be 0-59'),
        ("*/0 * * * *", 'cron: field 1 (minute) "*/0": a step must be a whole number from 1'),
        ("*/x * * * *", 'cron: field 1 (minute) "*/x": a step must be a whole number from 1'),
        ("*/ * * * *", 'cron: field 1 (minute) "*/": a step must be a whole number from 1'),
        ("? * * * *", 'cron: field 1 (minute) "?": only day and weekday may be ?; must be 0-59 or *'),
        ("0 0 * * 5#6", 'cron: field 5 (weekday) "5#6": the number after # must be 1-5'),
        ("0 0 * * 9#1", 'cron: field 5 (weekday) "9#1": must be 0-7 (0 and 7 are Sunday) or SUN-SAT'),
        ("0 0 L-31 * *", 'cron: field 3 (day) "L-31": days before the last one must be 1-30'),
        ("0 0 L-31W * *", 'cron: field 3 (day) "L-31W": days before the last one must be 1-30'),
        (
            "0 0 * * MON-FRI#1",
            'cron: field 5 (weekday) "MON-FRI#1": # takes one weekday; list them, such as MON#1,FRI#1',
        ),
        ("0 0 * * 1-5#1", 'cron: field 5 (weekday) "1-5#1": # takes one weekday; list them, such as 1#1,5#1'),
        ("0 0 32W * *", 'cron: field 3 (day) "32W": must be 1-31'),
        ("L * * * *", 'cron: field 1 (minute) "L": must be 0-59'),
        ("H * * * * * H", 'cron: field 7 (year) "H": a year cannot be hashed; must be 1970-2099'),
        ("-5 * * * *", 'cron: field 1 (minute) "-5": must be 0-59, or *, a-b, a/n, a-b/n, or a list of these'),
        ("1,,2 * * * *", 'cron: field 1 (minute) "": must be 0-59, or *, a-b, a/n, a-b/n, or a list of these'),
        ("٣ * * * *", 'cron: field 1 (minute) "٣": must be 0-59, or *, a-b, a/n, a-b/n, or a list of these'),
        ("99999999999999999999 * * * *", 'cron: field 1 (minute) "99999999999999999999": must be 0-59'),
        ("@dayly", 'cron: "@dayly" is not known; did you mean @daily?'),
        ("@daily 5", 'cron: "@daily" stands alone; remove "5"'),
        ("@every", 'cron: "" is not a duration; write 90s, 5m, 1h30m, 250ms, 2d or 1w'),
        ("@every 0s", 'cron: "0s" must be from 1ms to ten years'),
    ],
)
def test_an_error_points_at_the_field_and_says_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_cron_line(text)

    assert str(caught.value) == message


def test_a_lone_l_for_the_weekday_is_refused_in_unix() -> None:
    with pytest.raises(InvalidInput, match="needs a weekday, such as 5L"):
        parse_cron("0 0 * * L")


@pytest.mark.parametrize("text", ["* * * *", "* * * * * * * *", "word"])
def test_a_wrong_number_of_fields_is_counted(text: str) -> None:
    with pytest.raises(InvalidInput, match=rf"{len(text.split())} fields? in .* must be 5 \(minute hour day"):
        parse_cron(text)


def test_other_bad_lines_are_refused_with_their_reason() -> None:
    with pytest.raises(InvalidInput, match="is empty"):
        parse_cron("  ")
    with pytest.raises(InvalidInput, match="the limit is 1024"):
        parse_cron("1," * 600 + " * * * *")
    with pytest.raises(InvalidInput, match="give the zone apart"):
        parse_cron("CRON_TZ=Europe/Berlin 0 2 * * *")
    with pytest.raises(InvalidInput) as caught:
        parse_cron("61 * * * *", where="schedules[2].cron")
    assert caught.value.field == "schedules[2].cron"
