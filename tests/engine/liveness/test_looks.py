"""The looks of a watchdog that are taken apart."""

import threading
from functools import partial

import pytest

from rota.clock import ManualClock
from rota.engine.liveness.looks import Looks
from rota.engine.node.duty import Round
from rota.model.liveness import LOOKS_PER_DEATH
from tests.engine.working import wait_until


def refuse(_thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_look_for_which_no_thread_could_be_started_keeps_no_other_and_is_taken_when_one_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, taken = ManualClock(), list[str]()
    looks = Looks(clock, slow_s=1.0)

    def slow() -> bool:
        taken.append("slow")
        clock.advance(2_000)
        return False

    def quick() -> bool:
        taken.append("quick")
        return False

    looks.take({"slow": slow}, Round())  # from now on it is taken apart

    refused = Round()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        looks.take({"slow": slow, "quick": quick}, refused)
    with pytest.raises(RuntimeError, match="new thread"):
        refused.end()
    assert taken == ["slow", "quick"]

    looks.take({"slow": slow}, Round())
    looks.end()
    assert taken == ["slow", "quick", "slow"]


class Queue:
    """Something to look at, which takes its time, or fails, as a test says."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.is_slow = self.is_broken = False
        self.seen_by: list[str] = []

    def look(self) -> bool:
        self.seen_by.append(threading.current_thread().name)
        if self.is_slow:
            self._clock.advance(2_000)
        if self.is_broken:
            raise OSError("it is away")
        return False

    @property
    def was_apart(self) -> bool:
        return self.seen_by[-1] == "rota-watchdog-apart"


def test_a_look_that_is_slow_and_fails_is_taken_apart_too() -> None:
    clock = ManualClock()
    looks, queue = Looks(clock, slow_s=1.0), Queue(clock)
    queue.is_slow = queue.is_broken = True

    looks.take({"queue": queue.look}, Round())
    first = queue.was_apart
    failed = Round()
    looks.take({"queue": queue.look}, failed)

    assert (first, queue.was_apart) == (False, True)
    with pytest.raises(OSError, match="away"):
        failed.end()


def test_a_look_is_taken_apart_until_it_was_quick_for_a_whole_dead_time_without_a_break() -> None:
    clock = ManualClock()
    looks, queue = Looks(clock, slow_s=1.0), Queue(clock)

    def take(times: int, *, is_slow: bool) -> list[bool]:
        queue.is_slow, apart = is_slow, []
        for _ in range(times):
            looks.take({"queue": queue.look}, Round())
            looks.end()
            apart.append(queue.was_apart)
        return apart

    assert take(1, is_slow=True) == [False]
    assert all(take(LOOKS_PER_DEATH - 1, is_slow=False))
    assert take(1, is_slow=True) == [True]
    assert all(take(LOOKS_PER_DEATH, is_slow=False)), "it counts anew"
    assert take(1, is_slow=False) == [False]


def test_of_any_number_of_looks_that_hang_only_some_have_a_thread_and_the_others_come_first_later() -> None:
    clock, go = ManualClock(), threading.Event()
    looks = Looks(clock, slow_s=0.01)
    queues = {f"queue {number}": Queue(clock) for number in range(40)}
    for queue in queues.values():
        queue.is_slow = True
    slow = {name: queue.look for name, queue in queues.items()}
    for name, look in slow.items():
        looks.take({name: look}, Round())
    quick = Queue(clock)

    def hang(queue: Queue) -> bool:
        go.wait()
        return queue.look()

    looks.take({**{name: partial(hang, queue) for name, queue in queues.items()}, "quick": quick.look}, Round())
    apart = [one for one in threading.enumerate() if one.name == "rota-watchdog-apart"]
    assert (len(apart), len(quick.seen_by)) == (32, 1)

    go.set()
    for one in apart:
        one.join()
    looks.take(slow, Round())
    wait_until(lambda: all(len(one.seen_by) >= 2 for one in queues.values()), "the others")
    looks.end()
