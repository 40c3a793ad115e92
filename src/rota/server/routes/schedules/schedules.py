"""Schedules: jobs by the clock. Synchrony's four operations, and ours beside them."""

from contextlib import suppress
from typing import Annotated, Any

from msgspec import Meta, Struct

from rota.engine.access.keys.access import Scope
from rota.engine.schedules.upcoming import Fire, next_fires, warnings_of
from rota.errors import NotFound
from rota.model.ids import is_id
from rota.model.schedules.edits import request_of
from rota.model.schedules.request import ScheduleRequest, read_trigger
from rota.model.triggers.trigger import Progress
from rota.model.triggers.words.words import trigger_words
from rota.model.triggers.zones.dates import parse_instant
from rota.server.answers import DoneTo
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.server.routes.pages import read_page
from rota.server.routes.schedules.bodies import (
    DaysWord,
    DialectWord,
    DstWord,
    NewBackfill,
    NewSchedule,
    Pause,
    ScheduleChange,
    WholeSchedule,
    change_of,
)
from rota.shapes import fields
from rota.shapes.schedules import (
    BackfillPlanShape,
    BackfillShape,
    FireShape,
    ScheduleShape,
    TickShape,
    backfill_plan_shape,
    backfill_shape,
    fire_shape,
    schedule_shape,
    tick_shape,
)
from rota.shapes.why import WhyShape, why_shape
from rota.store.contract.schedules import MAX_TICKS, ScheduleEntry

routes = Routes("schedules")
_READ, _WRITE = Scope.SCHEDULES_READ, Scope.SCHEDULES_WRITE
Count = Annotated[int, Meta(ge=1, le=1_000)]


class ScheduleQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which schedules; all, unless told."""

    job_type: fields.Reference | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1_000
    cursor: fields.Cursor | None = None


class ScheduleList(Struct, frozen=True):
    """Schedules, by name. A page may be short and still have a cursor."""

    schedules: list[ScheduleShape]
    cursor: str | None = None


class TickQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The latest rows, or those before an instant."""

    limit: Annotated[int, Meta(ge=1, le=MAX_TICKS)] = 100
    before: fields.Instant | None = None


class TickList(Struct, frozen=True):
    """Rows, the latest nominal instant first."""

    ticks: list[TickShape]


class NextQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many fires, and from when on."""

    count: Count = 10
    start: str | None = None
    """After this time; now, unless told."""


class CronQuery(NextQuery, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cron line and how to read it."""

    cron: str
    tz: str = "UTC"
    dialect: DialectWord = "auto"
    days: DaysWord = "either"
    dst: DstWord = "vixie"


class FireList(Struct, frozen=True):
    """When it fires next."""

    fires: list[FireShape]
    words: str
    warnings: list[str]


class BackfillProgress(Struct, frozen=True):
    """A backfill, and its jobs by state."""

    backfill: BackfillShape
    jobs: dict[str, int]


class CancelledBackfill(BackfillProgress, frozen=True):
    """The same, and how many jobs had not ended when they were cancelled."""

    cancelled: int


@routes.get("/api/schedules", needs=_READ, query=ScheduleQuery, answer=ScheduleList, errors=(404,))
def list_schedules(api: Api, call: Call[None, ScheduleQuery]) -> ScheduleList:
    """Schedules, by name."""
    query = call.query
    job_type = api.engine.definitions.job_type(query.job_type).uuid if query.job_type else None

    def read(step: int, cursor: str | None) -> tuple[list[ScheduleShape], str | None]:
        page = api.engine.store.list_schedules(limit=step, cursor=cursor, job_type=job_type)
        return [_shape(api, entry) for entry in page.entries], page.cursor

    return ScheduleList(*read_page(read, limit=query.limit, cursor=query.cursor or None))


@routes.post("/api/schedules", needs=_WRITE, body=NewSchedule, answer=DoneTo, errors=(404, 409))
def create_schedule(api: Api, call: Call[NewSchedule, None]) -> DoneTo:
    """Create a schedule."""
    return DoneTo(uuid=api.engine.schedules.create(call.body.request(), by=call.caller).schedule.uuid)


@routes.get("/api/schedules/{schedule}", needs=_READ, answer=ScheduleShape, errors=(404,))
def show_schedule(api: Api, call: Call[None, None]) -> ScheduleShape:
    """One schedule."""
    return _shape(api, _find(api, call))


@routes.put("/api/schedules/{schedule}", needs=_WRITE, body=WholeSchedule, answer=ScheduleShape, errors=(404, 409))
def replace_schedule(api: Api, call: Call[WholeSchedule, None]) -> ScheduleShape:
    """Define a schedule anew. The past is not fired again."""
    uuid = _find(api, call).schedule.uuid
    changed = api.engine.schedules.replace(uuid, call.body.request(), by=call.caller, expected=call.body.version)
    return _shape(api, changed)


@routes.patch("/api/schedules/{schedule}", needs=_WRITE, body=ScheduleChange, answer=ScheduleShape, errors=(404, 409))
def change_schedule(api: Api, call: Call[Any, None]) -> ScheduleShape:
    """Change some fields of a schedule. The past is not fired again."""
    entry = _find(api, call)
    request = change_of(request_of(entry.schedule), call.body)
    version = call.body.version if isinstance(call.body.version, int) else entry.state.version
    changed = api.engine.schedules.replace(entry.schedule.uuid, request, by=call.caller, expected=version)
    return _shape(api, changed)


@routes.delete("/api/schedules/{schedule}", needs=_WRITE, answer=DoneTo, errors=(404, 409))
def delete_schedule(api: Api, call: Call[None, None]) -> DoneTo:
    """Remove a schedule with its ticks. Its jobs stay; a uuid that is not there is gone already."""
    name = call.path["schedule"]
    try:
        uuid = _find(api, call).schedule.uuid
    except NotFound:
        if not is_id(name):
            raise
        return DoneTo(uuid=name)
    with suppress(NotFound):  # somebody else was faster
        api.engine.schedules.delete(uuid)
    return DoneTo(uuid=uuid)


@routes.post("/api/schedules/{schedule}/pause", needs=_WRITE, body=Pause, answer=ScheduleShape, errors=(404, 409))
def pause_schedule(api: Api, call: Call[Pause, None]) -> ScheduleShape:
    """Let a schedule rest. Ticks that pass meanwhile are counted as skipped."""
    return _shape(api, api.engine.schedules.pause(_find(api, call).schedule.uuid, call.body.note))


@routes.post("/api/schedules/{schedule}/resume", needs=_WRITE, answer=ScheduleShape, errors=(404, 409))
def resume_schedule(api: Api, call: Call[None, None]) -> ScheduleShape:
    """Let a schedule fire again, from now on."""
    return _shape(api, api.engine.schedules.resume(_find(api, call).schedule.uuid))


@routes.post("/api/schedules/{schedule}/run", needs=_WRITE, answer=DoneTo, errors=(404,))
def run_schedule(api: Api, call: Call[None, None]) -> DoneTo:
    """Make a job of a schedule now, beside its ticks. The uuid is the job's."""
    return DoneTo(uuid=api.engine.schedules.run_now(_find(api, call).schedule.uuid, by=call.caller).job_id)


@routes.get("/api/schedules/{schedule}/why", needs=_READ, answer=WhyShape, errors=(404,))
def why_schedule(api: Api, call: Call[None, None]) -> WhyShape:
    """Why a schedule does not fire at this moment, and when it will."""
    return why_shape(api.engine.why.schedule(_find(api, call).schedule.uuid))


@routes.get("/api/schedules/{schedule}/ticks", needs=_READ, query=TickQuery, answer=TickList, errors=(404,))
def list_ticks(api: Api, call: Call[None, TickQuery]) -> TickList:
    """What became of a schedule's times, the latest first."""
    uuid = _find(api, call).schedule.uuid
    rows = api.engine.store.list_ticks(uuid, limit=call.query.limit, before=call.query.before)
    return TickList([tick_shape(row) for row in rows])


@routes.get("/api/schedules/{schedule}/next", needs=_READ, query=NextQuery, answer=FireList, errors=(404,))
def next_of_schedule(api: Api, call: Call[None, NextQuery]) -> FireList:
    """When a schedule fires next, whether it is paused or not."""
    entry = _find(api, call)
    trigger, progress = entry.schedule.trigger, entry.schedule.progress(entry.state)
    fires = next_fires(trigger, progress, _after(api, call.query, trigger.zone), call.query.count)
    return _fire_list(fires, trigger.zone, trigger_words(trigger, progress), warnings_of(trigger, progress))


@routes.get("/api/cron", needs=_READ, query=CronQuery, answer=FireList)
def next_of_cron(api: Api, call: Call[None, CronQuery]) -> FireList:
    """When a cron line would fire, in words and with warnings; nothing is stored."""
    query = call.query
    request = ScheduleRequest(
        job_type="", cron=query.cron, tz=query.tz, dialect=query.dialect, days=query.days, dst=query.dst
    )
    trigger = read_trigger(request, None)
    after = _after(api, query, trigger.zone)
    progress = Progress(created_at=after)
    fires = next_fires(trigger, progress, after, query.count)
    return _fire_list(fires, trigger.zone, trigger_words(trigger, progress), warnings_of(trigger, progress))


@routes.post(
    "/api/schedules/{schedule}/backfills", needs=_WRITE, body=NewBackfill, answer=BackfillPlanShape, errors=(404, 409)
)
def create_backfill(api: Api, call: Call[NewBackfill, None]) -> BackfillPlanShape:
    """Make jobs for instants in the past, or say which. Doing it again makes none twice."""
    uuid, request = _find(api, call).schedule.uuid, call.body.request()
    if call.body.preview:
        return backfill_plan_shape(api.engine.backfills.preview(uuid, request))
    return backfill_plan_shape(api.engine.backfills.start(uuid, request, by=call.caller))


@routes.get("/api/schedules/{schedule}/backfills/{id}", needs=_READ, answer=BackfillProgress, errors=(404,))
def show_backfill(api: Api, call: Call[None, None]) -> BackfillProgress:
    """How far a backfill is."""
    uuid, backfill_id = _find(api, call).schedule.uuid, call.path["id"]
    found = api.engine.backfills.find(uuid, backfill_id)[1]
    return BackfillProgress(backfill_shape(found), api.engine.backfills.progress(uuid, backfill_id))


@routes.post(
    "/api/schedules/{schedule}/backfills/{id}/cancel", needs=_WRITE, answer=CancelledBackfill, errors=(404, 409)
)
def cancel_backfill(api: Api, call: Call[None, None]) -> CancelledBackfill:
    """Cancel what has not ended of a backfill."""
    count = api.engine.backfills.cancel(_find(api, call).schedule.uuid, call.path["id"])
    now = show_backfill(api, call)
    return CancelledBackfill(now.backfill, now.jobs, count)


def _find(api: Api, call: Call[Any, Any]) -> ScheduleEntry:
    """By uuid or name. What looks like a uuid is one, even if another schedule has that name."""
    name = call.path["schedule"]
    entry = api.engine.schedules.find(name)
    if is_id(name) and entry.schedule.uuid != name:
        raise NotFound("schedule", name)
    return entry


def _shape(api: Api, entry: ScheduleEntry) -> ScheduleShape:
    return schedule_shape(entry, api.engine.definitions.known_job_type_names())


def _after(api: Api, query: NextQuery, zone: str) -> int:
    if query.start is None:
        return api.engine.clock.now()
    is_millis = query.start.isascii() and query.start.isdigit() and len(query.start) > 8
    return parse_instant("start", int(query.start[:18]) if is_millis else query.start, zone)


def _fire_list(fires: list[Fire], zone: str, words: str, warnings: tuple[str, ...]) -> FireList:
    return FireList([fire_shape(one.instant, zone, one.note) for one in fires], words, list(warnings))
