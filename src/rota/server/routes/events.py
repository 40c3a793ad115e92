"""Events: what happened outside, or is said to have happened."""

from functools import partial
from typing import Annotated

from msgspec import Meta, Struct
from starlette.responses import Response

from rota.engine.access.keys.access import Scope
from rota.engine.events.events import EventAnswer
from rota.engine.events.records import RecordQuery, read_records
from rota.engine.events.request import MAX_EVENTS, BadEvent, read_event, read_events
from rota.model.events.event import MAX_EVENT_ID, MAX_RESOURCE, check_event_type
from rota.model.job import FINAL_STATES
from rota.server.answers import Json, Refusal
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.shapes import fields
from rota.shapes.events.evaluations import EvaluationShape, preview_shape
from rota.shapes.events.events import (
    MAX_EVENTS_BYTES,
    EventAnswerShape,
    EventRecordShape,
    EventReportShape,
    answer_shape,
    answers_shape,
    event_record_shape,
    report_shape,
)

routes = Routes("events")

Text = Annotated[str, Meta(min_length=1, max_length=MAX_RESOURCE)]
EventId = Annotated[str, Meta(min_length=1, max_length=MAX_EVENT_ID)]
Outcome = Annotated[str, Meta(extra_json_schema={"enum": sorted(FINAL_STATES)})]


class NewEvent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happened, to what, and when. The type may be written in any case, with spaces or hyphens."""

    eventType: Annotated[  # noqa: N815 a key of the event specification
        str, Meta(description="FILE, TABLE, TIME_BASED, JOB, or one that a setting adds.")
    ]
    eventTimestamp: Annotated[  # noqa: N815
        str, Meta(description="ISO 8601 with T or a space; UTC unless it has an offset.")
    ]
    eventResourceId: Text  # noqa: N815
    eventId: EventId | None = None  # noqa: N815
    """A repeated delivery of the same id counts for nothing."""
    outcome: Outcome | None = None
    """For JOB: how the job ended."""


Events = NewEvent | Annotated[list[NewEvent], Meta(min_length=1, max_length=MAX_EVENTS)]


class EventQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Beside the events."""

    received_at: fields.Instant | None = None
    """When they count as received; for admins."""


class RecordFilter(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which events; all, unless told."""

    type: Text | None = None
    resource: Text | None = None
    """How their resource begins."""
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    cursor: fields.Uuid | None = None


class EventRecords(Struct, frozen=True):
    """Events, the latest first. A page may be short, or empty, and still have a cursor."""

    events: list[EventRecordShape]
    cursor: str | None


class Previews(Struct, frozen=True):
    """What would happen, for each configuration that the event matches."""

    evaluations: list[EvaluationShape]


_post = partial(
    routes.post,
    needs=Scope.EVENTS_WRITE,
    body=object,
    documented_body=Events,
    query=EventQuery,
    body_limit=MAX_EVENTS_BYTES,
)
"""An operation that takes events."""


@_post("/events", answer=EventAnswerShape)
async def post_events(api: Api, call: Call[object, EventQuery]) -> Response:
    """Take an event, or a list of them.

    Of a list each event is taken or refused for itself, and `failed` says which were refused. A list of which nothing
    is good is a bad request.
    """
    now = _received_at(api, call)
    if not isinstance(call.body, list):
        event = read_event(call.body, now, api.engine.event_types)
        answer = await api.event_batcher.post([event])
        return Json(answer_shape(answer), headers=_unmatched(answer, 1))
    answer, places, failed = await _take(api, call.body, now)
    shape = answers_shape(answer, places, failed)
    return Json(shape, status_code=400 if failed and not places else 200, headers=_unmatched(answer, len(places)))


async def _take(api: Api, given: list[object], now: int) -> tuple[EventAnswer, list[int], list[BadEvent]]:
    """What the good ones of some events did, their places, and the others."""
    good, failed = await api.in_thread(read_events, given, now, api.engine.event_types)
    answer = await api.event_batcher.post([event for _, event in good])
    return answer, [index for index, _ in good], failed


@routes.get("/api/events", needs=Scope.EVENTS_READ, query=RecordFilter, answer=EventRecords)
def list_events(api: Api, call: Call[None, RecordFilter]) -> EventRecords:
    """The events that were taken, the latest first, with who told of each and what it meant.

    The latest 10,000 are remembered.
    """
    one = call.query
    kind = None if one.type is None else check_event_type("type", one.type, api.engine.event_types)
    query = RecordQuery(kind, one.resource or "")
    page = read_records(api.engine.store, query, limit=one.limit, cursor=one.cursor)
    return EventRecords(list(map(event_record_shape, page.records)), page.cursor)


def _unmatched(answer: EventAnswer, count: int) -> dict[str, str]:
    """How many of the events matched no configuration, in a header: the body is as the event specification has it."""
    return {"Rota-Unmatched": str(count - len(answer.matched))}


@_post("/api/events", answer=EventReportShape)
async def report_events(api: Api, call: Call[object, EventQuery]) -> Response:
    """Take an event, or a list of them, as `/events` does, and also say what became of those that did nothing."""
    given = call.body if isinstance(call.body, list) else [call.body]
    answer, places, failed = await _take(api, given, _received_at(api, call))
    return Json(report_shape(answer, places, failed), status_code=400 if failed and not places else 200)


@routes.post(
    "/api/events/dry_run",
    needs=Scope.EVENTS_WRITE,
    body=object,
    documented_body=NewEvent,
    query=EventQuery,
    answer=Previews,
)
def preview_event(api: Api, call: Call[object, EventQuery]) -> Previews:
    """Say what would happen if this event came now. Nothing is stored."""
    event = read_event(call.body, _received_at(api, call), api.engine.event_types)
    return Previews([preview_shape(one) for one in api.engine.events.preview(event)])


def _received_at(api: Api, call: Call[object, EventQuery]) -> int:
    """Now, unless somebody who may define job types says otherwise."""
    if call.query.received_at is None:
        return api.engine.clock.now()
    if not call.caller.may(Scope.TYPES_WRITE):
        raise Refusal(403, "only those who may define job types say when an event was received")
    return call.query.received_at
