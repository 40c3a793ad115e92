"""Workers in threads of the test, and waiting for what they do."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rota import Worker
from tests.engine.working import DEADLINE_S


def wait_until(is_true: Callable[[], object], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not is_true():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.01)


@contextmanager
def working(worker: Worker) -> Iterator[Worker]:
    """The worker in a thread, until the end of the block."""
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(DEADLINE_S)
        assert not thread.is_alive()
