"""A line of a job's log."""

from msgspec import Struct

LEVELS = ("debug", "info", "warning", "error")


class LogEntry(Struct, frozen=True, omit_defaults=True):
    """One message. Standard output is `info`, standard error is `error`."""

    time: int
    message: str
    level: str = "info"
    attempt: int = 1
