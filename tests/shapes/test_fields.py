"""Times of a request, as numbers or in words: what fits is taken whole, what does not is refused by name."""

from collections.abc import Callable

import pytest

from rota.errors import InvalidInput
from rota.shapes.fields import delay_ms, expires_ms, timeout_ms

YEAR_MS = 365 * 24 * 3600 * 1000
TEN_YEARS_MS = 10 * YEAR_MS
Read = Callable[[int | str | None], int | None]
BOUNDS: list[tuple[Read, str, int, int]] = [
    (timeout_ms, "timeout", 1, YEAR_MS),
    (delay_ms, "delay", 0, TEN_YEARS_MS),
    (expires_ms, "expires", 1, TEN_YEARS_MS),
]


@pytest.mark.parametrize(("read", "name", "least", "most"), BOUNDS)
def test_a_time_is_taken_within_its_bounds_and_refused_beyond_them(
    read: Read, name: str, least: int, most: int
) -> None:
    assert read(None) is None
    assert [read(least), read(f"{least}ms"), read(most), read(f"{most}ms")] == [least, least, most, most]
    for given in (least - 1, most + 1, f"{most + 1}ms"):
        with pytest.raises(InvalidInput, match=f"^{name}: "):
            read(given)
