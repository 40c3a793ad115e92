"""What drives the duties of a node: each kind of them in a thread of its own, from the node's start to its end."""

import asyncio
import random
import threading
from collections.abc import Coroutine, Iterable
from functools import partial

from rota.clock import Clock
from rota.engine.bridge.store_thread import StoreThread
from rota.engine.liveness.watchdog import Watchdog
from rota.engine.node.duty import Duty
from rota.engine.node.health import Health
from rota.engine.observation.happenings import DutyFailed
from rota.engine.observation.observers import Observers
from rota.errors import StoreError

_AFTER_ERROR_S = 1.0


class Driver:
    """The threads of a node, and what goes on in them. Made on the event loop of the node."""

    def __init__(self, clock: Clock, health: Health, observers: Observers) -> None:
        self._clock = clock
        self._health = health
        self._observers = observers
        self._tasks: list[asyncio.Task[None]] = []
        self._is_over = threading.Event()
        self.news = StoreThread("rota-news")
        self.housekeeping = StoreThread("rota-retention")
        # What is on time has a thread of its own: a long round of housekeeping must not make it late. A watchdog would
        # even begin to watch anew after each, as after each time that the loop was blocked: it waits in its thread too.
        self._watch = StoreThread("rota-watchdog")
        self.ticks = StoreThread("rota-ticker")
        self.foreign = StoreThread("rota-dialects")

    def drive(self, duties: Iterable[Duty], thread: StoreThread) -> None:
        """Do these in one of the threads, again and again until `stop`. The loop waits for their next rounds."""
        for duty in duties:
            self.begin(self._drive(duty, thread))

    def begin(self, coroutine: Coroutine[None, None, None]) -> None:
        """Have this go on beside the duties until `stop`."""
        self._tasks.append(asyncio.create_task(coroutine))

    def watch(self, watchdogs: Iterable[Watchdog]) -> None:
        """Drive these, whatever holds up the loop."""
        for watchdog in watchdogs:
            self._watch.post(partial(self._drive_here, watchdog))

    async def stop(self) -> None:
        """Begin no further round. One that is under way goes on in its thread; `end` waits for it."""
        self._is_over.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def end(self) -> None:
        """Let the threads finish what was handed to them, and end."""
        threads = (self.news, self.housekeeping, self._watch, self.ticks, self.foreign)
        await asyncio.gather(*(thread.end() for thread in threads))

    async def _drive(self, duty: Duty, thread: StoreThread) -> None:
        """Run a duty for ever. Rounds of many nodes are spread by chance."""
        await asyncio.sleep(random.random())
        while True:
            wait_s = await thread.call(lambda: self._do_round(duty))
            await asyncio.sleep(wait_s)

    def _drive_here(self, watchdog: Watchdog) -> None:
        """The same in the thread of the caller, until it is over."""
        wait_s = random.random()
        while not self._is_over.wait(wait_s):
            wait_s = self._do_round(watchdog)
        watchdog.end()

    def _do_round(self, duty: Duty) -> float:
        """How many seconds the next one can wait, whatever happens to this one."""
        try:
            wait_s = duty.run_once(self._clock.now())
        except StoreError as error:
            self._health.store_failed(duty, error)
            return _AFTER_ERROR_S
        except Exception as error:
            self._observers.tell(DutyFailed(type(duty).__name__, error))
            wait_s = _AFTER_ERROR_S
        self._health.store_answered(duty)
        return wait_s
