"""The app of each store. Django has a backend per thread; all of a process share the app of their store."""

from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from threading import Lock
from typing import TYPE_CHECKING, Any

from rota.sdk.django.running import await_task, call_task, find_task
from rota.sdk.outbox.relay import enqueue_requests
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.options import TaskOptions
from rota.sdk.tasks.task import TaskFunction

if TYPE_CHECKING:
    from rota.engine.jobs.intake import JobRequest

NAME = "django"
_apps: "dict[str | None, DjangoApp]" = {}
_lock = Lock()


class DjangoApp:
    """The tasks that were enqueued to one store. Each becomes a job type when it is first met."""

    def __init__(self, url: str | None) -> None:
        self.rota = Rota(url, name=NAME, keeps=True)
        self._tasks: dict[str, TaskFunction[..., Any, Any]] = {}

    def job_type_of(self, path: str, function: Callable[..., object]) -> "TaskFunction[..., Any, Any]":
        """The job type of a task, whose name is the path by which Django knows its function."""
        found = self._tasks.get(path)
        if found is None:
            run = await_task if iscoroutinefunction(function) else call_task
            found = self._tasks[path] = self.rota.add_task(run, TaskOptions(name=path))
        return found

    def hand_in(self, requests: "Sequence[JobRequest]") -> list[str]:
        """Make jobs of requests for tasks, and return their ids. What the tasks are is brought into the store first."""
        for path in {request.job_type for request in requests} - self._tasks.keys():
            self.job_type_of(path, find_task(path).func)
        self.rota.declare()
        return [one.job_id for one in enqueue_requests(self.rota, requests)]


def app_of_store(url: str | None) -> DjangoApp:
    """The app of a store, or of the one that Rota's own settings name."""
    with _lock:
        if url not in _apps:
            _apps[url] = DjangoApp(url)
        return _apps[url]
