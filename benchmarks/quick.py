"""The quick set: Rota alone, in about two minutes, against the targets it was built to reach."""

from typing import NamedTuple

from benchmarks.bench import run
from benchmarks.results import Results, is_calm, median_of
from benchmarks.servers import find_redis_server


class Target(NamedTuple):
    """A figure that Rota is to reach on a machine of two slow cores."""

    what: str
    variant: str
    workload: str
    key: str
    limit: float
    at_most: bool
    digits: int = 0


TARGETS = (
    Target("worker and server CPU, us/job", "redis", "A1", "cpu_us", 35, True, 1),
    Target("worker and server CPU, us/job", "sqlite", "A1", "cpu_us", 50, True, 1),
    Target("no-op jobs/s", "redis", "A1", "jobs_s", 28_000, False),
    Target("bulk enqueue, jobs/s", "redis", "A1", "enqueue_s", 60_000, False),
    Target("bulk enqueue, jobs/s", "sqlite", "A1", "enqueue_s", 60_000, False),
    Target("idle enqueue to start, p50 ms", "redis", "B", "p50_ms", 1.5, True, 2),
    Target("idle enqueue to start, p50 ms", "sqlite", "B", "p50_ms", 6, True, 2),
    Target("bash jobs/s, 8 at a time", "redis", "C", "jobs_s", 1_000, False),
    Target("bash jobs/s, 8 at a time", "sqlite", "C", "jobs_s", 1_000, False),
    Target("idle node, % of a core", "redis", "I", "worker_cpu_pct", 1, True, 2),
    Target("idle node, % of a core", "sqlite", "I", "worker_cpu_pct", 1, True, 2),
)


def run_quick(*, repeats: int, calm_s: float) -> None:
    """Measure and print. Missing a target is a figure to look into, not an error: machines differ."""
    variants = ["redis", "sqlite"] if find_redis_server() else ["sqlite"]
    if "redis" not in variants:
        print("neither redis-server nor valkey-server was found; SQLite only")
    results = Results(None)
    pairs = [("rota", variant) for variant in variants]
    run(pairs, ["A1", "B", "C", "I"], results, repeats=repeats, calm_s=calm_s)
    print(target_table(results))


def target_table(results: Results) -> str:
    """The targets and what was measured, as Markdown."""
    lines = ["| figure | store | measured | target | reached |", "|---|---|---|---|---|"]
    return "\n".join(lines + [_line(target, results) for target in TARGETS])


def _line(target: Target, results: Results) -> str:
    rows = results.groups(target.workload).get(("rota", target.variant), [])
    counted = [row for row in rows if is_calm(row)] or [row for row in rows if "error" not in row]
    value = median_of(counted, target.key)
    sign = "at most" if target.at_most else "at least"
    limit = f"{sign} {target.limit:,g}"
    if value is None:
        return f"| {target.what} | {target.variant} | - | {limit} | not measured |"
    reached = value <= target.limit if target.at_most else value >= target.limit
    noisy = "" if is_calm(counted[0]) else " (noisy)"
    measured = f"{value:,.{target.digits}f}{noisy}"
    return f"| {target.what} | {target.variant} | {measured} | {limit} | {'yes' if reached else 'no'} |"
