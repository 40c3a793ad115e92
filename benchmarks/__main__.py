"""The command line: `python -m benchmarks` measures Rota alone, its commands compare it with its peers."""

import argparse
import signal
import sys
from pathlib import Path

from benchmarks.bench import parse_peers, run, set_up
from benchmarks.quick import run_quick, target_table
from benchmarks.results import Results, put_into, tables


def main() -> None:
    arguments = _parser().parse_args()
    if not sys.platform.startswith("linux"):
        raise SystemExit("the benchmarks read Linux's /proc; they do not run elsewhere")
    # So that the finally blocks end what was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    match arguments.command:
        case "setup":
            set_up(arguments.peers)
        case "run":
            _run(arguments)
        case "table":
            _print_tables(arguments)
        case _:
            run_quick(repeats=arguments.repeats, calm_s=arguments.calm)


def _run(arguments: argparse.Namespace) -> None:
    pairs, workloads = parse_peers(arguments.peers), arguments.workloads.split(",")
    results = Results(arguments.output)
    run(pairs, workloads, results, repeats=arguments.repeats, scale=arguments.scale, calm_s=arguments.calm)


def _print_tables(arguments: argparse.Namespace) -> None:
    results = Results(arguments.file)
    if not results.runs:
        raise SystemExit(f"{arguments.file} holds no runs")
    text = f"### Targets\n\n{target_table(results)}\n\n{tables(results)}"
    put_into(arguments.into, text) if arguments.into else print(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("-r", "--repeats", type=int, default=1, help="calm runs of each workload")
    parser.add_argument("--calm", type=float, default=20, help="wait so many seconds at most for a calm machine")
    commands = parser.add_subparsers(dest="command", metavar="command")
    setup = commands.add_parser("setup", help="make the peers' environments")
    setup.add_argument("peers", nargs="*", help="default: all")
    runs = commands.add_parser("run", help="measure peers, and add the runs to a file")
    runs.add_argument("-p", "--peers", default="", help="peer[/variant],...; default: all")
    runs.add_argument("-w", "--workloads", default="A1,A2,B,C,I")
    runs.add_argument("-r", "--repeats", type=int, default=3, help="calm runs of each kind that the file is to hold")
    runs.add_argument("--scale", type=float, default=1.0, help="times the number of jobs of workload A")
    runs.add_argument("--calm", type=float, default=20, help="wait so many seconds at most for a calm machine")
    runs.add_argument("-o", "--output", type=Path, default=Path("results.json"))
    table = commands.add_parser("table", help="show the runs of a file")
    table.add_argument("file", type=Path, nargs="?", default=Path("results.json"))
    table.add_argument("--into", type=Path, help="put the tables into this Markdown file, between its marks")
    return parser


if __name__ == "__main__":
    main()
