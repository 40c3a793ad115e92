"""Sets up environments, and runs workloads of peers until enough calm runs are there."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager

from benchmarks import machine
from benchmarks.case import ENVIRONMENTS, HERE, PEERS, Case, services_of
from benchmarks.results import Results, is_calm
from benchmarks.servers import SERVERS, Server
from benchmarks.workloads import does, measure

MORE_TRIES = 2
"""Runs beyond the wanted number, should others have disturbed some."""


def set_up(names: Sequence[str]) -> None:
    """Make the environments of peers: all, or those named."""
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    for name in names or PEERS:
        spec, folder = PEERS[name], ENVIRONMENTS / name
        if "packages" in spec:
            if not (folder / "bin" / "python").exists():
                subprocess.run([sys.executable, "-m", "venv", folder], check=True)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            subprocess.run([*pip, *spec["packages"]], check=True, cwd=HERE.parent)
        if "npm" in spec:
            folder.mkdir(exist_ok=True)
            npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder)]
            subprocess.run([*npm, *spec["npm"]], check=True)
        print("ready:", name)


def parse_peers(text: str) -> list[tuple[str, str]]:
    """`huey/sqlite,dramatiq` as pairs of peer and variant; nothing means all."""
    pairs = []
    for word in filter(None, text.split(",")) if text else PEERS:
        peer, _, only = word.partition("/")
        if peer not in PEERS or (only and only not in PEERS[peer]["variants"]):
            raise SystemExit(f"no peer {word!r}; known are {', '.join(PEERS)}, with variants as in peers.toml")
        pairs += [(peer, variant) for variant in PEERS[peer]["variants"] if only in ("", variant)]
    return pairs


@contextmanager
def running_servers(names: Iterable[str]) -> Iterator[dict[str, Server]]:
    """Servers, started and ended."""
    servers: dict[str, Server] = {}
    with tempfile.TemporaryDirectory(prefix="bench-srv-") as folder:
        try:
            for name in names:
                servers[name] = SERVERS[name](folder)
            yield servers
        finally:
            for server in servers.values():
                server.close()


def run(
    pairs: Sequence[tuple[str, str]],
    workloads: Sequence[str],
    results: Results,
    *,
    repeats: int,
    scale: float = 1.0,
    calm_s: float = 20.0,
) -> None:
    """Fill the results up to so many calm runs of each peer, variant and workload."""
    names = sorted({name for peer, variant in pairs for name in services_of(peer, variant)})
    with running_servers(names) as servers:
        versions = {name: server.version for name, server in servers.items()}
        results.machine |= machine.describe() | versions
        for peer, variant in dict(pairs).items():
            with closing(Case(peer, variant, servers)) as case:
                results.versions[peer] = case.ask("versions")
        for peer, variant in pairs:
            for workload in workloads:
                if does(peer, variant, workload):
                    _repeat(peer, variant, workload, servers, results, repeats=repeats, scale=scale, calm_s=calm_s)


def _repeat(
    peer: str,
    variant: str,
    workload: str,
    servers: dict[str, Server],
    results: Results,
    *,
    repeats: int,
    scale: float,
    calm_s: float,
) -> None:
    for _ in range(repeats + MORE_TRIES):
        if len(results.calm_runs(peer, variant, workload)) >= repeats:
            return
        machine.wait_for_calm(calm_s)
        row: dict[str, object] = {
            "peer": peer,
            "variant": variant,
            "workload": workload,
            "at": time.strftime("%Y-%m-%dT%H:%M:%S"),
            "load1": os.getloadavg()[0],
        }
        try:
            row |= measure(workload, peer, variant, servers, scale=scale)
        except Exception as error:  # one peer that does not run must not end the others
            row["error"] = f"{type(error).__name__}: {error}"[:2000]
        results.add(row)
        _show(row)
        if "error" in row:
            return


def _show(row: dict[str, object]) -> None:
    noisy = "" if "error" in row or is_calm(row) else " (others disturbed it, does not count)"
    rounded = {name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()}
    print(json.dumps(rounded) + noisy, file=sys.stderr, flush=True)
