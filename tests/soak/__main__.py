"""`make soak`, or `python -m tests.soak --help`."""

import argparse
import os
import random
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from rota import __version__
from tests.soak.report import is_good, report
from tests.soak.soak import soak
from tests.soak.stores import STORES

DEFAULT_STORES = ("sqlite", "redis")


def main() -> int:
    arguments = _parser().parse_args()
    kinds = arguments.store or DEFAULT_STORES
    seed = random.SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed
    minutes = arguments.minutes / len(kinds)
    is_all_good = True
    print(f"# Soak of Rota {__version__}\n\n{_circumstances(arguments.minutes, kinds, seed)}\n", flush=True)
    for kind in kinds:
        folder = Path(tempfile.mkdtemp(prefix=f"rota-soak-{kind}-"))
        evidence = soak(kind, minutes=minutes, seed=seed, folder=folder)
        print(report(kind, evidence, minutes=minutes, seed=seed), flush=True)
        (folder / "faults").write_text("".join(f"{line}\n" for line in evidence.diary))
        if is_good(evidence) and not arguments.keep:
            shutil.rmtree(folder)
        else:
            print(f"Ledger, faults and logs of the nodes are in {folder}.", file=sys.stderr)
        is_all_good = is_all_good and is_good(evidence)
    return 0 if is_all_good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make soak ARGS=...", description="Mixed load and random faults, judged from outside; Markdown on stdout."
    )
    parser.add_argument("--minutes", type=float, default=15.0, help="in all, shared by the stores (default: 15)")
    parser.add_argument(
        "--store", action="append", choices=list(STORES), help="may be repeated (default: sqlite redis)"
    )
    parser.add_argument("--seed", type=int, help="the same faults and jobs again, as far as time allows")
    parser.add_argument("--keep", action="store_true", help="keep ledger and logs also when nothing is wrong")
    return parser


def _circumstances(minutes: float, kinds: tuple[str, ...], seed: int) -> str:
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    return (
        f"{today}, Python {sys.version.split()[0]}, {os.cpu_count()} cores, {', '.join(kinds)}, {minutes:g} minutes; "
        f'`make soak ARGS="--seed {seed}"` repeats it.'
    )


if __name__ == "__main__":
    sys.exit(main())
