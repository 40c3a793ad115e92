"""When the ends of jobs are told to the store.

At once, if a worker has nothing else to run. While more waits in its buffer, the ends of a moment go together: jobs
that run in threads end a few at a time, and a round trip for each few would cost more than the jobs.
"""

import asyncio
from collections.abc import Callable

TELL_S = 0.005
"""An end is told this much later at most."""


class Telling:
    """Decides whether what has ended can wait. Used on the event loop only."""

    def __init__(self, on_due: Callable[[], None]) -> None:
        """`on_due` is called when what waited has to be told."""
        self._on_due = on_due
        self._timer: asyncio.TimerHandle | None = None
        self._is_due = False

    def may_wait(self, *, has_more: bool) -> bool:
        """Whether ends may be told later, since there are more jobs to run."""
        if self._is_due or not has_more:
            return False
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TELL_S, self._fall_due)
        return True

    def told(self) -> None:
        """All that has ended so far goes to the store now."""
        self._is_due = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fall_due(self) -> None:
        self._is_due = True
        self._on_due()
