"""`rota logs`: what a job said."""

import sys
from functools import partial
from typing import Any

import click

from rota.cli.jobs.job_ids import find_job
from rota.cli.show import print_json
from rota.cli.target import Target, takes_target
from rota.clock import as_datetime
from rota.engine.jobs.watch import Watch
from rota.host.terminal import coloured, visible
from rota.model.runs.log import LEVELS, LogEntry
from rota.shapes.jobs import log_shape


class _LogsCommand(click.Command):
    """`rota logs ID`, and `rota logs export`, which is no id."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args and args[0] == "export":
            from rota.cli.jobs.export import export

            return export.make_context(f"{info_name} export", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(
    cls=_LogsCommand,
    short_help="Show the log of a job, live with -f.",
    epilog="Logs of many jobs: rota logs export --help",
)
@click.argument("job_id", metavar="ID")
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--level", type=click.Choice(LEVELS), default=LEVELS[0], help="Only this level and above.")
@click.option("--raw", is_flag=True, help="To a file or a pipe: every character as it was written.")
@takes_target
def logs(target: Target, *, job_id: str, follow: bool, level: str, raw: bool) -> None:
    """Show the log of a job, all attempts, oldest first. ID may be cut to its beginning or end.

    With --follow and --json there is one document per line.
    """
    wanted = LEVELS[LEVELS.index(level) :]
    with target.open() as rota:
        watch = Watch(rota.store, find_job(rota.store, job_id).id, rota.clock)
        if follow:
            show = print_entry_json if target.as_json else partial(print_entry, raw=raw)
            watch.until_ended(lambda entry: show(entry) if entry.level in wanted else None)
            return
        entries = [entry for entry in watch.new_entries() if entry.level in wanted]
    if target.as_json:
        print_json([log_shape(entry) for entry in entries])
        return
    for entry in entries:
        print_entry(entry, raw=raw)


def print_entry(entry: LogEntry, *, raw: bool = False) -> None:
    """A line for people; bare text when it goes to a file or another program. That too may end on a terminal, so what
    would steer one is made visible, unless it is wanted `raw`."""
    if not sys.stdout.isatty():
        click.echo(entry.message if raw else visible(entry.message), color=raw)  # else click removes what it knows
        return
    time = as_datetime(entry.time).astimezone().strftime("%H:%M:%S.%f")[:-3]
    colour = {"error": "red", "warning": "yellow", "debug": "bright_black"}.get(entry.level)
    text = coloured(visible(entry.message), colour, sys.stdout)
    click.echo(f"{coloured(time, 'bright_black', sys.stdout)}  {text}")


def print_entry_json(entry: LogEntry) -> None:
    """One document per line, because the end is not known yet."""
    import msgspec

    click.echo(msgspec.json.encode(log_shape(entry)).decode())
