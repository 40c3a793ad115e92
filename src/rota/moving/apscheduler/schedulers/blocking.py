"""A scheduler that is all that its thread does."""

from rota.moving.apscheduler.events import EVENT_SCHEDULER_SHUTDOWN, EVENT_SCHEDULER_STARTED
from rota.moving.apscheduler.schedulers.base import BaseScheduler
from rota.moving.common.refusing import refuse_value


class BlockingScheduler(BaseScheduler):
    """`start` returns when `shutdown` is called, or with a signal."""

    def start(self, paused: bool = False) -> None:
        refuse_value("paused", paused, allowed=(False,), instead="pause jobs with pause_job")
        self._tell(EVENT_SCHEDULER_STARTED)
        self._rota.run_worker(threads=self._options.threads, echo=True)
        self._tell(EVENT_SCHEDULER_SHUTDOWN)

    def shutdown(self, wait: bool = True) -> None:
        """Let runs under way end, and `start` return."""
        self._rota.stop_worker()
