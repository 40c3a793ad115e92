"""Zones by name and instants by text, with errors that help."""

from datetime import UTC, datetime

import pytest

from rota.errors import InvalidInput
from rota.model.triggers.zones.dates import parse_instant
from rota.model.triggers.zones.zones import parse_zone, suggest_zone
from tests.model.triggers.instants import ms


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/San_Luis", "EST5EDT", "Etc/GMT-2"])
def test_an_iana_name_is_a_zone(name: str) -> None:
    assert parse_zone("tz", name) == name


def test_the_zone_of_the_sample_is_refused_with_the_right_name() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_zone("tz", "America/NewYork")

    assert str(caught.value) == "tz: 'America/NewYork' is not a time zone; did you mean America/New_York?"


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("america/new york", "America/New_York"),
        ("EUROPE/BERLIN", "Europe/Berlin"),
        ("Europe/Berln", "Europe/Berlin"),
        ("berlin", "Europe/Berlin"),
        ("utc", "UTC"),
        ("Asia/Calcuta", "Asia/Calcutta"),
        ("Mars/Olympus", None),
        ("", None),
    ],
)
def test_the_nearest_name_is_suggested(name: str, suggestion: str | None) -> None:
    assert suggest_zone(name) == suggestion


@pytest.mark.parametrize(
    "name", ["", "localtime", "right/UTC", "posix/UTC", "America", "../etc/passwd", "/etc/passwd", "\0", "x" * 5000]
)
def test_what_is_no_zone_or_differs_between_machines_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="is not a time zone"):
        parse_zone("tz", name)


def test_an_offset_is_answered_with_the_zone_that_has_it() -> None:
    with pytest.raises(InvalidInput, match="Etc/GMT-2 for a fixed offset"):
        parse_zone("tz", "UTC+02:00")
    with pytest.raises(InvalidInput, match="must be the name of a zone"):
        parse_zone("tz", 2)


@pytest.mark.parametrize(
    ("value", "zone", "expected"),
    [
        ("2021-01-01T11:59:59Z", "UTC", "2021-01-01T11:59:59"),
        ("2021-01-01 11:59:59", "UTC", "2021-01-01T11:59:59"),
        ("2021-01-01T11:59:59.250+02:00", "UTC", "2021-01-01T09:59:59.250"),
        ("20210101T115959Z", "UTC", "2021-01-01T11:59:59"),
        ("2021-W01-1", "UTC", "2021-01-04"),
        ("2021-07-01 12:00", "Europe/Berlin", "2021-07-01T12:00+02:00"),
        ("2021-07-01", "Europe/Berlin", "2021-07-01T00:00+02:00"),
        ("2021-07-01T12:00Z", "Europe/Berlin", "2021-07-01T12:00"),
        ("2026-03-29 02:30", "Europe/Berlin", "2026-03-29T03:00+02:00"),
        ("2026-10-25 02:30", "Europe/Berlin", "2026-10-25T02:30+02:00"),
        ("2011-12-30 10:00", "Pacific/Apia", "2011-12-31T00:00+14:00"),
        ("1919-12-31 23:50", "Asia/Kathmandu", "1919-12-31T23:50+05:41:16"),
    ],
)
def test_a_date_is_read_in_its_own_zone_or_the_given_one(value: str, zone: str, expected: str) -> None:
    assert parse_instant("startDate", value, zone) == ms(expected)


def test_epoch_milliseconds_and_datetimes_are_dates_too() -> None:
    assert parse_instant("startDate", 1_617_235_200_000) == 1_617_235_200_000
    assert parse_instant("startDate", 1_617_235_200_000.0) == 1_617_235_200_000
    assert parse_instant("startDate", datetime(2021, 4, 1, tzinfo=UTC)) == 1_617_235_200_000


@pytest.mark.parametrize("value", ["tomorrow", "2021-13-01", "2021-01-01T24:00", "2021-01-01T00:00:60Z", ""])
def test_text_that_is_no_date_is_refused(value: str) -> None:
    with pytest.raises(InvalidInput, match="is not an ISO 8601 date"):
        parse_instant("startDate", value)


@pytest.mark.parametrize("value", [True, None, 1.5, [], {}])
def test_other_values_are_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="must be ISO 8601 text or whole epoch milliseconds"):
        parse_instant("startDate", value)


@pytest.mark.parametrize("value", [10**18, -(10**18), "0001-01-01", "9999-12-31T23:59:59Z", "9999-12-31"])
def test_a_date_out_of_range_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="is out of range"):
        parse_instant("startDate", value, "Europe/Berlin")
