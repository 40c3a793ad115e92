"""The native JSON of events and of what they did: the keys of the event specification, and ours beside them.

Event times are ISO 8601 in UTC with microseconds, as the specification writes them; times of Rota's own are epoch
milliseconds.
"""

from collections.abc import Sequence
from functools import partial

from msgspec import UNSET, Struct, UnsetType, structs

from rota.engine.events.events import EventAnswer, Ignored, Triggered, Validated
from rota.engine.events.request import BadEvent
from rota.model.events.configuration import Configuration, Dependency, Match, default_match
from rota.model.events.evaluation import Verdict
from rota.model.events.event import EventRef, parse_timestamp, ref_of, shown_time
from rota.model.events.record import EventRecord
from rota.shapes.codec import As, Codec
from rota.store.contract.events import Validation

MAX_EVENTS_BYTES = 16 * 1024 * 1024
"""Of the events of one call."""
SPECIFIED_KEYS = {"resource_id": "resourceId", "life_duration": "lifeDuration"}


class DependencyShape(Struct, frozen=True, kw_only=True, rename=SPECIFIED_KEYS):
    """Events that a configuration waits for, and for how many seconds one of them stays valid."""

    type: str
    resource_id: str
    life_duration: int
    match: Match | UnsetType = UNSET
    outcome: str | UnsetType = UNSET


class ValidatedShape(Struct, frozen=True, kw_only=True):
    configuration: str
    dependency: DependencyShape
    event: int | UnsetType = UNSET
    """Its place in the list that was posted."""


class TriggeredShape(Struct, frozen=True, kw_only=True):
    configuration: str
    job: str
    event: int | UnsetType = UNSET
    """Its place in the list that was posted."""


class FailedShape(Struct, frozen=True):
    """An event of a list that was refused; nothing of it was stored."""

    event: int
    field: str
    error: str


class EventAnswerShape(Struct, frozen=True, kw_only=True):
    """What events did. Both lists are empty when nothing matched, or nothing was newer than the last run."""

    validated: list[ValidatedShape]
    triggered: list[TriggeredShape]
    failed: list[FailedShape] | UnsetType = UNSET
    """Only for a list."""
    status: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    """With the status `error`, when nothing in a list was good."""


class IgnoredShape(Struct, frozen=True):
    """An event that hit a configuration and did not count there: it was `older` than the last execution, or a
    `duplicate`."""

    event: int
    configuration: str
    verdict: Verdict
    last_execution: str | None


class EventReportShape(EventAnswerShape, frozen=True, kw_only=True):
    """What events did, and why some of them did nothing."""

    ignored: list[IgnoredShape]
    unmatched: list[int]
    """The places of those that no configuration waits for."""


class EventShape(Struct, frozen=True, kw_only=True, rename=SPECIFIED_KEYS):
    id: str
    type: str | UnsetType = UNSET
    resource_id: str
    timestamp: str
    received_at: int
    stated_timestamp: str | UnsetType = UNSET
    """What its sender stated, if that was after its reception, as of which it counts."""


class MeaningShape(Struct, frozen=True):
    """What an event meant to a configuration."""

    configuration: str
    """Its uuid."""
    name: str
    verdict: Verdict
    job: str | None


class EventRecordShape(EventShape, frozen=True, kw_only=True, rename=SPECIFIED_KEYS):
    """An event that was taken: who told of it, and what it meant."""

    uuid: str
    """Of its taking."""
    by: str | None
    """The name of a key, or a user; null where Rota saw it itself."""
    outcome: str | None
    matched: int
    """How many configurations it hit; the first of them are told."""
    meanings: list[MeaningShape]


class ValidationShape(Struct, frozen=True):
    """An event that validated a dependency."""

    event: EventShape
    dependency: DependencyShape | None
    """Absent when the configuration was defined anew since."""


def _stated_shape(micros: int | None) -> str | UnsetType:
    return UNSET if micros is None else shown_time(micros)


_EVENT = Codec(
    EventRef,
    EventShape,
    resource_id=As("resource"),
    timestamp=As("time", shown_time, partial(parse_timestamp, "timestamp")),
    stated_timestamp=As("stated_time", _stated_shape, lambda text: time_of(text or None)),
)


def event_shape(one: EventRef, type: str | None = None) -> EventShape:
    return _EVENT.shape(one, type=UNSET if type is None else type)


def event_of(shape: EventShape) -> EventRef:
    return _EVENT.value(shape)


def event_record_shape(one: EventRecord) -> EventRecordShape:
    event = one.event
    return EventRecordShape(
        **structs.asdict(event_shape(ref_of(event), event.type)),
        uuid=one.id,
        by=event.by or None,
        outcome=event.outcome,
        matched=one.matched,
        meanings=[MeaningShape(each.configuration, each.name, each.verdict, each.job) for each in one.meanings],
    )


def time_shape(micros: int | None) -> str | None:
    return None if micros is None else shown_time(micros)


def time_of(text: str | None) -> int | None:
    return None if text is None else parse_timestamp("time", text)


def answer_shape(answer: EventAnswer) -> EventAnswerShape:
    """What one event did."""
    return EventAnswerShape(
        validated=[
            ValidatedShape(configuration=one.configuration, dependency=dependency_shape(one.dependency))
            for one in answer.validated
        ],
        triggered=[TriggeredShape(configuration=one.configuration, job=one.job) for one in answer.triggered],
    )


def answers_shape(answer: EventAnswer, indexes: Sequence[int], failed: Sequence[BadEvent]) -> EventAnswerShape:
    """What the events of a list did; `indexes` are their places in that list."""
    is_bad = bool(failed) and not indexes
    return EventAnswerShape(
        status="error" if is_bad else UNSET,
        error=f"[{failed[0].index}].{failed[0].field}: {failed[0].error}" if is_bad else UNSET,
        validated=[
            ValidatedShape(
                configuration=one.configuration,
                dependency=dependency_shape(one.dependency),
                event=indexes[one.event],
            )
            for one in answer.validated
        ],
        triggered=[
            TriggeredShape(configuration=one.configuration, job=one.job, event=indexes[one.event])
            for one in answer.triggered
        ],
        failed=[FailedShape(one.index, one.field, one.error) for one in failed],
    )


def report_shape(answer: EventAnswer, indexes: Sequence[int], failed: Sequence[BadEvent]) -> EventReportShape:
    """All that the events of a list did, and what became of those that did nothing."""
    return EventReportShape(
        **structs.asdict(answers_shape(answer, indexes, failed)),
        ignored=[
            IgnoredShape(indexes[one.event], one.configuration, one.verdict, time_shape(one.last_execution))
            for one in answer.ignored
        ],
        unmatched=[index for number, index in enumerate(indexes) if number not in answer.matched],
    )


def answer_of(shape: EventReportShape, count: int) -> EventAnswer:
    """Of a list of so many events."""
    refused = [BadEvent(one.event, one.field, one.error) for one in shape.failed or ()]
    return EventAnswer(
        [Validated(_place(one), one.configuration, dependency_of(one.dependency)) for one in shape.validated],
        [Triggered(_place(one), one.configuration, one.job) for one in shape.triggered],
        [Ignored(one.event, one.configuration, one.verdict, time_of(one.last_execution)) for one in shape.ignored],
        set(range(count)) - set(shape.unmatched) - {one.index for one in refused},
        refused,
    )


def _place(one: ValidatedShape | TriggeredShape) -> int:
    return one.event if isinstance(one.event, int) else 0


def dependency_shape(one: Dependency) -> DependencyShape:
    return DependencyShape(
        type=one.type,
        resource_id=one.resource,
        life_duration=one.life_s,
        match=UNSET if one.match is default_match(one.type, one.resource) else one.match,
        outcome=UNSET if one.outcome is None else one.outcome,
    )


def dependency_of(shape: DependencyShape) -> Dependency:
    return Dependency(
        type=shape.type,
        resource=shape.resource_id,
        life_s=shape.life_duration,
        match=default_match(shape.type, shape.resource_id) if shape.match is UNSET else shape.match,
        outcome=None if shape.outcome is UNSET else shape.outcome,
    )


def validation_shape(one: Validation, configuration: Configuration) -> ValidationShape:
    is_known = one.dependency < len(configuration.dependencies)
    dependency = dependency_shape(configuration.dependencies[one.dependency]) if is_known else None
    return ValidationShape(event_shape(one.event), dependency)


def validation_of(shape: ValidationShape, configuration: Configuration) -> Validation:
    """One whose dependency is gone has a number beyond all that there are."""
    known = configuration.dependencies
    wanted = dependency_of(shape.dependency) if shape.dependency else None
    return Validation(event_of(shape.event), known.index(wanted) if wanted in known else len(known))
