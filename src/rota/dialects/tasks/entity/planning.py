"""What a task is to the engine: a schedule, whose jobs are the runs of the task."""

from rota.dialects.tasks.entity.reading import bounds_of
from rota.dialects.tasks.entity.task import Task
from rota.dialects.tasks.entity.writing import write_request
from rota.model.schedules.request import CatchUpRequest, ScheduleRequest, make_schedule
from rota.model.schedules.ticking import first_state

ARGUMENT = "task"
"""The one argument of a task's jobs."""
_AT_ONCE_MS = 1
"""Between runs that follow each other at once."""


def plan_task(task: Task, *, name: str, job_type: str, now: int) -> ScheduleRequest | None:
    """The schedule of a task that is added now; None if its runs, or its time, are over, which is no error.

    A run that failed is tried again by its job, and only then another follows, so as many jobs are made as runs are to
    succeed. Whatever nobody was there for is made up for, once.
    """
    bounds = bounds_of(task)
    starts_at = max(now + (task.delay or 0), bounds.start or 0)
    left = None if task.most_runs is None else task.most_runs - task.runs
    if (left is not None and left <= 0) or (bounds.end is not None and starts_at > bounds.end):
        return None
    request = ScheduleRequest(
        name=name,
        job_type=job_type,
        job_arguments={ARGUMENT: write_request(task)},
        max_runs=left,
        end=bounds.end,
        tz=task.zone,
        utc=task.utc,
        overlap="skip",
        catch_up=CatchUpRequest(window="none"),
        pause_on_failure=True,
        **_when(task, starts_at, left, now),  # type: ignore[arg-type]
    )
    return None if bounds.end is not None and not _fires(request, now) else request


def _fires(request: ScheduleRequest, now: int) -> bool:
    """Whether there is a time for it at all: a cron line may have none before its end."""
    schedule = make_schedule(request, uuid="", job_type="", queue="", created_at=now, now=None)
    return first_state(schedule, now).nominal is not None


def _when(task: Task, starts_at: int, left: int | None, now: int) -> dict[str, object]:
    start = {"start": starts_at} if starts_at > now else {}
    if isinstance(task.schedule, str):
        return {"cron": task.schedule, **start}
    if task.schedule is None and left == 1:
        return {"delay": starts_at - now}
    return {"interval": task.schedule or _AT_ONCE_MS, "anchor": "ended", **start}
