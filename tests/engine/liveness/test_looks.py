"""The looks of a watchdog that are taken apart."""

import threading

import pytest

from rota.clock import ManualClock
from rota.engine.liveness.looks import Looks
from rota.engine.node.duty import Round


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
