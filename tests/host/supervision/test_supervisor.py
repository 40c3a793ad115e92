"""The supervisor, with processes that do nothing but speak to it."""

import signal
import sys
import threading
from pathlib import Path

from rota.clock import SystemClock
from rota.host.supervision.supervisor import Supervisor
from tests.servers import wait_until

READY_TOO_LATE = """
import signal, socket, sys, time
line = socket.socket(fileno=int(sys.argv[-1]))
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
open("begun", "w").close()
while not asked:
    time.sleep(0.01)
line.send(b"r")
time.sleep(0.2)
sys.exit(len(asked) - 1)
"""


def test_one_that_is_ready_after_it_was_asked_to_end_is_followed_by_no_other(folder: Path) -> None:
    supervisor = Supervisor([sys.executable, "-c", READY_TOO_LATE], processes=3, is_burst=False, clock=SystemClock())

    def stop() -> None:
        wait_until((folder / "begun").exists, "the first process")
        supervisor.hear(signal.SIGTERM)

    stopping = threading.Thread(target=stop)
    stopping.start()
    exit_code = supervisor.run(lambda pids: None)
    stopping.join()

    assert exit_code == 0  # and it was asked once
