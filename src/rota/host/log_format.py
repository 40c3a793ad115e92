"""How a running process logs: lines for people on a terminal, one JSON object per line elsewhere.

Both show the fields that were given with `extra`, which is where ids and numbers are.
"""

import logging
import sys
from typing import TextIO

import msgspec

from rota.clock import as_datetime
from rota.host.terminal import coloured, visible

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
_COLOURS = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
_LOUD = ("uvicorn", "asyncio")
"""Loggers that tell more than an operator wants to know on a quiet day."""


def set_up_logging(level: str, stream: TextIO | None = None) -> None:
    """Log to standard error from now on."""
    stream = stream or sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(HumanFormatter(stream) if stream.isatty() else JsonFormatter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    for name in _LOUD:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def fields_of(record: logging.LogRecord) -> dict[str, object]:
    """What was given with `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class HumanFormatter(logging.Formatter):
    """`12:00:01 job ended  job_type=demo.hello state=succeeded`; the level is there only if it is bad news."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def format(self, record: logging.LogRecord) -> str:
        time = as_datetime(round(record.created * 1000)).astimezone().strftime("%H:%M:%S")
        colour = _COLOURS.get(record.levelname)
        level = self._in(colour, f"{record.levelname.lower()}: ") if colour else ""
        fields = " ".join(f"{name}={_shown(value)}" for name, value in fields_of(record).items())
        line = f"{self._in('bright_black', time)} {level}{_one_line(record.getMessage())}"
        if fields:
            line += "  " + self._in("bright_black", fields)
        if record.exc_info:
            line += "\n" + visible(self.formatException(record.exc_info))
        return line

    def _in(self, colour: str | None, text: str) -> str:
        return coloured(text, colour, self._stream)


class JsonFormatter(logging.Formatter):
    """One object per line; time in epoch milliseconds."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": round(record.created * 1000),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in fields_of(record).items() if name not in line}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _encode(line)


def _encode(line: dict[str, object]) -> str:
    try:
        return msgspec.json.encode(line, enc_hook=repr).decode()
    except (TypeError, ValueError):  # a lone surrogate, or a key that is no text
        return msgspec.json.encode({str(name): ascii(value) for name, value in line.items()}).decode()


def _shown(value: object) -> str:
    text = _one_line(str(value))
    return f'"{text}"' if not text or any(character.isspace() for character in text) else text


def _one_line(text: str) -> str:
    """What jobs and clients say must not look like further lines of the log."""
    return visible(text).replace("\n", "\\n")
