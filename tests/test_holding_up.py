"""Processes are held up and let go; what a test has stopped stays so."""

import os
import signal
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.held_threads import why_none_can_be_held
from tests.patience import LONG_DEADLINE_S
from tests.processes import state_of
from tests.servers import wait_until

_TWO = "sleep 3600 & echo $!; sleep 3600 & echo $!; read word"

pytestmark = pytest.mark.skipif(bool(why_none_can_be_held()), reason=why_none_can_be_held())


def test_processes_are_held_and_let_go_and_one_that_was_stopped_stays_so(request: pytest.FixtureRequest) -> None:
    is_held_up_itself = request.config.getoption("--hold-up") is not None
    above = subprocess.Popen(["sh", "-c", _TWO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert above.stdout is not None
    free, stopped = int(above.stdout.readline()), int(above.stdout.readline())
    os.kill(stopped, signal.SIGSTOP)
    words = [sys.executable, "-m", "tests.holding_up", str(above.pid), "7"]
    holding = subprocess.Popen(words, cwd=ROOT)
    try:
        for _ in range(3):
            wait_until(lambda: state_of(free) == "t", "it to be held up")
            assert is_held_up_itself or state_of(above.pid) != "t", "whoever began it all is not"
            wait_until(lambda: state_of(free) == "S", "it to be let go")
        wait_until(lambda: state_of(free) == "t", "it to be held up")
        os.kill(free, signal.SIGSTOP)
        holding.terminate()

        assert holding.wait(LONG_DEADLINE_S) == 0
        wait_until(lambda: state_of(free) == "T", "it to be let go at the end, and stopped as it was told to")
        assert state_of(stopped) == "T"
    finally:
        holding.kill()
        for pid in (free, stopped):
            os.kill(pid, signal.SIGKILL)
        above.communicate("\n", timeout=LONG_DEADLINE_S)
        holding.wait()
