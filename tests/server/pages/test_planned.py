"""When it will be crowded: whole days, whatever the hour in which somebody looks."""

from typing import Any

import pytest

from rota.server.pages.screens.planned import days_of

HOUR = 3_600_000
MONDAY = 1_794_787_200_000
"""Midnight in UTC."""


@pytest.mark.parametrize(("hour", "rows"), [(0, 7), (1, 8), (23, 8)])
def test_a_week_is_shown_as_days_with_what_has_passed_left_empty(hour: int, rows: int) -> None:
    found: Any = {"since": MONDAY + hour * HOUR, "fires": [1, *([0] * 166), 4]}

    days = days_of(found, 4)

    assert [len(day.cells) for day in days] == [24] * rows
    cells = [cell for day in days for cell in day.cells]
    assert [cell.fires for cell in cells].count(None) == (rows - 7) * 24
    assert (cells[hour].fires, cells[hour].shade) == (1, 1)
    assert (cells[hour + 167].fires, cells[hour + 167].shade) == (4, 4)
    assert days[0].name == "Mon 16 Nov"
