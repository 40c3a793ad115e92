"""One thread stands still while the others of its process go on, and nothing of the process is lost by that."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.conftest import ROOT
from tests.held_threads import HeldThread, why_none_can_be_held
from tests.patience import LONG_DEADLINE_S
from tests.processes import state_of
from tests.servers import wait_until

_TWO_THREADS = """
import threading

def echo():
    while line := input():
        print(line, flush=True)

thread = threading.Thread(target=threading.Event().wait, daemon=True)
thread.start()
print(thread.native_id, flush=True)
echo()
"""

pytestmark = pytest.mark.skipif(bool(why_none_can_be_held()), reason=why_none_can_be_held())


def held(thread: int) -> HeldThread:
    found = HeldThread(thread)
    wait_until(lambda: state_of(thread) == "t", "it to stop")
    return found


@contextmanager
def holder_of(thread: int, *, then: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process, which holds a thread."""
    code = f"import time\nfrom tests.held_threads import HeldThread\none = HeldThread({thread})\n{then}"
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE) as holder:
        wait_until(lambda: state_of(thread) == "t", "it to be held")
        yield holder


def test_a_thread_is_held_and_let_go_while_the_others_of_its_process_go_on() -> None:
    words = [sys.executable, "-c", _TWO_THREADS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        thread = int(process.stdout.readline())
        one = held(thread)

        process.stdin.write("hello\n")
        process.stdin.flush()
        assert process.stdout.readline() == "hello\n"
        assert state_of(thread) == "t"

        wait_until(one.let_go, "it to be let go")
        wait_until(lambda: state_of(thread) == "S", "it to go on")
        process.communicate("\n", timeout=LONG_DEADLINE_S)


@pytest.mark.parametrize("has_stopped", [True, False])
def test_a_signal_that_comes_meanwhile_is_not_lost(has_stopped: bool) -> None:
    for _ in range(5):
        process = subprocess.Popen(["sleep", "3600"])
        one = held(process.pid) if has_stopped else HeldThread(process.pid)
        os.kill(process.pid, signal.SIGTERM)  # `terminate` would take the stop of our own child for its end

        wait_until(one.let_go, "it to be let go")

        assert process.wait(LONG_DEADLINE_S) == -signal.SIGTERM


def test_whoever_began_a_process_that_is_killed_while_it_is_held_hears_of_its_end() -> None:
    process = subprocess.Popen(["sleep", "3600"])
    with holder_of(process.pid, then="while True: one.look(); time.sleep(0.01)") as holder:
        process.kill()

        assert process.wait(LONG_DEADLINE_S) == -signal.SIGKILL
        holder.kill()


def test_it_goes_on_when_its_holder_ends() -> None:
    with subprocess.Popen(["sleep", "3600"]) as process:
        with holder_of(process.pid, then="input()") as holder:
            holder.kill()

        wait_until(lambda: state_of(process.pid) == "S", "it to go on")
        process.kill()


def test_what_has_ended_cannot_be_held() -> None:
    process = subprocess.Popen(["true"])
    process.wait()

    with pytest.raises(OSError, match="No such process"):
        HeldThread(process.pid)
