"""A scheduler in a thread of its own."""

import threading

from rota.moving.apscheduler.events import EVENT_SCHEDULER_SHUTDOWN, EVENT_SCHEDULER_STARTED
from rota.moving.apscheduler.schedulers.base import (
    BaseScheduler,
    SchedulerAlreadyRunningError,
    SchedulerNotRunningError,
)
from rota.moving.common.refusing import refuse_value

_ASK_S = 0.05


class BackgroundScheduler(BaseScheduler):
    """`start` returns at once, and the program goes on."""

    _thread: threading.Thread | None = None

    def start(self, paused: bool = False) -> None:
        refuse_value("paused", paused, allowed=(False,), instead="pause jobs with pause_job")
        if self.running:
            raise SchedulerAlreadyRunningError("the scheduler runs already")
        # A daemon, as in APScheduler: a program that ends does not wait for it.
        self._thread = threading.Thread(target=self._work, name="rota-scheduler", daemon=True)
        self._thread.start()
        self._tell(EVENT_SCHEDULER_STARTED)

    def _work(self) -> None:
        self._rota.run_worker(threads=self._options.threads, echo=True)

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def shutdown(self, wait: bool = True) -> None:
        """Let runs under way end; with `wait`, wait for that."""
        thread = self._thread
        if thread is None:
            raise SchedulerNotRunningError("the scheduler does not run")
        self._rota.stop_worker()
        while wait and thread.is_alive():
            thread.join(_ASK_S)
            self._rota.stop_worker()  # it hears this only when it has begun
        self._thread = None
        self._tell(EVENT_SCHEDULER_SHUTDOWN)
