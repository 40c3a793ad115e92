"""Whether an event triggers a configuration. The only place with these rules.

1. Admission, once, when the event arrives: it must be newer than the last execution, and the end of a job always is.
   Evidence that was admitted is ended by its life only, never by a job.
2. The event is evidence for every dependency that it hits. An older one that comes late never shortens what is valid.
3. The rule must hold at an instant, `met_at`, not before the event and within its life. A dependency holds then if the
   event in hand hits it and lives, or if a stored event does: it came no later than that and its life reaches it, both
   ends included. A dependency without a life is met by the event in hand alone, at its own instant; `late: join` lets
   stored events serve there too. For events that come in order `met_at` is the event's own time.
4. Then a job is made, and `met_at` is the last execution.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct, structs

from rota.model.events.configuration import (
    MAX_SPANS,
    ClockKind,
    Configuration,
    ConfigurationState,
    Dependency,
    Evidence,
    Group,
    Late,
)
from rota.model.events.event import Event, EventRef, ref_of


class Verdict(StrEnum):
    TRIGGERED = "triggered"
    WAITING = "waiting"
    """It validated something, but not everything is met."""
    OLDER = "older"
    """Not newer than the last execution, so it validates nothing."""
    DUPLICATE = "duplicate"
    """An event with its id validated something before."""
    UNIQUE = "unique"
    """All was met, but a live job holds the unique key of the one that was to be made."""


class Row(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One dependency in the matrix of an evaluation."""

    dependency: Dependency
    is_met: bool
    is_hit: bool = False
    """By the event in hand."""
    event: EventRef | None = None
    """The event in hand, or the newest stored one."""
    age_us: int | None = None
    """Its age at the instant of the evaluation; negative when it is later than that."""
    is_newer: bool | None = None
    """Than the last execution before this evaluation."""


class Evaluation(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one event meant for one configuration."""

    event: EventRef
    type: str
    verdict: Verdict
    at: int
    """The instant for which the matrix holds: `met_at`, or the event's own place."""
    matrix: tuple[Row, ...]
    last_execution: int | None = None
    """Before this evaluation."""
    job: str | None = None


class Judgement(Struct, frozen=True):
    """An evaluation and what it makes of the state."""

    evaluation: Evaluation
    state: ConfigurationState
    hits: tuple[int, ...]
    """Dependencies that the event validated; none if it was not admitted."""


def evaluate(
    configuration: Configuration, state: ConfigurationState, event: Event, *, is_known: bool = False
) -> Judgement:
    """Judge an event that hits at least one dependency. `is_known`: an event with its own id validated before."""
    hits = configuration.hits(event)
    place = place_of(configuration, event)
    last = state.last_execution
    counted = structs.replace(state, version=state.version + 1, evaluated=state.evaluated + 1)
    if is_known or (last is not None and event.time <= last):
        verdict = Verdict.DUPLICATE if is_known else Verdict.OLDER
        return Judgement(_told(configuration, state, event, verdict, place, ()), counted, ())
    met_at = find_met_at(configuration, state.evidence, hits, place)
    moved = structs.replace(counted, evidence=_with_event(configuration, state.evidence, hits, event, place))
    if met_at is None:
        return Judgement(_told(configuration, state, event, Verdict.WAITING, place, hits), moved, hits)
    return Judgement(
        _told(configuration, state, event, Verdict.TRIGGERED, met_at, hits),
        _executed(moved, met_at if last is None else max(met_at, last), event.received_at),
        hits,
    )


def as_seen_by(state: ConfigurationState, event: Event) -> Event:
    """The event with its time for one configuration: one that is always newer comes behind the last execution."""
    last = state.last_execution
    if not event.is_always_newer or last is None or event.time > last:
        return event
    return structs.replace(event, time=last + 1)


def place_of(configuration: Configuration, event: Event | EventRef) -> int:
    """Where an event stands on the configuration's clock."""
    return event.time if configuration.clock is ClockKind.EVENT else event.received_at * 1_000


def find_met_at(
    configuration: Configuration, evidence: Sequence[Evidence], hits: Sequence[int], place: int
) -> int | None:
    """The first instant, not before the event and within its life, at which the rule holds.

    The rule can begin to hold only where the event or a stored stretch begins, so only these instants are tried.
    """
    lives = {n: configuration.dependencies[n].life_us for n in hits}
    reach = place + max(lives.values())
    starts = {start for one in evidence for start, _ in one.spans if place < start <= reach}
    for met_at in sorted({place, *starts}):
        if _holds(configuration.tree, _met(configuration, evidence, lives, place, met_at)):
            return met_at
    return None


def _met(
    configuration: Configuration, evidence: Sequence[Evidence], lives: dict[int, int], place: int, at: int
) -> list[bool]:
    """For each dependency whether it is met at an instant."""
    return [
        (n in lives and at - place <= lives[n]) or (counts_when_stored(configuration, n) and evidence[n].covers(at))
        for n in range(len(configuration.dependencies))
    ]


def counts_when_stored(configuration: Configuration, number: int) -> bool:
    return configuration.dependencies[number].life_s > 0 or configuration.late is Late.JOIN


def _holds(group: Group, met: Sequence[bool]) -> bool:
    holds = (met[part] if isinstance(part, int) else _holds(part, met) for part in group.parts)
    return any(holds) if group.any_of else all(holds)


def lacking(group: Group, met: Sequence[bool]) -> list[int]:
    """The dependencies that keep the rule from holding. Of `any_of`, where one suffices, all or none."""
    if _holds(group, met):
        return []
    parts = (([part] if not met[part] else []) if isinstance(part, int) else lacking(part, met) for part in group.parts)
    return [number for part in parts for number in part]


def holds_at(configuration: Configuration, evidence: Sequence[Evidence], instant: int) -> list[bool]:
    """For each dependency whether what is stored meets it at an instant."""
    return _met(configuration, evidence, {}, instant, instant)


def _with_event(
    configuration: Configuration, evidence: Sequence[Evidence], hits: Sequence[int], event: Event, place: int
) -> tuple[Evidence, ...]:
    after = list(evidence)
    for n in hits:
        newest = after[n].newest
        is_newest = newest is None or place >= place_of(configuration, newest)
        spans = after[n].spans
        if counts_when_stored(configuration, n):
            spans = merged([*spans, (place, place + configuration.dependencies[n].life_us)])[-MAX_SPANS:]
        after[n] = Evidence(ref_of(event) if is_newest else newest, spans)
    return tuple(after)


def merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same stretches in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


def _executed(state: ConfigurationState, met_at: int, now: int) -> ConfigurationState:
    """After a job. Stretches that ended before it can serve no event that is still admitted."""
    evidence = tuple(
        Evidence(one.newest, tuple(span for span in one.spans if span[1] >= met_at)) for one in state.evidence
    )
    return structs.replace(
        state, evidence=evidence, last_execution=met_at, last_execution_wall=now, triggered=state.triggered + 1
    )


def _told(
    configuration: Configuration,
    state: ConfigurationState,
    event: Event,
    verdict: Verdict,
    at: int,
    hits: Sequence[int],
) -> Evaluation:
    place = place_of(configuration, event)
    lives = {n: configuration.dependencies[n].life_us for n in hits}
    met = _met(configuration, state.evidence, lives, place, at)
    rows = [_row(configuration, state, n, met[n], event if n in lives else None, at) for n in range(len(met))]
    return Evaluation(
        event=ref_of(event),
        type=event.type,
        verdict=verdict,
        at=at,
        matrix=tuple(rows),
        last_execution=state.last_execution,
    )


def _row(
    configuration: Configuration,
    state: ConfigurationState,
    number: int,
    is_met: bool,
    event: Event | None,
    at: int,
) -> Row:
    ref = ref_of(event) if event else state.evidence[number].newest
    last = state.last_execution
    return Row(
        dependency=configuration.dependencies[number],
        is_met=is_met,
        is_hit=event is not None,
        event=ref,
        age_us=None if ref is None else at - place_of(configuration, ref),
        is_newer=None if last is None or ref is None else ref.time > last,
    )


def standing_rows(configuration: Configuration, state: ConfigurationState, now_us: int) -> tuple[Row, ...]:
    """The matrix of what is stored, at an instant."""
    met = holds_at(configuration, state.evidence, now_us)
    return tuple(_row(configuration, state, n, met[n], None, now_us) for n in range(len(met)))
