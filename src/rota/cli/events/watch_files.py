"""`rota watch`: posts an event for every new file."""

import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import click

from rota.cli.show import talk
from rota.cli.target import Target, takes_target
from rota.engine.engine import Engine
from rota.engine.events.file_source import check_directories, existing_files, file_event, new_files, require_watchfiles


@click.command(short_help="Post an event for every new file in some directories.")
@click.argument("directories", metavar="DIRECTORY...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--existing", is_flag=True, help="Also for files that are there already.")
@takes_target
def watch(target: Target, *, directories: Sequence[Path], existing: bool) -> None:
    """Post a FILE event for every new file below the directories, until it is stopped.

    The resource is the absolute path, the time that of the file's last change. Move files in when they are whole.
    """
    require_watchfiles()
    watched = check_directories(directories)
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with target.open() as rota:
        if existing:
            _post(rota, existing_files(watched))
        talk(f"Watching {', '.join(map(str, watched))}.")
        for paths in new_files(watched, stopping):
            _post(rota, paths)


def _post(rota: Engine, paths: Sequence[Path]) -> None:
    now = rota.clock.now()
    events = [event for path in paths if (event := file_event(path, now))]
    if not events:
        return
    answer = rota.events.post(events)
    for event in events:
        click.echo(event.resource)
    for made in answer.triggered:
        talk(f"triggered {made.configuration}: job {made.job}")
