"""What is ended of runs under a lock without the event loop, and when."""

import signal

from msgspec import structs

from rota.clock import ManualClock
from rota.engine.executors.executor import Run
from rota.engine.observation.observers import Observers
from rota.engine.worker.attempt import Attempt, Stop
from rota.engine.worker.lock_guard import LockGuard
from rota.model.job_type import JobType
from tests.engine.worker.test_hands import Kept, new_attempt

PAUSE_MS, GRACE_MS = 1_000, 2_500


class Guarded:
    """Attempts, all of which others may soon have, and the signals that they were sent."""

    def __init__(self) -> None:
        self.kept, self.clock = Kept(), ManualClock()
        self.is_old = True
        self.guard = LockGuard(
            self.kept.hands,
            is_old=lambda _: self.is_old,
            clock=self.clock,
            pause_s=PAUSE_MS / 1000,
            grace_s=GRACE_MS / 1000,
            observers=Observers(),
        )

    def begin(self, sent: list[int] | None, *, is_locked: bool = True) -> Attempt:
        """A run of processes, or one without."""
        attempt = new_attempt()
        if is_locked:
            attempt.claim = structs.replace(attempt.claim, spec=structs.replace(attempt.claim.spec, lock_key="lock"))
        self.kept.hands.take(attempt)
        attempt.run = Run(attempt.claim.spec, JobType(uuid="t", name="t", executor="bash"), 1, lambda *_: None)
        attempt.run.signal = sent.append if sent is not None else None
        return attempt

    def look_after(self, ms: int) -> None:
        self.clock.advance(ms)
        self.guard.look()


def test_the_loop_has_one_look_to_let_go_then_processes_are_asked_to_end_and_killed_after_the_grace() -> None:
    it, sent = Guarded(), list[int]()
    attempt = it.begin(sent)

    it.look_after(0)
    it.look_after(PAUSE_MS - 1)
    assert (sent, attempt.reason) == ([], None)

    it.look_after(1)
    assert (sent, attempt.reason) == ([signal.SIGTERM], Stop.INTERRUPTED)

    it.look_after(GRACE_MS - PAUSE_MS - 1)
    it.look_after(1)
    assert sent == [signal.SIGTERM, signal.SIGKILL]


def test_what_the_loop_asked_to_end_for_whatever_reason_is_killed_in_time() -> None:
    it, sent = Guarded(), list[int]()
    attempt = it.begin(sent)
    attempt.reason = Stop.CANCELLED

    it.look_after(0)
    it.look_after(PAUSE_MS)
    it.look_after(GRACE_MS - PAUSE_MS)

    assert (sent, attempt.reason) == ([signal.SIGKILL], Stop.CANCELLED)


def test_runs_without_a_lock_and_those_that_are_no_processes_are_left_alone() -> None:
    it, sent = Guarded(), list[int]()
    plain, coroutine, survivor = it.begin(sent, is_locked=False), it.begin(None), it.begin(sent)
    assert survivor.run is not None
    survivor.run.can_be_stopped = False

    it.look_after(0)
    it.look_after(GRACE_MS)

    assert sent == []
    assert [one.reason for one in (plain, coroutine, survivor)] == [None] * 3


def test_a_node_that_is_heard_again_in_between_begins_to_count_anew() -> None:
    it, sent = Guarded(), list[int]()
    it.begin(sent)
    it.look_after(0)
    it.is_old = False
    it.look_after(PAUSE_MS)
    it.is_old = True

    it.look_after(PAUSE_MS)
    assert sent == []

    it.look_after(PAUSE_MS)
    assert sent == [signal.SIGTERM]
