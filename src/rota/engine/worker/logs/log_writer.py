"""Brings the log lines of running jobs to the store, beside claims and settlements, which have a thread of their own.

A share of lines is followed by a pause twice as long as the share took. So the lines of a flood leave most of
the store's time to others, on any store and machine: in SQLite somebody else gets to write, in Redis to be heard.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from rota.clock import Clock
from rota.engine.bridge.store_thread import StoreThread
from rota.engine.node.health import Health
from rota.engine.observation.happenings import Fault, LogLinesDropped, LogLinesWritten
from rota.engine.observation.observers import Observers
from rota.engine.worker.logs.log_stream import LogStream
from rota.errors import StoreError, StoreFull
from rota.store.contract.logs import LogBatch
from rota.store.contract.store import Store

LOG_DELAY_S = 0.1
"""Log lines of running jobs reach the store at least this often, unless there are too many."""
_FIRST_DELAY_S = 0.02
"""The first ones after a silence are there sooner: somebody may watch. Those of short jobs still go with their ends."""
_LEAST_PAUSE_S = 0.005
_MOST_PAUSE_S = 0.5
_PAUSE_FACTOR = 2
_AFTER_ERROR_S = 1.0


class LogWriter:
    """Writes what a stream gathers, until it is stopped."""

    def __init__(
        self, store: Store, *, clock: Clock, health: Health, observers: Observers, on_written: Callable[[], None]
    ) -> None:
        """`on_written` is called on the loop when a share is in the store."""
        self._store = store
        self._observers = observers
        self._clock = clock
        self._health = health
        self._on_written = on_written
        self._has_lines = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopped = False
        self._dropped = 0
        self.logs = LogStream(clock, self._on_lines)

    async def run(self) -> None:
        """Write for ever. Whatever is under way when it is cancelled is written."""
        self._loop = asyncio.get_running_loop()
        if self.logs.has_lines():
            self._has_lines.set()
        thread = StoreThread("rota-logs")
        try:
            while True:
                delay_s = await self._await_lines()
                while self.logs.has_lines():
                    await asyncio.sleep(delay_s)
                    await self._write_shares(thread)
                    delay_s = LOG_DELAY_S
        finally:
            await thread.end()

    def stop(self) -> None:
        """Take nothing more: the lines of jobs go with their ends from now on."""
        self._is_stopped = True

    def write(self, batches: Sequence[LogBatch]) -> None:
        """Write log lines, in the calling thread. A store that has no room for them still hears of ends, so they are
        dropped and counted."""
        try:
            self._store.append_logs(batches)
        except StoreFull as error:
            if not self._dropped:
                self._observers.tell(LogLinesDropped(error))
            self._dropped += sum(len(batch.entries) for batch in batches)
        else:
            if self._dropped:
                self._observers.tell(LogLinesWritten(self._dropped))
                self._dropped = 0

    async def _await_lines(self) -> float:
        """How long lines may gather that came now."""
        began = self._clock.monotonic()
        await self._has_lines.wait()
        self._has_lines.clear()
        return _FIRST_DELAY_S if self._clock.monotonic() - began >= LOG_DELAY_S else LOG_DELAY_S

    async def _write_shares(self, thread: StoreThread) -> None:
        """Share after share, until nothing waits that can be written now."""
        while not self._is_stopped and (batches := self.logs.take()):
            began = self._clock.monotonic()
            try:
                await thread.call(partial(self.write, batches))
            except StoreError as error:
                self._put_back(batches)
                self._health.store_failed("worker", error)  # which may take these lines along with the ends of jobs
                await asyncio.sleep(_AFTER_ERROR_S)
                return
            except Exception as error:
                self._observers.tell(Fault("worker", "log lines cannot be written", error))
            self.logs.written(batches)
            self._on_written()
            took_s = self._clock.monotonic() - began
            await asyncio.sleep(min(max(took_s * _PAUSE_FACTOR, _LEAST_PAUSE_S), _MOST_PAUSE_S))

    def _put_back(self, batches: Sequence[LogBatch]) -> None:
        self.logs.put_back(batches)
        if self._is_stopped:
            self._on_written()  # nobody takes these lines here any more: they go with the ends of their jobs

    def _on_lines(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._has_lines.set)
