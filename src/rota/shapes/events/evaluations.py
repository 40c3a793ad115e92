"""The native JSON of what events meant for a configuration, and of why it fired or did not."""

from msgspec import UNSET, Struct

from rota.engine.events.events import Preview
from rota.model.events.evaluation import Evaluation, Row, Verdict
from rota.model.events.event import parse_timestamp, shown_time
from rota.model.events.explanation import Expiry, Explanation
from rota.shapes.codec import As, Codec
from rota.shapes.events.events import (
    DependencyShape,
    EventShape,
    dependency_of,
    dependency_shape,
    event_of,
    event_shape,
    time_of,
    time_shape,
)


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
    missing_words: str
    """The same for people, which says of what one suffices."""
    expires_next: ExpiryShape | None
    last_evaluation: EvaluationShape | None


def _age_shape(micros: int | None) -> float | None:
    return None if micros is None or micros < 0 else micros / 1_000_000


_ROW = Codec(
    Row,
    RowShape,
    dependency=As("dependency", dependency_shape, dependency_of),
    event=As("event", lambda one: one and event_shape(one), lambda one: one and event_of(one)),
    by_this_event=As("is_hit"),
    age=As("age_us", _age_shape, lambda seconds: None if seconds is None else round(seconds * 1_000_000)),
    newer_than_last_execution=As("is_newer"),
    met=As("is_met"),
)


def row_shape(row: Row) -> RowShape:
    return _ROW.shape(row, life=row.dependency.life_s)


def evaluation_shape(name: str, one: Evaluation) -> EvaluationShape:
    return EvaluationShape(
        configuration=name,
        event=event_shape(one.event, one.type),
        verdict=one.verdict,
        at=shown_time(one.at),
        last_execution=time_shape(one.last_execution),
        job=one.job,
        matrix=[row_shape(row) for row in one.matrix],
    )


def evaluation_of(shape: EvaluationShape) -> Evaluation:
    return Evaluation(
        event=event_of(shape.event),
        type="" if shape.event.type is UNSET else shape.event.type,
        verdict=shape.verdict,
        at=parse_timestamp("at", shape.at),
        last_execution=time_of(shape.last_execution),
        job=shape.job,
        matrix=tuple(_ROW.value(row) for row in shape.matrix),
    )


def preview_shape(one: Preview) -> EvaluationShape:
    return evaluation_shape(one.configuration, one.evaluation)


def preview_of(shape: EvaluationShape) -> Preview:
    return Preview(shape.configuration, evaluation_of(shape))


def explanation_shape(name: str, one: Explanation) -> ExplanationShape:
    expiry = one.expires_next
    return ExplanationShape(
        configuration=name,
        explanation=one.sentence,
        verdict=one.verdict,
        matrix=[row_shape(row) for row in (one.last.matrix if one.last else one.standing)],
        now=[row_shape(row) for row in one.standing],
        missing=[dependency_shape(dependency) for dependency in one.missing],
        missing_words=one.missing_words,
        expires_next=ExpiryShape(dependency_shape(expiry.dependency), shown_time(expiry.at)) if expiry else None,
        last_evaluation=evaluation_shape(name, one.last) if one.last else None,
    )


def explanation_of_shape(shape: ExplanationShape) -> Explanation:
    expiry = shape.expires_next
    return Explanation(
        sentence=shape.explanation,
        verdict=shape.verdict,
        last=evaluation_of(shape.last_evaluation) if shape.last_evaluation else None,
        standing=tuple(_ROW.value(row) for row in shape.now),
        missing=tuple(dependency_of(one) for one in shape.missing),
        missing_words=shape.missing_words,
        expires_next=Expiry(dependency_of(expiry.dependency), parse_timestamp("at", expiry.at)) if expiry else None,
    )
