"""Cleaning up: tasks that nothing would bring back are brought back, and what is left of others goes."""

from msgspec import structs

from rota.dialects.tasks.entity.task import Task, TaskStatus
from rota.dialects.tasks.shown import Cleaned
from rota.dialects.tasks.tasks import Tasks
from rota.errors import Conflict, NotFound


def clean(tasks: Tasks) -> Cleaned:
    """Look at every task once. What the lists in Redis have and Rota has not is looked at first."""
    found = tasks.shown.clean(tasks.find, tasks.add)
    count = {"tasks": 0, "waiting": 0, "rescheduled": 0, "removed": 0}
    for entries in list(tasks.pages()):
        for task, _ in tasks.views(entries):
            count["tasks"] += 1
            count["waiting"] += task.status is TaskStatus.DELAYED
            if task.status is not TaskStatus.COMPLETED:
                tasks.shown.show(task)
            elif done := _put_right(tasks, task):
                count[done] += 1
    return structs.replace(found, **count)


def _put_right(tasks: Tasks, task: Task) -> str:
    """A task that has runs left and waits for nothing begins anew; one that has none goes. Nothing is done to one that
    another process has brought back meanwhile."""
    has_runs_left = task.most_runs is None or task.runs < task.most_runs
    if has_runs_left:
        try:
            tasks.reschedule(task.id, lambda found: found)
        except (Conflict, NotFound):
            pass  # its time is over, or somebody else was quicker
        else:
            return "rescheduled"
    now_there = tasks.find(task.id)
    if now_there is not None and now_there.status is not TaskStatus.COMPLETED:
        return ""
    tasks.delete(task.id)
    return "removed"
