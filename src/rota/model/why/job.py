"""Why a job does not run, or what it does instead."""

from msgspec import Struct

from rota.model.job import Job, JobState
from rota.model.job_type import JobType
from rota.model.node import Node
from rota.model.rate import name_of_key, rate_of_key
from rota.model.runs.failure import cut, failure_words
from rota.model.schedules.schedule import LOCK_PREFIX
from rota.model.triggers.zones.moments import moment
from rota.model.why.answer import Answer, Code, Reason, answer
from rota.model.why.queue import QueueFacts, why_closed, why_full
from rota.model.why.words import ago, count_of, roughly, until


class JobFacts(Struct, frozen=True, kw_only=True):
    """What is known of a job at an instant."""

    job: Job
    queue: QueueFacts
    job_type: JobType | None
    """None: it is gone."""
    node: Node | None = None
    """The node that runs it, if it lives."""
    ahead: int = 0
    """Jobs that are given out before it."""
    lock_holder: str | None = None
    limited_until: int | None = None
    """If its rate is used up: when the next job with its rate key may start."""
    zone: str = "UTC"
    """In which the sentence tells times."""

    @property
    def now(self) -> int:
        return self.queue.now

    @property
    def type_name(self) -> str:
        return self.job_type.name if self.job_type else self.job.spec.job_type


def why_job(facts: JobFacts) -> Answer:
    """Why a job is where it is."""
    if facts.job.state.is_final:
        return Answer(_ended(facts))
    if facts.job.state is JobState.RUNNING:
        return Answer(_running(facts), tuple(_beside_running(facts)))
    in_time = [_waits_for_its_time(facts)] if facts.job.state is JobState.DELAYED else []
    reasons = [*_type_missing(facts), *in_time, *why_closed(facts.queue)]
    if not in_time:
        reasons += _in_the_way(facts)
    return answer(reasons, _starting(facts))


def _ended(facts: JobFacts) -> Reason:
    job = facts.job
    words = failure_words(job.errors, job.results) if job.state is JobState.FAILED else None
    sentence = f"It {_END_WORDS[job.state]} at {moment(job.ended_at or 0, facts.zone)}"
    if job.attempts > 1:
        sentence += f", after {job.attempts} attempts"
    sentence += f": {cut(words)}." if words else "."
    return Reason(
        code=Code.ENDED,
        sentence=sentence,
        since=job.ended_at,
        state=job.state.value,
        attempts=job.attempts,
        node=job.node,
        error=job.errors if job.errors is not None else words,
    )


_END_WORDS = {
    JobState.SUCCEEDED: "succeeded",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "was cancelled",
}


def _running(facts: JobFacts) -> Reason:
    job, since = facts.job, facts.job.started_at or facts.now
    ends = _latest_end(facts)
    sentence = f"It runs since {moment(since, facts.zone)}, {roughly(facts.now - since)} now, on node {job.node}"
    sentence += f"; it is stopped at {moment(ends, facts.zone)} at the latest." if ends else "."
    return Reason(
        code=Code.RUNNING, sentence=sentence, since=since, until=ends, node=job.node, attempts=max(job.attempts, 1)
    )


def _latest_end(facts: JobFacts) -> int | None:
    timeout_ms = facts.job.spec.timeout_ms or (facts.job_type.timeout_ms if facts.job_type else None)
    started_at = facts.job.started_at
    return started_at + timeout_ms if timeout_ms and started_at else None


def _beside_running(facts: JobFacts) -> list[Reason]:
    found, node = [], facts.job.node
    if facts.job.cancel_requested:
        sentence = "Its cancellation was asked for; its node ends it."
        found.append(Reason(code=Code.CANCELLING, sentence=sentence, node=node))
    if facts.node is None:
        sentence = f"Its node {node} is silent; if it is dead, the job is taken from it within 25 seconds."
        found.append(Reason(code=Code.NODE_SILENT, sentence=sentence, node=node))
    return found


def _type_missing(facts: JobFacts) -> list[Reason]:
    if facts.job_type is not None:
        return []
    gone = facts.job.spec.job_type
    sentence = f"Its job type {gone} is gone: it fails when a node takes it; define the type again, or cancel the job."
    return [Reason(code=Code.DEFINITION_MISSING, sentence=sentence, job_type=gone)]


def _waits_for_its_time(facts: JobFacts) -> Reason:
    job, due = facts.job, facts.job.available_at
    told = until(due, facts.now, facts.zone)
    if not job.attempts:
        return Reason(code=Code.NOT_DUE, sentence=f"It waits {told}.", until=due)
    error = job.past[-1].error if job.past else None
    sentence = f"Attempt {job.attempts} failed{f': {cut(error)}' if error else ''}; the next one waits {told}."
    return Reason(code=Code.BACKING_OFF, sentence=sentence, until=due, attempts=job.attempts, error=error)


def _in_the_way(facts: JobFacts) -> list[Reason]:
    """What keeps a ready job of an open queue from a slot."""
    held = [_lock_held(facts)] if facts.lock_holder and facts.limited_until is None else []
    limited = [] if facts.limited_until is None else [_rate_limited(facts, facts.limited_until)]
    behind = [_behind(facts)] if facts.ahead and not held and not limited else []
    return [*held, *limited, *why_full(facts.queue), *behind]


def _rate_limited(facts: JobFacts, at: int) -> Reason:
    key = facts.job.spec.rate_key or ""
    told, line = until(at, facts.now, facts.zone), ""
    if facts.ahead:
        line = f", and {count_of(facts.ahead, 'other waits', 'others wait')} before it"
    of = f"{facts.type_name!r}{_sharing(facts, key)}"
    sentence = f"It waits {told}: at most {rate_of_key(key).words} may start of {of}{line}."
    return Reason(
        code=Code.RATE_LIMITED, sentence=sentence, until=at, ahead=facts.ahead or None, job_type=facts.type_name
    )


def _sharing(facts: JobFacts, key: str) -> str:
    """Whom the rate is for, if not for the job type."""
    name = name_of_key(key)
    return "" if name == facts.job.spec.job_type else f" for {cut(name)!r}"


def _lock_held(facts: JobFacts) -> Reason:
    holder, lock = facts.lock_holder, facts.job.spec.lock_key or ""
    line = f"; {count_of(facts.ahead, 'other waits', 'others wait')} before it" if facts.ahead else ""
    if lock.startswith(LOCK_PREFIX):
        sentence = f"It waits for job {holder}, of an earlier tick of its schedule{line}."
        return Reason(code=Code.PREVIOUS_RUNNING, sentence=sentence, job=holder, ahead=facts.ahead)
    sentence = f"It waits for job {holder}: only one of {facts.type_name!r} runs at a time{line}."
    return Reason(code=Code.LOCK_HELD, sentence=sentence, job=holder, ahead=facts.ahead, job_type=facts.type_name)


def _behind(facts: JobFacts) -> Reason:
    sentence = f"{count_of(facts.ahead, 'job is', 'jobs are')} before it in the queue {facts.queue.name!r}."
    return Reason(code=Code.BEHIND, sentence=sentence, ahead=facts.ahead, node_type=facts.queue.name)


def _starting(facts: JobFacts) -> Reason:
    since = facts.job.available_at
    sentence = f"Nothing is in its way: it became ready {ago(since, facts.now)}, and a node takes it within moments."
    return Reason(code=Code.STARTING, sentence=sentence, since=since, node_type=facts.queue.name)
