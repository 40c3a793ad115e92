"""The native JSON of events, configurations, evaluations and explanations: the keys of the event specification, and
ours beside them.

Event times are ISO 8601 in UTC with microseconds, as the specification writes them; times of Rota's own are epoch
milliseconds.
"""

from collections.abc import Mapping, Sequence

from msgspec import UNSET, Struct, UnsetType

from rota.engine.events.events import EventAnswer, Preview
from rota.engine.events.request import BadEvent
from rota.model.events.configuration import ClockKind, Configuration, Dependency, Group, Late, Match, default_match
from rota.model.events.evaluation import Evaluation, Row, Verdict
from rota.model.events.event import EventRef, shown_time
from rota.model.events.explanation import Explanation
from rota.store.contract.events import ConfigurationEntry, Validation

MAX_EVENTS_BYTES = 16 * 1024 * 1024
"""Of the events of one call."""
_SPECIFIED_KEYS = {"resource_id": "resourceId", "life_duration": "lifeDuration"}


class DependencyShape(Struct, frozen=True, kw_only=True, rename=_SPECIFIED_KEYS):
    """Events that a configuration waits for, and for how many seconds one of them stays valid."""

    type: str
    resource_id: str
    life_duration: int
    match: Match | UnsetType = UNSET
    outcome: str | UnsetType = UNSET


Part = dict[str, object]
"""A dependency or a group, as they nest."""


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


class EventShape(Struct, frozen=True, kw_only=True, rename=_SPECIFIED_KEYS):
    id: str
    type: str | UnsetType = UNSET
    resource_id: str
    timestamp: str
    received_at: int
    stated_timestamp: str | UnsetType = UNSET
    """What its sender stated, if that was after its reception, as of which it counts."""


class JobWishShape(Struct, frozen=True):
    job_type: str
    arguments: dict[str, object]
    priority: int


class ConfigurationShape(Struct, frozen=True, kw_only=True):
    """A configuration and how far it has come."""

    uuid: str
    name: str
    dependencies: list[Part]
    job: JobWishShape | None
    """Absent: it writes a line to the log."""
    clock: ClockKind
    late: Late
    managed_by: str | None
    created_at: int
    version: int
    last_execution: str | None
    last_execution_at: int | None
    evaluated: int
    triggered: int


class RowShape(Struct, frozen=True, kw_only=True):
    """One dependency: the event that counts for it, its age in seconds against its life, and whether it is met.

    An event that came later than the instant that is judged has no age."""

    dependency: DependencyShape
    event: EventShape | None
    by_this_event: bool
    age: float | None
    life: int
    newer_than_last_execution: bool | None
    met: bool


class EvaluationShape(Struct, frozen=True, kw_only=True):
    """What one event meant for a configuration."""

    configuration: str
    event: EventShape
    verdict: Verdict
    at: str
    last_execution: str | None
    job: str | None
    matrix: list[RowShape]


class ExpiryShape(Struct, frozen=True):
    dependency: DependencyShape
    at: str


class ExplanationShape(Struct, frozen=True, kw_only=True):
    """Why a configuration fired or did not, what is missing now, and what expires next."""

    configuration: str
    explanation: str
    verdict: Verdict | None
    matrix: list[RowShape]
    """Of the last event that matched; of what is stored, when none did."""
    now: list[RowShape]
    missing: list[DependencyShape]
    expires_next: ExpiryShape | None
    last_evaluation: EvaluationShape | None


class ValidationShape(Struct, frozen=True):
    """An event that validated a dependency."""

    event: EventShape
    dependency: DependencyShape | None
    """Absent when the configuration was defined anew since."""


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


def configuration_shape(entry: ConfigurationEntry, job_type_names: Mapping[str, str]) -> ConfigurationShape:
    one, state = entry.configuration, entry.state
    name = job_type_names.get(one.job_type, one.job_type)
    return ConfigurationShape(
        uuid=one.uuid,
        name=one.name,
        dependencies=_parts(one, one.tree),
        job=None if one.logs_only else JobWishShape(name, one.arguments, one.priority),
        clock=one.clock,
        late=one.late,
        managed_by=one.managed_by or None,
        created_at=one.created_at,
        version=state.version,
        last_execution=time_shape(state.last_execution),
        last_execution_at=state.last_execution_wall,
        evaluated=state.evaluated,
        triggered=state.triggered,
    )


def _parts(configuration: Configuration, group: Group) -> list[Part]:
    return [
        _dependency_part(configuration.dependencies[part])
        if isinstance(part, int)
        else {"any_of" if part.any_of else "all_of": _parts(configuration, part)}
        for part in group.parts
    ]


def _dependency_part(one: Dependency) -> Part:
    shape = dependency_shape(one)
    part: Part = {"type": one.type, "resourceId": one.resource, "lifeDuration": one.life_s}
    more = {"match": shape.match, "outcome": shape.outcome}
    return part | {key: value for key, value in more.items() if value is not UNSET}


def evaluation_shape(name: str, one: Evaluation) -> EvaluationShape:
    return EvaluationShape(
        configuration=name,
        event=_event_shape(one.event, one.type),
        verdict=one.verdict,
        at=shown_time(one.at),
        last_execution=time_shape(one.last_execution),
        job=one.job,
        matrix=[row_shape(row) for row in one.matrix],
    )


def row_shape(row: Row) -> RowShape:
    return RowShape(
        dependency=dependency_shape(row.dependency),
        event=_event_shape(row.event) if row.event else None,
        by_this_event=row.is_hit,
        age=None if row.age_us is None or row.age_us < 0 else row.age_us / 1_000_000,
        life=row.dependency.life_s,
        newer_than_last_execution=row.is_newer,
        met=row.is_met,
    )


def explanation_shape(name: str, one: Explanation) -> ExplanationShape:
    expiry = one.expires_next
    return ExplanationShape(
        configuration=name,
        explanation=one.sentence,
        verdict=one.verdict,
        matrix=[row_shape(row) for row in (one.last.matrix if one.last else one.standing)],
        now=[row_shape(row) for row in one.standing],
        missing=[dependency_shape(dependency) for dependency in one.missing],
        expires_next=ExpiryShape(dependency_shape(expiry.dependency), shown_time(expiry.at)) if expiry else None,
        last_evaluation=evaluation_shape(name, one.last) if one.last else None,
    )


def validation_shape(one: Validation, configuration: Configuration) -> ValidationShape:
    is_known = one.dependency < len(configuration.dependencies)
    dependency = dependency_shape(configuration.dependencies[one.dependency]) if is_known else None
    return ValidationShape(_event_shape(one.event), dependency)


def preview_shape(one: Preview) -> EvaluationShape:
    return evaluation_shape(one.configuration, one.evaluation)


def _event_shape(one: EventRef, type: str | None = None) -> EventShape:
    return EventShape(
        id=one.id,
        type=UNSET if type is None else type,
        resource_id=one.resource,
        timestamp=shown_time(one.time),
        received_at=one.received_at,
        stated_timestamp=UNSET if one.stated_time is None else shown_time(one.stated_time),
    )


def time_shape(micros: int | None) -> str | None:
    return None if micros is None else shown_time(micros)
