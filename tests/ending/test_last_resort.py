"""The last resort ends a process that does not end by itself, and leaves it the time to take its leave."""

import subprocess
import sys

import pytest

from tests.patience import DEADLINE_S

STANDS_STILL = """
import os, signal, sys, time
from rota.ending.last_resort import LEAVE_S, LastResort

leaver = os.getpid()
stands, tells = os.pipe()
if os.fork() == 0:
    os.read(stands, 1)
    time.sleep(LEAVE_S + 1)
    while os.getppid() == leaver:  # again and again: it may have been told before it stood still
        os.kill(leaver, signal.SIGCONT)
        time.sleep(0.05)
    os._exit(0)

def take_leave():
    time.sleep(0.3)  # it is waited for by now
    os.write(tells, b"x")
    os.kill(leaver, signal.SIGSTOP)
    time.sleep(0.3)
    print("left", flush=True)

with LastResort() as last_resort:
    last_resort.set(0.0, 7, before=take_leave)
    time.sleep(3_600)
"""

CAN_START_NO_THREAD = """
import threading, time
from rota.ending.last_resort import LastResort, end_within

threading.Thread(target=time.sleep, args=[3_600]).start()
with LastResort() as last_resort:
    threading.stack_size(1 << 47)  # of those that begin from here on: there is room for none
    %s
    time.sleep(3_600)
"""

CANCELLED_AS_IT_ASKS = """
import threading
from rota.ending.last_resort import LastResort

asks, may_answer = threading.Event(), threading.Event()

def ask():
    asks.set()
    may_answer.wait()
    return False

with LastResort() as last_resort:
    last_resort.set(0.0, 7, unless=ask)
    asks.wait()
    last_resort.cancel()
    may_answer.set()
for thread in threading.enumerate():
    if thread.name == "rota-last-resort":
        thread.join()
print("goes on")
"""


def run(code: str) -> tuple[int, str]:
    """The exit code and what was said."""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    return ended.returncode, ended.stdout


def test_time_for_which_the_machine_stood_still_is_not_taken_from_the_leave() -> None:
    assert run(STANDS_STILL) == (7, "left\n")


@pytest.mark.parametrize(
    ("end", "said"), [("last_resort.set(0.0, 7, before=lambda: print('left'))", "left\n"), ("end_within(0.0, 7)", "")]
)
def test_a_process_that_can_start_no_thread_is_ended(end: str, said: str) -> None:
    assert run(CAN_START_NO_THREAD % end) == (7, said)


def test_a_process_that_has_found_its_end_while_it_was_asked_for_it_goes_on() -> None:
    assert run(CANCELLED_AS_IT_ASKS) == (0, "goes on\n")
