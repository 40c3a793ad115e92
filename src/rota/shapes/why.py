"""The native JSON of an answer to "why": a code, a sentence, the facts behind them, and what else holds."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from rota.model.why.answer import Answer, Code, Reason, facts_of
from rota.shapes.events.events import DependencyShape, dependency_of, dependency_shape


class ReasonShape(Struct, frozen=True, kw_only=True):
    """One thing that holds. Instants are epoch milliseconds; only what is known is there."""

    code: Code
    sentence: str
    since: int | UnsetType = UNSET
    until: int | UnsetType = UNSET
    job: str | UnsetType = UNSET
    job_type: str | UnsetType = UNSET
    node: str | UnsetType = UNSET
    node_type: str | UnsetType = UNSET
    nodes: list[str] | UnsetType = UNSET
    running: int | UnsetType = UNSET
    slots: int | UnsetType = UNSET
    ahead: int | UnsetType = UNSET
    attempts: int | UnsetType = UNSET
    state: str | UnsetType = UNSET
    error: object = UNSET
    note: str | UnsetType = UNSET
    dependency: DependencyShape | UnsetType = UNSET
    event: str | UnsetType = UNSET


class WhyShape(ReasonShape, frozen=True, kw_only=True):
    """Why something does not run: what must end first, and in `also` what holds beside it."""

    also: list[ReasonShape]


def why_shape(answer: Answer) -> WhyShape:
    return WhyShape(also=[ReasonShape(**_fields(one)) for one in answer.also], **_fields(answer.lead))


def _fields(reason: Reason) -> dict[str, Any]:
    fields: dict[str, Any] = {"code": reason.code, "sentence": reason.sentence, **facts_of(reason)}
    if reason.dependency is not None:
        fields["dependency"] = dependency_shape(reason.dependency)
    return fields


def answer_of(shape: WhyShape) -> Answer:
    return Answer(_reason(shape), tuple(_reason(one) for one in shape.also))


def _reason(shape: ReasonShape) -> Reason:
    known: dict[str, Any] = {
        name: value for name in Reason.__struct_fields__ if (value := getattr(shape, name)) is not UNSET
    }
    known["nodes"] = tuple(known.get("nodes", ()))
    if isinstance(shape.dependency, DependencyShape):
        known["dependency"] = dependency_of(shape.dependency)
    return Reason(**known)
