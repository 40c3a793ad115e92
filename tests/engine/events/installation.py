"""An installation that takes events, and short ways to define configurations and to post events."""

from typing import Any

from rota.clock import ManualClock
from rota.engine.events.events import EventAnswer
from rota.engine.events.request import read_event
from rota.model.events.configuration_request import read_configuration
from rota.model.events.event import parse_timestamp
from rota.store import Store
from rota.store.contract.events import ConfigurationEntry
from tests.installation import Installation

NOW = parse_timestamp("now", "2024-06-01 00:00:00") // 1_000
"""When the clock of such an installation stands still, epoch milliseconds."""
Wish = dict[str, Any]


def seconds(at: float) -> str:
    """An instant so many seconds after noon of a day, as a timestamp."""
    whole, rest = divmod(round(at * 1_000_000), 1_000_000)
    hours, minutes = divmod(whole, 3600)
    return f"2021-01-01T{12 + hours:02}:{minutes // 60:02}:{minutes % 60:02}.{rest:06}Z"


def moment(timestamp: str) -> int:
    """Epoch milliseconds."""
    return parse_timestamp("timestamp", timestamp) // 1_000


def needs(type: str, resource: str, life: object = 100, **more: object) -> Wish:
    return {"type": type, "resourceId": resource, "lifeDuration": life, **more}


class EventsInstallation(Installation):
    """One process that takes events, with a handle of its own on the store and a clock that is moved by hand."""

    clock: ManualClock

    def __init__(self, store: Store, *, event_types: tuple[str, ...] = ()) -> None:
        super().__init__(store, ManualClock(NOW))
        self.configurations = self.engine.configurations
        self.events = self.engine.events
        self._event_types = event_types

    def define_configuration(self, name: str, *dependencies: Wish, **more: object) -> ConfigurationEntry:
        wish = {"name": name, "dependencies": list(dependencies), **more}
        return self.configurations.create(read_configuration(wish, self._event_types))

    def event(self, type: str, resource: str, at: float | str, received: int | None = None, **more: object) -> Any:
        timestamp = at if isinstance(at, str) else seconds(at)
        raw = {"eventType": type, "eventResourceId": resource, "eventTimestamp": timestamp, **more}
        return read_event(raw, self.clock.now() if received is None else received, self._event_types)

    def post(
        self, type: str, resource: str, at: float | str, received: int | None = None, **more: object
    ) -> EventAnswer:
        return self.events.post([self.event(type, resource, at, received, **more)])

    def triggers(self, type: str, resource: str, at: float | str, **more: Any) -> bool:
        return bool(self.post(type, resource, at, **more).triggered)
