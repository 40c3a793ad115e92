"""The scheduler: what a program adds tasks with, and asks about them.

scheduler = Scheduler("redis://127.0.0.1:6379/0")
scheduler.add_task({"id": "mail-17", "data": {"to": "ada@example.org"}}).with_delay(1000)
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from msgspec import structs

from rota.dialects.tasks.backends.backend import Backend
from rota.dialects.tasks.backends.store_backend import StoreBackend
from rota.dialects.tasks.cleaning import clean
from rota.dialects.tasks.entity.reading import read_task
from rota.dialects.tasks.entity.task import Date, Task, TaskStatus
from rota.dialects.tasks.names import names_of
from rota.dialects.tasks.shown import Cleaned
from rota.dialects.tasks.tasks import Tasks
from rota.engine.node.options import SCHEDULER, WORKER
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.node import DEAD_AFTER_MS

_MOST = 1_000


class StoredTask(Task, frozen=True, kw_only=True, repr_omit_defaults=True):
    """A task as it is stored. What is called on it changes it there, and gives it as it is then."""

    scheduler: "Scheduler | None" = None

    def with_delay(self, ms: int) -> "StoredTask":
        """Run it this many milliseconds from now, and go on from there if it has a schedule. A run that waits gives
        way; a task that runs once and has begun is a `Conflict`."""
        return self._changed(delay=ms, start_date=None)

    def interval(self, start: Date | None = None, end: Date | None = None) -> "StoredTask":
        """Run it between two dates: ISO 8601 text, epoch milliseconds or datetimes."""
        return self._changed(start_date=start, end_date=end)

    def refresh(self) -> "StoredTask":
        """The task as it is now; `NotFound` once it is completed."""
        return self._scheduler.require_task(self.id)

    def _changed(self, **changes: object) -> "StoredTask":
        return self._scheduler.change_task(self.id, **changes)

    @property
    def _scheduler(self) -> "Scheduler":
        if self.scheduler is None:
            raise Conflict(f"task {self.id!r} is not known to a scheduler; add it first")
        return self.scheduler


class Scheduler:
    """Adds tasks and looks after them. It may be used from any thread; making one asks nobody, unless it cleans up."""

    def __init__(self, url: str | Backend, prefix: str = "", clean_tasks: bool = False, *, keys: bool = True) -> None:
        """`url` is that of a store, or a backend of one's own. With `clean_tasks` everything is looked through first
        (`cleaned` has the counts), which takes as long as there are tasks. With `keys`, tasks are shown in Redis under
        the document's keys."""
        self.backend: Backend = StoreBackend(url, names_of(prefix), keys=keys) if isinstance(url, str) else url
        self._own = self.backend if isinstance(self.backend, StoreBackend) else None
        self.prefix = prefix
        self.cleaned: Cleaned | None = self.clean_tasks() if clean_tasks else None

    def add_task(self, task: Task | Mapping[str, object], *, delay: int | None = None) -> StoredTask:
        """Store a task, unless one has its id already; either way, the stored one. Without a delay a task for now is
        ready a tenth of a second later, so that `.with_delay(ms)` comes in time; `delay=0` is really at once."""
        read = read_task(task)
        if delay is not None:
            read = read_task(structs.replace(read, delay=delay))
        return self._stored(self.backend.add_task(read))

    def get_task(self, id: str) -> StoredTask | None:
        """The stored task; None if there is none, or it is completed."""
        found = self._tasks.find(id)
        return None if found is None else self._stored(found)

    def require_task(self, id: str) -> StoredTask:
        found = self.get_task(id)
        if found is None:
            raise NotFound("task", id, "it never was, or it is completed")
        return found

    def get_tasks(self, status: TaskStatus | str | None = None, *, limit: int = _MOST) -> list[StoredTask]:
        """Stored tasks: all, or those in a status. Completed ones are in history, the latest first."""
        wanted = None if status is None else _status(status)
        if wanted is TaskStatus.COMPLETED:
            return [self._stored(task) for task in self._tasks.completed(limit)]
        found: list[StoredTask] = []
        for task in self._tasks.all():
            if wanted in (None, task.status):
                found.append(self._stored(task))
            if len(found) >= limit:
                break
        return found

    def change_task(self, id: str, **changes: object) -> StoredTask:
        """Give a stored task other options, from now on."""
        return self._stored(self._tasks.reschedule(id, lambda task: read_task(task.with_changes(**changes))))

    def deactivate_task(self, id: str) -> StoredTask:
        """Plan no run of it until it is activated; one that waits gives way."""
        return self._stored(self._tasks.reschedule(id, lambda task: task, is_paused=True))

    def activate_task(self, id: str) -> StoredTask:
        """Plan its runs again, from now on."""
        return self._stored(self._tasks.reschedule(id, lambda task: task))

    def rescue_task(self, id: str) -> StoredTask:
        """Bring a failed task back, with all its tries before it."""
        return self._stored(self._tasks.rescue(id))

    def delete_task(self, id: str) -> bool:
        """Remove a task; a run under way is asked to end. False: there was none."""
        return self._tasks.delete(id)

    def clean_tasks(self) -> Cleaned:
        """Look at every task: those that nothing would bring back begin anew, what is left of others goes."""
        return clean(self._tasks)

    def held_tasks(self, longer_than: int) -> list[StoredTask]:
        """The collector: tasks that have waited for a worker, or been in the hands of one, for more than so many
        milliseconds, longest first."""
        return [self._stored(task) for task in self._tasks.held(longer_than)]

    def count_alive(self) -> dict[str, int]:
        """How many processes run tasks (`workers`), and how many fire them on time (`schedulers`)."""
        now, queue = self._tasks.engine.clock.now(), self._tasks.queue()
        alive = self._tasks.engine.store.list_nodes(since=now - DEAD_AFTER_MS)
        return {
            "schedulers": sum(SCHEDULER in node.roles for node in alive),
            "workers": sum(WORKER in node.roles and node.node_type == queue for node in alive),
        }

    def close(self) -> None:
        """Give up the connections to the store; the next use opens them again."""
        if self._own is not None:
            self._own.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _tasks(self) -> Tasks:
        if self._own is None:
            raise Conflict("a backend of one's own only adds tasks; ask it directly for anything else")
        return self._own.tasks

    def _stored(self, task: Task) -> StoredTask:
        return StoredTask(**{**structs.asdict(task), "scheduler": self})


def _status(given: str) -> TaskStatus:
    try:
        return TaskStatus(given)
    except ValueError:
        raise InvalidInput("status", f"must be one of {', '.join(TaskStatus)}, got {given!r}") from None
