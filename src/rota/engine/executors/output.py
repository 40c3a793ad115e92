"""What a job says, kept within bounds: the ends of its output for the result, its lines for the live log.

Output is not trusted. It may be endless, have no line ends, or not be text at all; memory stays flat in every case.
"""

import threading
from collections.abc import Callable
from typing import Protocol

from rota.engine.executors.executor import Run
from rota.engine.executors.process.pipe import WAIT
from rota.model.limits import MAX_LOG_ATTEMPT_BYTES, MAX_LOG_MESSAGE_BYTES
from rota.model.runs.log import LEVELS

KEPT_BYTES = 32 * 1024
"""Kept of each end of a stream, unless told. As JSON a byte takes at most six, so two streams stay under the limit of a
result."""
MAX_OUTPUT_BYTES = 400_000
"""What a job type may ask to be kept of a stream: two of plain text fit into a result."""
ENTRY_BYTES = 64
"""Charged for each log entry beside its text, so that a flood of empty lines ends too."""
_CUT = " [line cut]"
_MAX_TEXT = MAX_LOG_MESSAGE_BYTES - len(_CUT)

Log = Callable[[str, str], None]
Note = Callable[[float, float | None, str], None]
_saying = threading.Lock()
"""Held for the moment in which a full log says so: of several threads one does."""


class Lines(Protocol):
    """Text that becomes lines of a log."""

    def add(self, text: str) -> None: ...

    def finish(self) -> None:
        """What has no end of line yet is a line too."""
        ...


class LogSink(Protocol):
    """Where the log of one attempt goes. Used from any thread."""

    def add(self, message: str, level: str) -> None:
        """A line."""
        ...

    def add_lines(self, messages: list[str], level: str) -> None:
        """Many lines at once, in their order."""
        ...

    def note(self, done: float, total: float | None, message: str) -> None:
        """How far the job has come: how much is done, and of how much if that is known. The latest word counts."""
        ...

    @property
    def is_crowded(self) -> bool:
        """Whether the next lines should come a little later."""
        ...


class PlainSink:
    """A sink that is a function, or two."""

    is_crowded = False

    def __init__(self, add: Log, note: Note = lambda _done, _total, _message: None) -> None:
        self.add = add
        self.note = note

    def add_lines(self, messages: list[str], level: str) -> None:
        for message in messages:
            self.add(message, level)


class LogCap:
    """A job's log that takes no more than an attempt may write; then one entry says so. Call it from any thread."""

    __slots__ = ("_has_said", "_left", "_sink", "printed")

    def __init__(self, sink: LogSink, *, limit: int = MAX_LOG_ATTEMPT_BYTES) -> None:
        self._sink = sink
        self._left = limit
        self._has_said = False
        self.printed: dict[str, Lines] | None = None
        """By level, what is on its way here and has no end of line yet."""

    @property
    def is_full(self) -> bool:
        return self._left < 0

    @property
    def is_crowded(self) -> bool:
        return self._left >= 0 and self._sink.is_crowded

    def note(self, done: float, total: float | None, message: str) -> None:
        """How far the job has come."""
        self._sink.note(_plain(done), None if total is None else _plain(total), message)

    def __call__(self, message: str, level: str = "info") -> None:
        if self._left < 0:
            return
        message = fit_message(message)
        self._left -= ENTRY_BYTES + (len(message) if message.isascii() else len(message.encode()))
        if self._left >= 0:
            self._sink.add(message, LEVELS[LEVELS.index(level)] if level in LEVELS else "info")
        else:
            self._say_the_end()

    def lines(self, messages: list[str], level: str, size: int) -> None:
        """Many lines of one of the levels at once, which are fit for a store and take so many bytes."""
        charge = size + ENTRY_BYTES * len(messages)
        if charge > self._left:
            for message in messages:
                self(message, level)
        else:
            self._left -= charge
            self._sink.add_lines(messages, level)

    def _say_the_end(self) -> None:
        with _saying:
            is_first, self._has_said = not self._has_said, True
        if is_first:
            self._sink.add(f"the log ends here: an attempt may write {MAX_LOG_ATTEMPT_BYTES} bytes", "warning")


def capped_log(run: Run) -> LogCap:
    """The log of a run with its cap; the same one however often it is asked for."""
    log = run.log
    if not isinstance(log, LogCap):
        log = run.log = LogCap(PlainSink(log))
    return log


def fit_message(message: str) -> str:
    """A message every store can carry: valid Unicode without NUL, cut at the limit of a log message, and no class of
    its own, as text of a template has."""
    if type(message) is not str:
        message = str.__str__(message)
    if message.isascii():
        fits = len(message) <= MAX_LOG_MESSAGE_BYTES
    else:
        encoded = message[:MAX_LOG_MESSAGE_BYTES].encode("utf-8", "replace")  # lone surrogates become "?"
        fits = len(encoded) <= MAX_LOG_MESSAGE_BYTES and len(message) <= MAX_LOG_MESSAGE_BYTES
        message = encoded[: MAX_LOG_MESSAGE_BYTES if fits else _MAX_TEXT].decode("utf-8", "ignore")
    if not fits:
        message = message[:_MAX_TEXT] + _CUT
    return message.replace("\0", "?") if "\0" in message else message


def _plain(number: float) -> float:
    """A number without a class of its own, as those of arrays have: no store can carry these."""
    return int(number) if isinstance(number, int) else float(number)


class LineLog:
    """Splits a stream of bytes into lines and logs each as soon as it is whole."""

    __slots__ = ("_is_cut", "_level", "_log", "_part")

    def __init__(self, log: LogCap, level: str) -> None:
        self._log = log
        self._level = level
        self._part = b""
        self._is_cut = False
        """The rest of the present line is dropped."""

    def feed(self, chunk: bytes) -> int:
        """Log the lines that end with this chunk. Returns how many, or `WAIT` if the next should come later."""
        if self._log.is_full:
            return 0
        end = chunk.rfind(b"\n")
        count = 0 if end < 0 else self._end_lines(chunk[:end])
        self._keep(chunk[end + 1 :])
        return WAIT if self._log.is_crowded else count

    def finish(self) -> None:
        """The stream has ended: a last line without a line end is a line too."""
        if self._part and not self._is_cut:
            self._say(self._part)
        self._part = b""

    def _end_lines(self, ended: bytes) -> int:
        """Log lines of which the last is whole, too; how many there are."""
        if self._is_cut:
            _, line_end, ended = ended.partition(b"\n")
            self._is_cut = False
            if not line_end:
                return 1
        whole, self._part = self._part + ended, b""
        lines = _fit_lines(whole)
        if lines is None:
            rest = whole.split(b"\n")
            for line in rest:
                self._say(line)
            return len(rest)
        self._log.lines(lines, self._level, _size_of(lines))
        return len(lines)

    def _keep(self, part: bytes) -> None:
        if self._is_cut or not part:
            return
        self._part += part
        if len(self._part) > MAX_LOG_MESSAGE_BYTES:
            self._say(self._part)
            self._part = b""
            self._is_cut = True

    def _say(self, line: bytes) -> None:
        # A little more than the limit is kept, so that `fit_message` sees that there was more.
        text = line[: MAX_LOG_MESSAGE_BYTES + 1].decode("utf-8", "replace")
        self._log(text[:-1] if text.endswith("\r") else text, self._level)


def _fit_lines(whole: bytes) -> list[str] | None:
    """Lines as every store can carry them, all at once; None if one of them may be too long for that."""
    text = whole.decode("utf-8", "replace")
    if "\0" in text:
        text = text.replace("\0", "?")
    lines = text.split("\n")
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    bytes_each = 1 if text.isascii() else 4
    if len(whole) * bytes_each > MAX_LOG_MESSAGE_BYTES and max(map(len, lines)) * bytes_each > MAX_LOG_MESSAGE_BYTES:
        return None
    return lines


def _size_of(lines: list[str]) -> int:
    text = "".join(lines)
    return len(text) if text.isascii() else len(text.encode())


class Ends:
    """The first and the last bytes of a stream, however long it is."""

    __slots__ = ("_head", "_kept", "_size", "_tail")

    def __init__(self, kept: int = KEPT_BYTES) -> None:
        self._kept = kept
        self._head = b""
        self._tail = b""
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        self._size += len(chunk)
        room = self._kept - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail = _last(self._tail + chunk if len(chunk) < self._kept else chunk, self._kept)

    def text(self, most: int | None = None) -> str:
        """The stream as text, what is not UTF-8 replaced; where bytes were left out, a line says how many. `most`: no
        more than this of each end."""
        kept = self._kept if most is None else min(most, self._kept)
        head, tail = self._head[:kept], _last(self._head[kept:] + self._tail, kept)
        cut = self._size - len(head) - len(tail)
        if cut <= 0:
            return (head + tail).decode("utf-8", "replace")
        return f"{head.decode('utf-8', 'replace')}\n[... {cut} bytes cut ...]\n{tail.decode('utf-8', 'replace')}"


def _last(data: bytes, count: int) -> bytes:
    return data[max(len(data) - count, 0) :]


class Stream:
    """One output stream of a child: its ends for the result, its lines for the log."""

    __slots__ = ("_ends", "_lines")

    def __init__(self, log: LogCap, level: str, *, kept: int = KEPT_BYTES) -> None:
        self._ends = Ends(kept)
        self._lines = LineLog(log, level)

    def feed(self, chunk: bytes) -> int:
        """Take what came; the answer is for the pipe that reads it."""
        self._ends.feed(chunk)
        return self._lines.feed(chunk)

    def finish(self) -> str:
        """The stream has ended; its text for the result."""
        self._lines.finish()
        return self._ends.text()

    def text(self, most: int) -> str:
        """No more than this of each end."""
        return self._ends.text(most)
