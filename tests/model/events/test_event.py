"""Events as values: spellings of types, timestamps and resources."""

import pytest

from rota.errors import InvalidInput
from rota.model.events.event import (
    check_event_type,
    check_resource,
    check_type_name,
    make_event,
    parse_timestamp,
    shown_time,
)

NOON = 1_609_502_400_000_000


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2021-01-01T12:00:00.000000Z", NOON),
        ("2021-01-01 12:00:00", NOON),
        ("2021-01-01T12:00:00", NOON),
        ("2021-01-01T12:00:00Z", NOON),
        ("2021-01-01T12:00:00.5Z", NOON + 500_000),
        ("2021-01-01T12:00:00.000001", NOON + 1),
        ("2021-01-01T12:00:00.123456789Z", NOON + 123_456),
        ("2021-01-01T14:00:00+02:00", NOON),
        ("2021-01-01T14:00:00+0200", NOON),
        ("2021-01-01T07:00:00-05", NOON),
        ("2021-01-01 12:00:00 Z", NOON),
        ("1969-12-31 23:59:59.5", -500_000),
    ],
)
def test_a_timestamp_is_read_in_every_spelling(text: str, micros: int) -> None:
    assert parse_timestamp("at", text) == micros


@pytest.mark.parametrize(
    "value",
    [
        "",
        "yesterday",
        "2021-01-01",
        "2021-13-01 00:00:00",
        "2021-02-29 00:00:00",
        "2021-01-01 24:00:00",
        "2021-01-01 12:00",
        "2021-W01-1T00:00:00",
        "2021-01-01T12:00:00.1234567890Z",
        "2021-01-01T12:00:00+25:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "٢٠٢١-01-01 12:00:00",
        1609502400,
        None,
        True,
        ["2021-01-01 12:00:00"],
    ],
)
def test_what_is_no_timestamp_is_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidInput, match="eventTimestamp"):
        parse_timestamp("eventTimestamp", value)


@pytest.mark.parametrize("year", ["0001", "0987", "2021", "9999"])
def test_a_time_is_shown_as_it_was_read(year: str) -> None:
    shown = shown_time(parse_timestamp("at", f"{year}-01-01 12:30:00.000001"))

    assert shown == f"{year}-01-01T12:30:00.000001Z"
    assert parse_timestamp("at", shown) == parse_timestamp("at", f"{year}-01-01 12:30:00.000001")


def test_a_clock_that_runs_ahead_neither_blocks_nor_prolongs() -> None:
    event = make_event(id="e", type="FILE", resource="a", stated_time=NOON + 10**12, received_at=NOON // 1_000)

    assert event.time == NOON + 999


@pytest.mark.parametrize("value", ["FILE", "file", " File ", "JOB", "table"])
def test_known_types_are_read_in_any_case(value: str) -> None:
    assert check_event_type("type", value) == value.strip().upper()


@pytest.mark.parametrize("value", ["TIME_BASED", "time based", "TIME-BASED", "TIME_BASED_CRON", "time based cron"])
def test_whatever_is_based_on_time_is_of_one_type(value: str) -> None:
    assert check_event_type("type", value) == "TIME_BASED"


@pytest.mark.parametrize("value", ["", "FOLDER", "FILES", "TIME", 5, None, True, ["FILE"]])
def test_an_unknown_type_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="eventType"):
        check_event_type("eventType", value)


def test_a_setting_adds_types_and_a_star_any() -> None:
    assert check_event_type("type", "s3-object", ("S3_OBJECT",)) == "S3_OBJECT"
    assert check_event_type("type", "anything", ("*",)) == "ANYTHING"
    assert check_type_name("event_types", "s3 object") == "S3_OBJECT"
    with pytest.raises(InvalidInput):
        check_event_type("type", "no/type", ("*",))
    with pytest.raises(InvalidInput):
        check_type_name("event_types", "1st")


@pytest.mark.parametrize("value", ["", "a" * 1025, "a\0b", "a\nb", "\ud800", 5, None])
def test_a_resource_that_no_store_can_carry_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="resourceId"):
        check_resource("resourceId", value)
