"""What Python code of a job can ask about the run it is part of, and how its context is kept from other jobs.

Jobs of one slot run one after the other in the same task. Each gets a copy of the context, so what one sets in a
`ContextVar` is gone with it.
"""

import logging
import types
from collections.abc import Coroutine, Generator
from contextvars import Context, ContextVar, copy_context

from rota.engine.executors.executor import Run
from rota.engine.executors.output import capped_log
from rota.engine.executors.python.printing import echo_to_streams, stand_before_streams

_current: ContextVar[Run] = ContextVar("rota_current_run")


def current_run() -> Run:
    """The run that the calling code is part of: `spec.id`, `attempt`, and `log(message, level)` for its live log.

    Outside a job this is a `RuntimeError`. A thread that a job starts itself has a context of its own.
    """
    run = _current.get(None)
    if run is None:
        raise RuntimeError("no job is running here; current_run() can be called only by code that Rota runs as a job")
    capped_log(run)
    return run


def context_for(run: Run) -> Context:
    """A fresh context in which `run` is the current run."""
    context = copy_context()
    context.run(_current.set, run)
    return context


@types.coroutine
def drive(coroutine: Coroutine[object, object, object], context: Context) -> Generator[object, object, object]:
    """Await a coroutine in a context of its own, within the running task.

    A task would do the same, at ten times the price. Each step of the coroutine is run in the context; what it waits
    for goes up to the task, and what comes back, a cancellation included, goes down to it.
    """
    step = coroutine.send
    value: object = None
    while True:
        try:
            awaited = context.run(step, value)
        except StopIteration as end:
            return end.value
        try:
            value = yield awaited
            step = coroutine.send
        except GeneratorExit:
            context.run(coroutine.close)
            raise
        except BaseException as error:
            value, step = error, coroutine.throw  # type: ignore[assignment]


class JobLogHandler(logging.Handler):
    """Copies what a job's code says through `logging` into the job's live log."""

    def emit(self, record: logging.LogRecord) -> None:
        run = _current.get(None)
        if run is None:
            self._emit_last_resort(record)
        elif not record.name.startswith("rota."):  # Rota's own lines are about the node, and a log may log
            try:
                capped_log(run)(self.format(record), _level_of(record))
            except Exception:
                self.handleError(record)

    def _emit_last_resort(self, record: logging.LogRecord) -> None:
        """Without any other handler warnings go to standard error, as if this one was not there."""
        last_resort = logging.lastResort
        if last_resort is not None and logging.root.handlers == [self] and record.levelno >= last_resort.level:
            last_resort.handle(record)


_job_log_handler = JobLogHandler(logging.INFO)
_job_log_handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))


def copy_logging_to_jobs() -> None:
    """Install the handler on the root logger, once. Levels stay as the node's logging has set them."""
    if _job_log_handler not in logging.root.handlers:
        logging.root.addHandler(_job_log_handler)


def lead_prints_to_jobs() -> None:
    """From now on what code of jobs prints is in their logs, and nowhere else, unless it is echoed."""
    stand_before_streams(_current)


def echo_prints(echoes: bool) -> None:
    """Whether it is shown by this process too."""
    lead_prints_to_jobs()
    echo_to_streams(echoes)


def _level_of(record: logging.LogRecord) -> str:
    if record.levelno >= logging.ERROR:
        return "error"
    return "warning" if record.levelno >= logging.WARNING else "info"
