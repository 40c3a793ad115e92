"""Why a configuration fired or did not, in one sentence; what is missing, and what expires next."""

from msgspec import Struct

from rota.model.events.configuration import Configuration, ConfigurationState, Dependency
from rota.model.events.evaluation import Evaluation, Row, Verdict, counts_when_stored, standing_rows
from rota.model.events.event import shown_time


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
    """What is not valid at that instant, and would have to come."""
    expires_next: Expiry | None


def explain(
    configuration: Configuration, state: ConfigurationState, last: Evaluation | None, now_us: int
) -> Explanation:
    rows = standing_rows(configuration, state, now_us)
    return Explanation(
        sentence=_sentence(configuration, state, last),
        verdict=last.verdict if last else None,
        last=last,
        standing=rows,
        missing=tuple(row.dependency for row in rows if not row.is_met),
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
        waits = ", ".join(named(one) for one in configuration.dependencies)
        return f"{configuration.name} has not fired: no event has matched yet; it waits for {waits}."
    told = f"{last.type} {last.event.resource} of {shown_time(last.event.time)}"
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
    lacking = " and ".join(_why_not(row, configuration) for row in last.matrix if not row.is_met)
    return f"{configuration.name} did not fire on {told}: {lacking}."


def _why_met(row: Row, last: Evaluation) -> str:
    if row.is_hit and row.event and row.event.id == last.event.id:
        return f"{named(row.dependency)} is met by this event"
    return f"{named(row.dependency)} is valid ({_age(row)} of {row.dependency.life_s} s)"


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
