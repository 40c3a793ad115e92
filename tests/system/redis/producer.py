"""Hands in jobs from a thread, as a program does that cares: it notes what was accepted, and repeats what was not."""

import threading
import time
from types import TracebackType
from typing import Self

import msgspec

from rota.errors import StoreUnavailable
from rota.model.ids import new_id
from tests.system.installation import SystemInstallation

_AFTER_ERROR_S = 0.05


class Producer:
    """Produces while it is entered. Each job has an id of the producer's own, so that repeating makes no second one."""

    def __init__(
        self, installation: SystemInstallation, *, batch: int = 5, ms: int = 1, pause_s: float = 0.005
    ) -> None:
        self._installation = installation
        self._batch, self._ms, self._pause_s = batch, ms, pause_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._produce, name="producer", daemon=True)
        self.accepted: list[str] = []
        self.errors: list[StoreUnavailable] = []
        """What it was told while the store was away."""
        self.failure: Exception | None = None
        """Anything else, which ends it."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if error is None and self.failure is not None:
            raise self.failure

    def await_more(self, count: int) -> None:
        """Wait until so many further jobs were accepted."""
        goal = len(self.accepted) + count
        self._installation.wait(lambda: len(self.accepted) >= goal or self.failure is not None, f"{count} more jobs")

    def _produce(self) -> None:
        try:
            while not self._stop.wait(self._pause_s):
                self._enqueue_batch()
        except Exception as error:
            self.failure = error

    def _enqueue_batch(self) -> None:
        ids = [new_id(time.time_ns() // 1_000_000) for _ in range(self._batch)]
        requests = [msgspec.structs.replace(self._installation.work(self._ms), id=one) for one in ids]
        while True:
            try:
                self._installation.intake.enqueue(requests)
            except StoreUnavailable as error:
                # Nobody knows whether the store has them, so it goes on until it knows, also when it is to stop.
                self.errors.append(error)
                time.sleep(_AFTER_ERROR_S)
            else:
                self.accepted += ids
                return
