"""`rota logs export`: the logs of ended jobs, for other programs."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from rota.cli.jobs.exported_logs import (
    LogExport,
    Progress,
    first_progress,
    next_progress,
    private,
    read_progress,
    write_progress,
)
from rota.cli.parameters import instant
from rota.cli.progress import progress_count
from rota.cli.show import talk
from rota.cli.target import Target, takes_target
from rota.engine.engine import Engine
from rota.errors import InvalidInput


@click.command(short_help="Write the logs of ended jobs as JSON lines.")
@click.option("--since", metavar="TIME", callback=instant, help="Jobs that ended at this time or later.")
@click.option("--until", metavar="TIME", callback=instant, help="Jobs that ended before this time.  [default: now]")
@click.option("--output", "-o", metavar="FILE", type=click.Path(path_type=Path), help="A new file to write to.")
@click.option("--state", metavar="FILE", type=click.Path(path_type=Path), help="Where to keep how far it has come.")
@click.option("--resume-from", metavar="FILE", type=click.Path(path_type=Path), help="Go on with what was kept there.")
@takes_target
def export(
    target: Target,
    *,
    since: int | None,
    until: int | None,
    output: Path | None,
    state: Path | None,
    resume_from: Path | None,
) -> None:
    """Write the logs of ended jobs as JSON lines: one line of a log each, the jobs that ended last first.

    Times are ISO 8601, UTC unless they have an offset, or epoch milliseconds. With --output, how far it has come is
    kept beside the file, in FILE.state. An export that broke off goes on with --resume-from FILE.state, without losing
    or repeating a line; one that is complete goes on with the jobs that ended since.
    """
    if resume_from is not None and (since, until, output, state) != (None, None, None, None):
        raise click.UsageError("--resume-from has its own range and files; give it alone")
    with target.open() as rota:
        progress = _resumed(rota, resume_from) if resume_from else _begun(rota, since, until, output)
        kept_in = resume_from or state or _state_beside(output)
        run = LogExport(rota.store, progress, rota.definitions.job_type_names())
        with _opened(progress) as file:
            _write(run, file, kept_in)
    talk(f"{run.progress.lines} lines of {run.progress.jobs} jobs.")


def _begun(rota: Engine, since: int | None, until: int | None, output: Path | None) -> Progress:
    if output is not None and output.exists():
        raise InvalidInput("--output", f"{output} is there already; name another, or go on with --resume-from")
    since, until = since or 0, rota.clock.now() if until is None else until
    if since > until:
        raise InvalidInput("--since", "is after --until")
    return first_progress(rota.store.url, since, until, output)


def _state_beside(output: Path | None) -> Path | None:
    return None if output is None else output.with_name(f"{output.name}.state")


def _resumed(rota: Engine, path: Path) -> Progress:
    kept = read_progress(path)
    if kept.store != rota.store.url:
        raise InvalidInput("--resume-from", f"{path} is of the store {kept.store}, not of {rota.store.url}")
    return kept if kept.cursor is not None else next_progress(kept, rota.clock.now())


@contextmanager
def _opened(progress: Progress) -> Iterator[BinaryIO]:
    """The output, without what was written behind the progress that was kept."""
    if progress.output is None:
        yield sys.stdout.buffer
        return
    path = Path(progress.output)
    if progress.size and (not path.exists() or path.stat().st_size < progress.size):
        raise InvalidInput("--resume-from", f"{path} is shorter than it was; it cannot be gone on with")
    with open(path, "r+b" if path.exists() else "xb", opener=private) as file:
        file.truncate(progress.size)
        file.seek(progress.size)
        yield file


def _write(run: LogExport, file: BinaryIO, kept_in: Path | None) -> None:
    """The output reaches the disk before the progress that counts it."""
    _keep(run, kept_in)
    with progress_count("Export", "jobs") as tell:
        while (cursor := run.progress.cursor) is not None:
            after = run.write_page(cursor, file.write)
            file.flush()
            if file is not sys.stdout.buffer:
                os.fsync(file.fileno())
            run.progress = after
            _keep(run, kept_in)
            tell(after.jobs)


def _keep(run: LogExport, kept_in: Path | None) -> None:
    if kept_in is not None:
        write_progress(kept_in, run.progress)
