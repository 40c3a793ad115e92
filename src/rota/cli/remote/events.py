"""Events and configurations behind a server."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from rota.cli.remote.server import Server
from rota.engine.access.keys.access import Caller
from rota.engine.engine import Engine
from rota.engine.events.configurations import Configurations
from rota.engine.events.events import EventAnswer, Events, Preview
from rota.model.events.configuration_request import ConfigurationRequest
from rota.model.events.event import Event, shown_time
from rota.model.events.explanation import Explanation
from rota.sdk.call import present
from rota.shapes.events.configurations import ConfigurationShape, configuration_body, configuration_entry_of
from rota.shapes.events.evaluations import EvaluationShape, ExplanationShape, explanation_of_shape, preview_of
from rota.shapes.events.events import EventReportShape, answer_of
from rota.store.contract.events import ConfigurationEntry


class Previews(Struct, frozen=True):
    evaluations: list[EvaluationShape]


class RemoteEvents(Events):
    """Events are taken there."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine.store, engine.definitions, engine.clock)
        self._server = server

    def post(self, events: Sequence[Event]) -> EventAnswer:
        body = [_posted(one) for one in events]
        report: EventReportShape = self._server.send("POST", "events", answer=EventReportShape, body=body)
        return answer_of(report, len(events))

    def preview(self, event: Event, configuration: str | None = None) -> list[Preview]:
        path = ("events",) if configuration is None else ("configurations", configuration)
        found: Previews = self._server.send("POST", *path, "dry_run", answer=Previews, body=_posted(event))
        return [preview_of(one) for one in found.evaluations]


def _posted(one: Event) -> Mapping[str, object]:
    return present(
        {
            "eventType": one.type,
            "eventResourceId": one.resource,
            "eventTimestamp": shown_time(one.time if one.stated_time is None else one.stated_time),
            "eventId": one.id if one.has_own_id else None,
            "outcome": one.outcome,
        }
    )


class RemoteConfigurations(Configurations):
    """Configurations are looked up here and changed there."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine.store, engine.definitions, engine.clock)
        self._server = server

    def create(self, request: ConfigurationRequest, *, by: Caller | None = None) -> ConfigurationEntry:
        return self._sent("POST", body=configuration_body(request))

    def replace(
        self, name: str, request: ConfigurationRequest, *, by: Caller | None = None, expected: int | None = None
    ) -> ConfigurationEntry:
        return self._sent("PUT", name, body=configuration_body(request))

    def delete(self, name: str) -> ConfigurationEntry:
        entry = self.find(name)
        self._server.send("DELETE", "configurations", entry.configuration.uuid)
        return entry

    def explain(self, name: str) -> tuple[str, Explanation]:
        shape: ExplanationShape = self._server.store.get("configurations", name, "explain", answer=ExplanationShape)
        return shape.configuration, explanation_of_shape(shape)

    def _sent(self, method: str, *name: str, body: object) -> ConfigurationEntry:
        shape = self._server.send(method, "configurations", *name, answer=ConfigurationShape, body=body)
        return configuration_entry_of(shape)
