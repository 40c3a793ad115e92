"""What users write to define a schedule, in the API, in files and on the command line: read and checked here."""

from datetime import date

from msgspec import Struct, structs

from rota.errors import InvalidInput
from rota.model.events.event import TIME_BASED
from rota.model.limits import check_name
from rota.model.schedules.schedule import Overlap, Schedule
from rota.model.triggers.catch_up import CatchUp, CatchUpMode
from rota.model.triggers.durations import parse_duration
from rota.model.triggers.interval import Anchor
from rota.model.triggers.make_trigger import (
    Bounds,
    make_cron,
    make_frequency,
    make_interval,
    make_once,
    parse_choice,
    read_bounds,
)
from rota.model.triggers.trigger import Trigger

KINDS = ("cron", "interval", "frequency", "at", "delay")
_KINDS_IN_WORDS = ("cron", "every (interval)", "frequency", "at", "delay")
MAX_EXCLUDED = 1_000


class Frequency(Struct, frozen=True, forbid_unknown_fields=True, rename={"time_unit": "timeUnit"}):
    """Every `time` units (light scheduler)."""

    time_unit: str
    time: int


class CatchUpRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """After downtime: `none`, `last` or `all`, with a window and a cap."""

    mode: str = CatchUpMode.LAST
    window: str | int | None = None
    """A duration (`1d`) or a number of milliseconds; `none` for no limit."""
    max: int | None = None


EMIT_JOB_TYPE = "rota.emit"
"""The job type of schedules that emit an event: each of its jobs posts one."""


class Emission(Struct, frozen=True, forbid_unknown_fields=True):
    """The event that a schedule emits; without a resource, that is the schedule's name."""

    type: str = TIME_BASED
    resource: str | None = None


class ScheduleRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a schedule: a job type or an event to emit, and one of `cron`, `interval`, `frequency`, `at`,
    `delay`."""

    job_type: str = ""
    """Name or uuid."""
    emit: Emission | None = None
    """Instead of a job type: the event to emit at each tick."""
    name: str | None = None
    job_arguments: dict[str, object] = {}
    cron: str | None = None
    dialect: str = "auto"
    days: str = "either"
    """When a cron line restricts day and weekday: `either` is enough, or `both` must match."""
    dst: str = "vixie"
    interval: int | str | None = None
    """A duration such as `90s`, or a number of milliseconds."""
    anchor: str | None = None
    """What an interval is counted from: `scheduled` (the last job, the default), `start`, `epoch` or `ended`."""
    phase: int | str = 0
    """With the anchor `epoch`: this long after each full period."""
    frequency: Frequency | None = None
    at: int | str | None = None
    delay: int | str | None = None
    start: int | str | None = None
    end: int | str | None = None
    max_runs: int | None = None
    tz: str | None = None
    utc: bool = False
    jitter: int | str = 0
    overlap: str | None = None
    catch_up: CatchUpRequest | str | None = None
    exclude: list[str] = []
    """Dates (`2026-12-25`) in its zone on which it does not fire."""
    priority: int = 0
    paused: bool = False
    note: str = ""
    pause_on_failure: bool = False

    def as_in_synchrony(self) -> "ScheduleRequest":
        """What Synchrony leaves unsaid: an interval makes its jobs whatever still runs, and catches up on nothing."""
        if self.interval is None:
            return self
        return structs.replace(self, overlap=self.overlap or Overlap.ALLOW, catch_up=self.catch_up or CatchUpMode.NONE)

    def settled(self) -> "ScheduleRequest":
        """The request with its job type: to emit an event is to make a job that does."""
        if self.emit is None:
            if not self.job_type:
                raise InvalidInput("job_type", "a schedule needs a job_type, or an event to emit")
            return self
        if self.job_type not in ("", EMIT_JOB_TYPE):
            raise InvalidInput("emit", "a schedule has a job_type or an event to emit, not both")
        event: dict[str, object] = {"type": self.emit.type, "resourceId": self.emit.resource or self.name or ""}
        return structs.replace(self, job_type=EMIT_JOB_TYPE, job_arguments=event)


def read_trigger(request: ScheduleRequest, now: int | None) -> Trigger:
    """The trigger that a request describes, or `InvalidInput` naming the field. With `now`, it must still fire."""
    given = [kind for kind in KINDS if getattr(request, kind) is not None]
    if len(given) != 1:
        got = ", ".join(given) or "none, so it would never fire"
        raise InvalidInput("cron", f"give exactly one of {', '.join(_KINDS_IN_WORDS)}; got {got}")
    bounds = _bounds(request)
    if request.cron is not None:
        return make_cron(request.cron, bounds, dialect=request.dialect, dst=request.dst, days=request.days, now=now)
    if request.interval is not None:
        anchor = request.anchor or (Anchor.SCHEDULED if bounds.start is None else Anchor.START)
        phase = _millis("phase", request.phase)
        return make_interval(_millis("interval", request.interval), bounds, anchor=anchor, phase_ms=phase)
    if request.frequency is not None:
        return make_frequency(request.frequency.time, request.frequency.time_unit, bounds)
    return _once(request, bounds)


def _bounds(request: ScheduleRequest) -> Bounds:
    jitter_ms = _millis("jitter", request.jitter)
    try:
        return read_bounds(start=request.start, end=request.end, tz=request.tz, utc=request.utc, jitter_ms=jitter_ms)
    except InvalidInput as error:
        own_name = {"startDate": "start", "endDate": "end"}.get(error.field, error.field)
        raise InvalidInput(own_name, error.reason) from None


def _once(request: ScheduleRequest, bounds: Bounds) -> Trigger:
    delay = None if request.delay is None else _millis("delay", request.delay)
    return make_once(bounds, at=request.at, delay_ms=delay)


def read_overlap(request: ScheduleRequest) -> Overlap:
    """Skip, unless said otherwise. An event that is emitted stands in nobody's way."""
    if request.overlap is not None:
        return parse_choice("overlap", Overlap, request.overlap)
    return Overlap.ALLOW if request.emit else Overlap.SKIP


def read_catch_up(request: ScheduleRequest) -> CatchUp:
    """The latest missed tick is made up for, unless said otherwise."""
    wanted = request.catch_up
    if wanted is None:
        return CatchUp()
    if isinstance(wanted, str):
        wanted = CatchUpRequest(mode=wanted)
    default = CatchUp()
    policy = CatchUp(
        mode=parse_choice("catch_up.mode", CatchUpMode, wanted.mode),
        window_ms=default.window_ms if wanted.window is None else _window(wanted.window),
        max_fires=default.max_fires if wanted.max is None else wanted.max,
    )
    policy.check("catch_up")
    return policy


def _window(value: int | str) -> int | None:
    return None if value == "none" else _millis("catch_up.window", value)


def read_excluded(request: ScheduleRequest) -> tuple[str, ...]:
    if len(request.exclude) > MAX_EXCLUDED:
        raise InvalidInput("exclude", f"has {len(request.exclude)} dates, the limit is {MAX_EXCLUDED}")
    return tuple(sorted({_day(day) for day in request.exclude}))


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InvalidInput("exclude", f"{text!r} is not a date such as 2026-12-25") from None


def read_name(request: ScheduleRequest, uuid: str) -> str:
    return uuid if request.name is None else check_name("name", request.name)


def _millis(field: str, value: int | str) -> int:
    return parse_duration(field, value, least_ms=0) if isinstance(value, str) else value


def make_schedule(
    request: ScheduleRequest,
    *,
    uuid: str,
    job_type: str,
    queue: str,
    created_at: int,
    now: int | None,
    managed_by: str = "",
) -> Schedule:
    """The schedule that a request describes, checked. With `now`, its times must not be over."""
    trigger = read_trigger(request, now)
    schedule = Schedule(
        uuid=uuid,
        name=read_name(request, uuid),
        trigger=trigger,
        queue=queue,
        job_type=job_type,
        arguments=request.job_arguments,
        priority=request.priority,
        max_runs=request.max_runs,
        overlap=read_overlap(request),
        catch_up=read_catch_up(request),
        paused=request.paused,
        pause_note=request.note,
        pause_on_failure=request.pause_on_failure,
        excluded=read_excluded(request),
        created_at=created_at,
        managed_by=managed_by,
    )
    schedule.check()
    return schedule
