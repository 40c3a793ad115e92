"""Workers in threads of the test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rota import Worker
from tests.patience import DEADLINE_S


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
