"""A line of a job's log."""

from msgspec import Struct

LEVELS = ("debug", "info", "warning", "error")


class LogEntry(Struct, frozen=True, omit_defaults=True):
    """One message. Standard output is `info`, standard error is `error`."""

    time: int
    message: str
    level: str = "info"
    attempt: int = 1
    micros: int = 0
    """Microseconds beyond `time`. Of one attempt each line has an instant of its own, in the order of the lines."""
