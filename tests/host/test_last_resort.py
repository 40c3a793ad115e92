"""The last resort ends a process that does not end by itself, and leaves it the time to take its leave."""

import subprocess
import sys

from tests.patience import DEADLINE_S

STANDS_STILL = """
import os, signal, sys, time
from rota.host.last_resort import LEAVE_S, LastResort

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

LastResort().set(0.0, 7, before=take_leave)
time.sleep(3_600)
"""


def test_time_for_which_the_machine_stood_still_is_not_taken_from_the_leave() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STANDS_STILL], capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )

    assert (ended.returncode, ended.stdout) == (7, "left\n")
