"""The app of each store: a program of RQ's makes none, it enqueues functions."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from rota.moving.common.stores import url_of_connection
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.parameters import Parameters
from rota.sdk.tasks.task import TaskFunction

_NAME = "rq"
_apps: "dict[str | None, FunctionApp]" = {}


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


def app_for(connection: object) -> FunctionApp:
    """The app of a connection of redis-py's, a URL, or the store that the settings name."""
    url = url_of_connection("connection", connection)
    if url not in _apps:
        _apps[url] = FunctionApp(url, connection)
    return _apps[url]


def app_met_last() -> FunctionApp:
    """For code that has no connection at hand."""
    return _apps[next(reversed(_apps))] if _apps else app_for(None)
