"""Whether the Python files of a project have changed since the last look."""

import os
from collections.abc import Iterator
from pathlib import Path

LOOK_S = 0.5
MOST_FILES = 20_000
"""A folder with more is looked at only so far."""
_LEFT_OUT = frozenset({"__pycache__", "node_modules", "site-packages"})

Mark = tuple[int, int]


class FileChanges:
    """The Python files below a folder. Hidden folders and those of environments are left out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = self._look()

    def changed(self) -> list[str]:
        """The files that came, went or were written since the last look."""
        before, self._seen = self._seen, self._look()
        names = before.keys() | self._seen.keys()
        return sorted(name for name in names if before.get(name) != self._seen.get(name))

    def _look(self) -> dict[str, Mark]:
        found: dict[str, Mark] = {}
        for path in _python_files(self._folder):
            if len(found) >= MOST_FILES:
                break
            try:
                there = path.stat()
            except OSError:
                continue  # it went away meanwhile
            found[str(path)] = (there.st_mtime_ns, there.st_size)
        return found


def _python_files(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _LEFT_OUT]
        yield from (Path(place, name) for name in files if name.endswith(".py"))
