"""How many jobs a worker claims ahead of those it runs.

A round trip per job would cost many times the job itself, so a worker that gets through its jobs quickly takes some
more along. Never more than it ends within a moment: what it holds, no other node can run.
"""

AHEAD_S = 0.02
"""Claimed ahead is at most what the worker ends in this time at its present pace."""
MAX_AHEAD = 240
"""Beyond this, bigger batches bring nothing."""
_MEMORY = 0.5


class LookAhead:
    """Follows the pace of a worker."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._pace = 0.0

    def ended(self, jobs: int, seconds: float) -> None:
        """So many jobs ended in this time, while there was work."""
        pace = jobs / max(seconds, 0.0001)
        self._pace += (pace - self._pace) * _MEMORY

    def rest(self) -> None:
        """Nothing to do: forget the pace, since the next jobs may be slow ones."""
        self._pace = 0.0

    @property
    def most_held(self) -> int:
        """Jobs to hold at a time: one for each slot and those claimed ahead."""
        return self._slots + min(int(self._pace * AHEAD_S), MAX_AHEAD)
