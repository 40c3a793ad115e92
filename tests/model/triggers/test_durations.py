"""Durations: text has a unit, everywhere."""

import pytest

from rota.errors import InvalidInput
from rota.model.triggers.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("250ms", 250),
        ("90s", 90_000),
        ("1h30m", 5_400_000),
        (" 2D ", 172_800_000),
        ("1.5s", 1_500),
        ("1w", 604_800_000),
    ],
)
def test_a_duration_has_a_unit(text: str, millis: int) -> None:
    assert parse_duration("interval", text) == millis


@pytest.mark.parametrize("text", ["5", " 60000 ", "0"])
def test_text_without_a_unit_is_refused_because_it_could_mean_two_things(text: str) -> None:
    with pytest.raises(InvalidInput, match=f'"{text.strip()}" has no unit; write {text.strip()}s for seconds'):
        parse_duration("interval", text)


def test_only_zero_needs_no_unit_where_it_is_allowed() -> None:
    assert parse_duration("jitter", "0", least_ms=0) == 0
    assert parse_duration("jitter", "0s", least_ms=0) == 0
    with pytest.raises(InvalidInput, match="must be from 1ms to ten years"):
        parse_duration("interval", "0s")
