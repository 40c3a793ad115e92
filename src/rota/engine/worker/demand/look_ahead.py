"""How many jobs a worker claims ahead of those it runs.

A round trip per job would cost many times the job itself, so a worker whose jobs are short takes some more along. What
it holds, no other node can run, and what waits behind a long job loses time; so nothing is claimed ahead unless jobs
are really short, and never more than the worker ends within a moment. Two figures say how many that is, and the
smaller one counts:

    by the runs    slots / how long a run takes. Jobs that are long are seen to be, however many of them end together.
    by the ends    ends / the time in which they came. Runs that share one event loop take turns, and end slower than
                   their number of slots lets expect.
"""

AHEAD_S = 0.02
"""Claimed ahead is at most what the worker ends in this time at its present pace; and nothing, if one run takes
longer."""
MAX_AHEAD = 240
"""Beyond this, bigger batches bring nothing."""
_MEMORY = 0.5
_SHORTEST_S = 0.0001


class LookAhead:
    """Follows the pace of a worker."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._ends_per_s = 0.0
        self._run_s = 0.0

    def ended(self, jobs: int, *, run_s: float, within_s: float) -> None:
        """So many jobs ended in this time, while there was work; together they ran so long. That runs have become
        longer is believed at once, that they are shorter by and by."""
        ends_per_s = jobs / max(within_s, _SHORTEST_S)
        self._ends_per_s += (ends_per_s - self._ends_per_s) * _MEMORY
        self._run_s = max(run_s / jobs, self._run_s * _MEMORY)

    def rest(self) -> None:
        """Nothing to do: forget the pace, since the next jobs may be slow ones."""
        self._ends_per_s = 0.0

    @property
    def most_held(self) -> int:
        """Jobs to hold at a time: one for each slot and those claimed ahead."""
        return self.slots + self._ahead()

    def _ahead(self) -> int:
        if self._run_s > AHEAD_S:
            return 0
        by_runs = self.slots / max(self._run_s, _SHORTEST_S)
        return min(int(min(by_runs, self._ends_per_s) * AHEAD_S), MAX_AHEAD)
