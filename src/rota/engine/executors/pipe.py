"""A pipe that a child process writes and the event loop reads, one chunk at a time."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

CHUNK = 64 * 1024
"""A read takes at most what a pipe holds by default, so that a flood from one child cannot keep the loop."""
MAX_DRAIN = 16
"""Chunks read in one go at the end: the most a pipe can hold, which is 1 MiB on Linux."""

Sink = Callable[[bytes], None]


class Pipe:
    """Gives each chunk to `sink`. The writing end belongs to the child and is closed here once the child has it."""

    __slots__ = ("_loop", "_on_end", "read_end", "sink", "write_end")

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_end: Callable[[Pipe], None] | None = None

    def listen(self, loop: asyncio.AbstractEventLoop, on_end: "Callable[[Pipe], None]") -> None:
        """Read whenever there is something; `on_end` is called when every writer has closed its end."""
        self._loop = loop
        self._on_end = on_end
        loop.add_reader(self.read_end, self.read)

    def read(self) -> bool:
        """Take one chunk; whether there may be more at once."""
        if self.read_end < 0:
            return False
        try:
            chunk = os.read(self.read_end, CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            self.sink(chunk)
            return True
        self.close()
        if self._on_end is not None:
            self._on_end(self)
        return False

    def drain(self) -> None:
        """Take all that a pipe can hold, but no more: somebody may still be writing."""
        for _ in range(MAX_DRAIN):
            if not self.read():
                return

    def close_write_end(self) -> None:
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def close(self) -> None:
        """Give up both ends. May be called twice."""
        self.close_write_end()
        if self.read_end >= 0:
            if self._loop is not None:
                with suppress(RuntimeError):  # the loop was closed before us
                    self._loop.remove_reader(self.read_end)
            os.close(self.read_end)
            self.read_end = -1


def open_pipes(sinks: list[Sink]) -> list[Pipe]:
    """A pipe for each sink, or none: when descriptors run out, those already open are closed."""
    pipes: list[Pipe] = []
    try:
        for sink in sinks:
            pipes.append(Pipe(sink))
    except OSError:
        for pipe in pipes:
            pipe.close()
        raise
    return pipes
