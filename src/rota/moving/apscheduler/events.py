"""What a scheduler tells its listeners. The numbers are APScheduler's."""

from datetime import datetime

from rota.errors import InvalidInput

EVENT_SCHEDULER_STARTED = EVENT_SCHEDULER_START = 1
EVENT_SCHEDULER_SHUTDOWN = 1 << 1
EVENT_SCHEDULER_PAUSED = 1 << 2
EVENT_SCHEDULER_RESUMED = 1 << 3
EVENT_EXECUTOR_ADDED = 1 << 4
EVENT_EXECUTOR_REMOVED = 1 << 5
EVENT_JOBSTORE_ADDED = 1 << 6
EVENT_JOBSTORE_REMOVED = 1 << 7
EVENT_ALL_JOBS_REMOVED = 1 << 8
EVENT_JOB_ADDED = 1 << 9
EVENT_JOB_REMOVED = 1 << 10
EVENT_JOB_MODIFIED = 1 << 11
EVENT_JOB_EXECUTED = 1 << 12
EVENT_JOB_ERROR = 1 << 13
EVENT_JOB_MISSED = 1 << 14
EVENT_JOB_SUBMITTED = 1 << 15
EVENT_JOB_MAX_INSTANCES = 1 << 16
EVENT_ALL = (1 << 17) - 1
_NEVER_TOLD = {
    EVENT_JOB_MISSED: "EVENT_JOB_MISSED",
    EVENT_JOB_SUBMITTED: "EVENT_JOB_SUBMITTED",
    EVENT_JOB_MAX_INSTANCES: "EVENT_JOB_MAX_INSTANCES",
}


class SchedulerEvent:
    """About the scheduler."""

    def __init__(self, code: int, alias: str | None = None) -> None:
        self.code = code
        self.alias = alias


class JobEvent(SchedulerEvent):
    """About a job."""

    def __init__(self, code: int, job_id: str, jobstore: str = "default") -> None:
        super().__init__(code)
        self.job_id = job_id
        self.jobstore = jobstore


class JobExecutionEvent(JobEvent):
    """About a run of a job."""

    def __init__(
        self,
        code: int,
        job_id: str,
        jobstore: str = "default",
        scheduled_run_time: datetime | None = None,
        *,
        retval: object = None,
        exception: BaseException | None = None,
        traceback: str | None = None,
    ) -> None:
        super().__init__(code, job_id, jobstore)
        self.scheduled_run_time = scheduled_run_time
        self.retval = retval
        self.exception = exception
        self.traceback = traceback


def check_mask(mask: int) -> None:
    """Refuse events that are asked for by name and never told. Who asks for all of them gets those that there are."""
    if mask == EVENT_ALL:
        return
    for code, name in _NEVER_TOLD.items():
        if mask & code:
            reason = f"{name} is not carried by Rota; `rota schedule ticks` shows what became of each time"
            raise InvalidInput("mask", reason)
