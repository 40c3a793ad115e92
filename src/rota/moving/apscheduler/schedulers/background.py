"""A scheduler in a thread of its own."""

import threading
from functools import partial

from rota.moving.apscheduler.events import EVENT_SCHEDULER_SHUTDOWN, EVENT_SCHEDULER_STARTED
from rota.moving.apscheduler.schedulers.base import (
    BaseScheduler,
    SchedulerAlreadyRunningError,
    SchedulerNotRunningError,
)
from rota.moving.common.refusing import refuse_value


class BackgroundScheduler(BaseScheduler):
    """`start` returns at once, and the program goes on."""

    _thread: threading.Thread | None = None
    _stopping: threading.Thread | None = None
    """Of the scheduler that was ended last, and was perhaps not waited for."""

    def start(self, paused: bool = False) -> None:
        refuse_value("paused", paused, allowed=(False,), instead="pause jobs with pause_job")
        if self.running:
            raise SchedulerAlreadyRunningError("the scheduler runs already")
        # A daemon, as in APScheduler: a program that ends does not wait for it.
        self._thread = threading.Thread(target=self._work, args=(self._stopping,), name="rota-scheduler", daemon=True)
        self._thread.start()
        self._tell(EVENT_SCHEDULER_STARTED)

    def _work(self, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()  # it would end this one too
        self._rota.run_worker(threads=self._options.threads, echo=True)

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def shutdown(self, wait: bool = True) -> None:
        """Let runs under way end; with `wait`, wait for that."""
        thread = self._thread
        if thread is None:
            raise SchedulerNotRunningError("the scheduler does not run")
        stopping = threading.Thread(target=self._stop, args=(partial(_has_ended, thread),), daemon=True)
        stopping.start()
        self._stopping = stopping  # when it runs: a start in another thread waits for it
        if wait:
            stopping.join()
        self._thread = None
        self._tell(EVENT_SCHEDULER_SHUTDOWN)


def _has_ended(thread: threading.Thread, within_s: float) -> bool:
    thread.join(within_s)
    return not thread.is_alive()
