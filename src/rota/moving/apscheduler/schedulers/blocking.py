"""A scheduler that is all that its thread does."""

import threading

from rota.moving.apscheduler.events import EVENT_SCHEDULER_SHUTDOWN, EVENT_SCHEDULER_STARTED
from rota.moving.apscheduler.schedulers.base import (
    BaseScheduler,
    SchedulerAlreadyRunningError,
    SchedulerNotRunningError,
)
from rota.moving.common.refusing import refuse_value


class BlockingScheduler(BaseScheduler):
    """`start` returns when `shutdown` is called, or with a signal."""

    _ended: threading.Event | None = None
    """Of the start that is under way."""

    @property
    def running(self) -> bool:
        return self._ended is not None

    def start(self, paused: bool = False) -> None:
        refuse_value("paused", paused, allowed=(False,), instead="pause jobs with pause_job")
        if self.running:
            raise SchedulerAlreadyRunningError("the scheduler runs already")
        ended = self._ended = threading.Event()
        try:
            self._tell(EVENT_SCHEDULER_STARTED)
            self._rota.run_worker(threads=self._options.threads, echo=True)
        finally:
            self._ended = None
            ended.set()
        self._tell(EVENT_SCHEDULER_SHUTDOWN)

    def shutdown(self, wait: bool = True) -> None:
        """Let runs under way end, and `start` return. Nobody waits for that here: a job may be the one who asks."""
        ended = self._ended
        if ended is None:
            raise SchedulerNotRunningError("the scheduler does not run")
        threading.Thread(target=self._stop, args=(ended.wait,), daemon=True).start()
