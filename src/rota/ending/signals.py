"""Hears signals in a thread of its own.

Handlers of an event loop are not called while a job blocks the loop, and plain ones may come late when two signals
arrive at once. But the interpreter's own handler, which runs at once whatever else does, can write to a descriptor.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_END = b"\0"
"""No signal has this number."""
_heard: set[signal.Signals] = set()
_before_fork = threading.local()


@contextmanager
def heard_signals(on_signal: Callable[[int], None]) -> Iterator[None]:
    """Call `on_signal` in a thread for each TERM, INT and HUP. A HUP that is ignored, as `nohup` has it, stays so.
    Only the main thread of a program may ask for signals: in another one nothing is heard."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    thread = threading.Thread(target=_listen, args=(read_end, numbers, on_signal), name="rota-signals", daemon=True)
    thread.start()
    fd_before = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    handlers_before = [(number, signal.signal(number, _do_nothing) or signal.SIG_DFL) for number in numbers]
    _heard.update(numbers)
    try:
        yield
    finally:
        _heard.clear()
        for number, handler in handlers_before:
            signal.signal(number, handler)
        signal.set_wakeup_fd(fd_before)
        os.write(write_end, _END)  # not by closing it: a forked process may have it too
        thread.join()
        os.close(write_end)
        os.close(read_end)


def _do_nothing(_number: int, _frame: object) -> None:
    """There has to be a handler; the descriptor does the rest."""


def _listen(fd: int, numbers: list[signal.Signals], on_signal: Callable[[int], None]) -> None:
    while True:
        for number in os.read(fd, 64):
            if number in _END:
                return
            if number in numbers:
                on_signal(number)


def _hold_back() -> None:
    """Before a fork: what is sent to the copy must not arrive while it still has our handlers."""
    if _heard:
        _before_fork.mask = signal.pthread_sigmask(signal.SIG_BLOCK, _heard)


def _go_on() -> None:
    mask = getattr(_before_fork, "mask", None)
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _before_fork.mask = None


def _forget_in_child() -> None:
    """In a forked copy of this process, whose signals are not for us."""
    if _heard:
        signal.set_wakeup_fd(-1)
        for number in _heard:
            signal.signal(number, signal.SIG_DFL)
    _go_on()


os.register_at_fork(before=_hold_back, after_in_parent=_go_on, after_in_child=_forget_in_child)
