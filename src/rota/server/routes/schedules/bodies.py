"""What clients send about schedules. The fields are those of `ScheduleRequest`, and Synchrony's `job_type_uuid`."""

from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from rota.engine.schedules.backfill import DEFAULT_MOST, MOST, BackfillRequest
from rota.errors import InvalidInput
from rota.model.ids import reference
from rota.model.job import MAX_PRIORITY
from rota.model.schedules.edits import OTHER_WORDS, changed_request, in_one_word
from rota.model.schedules.request import MAX_EXCLUDED, CatchUpRequest, ScheduleRequest
from rota.model.schedules.schedule import Overlap
from rota.model.triggers.catch_up import CatchUpMode
from rota.model.triggers.cron.cron import Days, Dialect
from rota.model.triggers.cron.fires import Dst
from rota.model.triggers.durations import MAX_INTERVAL_MS
from rota.model.triggers.interval import Anchor
from rota.shapes import fields


def _said(**rule: object) -> Meta:
    """A rule that the OpenAPI document tells, and that the engine checks, with words of its own."""
    return Meta(extra_json_schema=rule)


DialectWord = Annotated[str, _said(enum=[*Dialect])]
DaysWord = Annotated[str, _said(enum=[*Days])]
DstWord = Annotated[str, _said(enum=[*Dst])]
CatchUpWord = Annotated[str, _said(enum=[*CatchUpMode])]
_OverlapWord = Annotated[str, _said(enum=[*Overlap])]
_AnchorWord = Annotated[str, _said(enum=[*Anchor])]
_Priority = Annotated[int, _said(minimum=-MAX_PRIORITY, maximum=MAX_PRIORITY)]
_Runs = Annotated[int, _said(minimum=1)]
_Millis = Annotated[int, _said(minimum=0, maximum=MAX_INTERVAL_MS)]
_Excluded = Annotated[list[Annotated[str, _said(format="date")]], _said(maxItems=MAX_EXCLUDED)]


class NewSchedule(ScheduleRequest, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule: a job type, and one of `cron`, `interval`, `frequency`, `at` and `delay`."""

    job_type: str = ""
    """Name or uuid."""
    name: fields.Name | None = None
    dialect: DialectWord = Dialect.AUTO.value
    days: DaysWord = Days.EITHER.value
    dst: DstWord = Dst.VIXIE.value
    interval: _Millis | str | None = None
    anchor: _AnchorWord | None = None
    phase: _Millis | str = 0
    delay: _Millis | str | None = None
    jitter: _Millis | str = 0
    max_runs: _Runs | None = None
    overlap: _OverlapWord | None = None
    catch_up: CatchUpRequest | CatchUpWord | None = None
    exclude: _Excluded = field(default_factory=list)
    priority: _Priority = 0
    job_type_uuid: fields.Reference | None = None
    """The same, as Synchrony names it. Its intervals make their jobs whatever still runs, and catch up on nothing,
    unless `overlap` and `catch_up` say otherwise."""

    every: _Millis | str | None = None
    """Another word for `interval`."""
    arguments: dict[str, object] | None = None
    """Another word for `job_arguments`."""

    def request(self) -> ScheduleRequest:
        given = {name: getattr(self, name) for name in ScheduleRequest.__struct_fields__}
        request = ScheduleRequest(**given | self._in_one_word() | {"job_type": self._job_type()})
        return request if self.job_type_uuid is None else request.as_in_synchrony()

    def _in_one_word(self) -> dict[str, Any]:
        names = [*OTHER_WORDS, *OTHER_WORDS.values()]
        return in_one_word({name: getattr(self, name) for name in names if getattr(self, name)})

    def _job_type(self) -> str:
        if self.job_type and self.job_type_uuid is not None:
            raise InvalidInput("job_type_uuid", "give it or job_type, and not both")
        return reference(self.job_type_uuid) if self.job_type_uuid else self.job_type


class WholeSchedule(NewSchedule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A schedule to take the place of one."""

    version: int | None = None
    """Only if it is still at this version."""


class CatchUpChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change of what happens after downtime; null sets a field back, the others stay."""

    mode: CatchUpWord | UnsetType | None = UNSET
    window: str | int | UnsetType | None = UNSET
    max: int | UnsetType | None = UNSET


_CHANGEABLE = get_type_hints(WholeSchedule, include_extras=True) | {"catch_up": CatchUpChange | CatchUpWord}
ScheduleChange: Any = msgspec.defstruct(
    "ScheduleChange",
    [(name, kind | None | UnsetType, UNSET) for name, kind in _CHANGEABLE.items()],
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    namespace={"__doc__": "The fields to change; null sets one back, the others stay."},
)


def change_of(request: ScheduleRequest, body: Any) -> ScheduleRequest:
    """The request with the fields of a `ScheduleChange` in the place of its own."""
    given = {name: getattr(body, name) for name in body.__struct_fields__}
    changes = {name: msgspec.to_builtins(value) for name, value in given.items() if value is not UNSET}
    changes.pop("version", None)
    if (uuid := changes.pop("job_type_uuid", None)) is not None:
        changes["job_type"] = reference(uuid)
    return changed_request(request, changes)


class Pause(Struct, frozen=True, forbid_unknown_fields=True):
    """Why a schedule rests."""

    note: Annotated[str, Meta(max_length=1000)] = ""


class NewBackfill(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The instants after `start` up to `end`: ISO 8601 text in the schedule's zone, or epoch milliseconds."""

    start: int | str
    end: int | str
    max: Annotated[int, Meta(ge=1, le=MOST)] = DEFAULT_MOST
    overlap: Overlap = Overlap.BUFFER_ALL
    """`buffer_all`: one after another. `allow`: all at once."""
    force: bool = False
    """Also for instants that fired already."""
    priority: fields.Priority | None = None
    preview: bool = False
    """Only say what would be made."""

    def request(self) -> BackfillRequest:
        return BackfillRequest(
            start=self.start,
            end=self.end,
            max=self.max,
            overlap=self.overlap.value,
            force=self.force,
            priority=self.priority,
        )
