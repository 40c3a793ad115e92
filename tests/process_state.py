"""What all tests of a process share, and none may leave changed for the next one."""

import logging
import os
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

_HEARD = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2)
_OF_PYTEST = "PYTEST_CURRENT_TEST"


class ProcessState(NamedTuple):
    """Of the whole process, whoever changed it."""

    variables: dict[str, str]
    folder: Path
    zone: tuple[int, tuple[str, str]]
    handlers: dict[signal.Signals, Any]
    logging_off_below: int

    @classmethod
    def now(cls) -> "ProcessState":
        """As it is now."""
        variables = {name: value for name, value in os.environ.items() if name != _OF_PYTEST}
        handlers = {number: signal.getsignal(number) for number in _HEARD}
        return cls(variables, Path.cwd(), (time.timezone, time.tzname), handlers, logging.root.manager.disable)

    def changes_since(self, before: "ProcessState") -> list[str]:
        """What is not as it was, as pairs of before and after."""
        pairs = zip(self._fields, before, self, strict=True)
        return [f"{name}: {_unlike(was, became)}" for name, was, became in pairs if was != became]


def _unlike(was: object, became: object) -> str:
    if isinstance(was, dict) and isinstance(became, dict):
        names = sorted(name for name in was.keys() | became.keys() if was.get(name) != became.get(name))
        return ", ".join(f"{name} was {was.get(name)!r} and is {became.get(name)!r}" for name in names)
    return f"was {was!r} and is {became!r}"
