"""Why a configuration fired or did not, in one sentence; what is missing, and what expires next."""

from collections.abc import Sequence

from msgspec import Struct, structs

from rota.model.events.configuration import Configuration, ConfigurationState, Dependency, Group
from rota.model.events.evaluation import (
    Evaluation,
    Row,
    Verdict,
    counts_when_stored,
    lacking,
    place_of,
    standing_rows,
)
from rota.model.events.event import EventRef, shown_time


class Expiry(Struct, frozen=True):
    """A dependency that is valid now, and until when."""

    dependency: Dependency
    at: int
    """Epoch microseconds."""


class Explanation(Struct, frozen=True, kw_only=True):
    """Everything there is to say about a configuration at an instant."""

    sentence: str
    verdict: Verdict | None
    """Of the last event that matched; None before the first."""
    last: Evaluation | None
    standing: tuple[Row, ...]
    """The matrix of what is stored, at the instant of asking."""
    missing: tuple[Dependency, ...]
    """What is not valid at that instant, and would have to come; of `any_of` nothing, once one has come."""
    missing_words: str
    """The same for people, which says of what one suffices."""
    expires_next: Expiry | None


Counted = Sequence[tuple[int, EventRef]]
"""Events that validated a dependency, each with the number of that."""


def with_events_that_counted(configuration: Configuration, evaluation: Evaluation, counted: Counted) -> Evaluation:
    """The evaluation with, in each row, the event that counted at its instant. What is stored of a dependency is its
    newest event, which may have come later than that; then it was an earlier one."""
    rows = [_cited(configuration, row, n, evaluation, counted) for n, row in enumerate(evaluation.matrix)]
    return structs.replace(evaluation, matrix=tuple(rows))


def _cited(configuration: Configuration, row: Row, number: int, evaluation: Evaluation, counted: Counted) -> Row:
    if row.age_us is None or row.age_us >= 0:
        return row
    places = [(place_of(configuration, event), event) for n, event in counted if n == number]
    earlier = [(place, event) for place, event in places if place <= evaluation.at]
    if not earlier:
        return structs.replace(row, event=None, age_us=None, is_newer=None) if row.is_met else row
    place, event = max(earlier, key=lambda one: one[0])
    last = evaluation.last_execution
    is_newer = None if last is None else event.time > last
    return structs.replace(row, event=event, age_us=evaluation.at - place, is_newer=is_newer)


def explain(
    configuration: Configuration, state: ConfigurationState, last: Evaluation | None, now_us: int
) -> Explanation:
    rows = standing_rows(configuration, state, now_us)
    met = [row.is_met for row in rows]
    missing = lacking(configuration.tree, met)
    return Explanation(
        sentence=_sentence(configuration, state, last),
        verdict=last.verdict if last else None,
        last=last,
        standing=rows,
        missing=tuple(rows[n].dependency for n in missing),
        missing_words=_waited_for(configuration.tree, configuration, met) if missing else "",
        expires_next=_next_expiry(configuration, state, now_us),
    )


def _next_expiry(configuration: Configuration, state: ConfigurationState, now_us: int) -> Expiry | None:
    ends = [
        Expiry(dependency, end)
        for n, (dependency, one) in enumerate(zip(configuration.dependencies, state.evidence, strict=True))
        for start, end in one.spans
        if counts_when_stored(configuration, n) and start <= now_us <= end
    ]
    return min(ends, key=lambda one: one.at, default=None)


def _sentence(configuration: Configuration, state: ConfigurationState, last: Evaluation | None) -> str:
    if last is None:
        waits = _waited_for(configuration.tree, configuration, [False] * len(configuration.dependencies))
        return f"{configuration.name} has not fired: no event has matched yet; it waits for {waits}."
    told = f"{last.type} {last.event.resource} of {shown_time(last.event.time)}{_stated(last.event)}"
    match last.verdict:
        case Verdict.TRIGGERED:
            met = " and ".join(_why_met(row, last) for row in last.matrix if row.is_met)
            return f"{configuration.name} fired on {told}, as of {shown_time(last.at)}: {met}."
        case Verdict.UNIQUE:
            return f"{configuration.name} was met by {told}, but a live job has the unique key, so none was made."
        case Verdict.OLDER:
            before = shown_time(last.last_execution or 0)
            return f"{configuration.name} did not fire on {told}: it is not newer than the last execution, {before}."
        case Verdict.DUPLICATE:
            return f"{configuration.name} did not fire on {told}: the event {last.event.id} had been counted before."
    return f"{configuration.name} did not fire on {told}: {_why_unmet(configuration.tree, last.matrix, configuration)}."


def _stated(event: EventRef) -> str:
    """A sender whose clock is ahead is told what became of its timestamp."""
    if event.stated_time is None:
        return ""
    return f" (its sender said {shown_time(event.stated_time)}, which had not come yet)"


def _why_unmet(group: Group, rows: Sequence[Row], configuration: Configuration) -> str:
    """What a group lacks. Of `any_of` one suffices, so all of it is told only if none is there."""
    met = [row.is_met for row in rows]
    lacks = [
        _why_not(rows[part], configuration) if isinstance(part, int) else _why_unmet(part, rows, configuration)
        for part in group.parts
        if _lacks(part, met)
    ]
    if group.any_of and len(lacks) > 1:
        return f"one of these would suffice: {' or '.join(lacks)}"
    return " and ".join(lacks)


def _lacks(part: int | Group, met: Sequence[bool]) -> bool:
    return not met[part] if isinstance(part, int) else bool(lacking(part, met))


def _waited_for(group: Group, configuration: Configuration, met: Sequence[bool]) -> str:
    """What a group lacks, by name."""
    parts = [
        named(configuration.dependencies[part])
        if isinstance(part, int)
        else f"({_waited_for(part, configuration, met)})"
        for part in group.parts
        if _lacks(part, met)
    ]
    return f"any one of {', '.join(parts)}" if group.any_of and len(parts) > 1 else ", ".join(parts)


def _why_met(row: Row, last: Evaluation) -> str:
    if row.is_hit and row.event and row.event.id == last.event.id:
        return f"{named(row.dependency)} is met by this event"
    if row.event is None:
        return f"{named(row.dependency)} was valid then"
    return f"{named(row.dependency)} is valid by {_told(row)} ({_age(row)} of {row.dependency.life_s} s)"


def _told(row: Row) -> str:
    """The event that counted; its resource where the dependency does not say it already."""
    assert row.event is not None
    which = "its event" if row.event.resource == row.dependency.resource else row.event.resource
    return f"{which} of {shown_time(row.event.time)}"


def _why_not(row: Row, configuration: Configuration) -> str:
    what = named(row.dependency)
    if row.event is None:
        return f"{what} has not come yet"
    if row.age_us is not None and row.age_us < 0:
        return f"{what} came later ({shown_time(row.event.time)}), and never together with it"
    if row.dependency.life_s == 0:
        return f"{what} has no life, so only an event of its own meets it"
    return f"{what} has expired (its last event is {_age(row)} old, its life is {row.dependency.life_s} s)"


def _age(row: Row) -> str:
    return f"{(row.age_us or 0) / 1_000_000:g} s"


def named(dependency: Dependency) -> str:
    outcome = f" ({dependency.outcome})" if dependency.outcome else ""
    return f"{dependency.type} {dependency.resource}{outcome}"
