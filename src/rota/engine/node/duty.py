"""A duty: something that is done again and again. The node drives it, and so does a simulation."""

from typing import Protocol


class Duty(Protocol):
    """See `run_once`."""

    def run_once(self, now: int) -> float:
        """One round; returns how many seconds the next one can wait."""
        ...
