"""The results file, and the tables made from it."""

import json
import statistics
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Group = tuple[str, str]

NOISY = 0.25
"""Cores used by others, from which on a run does not count."""
BEGIN, END = "<!-- begin: measured -->", "<!-- end: measured -->"

_LOAD = ("other load, cores", "foreign_cores", 2)
_DRAIN = [
    ("jobs/s", "jobs_s", 0),
    ("enqueue/s", "enqueue_s", 0),
    ("worker CPU us/job", "worker_cpu_us", 0),
    ("server CPU us/job", "server_cpu_us", 0),
    ("CPU us/job together", "cpu_us", 0),
    ("peak RSS MB", "rss_mb", 0),
    ("procs", "processes", 0),
    ("N", "n", 0),
    ("repeated", "repeated", 0),
    _LOAD,
]
_COLUMNS = {
    "A1": _DRAIN,
    "A2": _DRAIN,
    "B": [("p50 ms", "p50_ms", 2), ("p99 ms", "p99_ms", 2), ("max ms", "max_ms", 1), _LOAD],
    "C": [("jobs/s", "jobs_s", 0), ("wall s", "wall_s", 2), ("worker CPU us/job", "worker_cpu_us", 0), _LOAD],
    "I": [("worker CPU %", "worker_cpu_pct", 2), ("server CPU %", "server_cpu_pct", 2), _LOAD],
}
_TITLES = {
    "A1": "A1: no-op jobs, one worker process",
    "A2": "A2: no-op jobs, two worker processes",
    "B": "B: enqueue-to-start latency, 500 jobs at 50/s",
    "C": "C: `true` as a subprocess, 1,000 jobs, 8 at a time",
    "I": "I: an idle worker over 10 s",
}


class Results:
    """Runs in a file that is written after each of them, so that a broken-off call loses nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        data = json.loads(path.read_text()) if path and path.exists() else {}
        self.machine: dict[str, object] = data.get("machine", {})
        self.versions: dict[str, dict[str, str]] = data.get("versions", {})
        self.runs: list[Row] = data.get("runs", [])

    def add(self, row: Row) -> None:
        self.runs.append(row)
        self.save()

    def save(self) -> None:
        if self._path:
            data = {"machine": self.machine, "versions": self.versions, "runs": self.runs}
            self._path.write_text(json.dumps(data, indent=1) + "\n")

    def calm_runs(self, peer: str, variant: str, workload: str) -> list[Row]:
        place = (peer, variant, workload)
        return [row for row in self.runs if (row["peer"], row["variant"], row["workload"]) == place and is_calm(row)]

    def groups(self, workload: str) -> dict[Group, list[Row]]:
        """Runs of a workload by peer and variant."""
        found: dict[Group, list[Row]] = {}
        for row in self.runs:
            if row["workload"] == workload:
                found.setdefault((row["peer"], row["variant"]), []).append(row)
        return found


def is_calm(row: Row) -> bool:
    """Whether others used little CPU during this run, so that it counts."""
    return "error" not in row and row["foreign_cores"] < NOISY


def value_of(row: Row, key: str) -> float | None:
    if key == "cpu_us":
        return float(row["worker_cpu_us"] + row["server_cpu_us"]) if "worker_cpu_us" in row else None
    return row.get(key)


def median_of(rows: list[Row], key: str) -> float | None:
    values = [value for row in rows if (value := value_of(row, key)) is not None]
    return statistics.median(values) if values else None


def tables(results: Results) -> str:
    """Everything in the file, as Markdown."""
    machine = ", ".join(f"{name} {value}" for name, value in results.machine.items())
    dates = sorted({row["at"][:10] for row in results.runs})
    parts = [f"Machine: {machine}. Runs of {' to '.join(dict.fromkeys((dates[0], dates[-1])))}."]
    versions = (f"{peer} ({_listed(names)})" for peer, names in results.versions.items())
    parts.append(f"Versions: {'; '.join(versions)}.")
    parts += [_table(workload, results) for workload in _COLUMNS if results.groups(workload)]
    parts += _ratios(results)
    return "\n\n".join(parts)


def put_into(file: Path, text: str) -> None:
    """Replace what stands between the two marks of a file."""
    before, begin, rest = file.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{file} has no lines {BEGIN!r} and {END!r} to write between")
    file.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def _listed(names: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in names.items())


def _table(workload: str, results: Results) -> str:
    columns = _COLUMNS[workload]
    names = [name for name, _, _ in columns]
    lines = [f"### {_TITLES[workload]}", "", _line(["peer", *names]), _line(["---"] * (len(names) + 1))]
    for (peer, variant), rows in results.groups(workload).items():
        counted = [row for row in rows if is_calm(row)] or [row for row in rows if "error" not in row]
        cells = [_spread(counted, key, digits) for _, key, digits in columns]
        lines.append(_line([f"{peer} {variant}{_remark(rows, counted)}", *cells]))
    return "\n".join(lines)


def _remark(rows: list[Row], counted: list[Row]) -> str:
    failed = sum("error" in row for row in rows)
    noisy = bool(counted) and not is_calm(counted[0])
    return (" (noisy)" if noisy else "") + (f" ({failed} failed)" if failed else "")


def _spread(rows: list[Row], key: str, digits: int) -> str:
    """Median, and the range when there are several runs that differ."""
    values = [value for row in rows if (value := value_of(row, key)) is not None]
    if not values:
        return "-"
    middle, low, high = (f"{value:,.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return middle if low == high else f"{middle} [{low} to {high}]"


def _ratios(results: Results) -> list[str]:
    """How the peers of workload A1 compare with Rota, from the same file."""
    groups = {group: [row for row in rows if is_calm(row)] for group, rows in results.groups("A1").items()}
    ours = [group for group in (("rota", "redis"), ("rota", "sqlite")) if groups.get(group)]
    others = [group for group, rows in groups.items() if group[0] != "rota" and rows]
    if not ours or not others:
        return []
    heads = [f"{what} {' '.join(one)}" for one in ours for what in ("CPU per job against", "jobs/s of")]
    lines = ["### Ratios of A1", "", _line(["peer", *heads]), _line(["---"] * (len(heads) + 1))]
    for group in others:
        cells = [cell for one in ours for cell in _compared(groups[group], groups[one])]
        lines.append(_line([" ".join(group), *cells]))
    return ["\n".join(lines)]


def _compared(theirs: list[Row], ours: list[Row]) -> tuple[str, str]:
    cpu = (median_of(theirs, "cpu_us") or 0) / (median_of(ours, "cpu_us") or 1)
    pace = (median_of(ours, "jobs_s") or 0) / (median_of(theirs, "jobs_s") or 1)
    return f"{cpu:.1f} times", f"{pace:.1f} times"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
