"""Configurations: which events make which job."""

from typing import Annotated

from msgspec import Meta, Struct

from rota.engine.access.keys.access import Scope
from rota.engine.events.explaining import evaluations_of
from rota.engine.events.request import read_event
from rota.model.events.configuration import MAX_LIFE_S, ClockKind, Late, Match
from rota.model.events.configuration_request import ConfigurationRequest, read_configuration
from rota.server.answers import DoneTo
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.server.routes.events import NewEvent, Outcome, Text
from rota.server.routes.pages import read_page
from rota.shapes import fields
from rota.shapes.events.configurations import ConfigurationShape, configuration_shape
from rota.shapes.events.evaluations import (
    EvaluationShape,
    ExplanationShape,
    evaluation_shape,
    explanation_shape,
    preview_shape,
)
from rota.shapes.events.events import ValidationShape, validation_shape
from rota.shapes.why import WhyShape, why_shape
from rota.store.contract.events import ConfigurationEntry

routes = Routes("configurations")

Limit = Annotated[int, Meta(ge=1, le=1000)]


class NewDependency(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Events to wait for, or `all_of` or `any_of` a list of such."""

    type: str | None = None
    resourceId: Text | None = None  # noqa: N815 a key of the event specification
    lifeDuration: Annotated[int, Meta(ge=0, le=MAX_LIFE_S)] | Annotated[str, Meta(pattern="^[0-9]+$")] | None = None  # noqa: N815
    match: Match | None = None
    outcome: Outcome | None = None
    all_of: "Annotated[list[NewDependency], Meta(min_length=1)] | None" = None
    any_of: "Annotated[list[NewDependency], Meta(min_length=1)] | None" = None


class NewJobOfConfiguration(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job type, or an executor with its metadata."""

    job_type: fields.Reference | None = None
    arguments: dict[str, object] = {}
    priority: fields.Priority = 0
    executor: fields.Name | None = None
    metadata: dict[str, object] | None = None


class NewConfiguration(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which events make which job. Without a job it writes a line to the log."""

    name: fields.Name
    dependencies: Annotated[list[NewDependency], Meta(min_length=1, max_length=100)]
    job: NewJobOfConfiguration | None = None
    clock: ClockKind | None = ClockKind.EVENT
    late: Late | None = Late.IGNORE


class PageQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    limit: Limit = 100
    cursor: fields.Cursor | None = None


class LimitQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    limit: Limit = 100


class ConfigurationList(Struct, frozen=True):
    """A page of configurations, by name. It may be short and still have a cursor."""

    configurations: list[ConfigurationShape]
    cursor: str | None


class EvaluationList(Struct, frozen=True):
    """Latest first."""

    evaluations: list[EvaluationShape]


class ValidationList(Struct, frozen=True):
    """The last received first."""

    events: list[ValidationShape]


@routes.get("/api/configurations", needs=Scope.EVENTS_READ, query=PageQuery, answer=ConfigurationList)
def list_configurations(api: Api, call: Call[None, PageQuery]) -> ConfigurationList:
    """A page of configurations, by name."""

    def read(step: int, cursor: str | None) -> tuple[list[ConfigurationShape], str | None]:
        page = api.engine.store.list_configurations(limit=step, cursor=cursor)
        return [_shape(api, entry) for entry in page.entries], page.cursor

    return ConfigurationList(*read_page(read, limit=call.query.limit, cursor=call.query.cursor))


@routes.post(
    "/api/configurations",
    needs=Scope.CONFIGURATIONS_WRITE,
    body=object,
    documented_body=NewConfiguration,
    answer=ConfigurationShape,
    errors=(404, 409),
)
def create_configuration(api: Api, call: Call[object, None]) -> ConfigurationShape:
    """Define a configuration. Its name must be new.

    One that can never be met is refused with the reason, as is one whose job would, by its own end, make itself again.
    """
    return _shape(api, api.engine.configurations.create(_read(api, call), by=call.caller))


@routes.get("/api/configurations/{name}", needs=Scope.EVENTS_READ, answer=ConfigurationShape, errors=(404,))
def show_configuration(api: Api, call: Call[None, None]) -> ConfigurationShape:
    """One configuration, by name or uuid."""
    return _shape(api, api.engine.configurations.find(call.path["name"]))


@routes.put(
    "/api/configurations/{name}",
    needs=Scope.CONFIGURATIONS_WRITE,
    body=object,
    documented_body=NewConfiguration,
    answer=ConfigurationShape,
    errors=(404, 409),
)
def replace_configuration(api: Api, call: Call[object, None]) -> ConfigurationShape:
    """Define a configuration anew. Dependencies that stay as they were keep what is known of them."""
    return _shape(api, api.engine.configurations.replace(call.path["name"], _read(api, call), by=call.caller))


@routes.delete("/api/configurations/{name}", needs=Scope.CONFIGURATIONS_WRITE, answer=DoneTo, errors=(404, 409))
def delete_configuration(api: Api, call: Call[None, None]) -> DoneTo:
    """Remove a configuration with all that is known of it. Its jobs stay."""
    return DoneTo(uuid=api.engine.configurations.delete(call.path["name"]).configuration.uuid)


@routes.get("/api/configurations/{name}/explain", needs=Scope.EVENTS_READ, answer=ExplanationShape, errors=(404,))
def explain_configuration(api: Api, call: Call[None, None]) -> ExplanationShape:
    """Why it fired or did not: one sentence and the matrix; what is missing, and what expires next."""
    return explanation_shape(*api.engine.configurations.explain(call.path["name"]))


@routes.get("/api/configurations/{name}/why", needs=Scope.EVENTS_READ, answer=WhyShape, errors=(404,))
def why_configuration(api: Api, call: Call[None, None]) -> WhyShape:
    """Why a configuration has not made a job."""
    return why_shape(api.engine.why.configuration(call.path["name"]))


@routes.get(
    "/api/configurations/{name}/evaluations",
    needs=Scope.EVENTS_READ,
    query=LimitQuery,
    answer=EvaluationList,
    errors=(404,),
)
def list_evaluations(api: Api, call: Call[None, LimitQuery]) -> EvaluationList:
    """What each of the last events that matched meant, latest first."""
    one = api.engine.configurations.find(call.path["name"]).configuration
    found = evaluations_of(api.engine.store, one, limit=call.query.limit)
    return EvaluationList([evaluation_shape(one.name, each) for each in found])


@routes.get(
    "/api/configurations/{name}/events",
    needs=Scope.EVENTS_READ,
    query=LimitQuery,
    answer=ValidationList,
    errors=(404,),
)
def list_validations(api: Api, call: Call[None, LimitQuery]) -> ValidationList:
    """The events that validated its dependencies, the last received first."""
    one = api.engine.configurations.find(call.path["name"]).configuration
    found = api.engine.store.list_validations(one.uuid, limit=call.query.limit)
    return ValidationList([validation_shape(each, one) for each in found])


@routes.post(
    "/api/configurations/{name}/dry_run",
    needs=Scope.EVENTS_WRITE,
    body=object,
    documented_body=NewEvent,
    answer=EvaluationList,
    errors=(404,),
)
def preview_configuration(api: Api, call: Call[object, None]) -> EvaluationList:
    """Say what an event would do to this configuration if it came now. Nothing is stored."""
    one = api.engine.configurations.find(call.path["name"]).configuration
    event = read_event(call.body, api.engine.clock.now(), api.engine.event_types)
    return EvaluationList([preview_shape(each) for each in api.engine.events.preview(event, one.uuid)])


def _read(api: Api, call: Call[object, None]) -> ConfigurationRequest:
    return read_configuration(call.body, api.engine.event_types)


def _shape(api: Api, entry: ConfigurationEntry) -> ConfigurationShape:
    return configuration_shape(entry, api.engine.definitions.known_job_type_names())
