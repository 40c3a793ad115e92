"""The app of each store: a program of RQ's makes none, it enqueues functions."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from rota.moving.common.stores import url_of_connection
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.parameters import Parameters
from rota.sdk.tasks.task import TaskFunction

_NAME = "rq"
_apps: "dict[str | None, FunctionApp]" = {}
_serving: "list[FunctionApp]" = []
"""Those whose workers run in this process."""


class Known(Struct, frozen=True):
    """A function that was met."""

    task: "TaskFunction[..., Any, Any]"
    parameters: Parameters


class FunctionApp:
    """The functions that were enqueued to one store."""

    def __init__(self, url: str | None, connection: object = None) -> None:
        self.rota = Rota(url, name=_NAME, keeps=True)
        self.connection = connection
        """As the program gave it."""
        self.known: dict[Callable[..., Any], Known] = {}
        self.rota.add_lifespan(self._serve)

    @asynccontextmanager
    async def _serve(self) -> AsyncIterator[None]:
        """While a worker of it runs in this process."""
        _serving.append(self)
        try:
            yield
        finally:
            _serving.remove(self)


def app_for(connection: object) -> FunctionApp:
    """The app of a connection of redis-py's, a URL, or the store that the settings name."""
    url = url_of_connection("connection", connection)
    if url not in _apps:
        _apps[url] = FunctionApp(url, connection)
    return _apps[url]


def app_of_worker() -> FunctionApp:
    """For the code of jobs: a program may have several stores, and its jobs are in that of its worker."""
    return _serving[-1] if _serving else app_met_last()


def app_met_last() -> FunctionApp:
    """For code that has no connection at hand."""
    return _apps[next(reversed(_apps))] if _apps else app_for(None)
