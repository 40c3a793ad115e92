"""A scheduler on the loop of a program: `async def` functions run on it, others in threads."""

import asyncio

from rota.moving.apscheduler.events import EVENT_SCHEDULER_SHUTDOWN, EVENT_SCHEDULER_STARTED
from rota.moving.apscheduler.schedulers.base import (
    BaseScheduler,
    SchedulerAlreadyRunningError,
    SchedulerNotRunningError,
)
from rota.moving.common.refusing import refuse_value

_ASK_S = 0.05


class AsyncIOScheduler(BaseScheduler):
    """`start` is called on a running loop and returns at once."""

    _task: "asyncio.Task[None] | None" = None
    _stopping: "asyncio.Task[None] | None" = None

    def start(self, paused: bool = False) -> None:
        refuse_value("paused", paused, allowed=(False,), instead="pause jobs with pause_job")
        if self.running:
            raise SchedulerAlreadyRunningError("the scheduler runs already")
        self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        self._tell(EVENT_SCHEDULER_STARTED)
        await self._rota.serve_worker(threads=self._options.threads, echo=True)
        self._tell(EVENT_SCHEDULER_SHUTDOWN)

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def shutdown(self, wait: bool = True) -> None:
        """Let runs under way end. It returns at once, as in APScheduler; `ended` can be awaited."""
        if not self.running:
            raise SchedulerNotRunningError("the scheduler does not run")
        self._stopping = asyncio.get_running_loop().create_task(self._stop_work())

    async def _stop_work(self) -> None:
        while self._task is not None and not self._task.done():
            self._rota.stop_worker()  # it hears this only when it has begun
            await asyncio.wait({self._task}, timeout=_ASK_S)

    async def ended(self) -> None:
        """Wait until it has ended. (APScheduler has no such call.)"""
        if self._task is not None:
            await self._task
