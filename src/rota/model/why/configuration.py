"""Why a configuration makes no job now. What an event meant is decided in `model/events/evaluation.py`."""

from msgspec import Struct

from rota.model.events.configuration import Configuration, ConfigurationState
from rota.model.events.evaluation import Evaluation, Row, Verdict, lacking, standing_rows
from rota.model.events.explanation import named
from rota.model.job_type import JobType
from rota.model.triggers.zones.moments import moment
from rota.model.why.answer import Answer, Code, Reason, answer
from rota.model.why.queue import QueueFacts, why_closed
from rota.model.why.words import roughly


class ConfigurationFacts(Struct, frozen=True, kw_only=True):
    """What is known of a configuration at an instant."""

    configuration: Configuration
    state: ConfigurationState
    queue: QueueFacts
    """Of its jobs."""
    job_type: JobType | None
    """None: it is gone."""
    last: Evaluation | None = None
    """Of the last event that matched."""
    zone: str = "UTC"


def why_configuration(facts: ConfigurationFacts) -> Answer:
    """Why a configuration has not made a job: its last event first, then what would have to come."""
    reasons = [*_type_missing(facts), *_last_event(facts), *_lacking(facts), *why_closed(facts.queue)]
    return answer(reasons, _event_missing(facts))


def _type_missing(facts: ConfigurationFacts) -> list[Reason]:
    if facts.job_type is not None:
        return []
    gone = facts.configuration.job_type
    sentence = (
        f"Its job type {gone} is gone, so the jobs that it makes fail; define the type again, or give it another."
    )
    return [Reason(code=Code.DEFINITION_MISSING, sentence=sentence, job_type=gone)]


def _last_event(facts: ConfigurationFacts) -> list[Reason]:
    """What the last event that matched came to, unless it only validated something."""
    last = facts.last
    if last is None or last.verdict is Verdict.WAITING:
        return []
    code, job = _CODES[last.verdict], last.job
    told = f"{last.type} {last.event.resource} of {_moment(last.event.time, facts)}"
    match last.verdict:
        case Verdict.TRIGGERED:
            sentence = f"It fired on {told} and made job {job}."
        case Verdict.OLDER:
            before = _moment(last.last_execution or 0, facts)
            sentence = f"Its last event, {told}, was not newer than the last execution, {before}, so it did not count."
        case Verdict.DUPLICATE:
            sentence = f"Its last event, {told}, did not count: one with the id {last.event.id} had counted before."
        case _:
            sentence = f"It was met by {told}, but a live job has the unique key of the one to be made."
    return [Reason(code=code, sentence=sentence, event=last.event.id, job=job, since=last.event.received_at)]


_CODES = {
    Verdict.TRIGGERED: Code.FIRED,
    Verdict.OLDER: Code.STALE_EVENT,
    Verdict.DUPLICATE: Code.DUPLICATE_EVENT,
    Verdict.UNIQUE: Code.UNIQUE_KEY_TAKEN,
}


def _lacking(facts: ConfigurationFacts) -> list[Reason]:
    """The dependencies that are not valid now and keep the rule from holding."""
    rows = standing_rows(facts.configuration, facts.state, facts.queue.now * 1_000)
    numbers = lacking(facts.configuration.tree, [row.is_met for row in rows])
    return [_lacks(rows[number], facts) for number in numbers]


def _lacks(row: Row, facts: ConfigurationFacts) -> Reason:
    what = named(row.dependency)
    if row.event is None:
        sentence = f"{what} has not come yet."
        return Reason(code=Code.DEPENDENCY_MISSING, sentence=sentence, dependency=row.dependency)
    if row.dependency.life_s == 0:
        sentence = f"{what} has no life: only an event of its own, while all else is valid, meets it."
        return Reason(code=Code.DEPENDENCY_MISSING, sentence=sentence, dependency=row.dependency, event=row.event.id)
    life = roughly(row.dependency.life_s * 1_000)
    if (row.age_us or 0) < 0:
        sentence = f"{what} is dated in the future, {_moment(row.event.time, facts)}, and not valid before."
        return Reason(code=Code.DEPENDENCY_MISSING, sentence=sentence, dependency=row.dependency, event=row.event.id)
    sentence = f"{what} has expired: its last event came {_moment(row.event.time, facts)}, and its life is {life}."
    return Reason(
        code=Code.DEPENDENCY_EXPIRED,
        sentence=sentence,
        dependency=row.dependency,
        event=row.event.id,
        since=row.event.time // 1_000 + row.dependency.life_s * 1_000,
    )


def _event_missing(facts: ConfigurationFacts) -> Reason:
    sentence = (
        "All that it needs is valid; it fires on the next event that matches and is newer than the last execution."
    )
    return Reason(code=Code.EVENT_MISSING, sentence=sentence)


def _moment(us: int, facts: ConfigurationFacts) -> str:
    return moment(us // 1_000, facts.zone)
