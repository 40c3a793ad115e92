"""Looks whether the configuration file has changed, and brings its definitions into the store without a restart."""

import logging
from collections.abc import Callable
from pathlib import Path

from rota.engine.definitions.file import Difference, FileDefinitions, Wanted, schedule_hints
from rota.errors import InvalidInput, RotaError, StoreError
from rota.settings import Settings

EVERY_S = 1.0
_AGAIN_S = 5.0
_logger = logging.getLogger("rota.node")

Mark = tuple[int, int, int] | None


class FileWatch:
    """A duty. A file that cannot be read, or asks for what cannot be, changes nothing: what was in force stays so."""

    is_over = False

    def __init__(self, file: str, definitions: FileDefinitions, read: Callable[[], Settings]) -> None:
        self._file = file
        self._definitions = definitions
        self._read = read
        self._seen = self._mark()
        self._trouble: str | None = None

    def run_once(self, now: int) -> float:
        """One look; returns how many seconds the next one can wait."""
        mark = self._mark()
        if mark == self._seen and self._trouble is None:
            return EVERY_S
        try:
            changes = apply_file(self._definitions, self._read_file(), now)
        except StoreError:
            raise
        except RotaError as error:
            return self._tell(mark, str(error))
        self._seen, self._trouble = mark, None
        _logger.info("configuration file read again", extra={"file": self._file, "changes": len(changes)})
        return EVERY_S

    def _read_file(self) -> Settings:
        """Where there is no file, settings are found all the same, with no definitions: that removes none."""
        found = self._read()
        if found.config_file != self._file:
            raise InvalidInput(self._file, "is gone, or is not read for Rota any more")
        return found

    def _tell(self, mark: Mark, trouble: str) -> float:
        """Once for each trouble. It is tried again: what stands in the way, such as running jobs, may pass."""
        if (mark, trouble) != (self._seen, self._trouble):
            extra = {"file": self._file, "error": trouble}
            _logger.error("the configuration file cannot be used; what was in force stays so", extra=extra)
        self._seen, self._trouble = mark, trouble
        return EVERY_S if mark is None else _AGAIN_S

    def _mark(self) -> Mark:
        try:
            found = Path(self._file).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def apply_file(definitions: FileDefinitions, settings: Settings, now: int) -> list[Difference]:
    """Bring what is in the file into the store, and say what looks like a slip; returns what changed."""
    wanted = Wanted.of(settings)
    changes = definitions.apply(wanted)
    for hint in schedule_hints(wanted, changes, now):
        _logger.warning(hint)
    return changes
