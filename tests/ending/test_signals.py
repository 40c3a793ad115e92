"""Signals are heard while somebody wants to hear them, and everything is as before afterwards."""

import os
import signal
from queue import SimpleQueue
from threading import Thread

import pytest

from rota.ending.signals import heard_signals
from tests.patience import DEADLINE_S

NUMBERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in NUMBERS]


def test_each_signal_is_told_in_a_thread_and_handlers_are_as_before_afterwards() -> None:
    before, heard = handlers(), SimpleQueue[int]()
    unused = signal.set_wakeup_fd(-1)

    with heard_signals(heard.put):
        for number in NUMBERS:
            os.kill(os.getpid(), number)
        told = [heard.get(timeout=DEADLINE_S) for _ in NUMBERS]

    assert sorted(told) == sorted(NUMBERS)
    assert handlers() == before
    assert signal.set_wakeup_fd(unused) == -1


def test_others_signals_are_not_told() -> None:
    heard = SimpleQueue[int]()
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with heard_signals(heard.put):
            os.kill(os.getpid(), signal.SIGUSR1)
            os.kill(os.getpid(), signal.SIGTERM)
            assert heard.get(timeout=DEADLINE_S) == signal.SIGTERM
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert heard.empty()


@pytest.mark.parametrize(("handler", "is_left"), [(signal.SIG_IGN, True), (signal.SIG_DFL, False)])
def test_a_hup_that_is_ignored_stays_so(handler: signal.Handlers, is_left: bool) -> None:
    before = signal.signal(signal.SIGHUP, handler)
    try:
        with heard_signals(lambda number: None):
            assert (signal.getsignal(signal.SIGHUP) is handler) is is_left
    finally:
        signal.signal(signal.SIGHUP, before)


def test_in_another_thread_than_the_main_one_nothing_is_heard() -> None:
    before, seen = handlers(), []

    def live() -> None:
        with heard_signals(lambda number: None):
            seen.append(handlers())

    thread = Thread(target=live)
    thread.start()
    thread.join()

    assert seen == [before]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("has_handler", [True, False])
def test_what_is_sent_to_a_forked_copy_is_for_the_copy(has_handler: bool) -> None:
    heard = SimpleQueue[int]()
    with heard_signals(heard.put):
        copy = os.fork()
        if copy == 0:
            if has_handler:
                signal.signal(signal.SIGTERM, lambda *_: os._exit(3))
            os.kill(os.getpid(), signal.SIGTERM)
            os._exit(1)
        _, status = os.waitpid(copy, 0)
        os.kill(os.getpid(), signal.SIGINT)

        assert heard.get(timeout=DEADLINE_S) == signal.SIGINT, "the first thing that came"
    assert os.waitstatus_to_exitcode(status) == (3 if has_handler else -signal.SIGTERM)
