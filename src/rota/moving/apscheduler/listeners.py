"""Who is told of runs that happen in this process."""

import inspect
import logging
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any

from rota.moving.apscheduler.events import (
    EVENT_JOB_ERROR,
    EVENT_JOB_EXECUTED,
    JobExecutionEvent,
    SchedulerEvent,
    check_mask,
)
from rota.sdk.tasks.current_job import current_job

_log = logging.getLogger("rota.apscheduler")
Listener = Callable[[Any], object]


class Listeners:
    """Those of one scheduler."""

    def __init__(self) -> None:
        self._known: list[tuple[Listener, int]] = []

    def add(self, callback: Listener, mask: int) -> None:
        check_mask(mask)
        self._known.append((callback, mask))

    def remove(self, callback: Listener) -> None:
        self._known = [one for one in self._known if one[0] != callback]

    def tell(self, event: SchedulerEvent) -> None:
        """What a listener raises is logged, and changes nothing."""
        for callback, mask in list(self._known):
            if event.code & mask:
                try:
                    callback(event)
                except Exception:
                    _log.exception("a listener failed")

    def observed(self, function: Callable[..., Any], job_id: Callable[[], str]) -> Callable[..., Any]:
        """The same function, of whose runs in this process listeners are told. `job_id` names the job that runs."""
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                try:
                    value = await function(*args, **kwargs)
                except Exception as error:
                    self._tell_error(job_id(), error)
                    raise
                self._tell_value(job_id(), value)
                return value

            return awaited

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                value = function(*args, **kwargs)
            except Exception as error:
                self._tell_error(job_id(), error)
                raise
            self._tell_value(job_id(), value)
            return value

        return called

    def _tell_value(self, job_id: str, value: object) -> None:
        when = current_job().scheduled_for
        self.tell(JobExecutionEvent(EVENT_JOB_EXECUTED, job_id, scheduled_run_time=when, retval=value))

    def _tell_error(self, job_id: str, error: Exception) -> None:
        when, trace = current_job().scheduled_for, "".join(traceback.format_exception(error))
        self.tell(JobExecutionEvent(EVENT_JOB_ERROR, job_id, scheduled_run_time=when, exception=error, traceback=trace))
