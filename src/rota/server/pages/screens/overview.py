"""The overview: how it goes, what runs, what comes, what failed."""

from collections import Counter
from typing import Any

from rota.server.pages.asking import Asking
from rota.server.pages.page import Context, Visit
from rota.store.contract.queues import STATS_STEP_MS

PARTS = ("health", "figures", "charts", "next", "failures", "running")
_MOST_ROWS = 6
_MINUTES = 60


def gather(asking: Asking, visit: Visit) -> Context:
    overview = asking.ask("show_overview")
    durations = asking.ask_if_allowed("list_durations")
    return {
        "overview": overview,
        "durations": durations,
        "throughput": throughput(asking.ask("read_stats"), overview["time"]),
        "waits": _waits(durations),
        "upcoming": asking.ask_if_allowed("list_upcoming", limit=_MOST_ROWS),
        "failed": asking.ask_if_allowed("list_jobs", state="failed", limit=_MOST_ROWS),
        "running": asking.ask_if_allowed("list_jobs", state="running", limit=_MOST_ROWS),
    }


def throughput(stats: Any, now: int) -> list[list[int]]:
    """For a chart: seconds, succeeded, failed, one of each per minute of the last hour, whether it has any or not."""
    succeeded: Counter[int] = Counter()
    failed: Counter[int] = Counter()
    for series in stats["queues"]:
        for point in series["points"]:
            succeeded[point["time"]] += point["succeeded"]
            failed[point["time"]] += point["failed"]
    last = now // STATS_STEP_MS * STATS_STEP_MS
    times = range(last - (_MINUTES - 1) * STATS_STEP_MS, last + 1, STATS_STEP_MS)
    return [[at // 1000 for at in times], [succeeded[at] for at in times], [failed[at] for at in times]]


def _waits(durations: Any) -> list[list[float]]:
    """For a chart of powers of ten: when jobs ended, and how many seconds they had waited and run, at least 0.001."""
    jobs = durations["jobs"] if durations else []
    lengths = ([max(one[what], 1) / 1000 for one in jobs] for what in ("wait", "run"))
    return [[one["time"] / 1000 for one in jobs], *lengths]
