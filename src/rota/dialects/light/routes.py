"""The HTTP API of the light scheduler: the two operations of its document, under their own names."""

from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from rota.dialects.light.opening import scheduler_of
from rota.dialects.light.options import options_of
from rota.dialects.light.status import MANNER
from rota.engine.access.keys.access import Scope
from rota.engine.topics.light.scheduler import MAX_PAGE, DefinitionQuery, LightScheduler
from rota.model.topics.light.definition import KeyPart, TaskDefinition, check_key_part, read_definition, read_unit
from rota.model.triggers.interval import TimeUnit
from rota.server.api import Api
from rota.server.operations import Call, Operation, Routes
from rota.settings import Settings
from rota.store import Store

PATH = "/schedulers"
Unit = Annotated[str, Meta(extra_json_schema={"enum": [unit.value for unit in TimeUnit]})]
_NAMES = {"send_task": "sendScheduleTask", "get_definitions": "getScheduleTaskDefinitions"}


class NeededParameters(Struct, frozen=True):
    """Which definition."""

    host: KeyPart
    name: KeyPart
    unit: Unit


class OptionalParameters(Struct, frozen=True):
    """Which definitions; all, unless told."""

    host: KeyPart | None = None
    name: KeyPart | None = None
    unit: Unit | None = None


def make_operations(settings: Settings, store: Store) -> list[Operation]:
    routes = Routes("light scheduler", manner=MANNER)
    _declare(routes, OptionalParameters if options_of(settings).optional_parameters else NeededParameters)
    return [structs.replace(one, name=_NAMES[one.name]) for one in routes.operations]


def _declare(routes: Routes, parameters: type[NeededParameters | OptionalParameters]) -> None:
    @routes.post(
        PATH,
        needs=Scope.SCHEDULES_WRITE,
        body=Any,
        documented_body=TaskDefinition,
        answer=TaskDefinition,
        errors=(404, 409),
    )
    def send_task(api: Api, call: Call[Any, None]) -> TaskDefinition:
        """Make, change or stop a scheduled task: INSERT, UPDATE or DELETE its definition. Answers with the command."""
        command = read_definition(call.body)
        scheduler_of(api.engine).apply(command)
        return command

    @routes.get(PATH, needs=Scope.SCHEDULES_READ, query=parameters, answer=list[TaskDefinition])
    def get_definitions(api: Api, call: Call[None, NeededParameters | OptionalParameters]) -> list[TaskDefinition]:
        """The definitions of a host, a name and a unit."""
        return _found(scheduler_of(api.engine), _query_of(call.query))


def _query_of(given: NeededParameters | OptionalParameters) -> DefinitionQuery:
    return DefinitionQuery(
        host=None if given.host is None else check_key_part("host", given.host),
        name=None if given.name is None else check_key_part("name", given.name),
        unit=None if given.unit is None else read_unit("unit", given.unit),
        limit=MAX_PAGE,
    )


def _found(scheduler: LightScheduler, query: DefinitionQuery) -> list[TaskDefinition]:
    """All of them, up to what one answer may hold."""
    found: list[TaskDefinition] = []
    while True:
        page = scheduler.find(query)
        found += page.definitions
        if page.cursor is None or len(found) >= MAX_PAGE:
            return found[:MAX_PAGE]
        query = structs.replace(query, cursor=page.cursor)
