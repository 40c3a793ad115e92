"""The app of each store: a program of RQ's makes none, it enqueues functions."""

from collections.abc import Callable
from typing import Any

from rota.moving.common.stores import url_of_connection
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.options import TaskOptions
from rota.sdk.tasks.task import TaskFunction

_NAME = "rq"
_apps: "dict[str | None, FunctionApp]" = {}


class FunctionApp:
    """The functions that were enqueued to one store. Each becomes a task when it is first met."""

    def __init__(self, url: str | None) -> None:
        self.rota = Rota(url, name=_NAME, keeps=True)
        self._tasks: dict[Callable[..., Any], TaskFunction[..., Any, Any]] = {}

    def task_of(self, function: Callable[..., Any]) -> "TaskFunction[..., Any, Any]":
        found = self._tasks.get(function)
        if found is None:
            found = self._tasks[function] = self.rota.add_task(function, TaskOptions())
        return found


def app_for(connection: object) -> FunctionApp:
    """The app of a connection of redis-py's, a URL, or the store that the settings name."""
    url = url_of_connection("connection", connection)
    if url not in _apps:
        _apps[url] = FunctionApp(url)
    return _apps[url]


def app_met_last() -> FunctionApp:
    """For code that has no connection at hand."""
    return _apps[next(reversed(_apps))] if _apps else app_for(None)
