"""What the code of a job can ask about the job that it is."""

from datetime import datetime

from rota.clock import as_datetime
from rota.engine.executors.executor import Run
from rota.engine.executors.output import capped_log, fit_message
from rota.engine.executors.python.job_context import current_run
from rota.model.runs.progress import MAX_PROGRESS_MESSAGE, check_progress


class CurrentJob:
    """The job that runs this code."""

    __slots__ = ("_run",)

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def id(self) -> str:
        return self._run.spec.id

    @property
    def task(self) -> str:
        """The name of its task."""
        return self._run.job_type.name

    @property
    def attempt(self) -> int:
        """The number of this try, from 1."""
        return self._run.attempt

    @property
    def arguments(self) -> dict[str, object]:
        return self._run.spec.arguments

    @property
    def scheduled_for(self) -> datetime | None:
        """The time of the schedule that it is for; None for a job that somebody enqueued."""
        cause = self._run.spec.cause
        return None if cause is None or cause.instant is None else as_datetime(cause.instant)

    @property
    def fencing_number(self) -> int:
        """With `unique="while_running"`, a number greater than that of any run before; what is written to can check
        it."""
        return self._run.fencing_number

    @property
    def should_stop(self) -> bool:
        """Whether it was asked to end: cancelled, over its timeout, or its worker stops. An `async def` is cancelled
        and a process is ended anyway; a plain `def` runs in a thread, which nobody can stop, and looks here."""
        return self._run.should_stop

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Say how far it has come: `progress(30, 100, "reading")`. The latest word is kept with the job, and shown by
        its handle, by `rota job` and by the API."""
        check_progress(done, total)
        capped_log(self._run).note(done, total, fit_message(message)[:MAX_PROGRESS_MESSAGE])

    def log(self, message: str, level: str = "info") -> None:
        """Add a line to its live log. Levels are `debug`, `info`, `warning` and `error`."""
        self._run.log(message, level)


def current_job() -> CurrentJob:
    """The job that the calling code is part of. Outside a job this is a `RuntimeError`."""
    return CurrentJob(current_run())
