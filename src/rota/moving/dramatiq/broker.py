"""The broker is the store, and the app of the actors that are declared for it."""

from typing import Any

from rota.errors import InvalidInput
from rota.moving.common.stores import store_url
from rota.sdk.tasks.app import Rota

_NAME = "dramatiq"


class Middleware:
    """What may be added to a broker. Only results are carried, and they are there anyway."""


class Broker:
    """A store. `rota worker module:broker` runs its actors."""

    def __init__(self, url: str | None = None) -> None:
        """Without a URL, the environment or the configuration file names the store."""
        self._rota = Rota(store_url("url", url), name=_NAME, keeps=True)

    @property
    def __rota_app__(self) -> Rota:
        return self._rota

    def add_middleware(self, middleware: object, **position: object) -> None:
        if not isinstance(middleware, Middleware):
            name = type(middleware).__name__
            raise InvalidInput(name, "is not carried by Rota, but for Results; give the options to the actors")

    def enqueue(self, message: Any, *, delay: int | None = None) -> Any:
        """Make a job of a message."""
        return message.enqueue(delay=delay)

    def close(self) -> None:
        """Give up the connections to the store."""
        self._rota.close()


_brokers: list[Broker] = []


def set_broker(broker: Broker) -> None:
    """For actors that are declared from now on."""
    if not isinstance(broker, Broker):
        raise InvalidInput("broker", f"must be one of rota.moving.dramatiq, got {type(broker).__name__}")
    _brokers[:] = [broker]


def get_broker() -> Broker:
    """The one that was set; else one on the store that the settings name."""
    if not _brokers:
        _brokers.append(Broker())
    return _brokers[-1]
