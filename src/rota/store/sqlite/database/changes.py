"""Tells the waiting threads of a process that it changed something in the store."""

import os
import threading
from contextlib import suppress


class Changes:
    """The pipes of those who wait. Each is signalled after a commit that may matter to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipes: set[int] = set()

    def add(self, pipe: int) -> None:
        with self._lock:
            self._pipes.add(pipe)

    def remove(self, pipe: int) -> None:
        with self._lock:
            self._pipes.discard(pipe)

    def signal(self, pipe: int) -> None:
        """Signal one of them, unless it was removed: then its number may be another file's."""
        with self._lock:
            if pipe in self._pipes:
                signal(pipe)

    def announce(self) -> None:
        with self._lock:
            for pipe in self._pipes:
                signal(pipe)


def signal(pipe: int) -> None:
    """Make the other end readable. A full pipe is readable already, a closed one has nobody at its other end."""
    with suppress(OSError):
        os.write(pipe, b"!")
