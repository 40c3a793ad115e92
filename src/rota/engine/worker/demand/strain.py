"""How many jobs a worker may hold while its process is short of something that starting a job takes.

Where the limit is nobody knows: other programs share the machine, and jobs differ. So it is felt for. A shortage leaves
three quarters of what ran then; every few seconds without one it is a quarter more, until all slots are in use again.
"""

GROW_S = 5.0
"""Without a shortage for so long, a quarter more is tried."""
CALM_S = 30.0
"""With all slots allowed and no shortage for so long, it is over."""
PAUSE_S = 1.0
"""When not even one job could be started beside none, the next try waits."""


class Strain:
    """The limit of one worker. Takes the monotonic time; asks for nothing."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._limit = slots
        self._last = 0.0
        """The last shortage, or the last time that the limit grew."""
        self._pauses_until = 0.0
        self.is_on = False
        """Whether there was a shortage that is not over."""

    def resize(self, slots: int) -> None:
        """The worker has another number of slots. A limit that was felt for holds on; without one, all may be used."""
        self._limit = min(self._limit, slots) if self.is_on else slots
        self._slots = slots

    def ran_short(self, running: int, now: float) -> None:
        """A job could not be started while so many others ran."""
        self.is_on = True
        self._last = now
        self._limit = max(1, min(self._limit, running * 3 // 4))
        if running == 0:
            self._pauses_until = now + PAUSE_S

    def pause_left_s(self, now: float) -> float:
        """How long not even one job is to be tried."""
        return max(self._pauses_until - now, 0.0)

    def most_held(self, now: float) -> int:
        """How many jobs to hold at most; `is_on` ends here, when it is over."""
        if now < self._pauses_until:
            return 0
        while self._limit < self._slots and now - self._last >= GROW_S:
            self._last += GROW_S
            self._limit = min(self._limit + max(1, self._limit // 4), self._slots)
        if self._limit == self._slots and now - self._last >= CALM_S:
            self.is_on = False
        return self._limit
