"""A thread that waits for news from the store on behalf of a worker, and tells the event loop."""

import asyncio
import logging
import threading
from collections.abc import Callable

from rota.errors import StoreError
from rota.store.contract.queues import Cancellation, Waker

_AFTER_ERROR_S = 1.0
_FOR_ORDERS_S = 0.1
"""After a report the worker usually says within this time what it wants next; until then there is nothing to wait
for."""
_logger = logging.getLogger("rota.worker")


class Listener:
    """Waits for jobs when the worker wants some, otherwise for cancellations only, and reports what it hears."""

    def __init__(self, waker: Waker, on_news: Callable[[list[Cancellation]], None]) -> None:
        self._waker = waker
        self._on_news = on_news
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._serve, name="rota-listener", daemon=True)
        self._orders = threading.Condition()
        self._wants_jobs = False
        self._timeout_s = 1.0
        self._waits_for_less = False
        self._is_stopped = False

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    def listen(self, *, wants_jobs: bool, timeout_s: float) -> bool:
        """Say what the worker waits for. Tells whether a wait for less is under way, which `nudge` breaks off."""
        with self._orders:
            self._wants_jobs, self._timeout_s = wants_jobs, timeout_s
            self._orders.notify()
            return wants_jobs and self._waits_for_less

    def nudge(self) -> None:
        """Break off the wait under way. May take a round trip to the store."""
        self._quietly(self._waker.nudge)

    def stop(self) -> None:
        """End the thread; a wait under way ends with it."""
        with self._orders:
            self._is_stopped = True
            self._orders.notify()
        self._quietly(self._waker.close)

    def _serve(self) -> None:
        while not self._is_stopped:
            with self._orders:
                wants_jobs, timeout_s = self._wants_jobs, self._timeout_s
                self._waits_for_less = not wants_jobs
            try:
                news = self._waker.wait(timeout_s, wants_jobs=wants_jobs)
            except StoreError:
                self._rest(_AFTER_ERROR_S)  # the worker notices by itself that the store is away
                continue
            self._report(news, wants_jobs)

    def _report(self, news: list[Cancellation], wanted_jobs: bool) -> None:
        with self._orders:
            self._waits_for_less = False
            if wanted_jobs:
                self._wants_jobs = False
        if news or wanted_jobs:
            self._quietly(lambda: self._loop.call_soon_threadsafe(self._on_news, news) if self._loop else None)
        if wanted_jobs:
            self._pause(_FOR_ORDERS_S)

    def _pause(self, seconds: float) -> None:
        with self._orders:
            self._orders.wait_for(lambda: self._wants_jobs or self._is_stopped, seconds)

    def _rest(self, seconds: float) -> None:
        """Whatever the worker wants, there is nothing to be heard now."""
        with self._orders:
            self._orders.wait_for(lambda: self._is_stopped, seconds)

    def _quietly(self, action: Callable[[], object]) -> None:
        """A store that is away, or a loop that is closed, is no news here."""
        try:
            action()
        except (StoreError, RuntimeError) as error:
            _logger.debug("listener", extra={"error": str(error)})
