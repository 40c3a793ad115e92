"""How long it takes to find the next fire of a cron line, beside croniter."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

_CRON_LINES = ("*/5 * * * *", "30 2 * * *", "0 9 * * 1-5", "15 10 1 * *", "0 0 29 2 *")


def next_of_lines(zone: str) -> dict[str, Any]:
    """Microseconds for one `next`, over some lines and a year of starts."""
    from croniter import croniter

    from rota.model.triggers.cron.fires import next_fire
    from rota.model.triggers.cron.parser import parse_cron

    starts = [datetime(2026, 1, 1, tzinfo=ZoneInfo(zone)) + timedelta(hours=7 * n) for n in range(400)]
    crons = [parse_cron(line) for line in _CRON_LINES]
    millis = [int(start.timestamp() * 1000) for start in starts]

    def ours() -> None:
        for cron in crons:
            for start in millis:
                next_fire(cron, start, zone)

    def theirs() -> None:
        for line in _CRON_LINES[:4]:  # it takes milliseconds for a leap day
            for start in starts:
                croniter(line, start).get_next(float)

    def steps() -> None:
        for line in _CRON_LINES[:4]:
            one = croniter(line, starts[0])
            for _ in starts:
                one.get_next(float)

    rota, fresh, walking = _timed(ours), _timed(theirs), _timed(steps)
    return {
        "case": "next",
        "zone": zone,
        "rota_us": round(rota / (len(crons) * len(starts)) * 1e6, 2),
        "croniter_us": round(walking / (4 * len(starts)) * 1e6, 2),
        "croniter_new_us": round(fresh / (4 * len(starts)) * 1e6, 2),
    }


def _timed(run: Callable[[], None]) -> float:
    run()
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    return best
