"""The app that was made last: shared tasks, and results that are known by their id only, belong to it."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from rota.errors import InvalidInput
from rota.moving.celery.conf import Conf
from rota.sdk.tasks.app import Rota


class AppState(Struct, frozen=True):
    """What an app and its tasks share."""

    rota: Rota
    conf: Conf
    tasks: dict[str, Any]
    """By name."""


_apps: list[AppState] = []
_waiting: list[Callable[[AppState], None]] = []


def set_current(app: AppState) -> None:
    """From now on it is this one; shared tasks that were written before any app was made become its own."""
    _apps[:] = [app]
    while _waiting:
        _waiting.pop(0)(app)


def current_app() -> Rota:
    if not _apps:
        raise InvalidInput("app", "there is no app yet; make one with Celery(name, broker=...)")
    return _apps[-1].rota


def when_there_is_one(bind: Callable[[AppState], None]) -> None:
    """Now, or as soon as an app is made."""
    if _apps:
        bind(_apps[-1])
    else:
        _waiting.append(bind)
