"""What a person is told when a schedule is defined."""

import pytest

from rota.model.schedules.hints import request_hints
from rota.model.schedules.request import ScheduleRequest

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("wish", "begins"),
    [
        ({"cron": "0 0 13 * 5"}, 'day "13" and weekday "5" are both restricted'),
        ({"cron": "* * * * *", "jitter": "5m"}, "its jitter of 5 minutes is longer than the 1 minute to its next time"),
        (
            {"interval": "10s", "anchor": "epoch", "jitter": "1m"},
            "its jitter of 1 minute is longer than the 10",
        ),
        (
            {"interval": "10s", "jitter": "1m"},
            "its jitter of 1 minute is longer than its interval, so its jobs come 10 seconds to 1 minute 10 seconds",
        ),
        ({"at": NOW - 1}, "its time is over, so it never fires"),
        ({"cron": "* * * * *", "end": NOW - 1}, "its time is over, so it never fires"),
        ({"cron": "0 * * * *", "catch_up": "all"}, "after downtime catch_up: all fires the first missed time"),
        ({"interval": "10s", "catch_up": "all", "overlap": "skip"}, "after downtime catch_up: all fires the first"),
    ],
)
def test_what_looks_like_a_slip_is_said(wish: dict[str, object], begins: str) -> None:
    (hint,) = request_hints(ScheduleRequest(name="s", job_type="report", **wish), NOW)  # type: ignore[arg-type]

    assert hint.startswith(begins)


@pytest.mark.parametrize(
    "wish",
    [
        {"cron": "30 2 * * *", "jitter": "5m"},
        {"interval": "1m", "jitter": "10s"},
        {"cron": "0 * * * *", "catch_up": "all", "overlap": "buffer_all"},
        {"at": NOW + 5, "jitter": "1m"},
        # Just as long as it may be, and the very last moment.
        {"cron": "* * * * *", "jitter": "1m"},
        {"interval": "10s", "anchor": "epoch", "jitter": "10s"},
        {"interval": "10s", "jitter": "10s"},
        {"at": NOW},
    ],
)
def test_what_is_in_order_needs_no_words(wish: dict[str, object]) -> None:
    assert request_hints(ScheduleRequest(name="s", job_type="report", **wish), NOW) == ()  # type: ignore[arg-type]
