"""A worker beside a test."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rota import Rota


@contextmanager
def running_worker(app: Rota, *, queue: str | None = None) -> Iterator[None]:
    """Runs in a thread until the end of the block."""
    worker = threading.Thread(target=app.run_worker, kwargs={"queue": queue})
    worker.start()
    try:
        yield
    finally:
        app.stop_worker()
        worker.join()
