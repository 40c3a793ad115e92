"""How the commands that show one thing tell its fields."""

import pytest

from rota.cli.field_words import field_name, field_words


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("timeout_ms", 90_000, "1 minute 30 seconds"),
        ("timeout_ms", None, "none"),
        ("priority", 90_000, "90000"),
        ("trigger", {"kind": "interval", "every_ms": 60_000}, "interval, every 1 minute"),
        ("trigger", {"kind": "cron", "cron": "5 * * * *", "tz": "UTC"}, 'cron, cron "5 * * * *", tz UTC'),
        ("retries", {"attempts": 3, "delay_ms": 1_000}, "attempts 3, delay 1 second"),
        ("arguments", {"attempts": 3, "to": ["me"]}, '{"attempts":3,"to":["me"]}'),
        ("arguments", {}, "{}"),
        ("arguments", ["a_ms"], '["a_ms"]'),
    ],
)
def test_a_field_is_told_on_one_line_with_units_and_its_own_data_as_they_are(
    name: str, value: object, told: str
) -> None:
    assert field_words(name, value) == told


@pytest.mark.parametrize(("name", "told"), [("timeout_ms", "timeout"), ("priority", "priority"), ("ms", "ms")])
def test_a_unit_that_is_told_with_the_value_is_not_in_the_name(name: str, told: str) -> None:
    assert field_name(name) == told
