"""A pipe that a child process writes and the event loop reads, one chunk at a time."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

CHUNK = 64 * 1024
"""A read takes at most what a pipe holds by default, so that a flood from one child cannot keep the loop."""
LEAST_CHUNK = 256
FIRST_CHUNK = 1024
MOST_LINES = 1000
"""More lines than this from one chunk keep the loop too long: the next one is smaller."""
WAIT = -1
"""A sink's answer: read on a little later."""
WAIT_S = 0.01
BREATH_BYTES = 256 * 1024
BREATH_S = 0.002
"""After so much the pipe rests a moment: a flood is read at about 100 MiB a second. Read as fast as it comes,
it would take whole cores of the machine from everybody else."""
MAX_DRAIN = 16
"""Chunks read in one go at the end: the most a pipe can hold, which is 1 MiB on Linux."""

Sink = Callable[[bytes], object]
"""Takes a chunk. It may answer how many lines came of it, or `WAIT`. After a pause it is asked with an
empty chunk."""


class Pipe:
    """Gives each chunk to `sink`. The writing end belongs to the child and is closed here once the child has it."""

    __slots__ = ("_loop", "_on_end", "_size", "_timer", "_unrested", "read_end", "sink", "write_end")

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        self._size = FIRST_CHUNK
        self._unrested = 0
        """How many bytes were read since the last pause."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._on_end: Callable[[Pipe], None] | None = None

    def listen(self, loop: asyncio.AbstractEventLoop, on_end: "Callable[[Pipe], None]") -> None:
        """Read whenever there is something; `on_end` is called when every writer has closed its end."""
        self._loop = loop
        self._on_end = on_end
        loop.add_reader(self.read_end, self.read)

    def read(self) -> bool:
        """Take one chunk; whether there may be more at once."""
        came, answer = self._take(self._size)
        return came and self._heed(answer)

    def _take(self, size: int) -> tuple[bool, object]:
        """Give one chunk to the sink; whether there was one, and the sink's answer."""
        if self.read_end < 0:
            return False, None
        try:
            chunk = os.read(self.read_end, size)
        except BlockingIOError:
            return False, None
        if chunk:
            self._unrested += len(chunk)
            return True, self.sink(chunk)
        self.close()
        if self._on_end is not None:
            self._on_end(self)
        return False, None

    def _heed(self, answer: object) -> bool:
        """Choose the size of the next chunk by what came of the last; whether to read it at once."""
        if answer == WAIT:
            self._pause(WAIT_S)
            return False
        has_many_lines = isinstance(answer, int) and answer > MOST_LINES
        self._size = max(self._size // 2, LEAST_CHUNK) if has_many_lines else min(self._size * 2, CHUNK)
        if self._unrested >= BREATH_BYTES:
            self._pause(BREATH_S)
            return False
        return not has_many_lines

    def _pause(self, wait_s: float) -> None:
        """Leave what comes in the pipe, which slows the writer down, for a while and until the sink wants to go on."""
        self._unrested = 0
        if self._loop is not None and self._timer is None:
            self._loop.remove_reader(self.read_end)
            self._timer = self._loop.call_later(wait_s, self._read_on)

    def _read_on(self) -> None:
        self._timer = None
        if self._loop is None or self.read_end < 0:
            return
        if self.sink(b"") == WAIT:
            self._timer = self._loop.call_later(WAIT_S, self._read_on)
        else:
            self._loop.add_reader(self.read_end, self.read)

    def drain(self) -> None:
        """Take what is there, but no more than a pipe can hold: somebody may still be writing. Many lines are left to
        the loop."""
        for _ in range(MAX_DRAIN):
            if not self.read():
                return

    def drain_whole(self) -> None:
        """As `drain`, but for the last time: nothing is left to the loop."""
        for _ in range(MAX_DRAIN):
            came, _answer = self._take(CHUNK)
            if not came:
                return

    def close_write_end(self) -> None:
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def close(self) -> None:
        """Give up both ends. May be called twice."""
        self.close_write_end()
        if self._timer is not None:
            self._timer.cancel()
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
