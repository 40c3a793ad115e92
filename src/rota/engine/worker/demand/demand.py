"""What a worker wants, and when it asks again. Pure: it is told the time and what happened, and asks for nothing.

    how much    a job for each slot and some ahead (`look_ahead.py`), fewer while the node is strained (`strain.py`),
                none while it drains
    when        as long as a claim brings all that it asked for; after a wake-up; when a delayed job is due; and once in
                a while, should ever a wake-up be lost

Instants called `at` are monotonic seconds, those called `now` are epoch milliseconds.
"""

from rota.engine.worker.demand.look_ahead import LookAhead
from rota.engine.worker.demand.strain import Strain

BUSY_CHECK_S = 0.1
"""A worker with something in hand looks after it at least this often."""
_SHORTEST_WAIT_S = 0.001


class Demand:
    """The demand of one worker for jobs."""

    def __init__(self, slots: int, *, at: float, idle_check_s: float) -> None:
        self._look_ahead = LookAhead(slots)
        self._strain = Strain(slots)
        self._is_strained = False
        self._may_have_jobs = True
        self._asked_at = at
        self._idle_check_s = idle_check_s
        self._is_closed = False
        self.next_due: int | None = None
        """When the next delayed job is ready, as far as it is known."""
        self.must_signal = False
        """A wake-up came for which there was no room: another node is to be signalled."""

    def close(self) -> None:
        """The worker drains: nothing is wanted any more."""
        self._is_closed = True

    def resize(self, slots: int) -> None:
        """The worker has another number of slots."""
        self._look_ahead.slots = slots
        self._strain.resize(slots)

    # -- how much --------------------------------------------------------------------------------------------------

    def room(self, in_hand: int, at: float) -> int:
        """How many more jobs the worker can take."""
        if self._is_closed:
            return 0
        most_held = self._look_ahead.most_held
        if self._strain.is_on:
            most_held = min(most_held, self._strain.most_held(at))
        return max(most_held - in_hand, 0)

    def wanted(self, in_hand: int, at: float, *, has_idle_slot: bool) -> int:
        """How many jobs to ask for now. Half a batch or more at a time, unless slots are free."""
        if not self._may_have_jobs:
            return 0
        room = self.room(in_hand, at)
        return room if has_idle_slot or room * 2 >= self._look_ahead.most_held else 0

    # -- when ------------------------------------------------------------------------------------------------------

    def longest_wait_s(self, now: int, *, has_room: bool) -> float:
        """Until the next delayed job is due, at most the idle check. Who has no room does not ask for it, and waits as
        if there were none: it may be overdue for as long as all slots are taken."""
        if self.next_due is None or not has_room:
            return self._idle_check_s
        return min(max((self.next_due - now) / 1000, _SHORTEST_WAIT_S), self._idle_check_s)

    def pause_s(self, at: float, now: int, *, is_busy: bool, has_room: bool) -> float:
        """How long the worker may wait although nobody wakes it."""
        if is_busy:
            return BUSY_CHECK_S
        longest, until_next_try = self.longest_wait_s(now, has_room=has_room), self._strain.pause_left_s(at)
        return min(longest, until_next_try) if until_next_try else longest

    def time_passed(self, at: float, now: int) -> None:
        """Jobs may be there of which nobody told: one became due, or a wake-up was lost."""
        is_due = self.next_due is not None and self.next_due <= now
        if is_due or at - self._asked_at >= self._idle_check_s:
            self._may_have_jobs = True

    # -- what it hears ---------------------------------------------------------------------------------------------

    def woken(self, in_hand: int, at: float) -> None:
        """Jobs may be there. Whoever has no room for them passes the signal on."""
        self._may_have_jobs = True
        self.must_signal = self.room(in_hand, at) == 0

    def take_signal(self) -> bool:
        """Whether to pass the signal on with this exchange; once is enough."""
        must_signal, self.must_signal = self.must_signal, False
        return must_signal

    def answered(self, *, wanted: int, got: int, in_hand: int, at: float) -> None:
        """A claim of `wanted` jobs at `at` brought `got`; `in_hand` are those before it."""
        self._asked_at = at
        self._may_have_jobs = got >= wanted
        if not got and not in_hand:
            self.rest()

    def unanswered(self, *, signals: bool = False) -> None:
        """What came of a claim is not known: claim anew. The signal that was to be passed on with it, if there was one,
        may have reached nobody."""
        self._may_have_jobs = True
        self.must_signal = self.must_signal or signals

    def ended(self, jobs: int, *, run_s: float, within_s: float) -> None:
        """So many jobs ended in this time, while there was work; together they ran so long. None ended: that says
        nothing of the pace."""
        if jobs:
            self._look_ahead.ended(jobs, run_s=run_s, within_s=within_s)

    def rest(self) -> None:
        """There is nothing to do, or what there is takes long: claim nothing ahead."""
        self._look_ahead.rest()

    # -- strain ----------------------------------------------------------------------------------------------------

    def ran_short(self, running: int, at: float) -> None:
        """A job could not be started while so many others ran, for want of something that is this process's. It goes
        back, so there is one to be had."""
        self._is_strained = self._may_have_jobs = True
        self._strain.ran_short(running, at)

    def is_relieved(self, at: float) -> bool:
        """Whether a strain is over; said once."""
        if not self._is_strained:
            return False
        self.room(0, at)
        self._is_strained = self._strain.is_on
        return not self._is_strained
