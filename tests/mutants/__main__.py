"""`make mutants`, or `python -m tests.mutants --help`."""

import argparse
import signal
import sys
import threading
import time
from collections.abc import Sequence

from tests.mutants.campaign import try_all
from tests.mutants.chance import draw
from tests.mutants.report import report
from tests.mutants.table import ROOT, Mutant, area_files, faults_of, read_tables

_printing = threading.Lock()


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.chance:
        drawn = draw(arguments.chance, arguments.seed, under=arguments.under)
        return _try(drawn, arguments.jobs, is_unchanged_first=False)
    try:
        mutants = [mutant for mutant in read_tables() if _is_chosen(mutant, arguments.area, arguments.k)]
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if not mutants:
        print("No table has such a change; --list shows them all.", file=sys.stderr)
        return 2
    if arguments.list:
        for mutant in mutants:
            print(f"{mutant.area}: {mutant.what} ({mutant.file})")
        return 0
    return _check_tables(mutants) or _try(_of_this_python(mutants), arguments.jobs)


def _parser() -> argparse.ArgumentParser:
    areas = [path.stem for path in area_files()]
    parser = argparse.ArgumentParser(
        prog="make mutants ARGS=...",
        description="Make dangerous changes one at a time, in a copy, and say which of them no test notices.",
    )
    parser.add_argument("area", nargs="*", help=f"only these (default: {', '.join(areas)})")
    parser.add_argument("-k", metavar="WORD", help="only those with this word in what, file or tests")
    parser.add_argument("--list", action="store_true", help="say what there is, and try nothing")
    parser.add_argument("--chance", type=int, metavar="N", help="instead of the tables: N changes drawn by chance")
    parser.add_argument("--seed", type=int, default=1, help="which of them (default: 1)")
    parser.add_argument("--under", default="", metavar="FOLDER", help="only of this folder of src/rota")
    parser.add_argument("--jobs", type=int, default=6, help="how many at a time (default: 6; most only wait)")
    return parser


def _is_chosen(mutant: Mutant, areas: Sequence[str], word: str | None) -> bool:
    words = f"{mutant.what} {mutant.file} {mutant.tests}".lower()
    return (not areas or mutant.area in areas) and (word is None or word.lower() in words)


def _of_this_python(mutants: Sequence[Mutant]) -> list[Mutant]:
    elsewhere = [mutant for mutant in mutants if not mutant.runs_here]
    for mutant in elsewhere:
        wanted = f"{mutant.python} or newer" if mutant.python else f"{mutant.last_python} or older"
        _say(f"{mutant.area}: {mutant.what}: not tried, needs Python {wanted}")
    return [mutant for mutant in mutants if mutant.runs_here]


def _check_tables(mutants: Sequence[Mutant]) -> int:
    faults = [f"{mutant.area}: {mutant.what}: {fault}" for mutant in mutants for fault in faults_of(mutant)]
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return 2 if faults else 0


def _try(mutants: Sequence[Mutant], jobs: int, *, is_unchanged_first: bool = True) -> int:
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that no copy is left behind
    results = try_all(mutants, ROOT, jobs=jobs, say=_say, is_unchanged_first=is_unchanged_first)
    print(f"# {len(mutants)} dangerous changes\n\n{report(results)}", flush=True)
    _say(f"{(time.monotonic() - began) / 60:.1f} minutes.")
    return 1 if any(result.is_bad for result in results) else 0


def _say(line: str) -> None:
    with _printing:
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
