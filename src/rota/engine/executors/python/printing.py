"""What a job's code prints, as lines of the job's log. What other code prints goes where it always went."""

import sys
import threading
from contextvars import ContextVar
from typing import TextIO

from rota.engine.executors.executor import Run
from rota.engine.executors.output import Lines, LogCap, capped_log
from rota.model.limits import MAX_LOG_MESSAGE_BYTES


class PrintedLines:
    """Text on its way into a log: whole lines go at once, the rest with the end of the run. Used from any thread."""

    def __init__(self, log: LogCap, level: str) -> None:
        self._log = log
        self._level = level
        self._rest = ""
        self._lock = threading.Lock()

    def add(self, text: str) -> None:
        with self._lock:
            *whole, rest = (self._rest + text).split("\n")
            if len(rest) > MAX_LOG_MESSAGE_BYTES:
                whole, rest = [*whole, rest], ""
            self._rest = rest
        for line in whole:
            self._log(line, self._level)

    def finish(self) -> None:
        with self._lock:
            rest, self._rest = self._rest, ""
        if rest:
            self._log(rest, self._level)


class JobOutput:
    """Stands before a stream of the process and leads what jobs write to their logs."""

    def __init__(self, stream: TextIO, level: str, current: ContextVar[Run]) -> None:
        self._stream = stream
        self._level = level
        self._current = current
        self.echoes = False
        """Whether it goes to the stream too."""

    def write(self, text: str) -> int:
        run = self._current.get(None)
        if run is None or self.echoes:
            self._stream.write(text)
        if run is None:
            return len(text)
        _lines_of(capped_log(run), self._level).add(text)
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def stand_before_streams(current: ContextVar[Run]) -> None:
    """Stand before the standard streams, once."""
    if not isinstance(sys.stdout, JobOutput):
        sys.stdout = JobOutput(sys.stdout, "info", current)
    if not isinstance(sys.stderr, JobOutput):
        sys.stderr = JobOutput(sys.stderr, "error", current)


def echo_to_streams(echoes: bool) -> None:
    """Have what jobs print shown by the process too, or not."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, JobOutput):
            stream.echoes = echoes


def finish_prints(run: Run) -> None:
    """The run is over: what was printed without an end of line is a line too."""
    log = run.log
    if isinstance(log, LogCap) and log.printed:
        for lines in list(log.printed.values()):
            lines.finish()


def _lines_of(log: LogCap, level: str) -> Lines:
    if log.printed is None:
        log.printed = {}
    found = log.printed.get(level)
    return found if found is not None else log.printed.setdefault(level, PrintedLines(log, level))
