"""The native JSON of events, configurations, evaluations and explanations: seed 004's keys, and ours beside them.

Event times are ISO 8601 in UTC with microseconds, as the seed writes them; times of Rota's own are epoch milliseconds.
"""

from collections.abc import Mapping, Sequence

from rota.engine.dependencies import EventAnswer, Preview
from rota.engine.event_request import BadEvent
from rota.model.configuration import Configuration, Dependency, Group, Match, default_match
from rota.model.evaluation import Evaluation, Row
from rota.model.event import EventRef, shown_time
from rota.model.explanation import Explanation
from rota.store.events import ConfigurationEntry, Validation

Shape = dict[str, object]


def answer_shape(answer: EventAnswer) -> Shape:
    """What one event did."""
    return {
        "validated": [
            {"configuration": one.configuration, "dependency": dependency_shape(one.dependency)}
            for one in answer.validated
        ],
        "triggered": [{"configuration": one.configuration, "job": one.job} for one in answer.triggered],
    }


def answers_shape(answer: EventAnswer, indexes: Sequence[int], failed: Sequence[BadEvent]) -> Shape:
    """What the events of a list did; `indexes` are their places in that list."""
    shape = answer_shape(answer)
    for entries, found in ((shape["validated"], answer.validated), (shape["triggered"], answer.triggered)):
        assert isinstance(entries, list)
        for entry, one in zip(entries, found, strict=True):
            entry["event"] = indexes[one.event]
    return shape | {"failed": [{"event": one.index, "field": one.field, "error": one.error} for one in failed]}


def dependency_shape(one: Dependency) -> Shape:
    shape: Shape = {"type": one.type, "resourceId": one.resource, "lifeDuration": one.life_s}
    if one.match is not default_match(one.type, one.resource) or one.match not in (Match.EXACT, Match.DIRECTORY):
        shape["match"] = one.match.value
    if one.outcome is not None:
        shape["outcome"] = one.outcome
    return shape


def configuration_shape(entry: ConfigurationEntry, job_type_names: Mapping[str, str]) -> Shape:
    one, state = entry.configuration, entry.state
    return {
        "uuid": one.uuid,
        "name": one.name,
        "dependencies": _tree_shapes(one, one.tree),
        "job": None if one.logs_only else _job_shape(one, job_type_names),
        "clock": one.clock.value,
        "late": one.late.value,
        "managed_by": one.managed_by or None,
        "created_at": one.created_at,
        "version": state.version,
        "last_execution": time_shape(state.last_execution),
        "last_execution_at": state.last_execution_wall,
        "evaluated": state.evaluated,
        "triggered": state.triggered,
    }


def _job_shape(one: Configuration, job_type_names: Mapping[str, str]) -> Shape:
    return {
        "job_type": job_type_names.get(one.job_type, one.job_type),
        "arguments": one.arguments,
        "priority": one.priority,
    }


def _tree_shapes(configuration: Configuration, group: Group) -> list[Shape]:
    return [
        dependency_shape(configuration.dependencies[part])
        if isinstance(part, int)
        else {"any_of" if part.any_of else "all_of": _tree_shapes(configuration, part)}
        for part in group.parts
    ]


def evaluation_shape(one: Evaluation) -> Shape:
    return {
        "event": {"type": one.type, **_ref_shape(one.event)},
        "verdict": one.verdict.value,
        "at": time_shape(one.at),
        "last_execution": time_shape(one.last_execution),
        "job": one.job,
        "matrix": [row_shape(row) for row in one.matrix],
    }


def row_shape(row: Row) -> Shape:
    return {
        "dependency": dependency_shape(row.dependency),
        "event": _ref_shape(row.event) if row.event else None,
        "by_this_event": row.is_hit,
        "age": None if row.age_us is None else row.age_us / 1_000_000,
        "life": row.dependency.life_s,
        "newer_than_last_execution": row.is_newer,
        "met": row.is_met,
    }


def explanation_shape(name: str, one: Explanation) -> Shape:
    expiry = one.expires_next
    return {
        "configuration": name,
        "explanation": one.sentence,
        "verdict": one.verdict.value if one.verdict else None,
        "matrix": [row_shape(row) for row in (one.last.matrix if one.last else one.standing)],
        "now": [row_shape(row) for row in one.standing],
        "missing": [dependency_shape(dependency) for dependency in one.missing],
        "expires_next": expiry and {"dependency": dependency_shape(expiry.dependency), "at": time_shape(expiry.at)},
        "last_evaluation": evaluation_shape(one.last) if one.last else None,
    }


def validation_shape(one: Validation, configuration: Configuration) -> Shape:
    known = one.dependency < len(configuration.dependencies)
    dependency = dependency_shape(configuration.dependencies[one.dependency]) if known else None
    return {"event": _ref_shape(one.event), "dependency": dependency}


def preview_shape(one: Preview) -> Shape:
    return {"configuration": one.configuration, **evaluation_shape(one.evaluation)}


def _ref_shape(one: EventRef) -> Shape:
    return {
        "id": one.id,
        "resourceId": one.resource,
        "timestamp": time_shape(one.time),
        "received_at": one.received_at,
    }


def time_shape(micros: int | None) -> str | None:
    return None if micros is None else shown_time(micros)
