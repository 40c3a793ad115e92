"""`rota watch`: posts an event for every new file."""

import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import click

from rota.cli.show import talk
from rota.cli.target import Target, takes_target
from rota.engine.engine import Engine
from rota.engine.events.events import EventAnswer
from rota.engine.events.file_source import check_directories, existing_files, file_event, new_files, require_watchfiles
from rota.errors import StoreUnavailable
from rota.model.events.event import Event

_AT_A_TIME = 1_000
"""A server takes no more than some thousands."""
_TRY_AGAIN_S = 1.0


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
        found = new_files(watched, stopping)
        next(found, None)  # first: a file that comes while those that were there are told is a new one
        if existing:
            _post(rota, existing_files(watched), stopping)
        talk(f"Watching {', '.join(map(str, watched))}.")
        for paths in found:
            _post(rota, paths, stopping)


def _post(rota: Engine, paths: Sequence[Path], stopping: threading.Event) -> None:
    for first in range(0, len(paths), _AT_A_TIME):
        now = rota.clock.now()
        events = [event for path in paths[first : first + _AT_A_TIME] if (event := file_event(path, now))]
        if events:
            _tell(events, _answer(rota, events, stopping))


def _answer(rota: Engine, events: Sequence[Event], stopping: threading.Event) -> EventAnswer:
    """Tried again while the store is away: nobody else knows of these files. An event that counted twice has one id."""
    has_told = False
    while True:
        try:
            return rota.events.post(events)
        except StoreUnavailable as error:
            if not has_told:
                talk(f"{error}; tried again until it is there")
            has_told = True
            if stopping.wait(_TRY_AGAIN_S):
                raise


def _tell(events: Sequence[Event], answer: EventAnswer) -> None:
    for event in events:
        click.echo(event.resource)
    for made in answer.triggered:
        talk(f"triggered {made.configuration}: job {made.job}")
