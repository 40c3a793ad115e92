"""New files in watched directories as FILE events. Needs the extra `watch`.

An event's id is the path with the time of its last change, so a file that is told twice, by two watchers or after a
restart, counts once. A file that is still being written is told as soon as it is there: write it under another name,
or elsewhere, and move it when it is whole.
"""

import hashlib
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from rota.errors import InvalidInput, MissingExtra
from rota.model.events.event import FILE, MAX_EVENT_ID, Event, check_resource, make_event

_LOOK_MS = 500


def require_watchfiles() -> None:
    try:
        import watchfiles  # noqa: F401
    except ImportError:
        raise MissingExtra("watching files", "watch") from None


def check_directories(directories: Sequence[Path]) -> list[Path]:
    """Absolute paths of directories that are there."""
    for one in directories:
        if not one.is_dir():
            raise InvalidInput("directory", f"{one} is not a directory")
    return [one.resolve() for one in directories]


def existing_files(directories: Sequence[Path]) -> list[Path]:
    """Files that are there already, the oldest first. One that goes away meanwhile is left out."""
    found = {path: changed for one in directories for path in _below(one) if (changed := _changed_ns(path)) is not None}
    return sorted(found, key=lambda path: (found[path], path))


def _below(directory: Path) -> Iterator[Path]:
    """Everything in a directory. One that goes away is passed over, which `rglob` does not do."""
    for place, _, names in os.walk(directory):
        yield from (Path(place, name) for name in names)


def _changed_ns(path: Path) -> int | None:
    """When a file was last changed; None if it is gone, or is something else."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None


def new_files(directories: Sequence[Path], stopping: threading.Event) -> Iterator[list[Path]]:
    """New files, as they come, until `stopping` is set. An empty list says that watching has begun: whatever comes from
    then on is told, also if it is asked for later. Of a directory that is moved in, its files are."""
    from watchfiles import Change, watch

    has_begun = False
    # The first look that is over, with or without a change, says that the kernel watches.
    for changes in watch(
        *directories, stop_event=stopping, step=20, debounce=200, rust_timeout=_LOOK_MS, yield_on_timeout=True
    ):
        if not has_begun:
            has_begun = True
            yield []
        added = sorted({Path(path) for change, path in changes if change is Change.added})
        if found := list(dict.fromkeys(file for path in added for file in _files_of(path))):
            yield found


def _files_of(path: Path) -> list[Path]:
    return existing_files([path]) if path.is_dir() else [path] if path.is_file() else []


def file_event(path: Path, now: int) -> Event | None:
    """The event of a file; nothing if it is gone again, or has a name that no event can bear."""
    try:
        changed_ns = path.stat().st_mtime_ns
        resource = check_resource("path", str(path))
    except (OSError, InvalidInput):
        return None
    return make_event(
        id=_event_id(changed_ns, resource),
        type=FILE,
        resource=resource,
        stated_time=changed_ns // 1_000,
        received_at=now,
        has_own_id=True,
    )


def _event_id(changed_ns: int, resource: str) -> str:
    """A path that is too long for an id is there as its digest: cut off, it could be another file's."""
    whole = f"{changed_ns}:{resource}"
    return whole if len(whole) <= MAX_EVENT_ID else f"{changed_ns}:{hashlib.sha256(resource.encode()).hexdigest()}"
