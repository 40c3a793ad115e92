"""Why a schedule makes no job now, and when it will."""

from msgspec import Struct

from rota.model.job_type import JobType
from rota.model.schedules.schedule import Schedule, ScheduleState, Tick, TickStatus
from rota.model.schedules.ticking import Situation, has_run_often_enough, is_excluded, reason_to_skip
from rota.model.triggers.zones.moments import moment
from rota.model.why.answer import Answer, Code, Reason, answer
from rota.model.why.queue import QueueFacts, why_closed
from rota.model.why.words import ago, count_of, until


class ScheduleFacts(Struct, frozen=True, kw_only=True):
    """What is known of a schedule at an instant."""

    schedule: Schedule
    state: ScheduleState
    situation: Situation
    queue: QueueFacts
    """Of its jobs."""
    job_type: JobType | None
    """None: it is gone."""
    has_scheduler: bool
    """Whether any node that fires schedules lives."""
    last: Tick | None = None

    @property
    def now(self) -> int:
        return self.situation.now

    @property
    def zone(self) -> str:
        return self.schedule.trigger.zone


def why_schedule(facts: ScheduleFacts) -> Answer:
    """Why a schedule does not fire at this moment. What stops its jobs afterwards comes last."""
    stopped = [*_type_missing(facts), *_paused(facts), *_over(facts)]
    waits = [] if stopped else [*_no_scheduler(facts), *_overlaps(facts), *_waits_for_its_time(facts)]
    return answer([*stopped, *waits, *_last_tick(facts), *why_closed(facts.queue)], _starting(facts))


def _type_missing(facts: ScheduleFacts) -> list[Reason]:
    if facts.job_type is not None:
        return []
    gone = facts.schedule.job_type
    sentence = f"Its job type {gone} is gone, so it cannot make jobs; define the type again, or give it another."
    return [Reason(code=Code.DEFINITION_MISSING, sentence=sentence, job_type=gone)]


def _paused(facts: ScheduleFacts) -> list[Reason]:
    schedule = facts.schedule
    if not schedule.paused:
        return []
    note = f" ({schedule.pause_note})" if schedule.pause_note else ""
    sentence = f"It is paused{note}; `rota schedule resume {schedule.name}` lets it fire again."
    return [Reason(code=Code.PAUSED, sentence=sentence, note=schedule.pause_note or None)]


def _over(facts: ScheduleFacts) -> list[Reason]:
    """No tick comes any more: it ran often enough, or its time is over."""
    schedule, state = facts.schedule, facts.state
    if schedule.paused or state.due is not None:
        return []
    if has_run_often_enough(schedule, state):
        sentence = f"It is over: it made all of its {count_of(state.runs, 'job', 'jobs')} (max_runs)."
    elif schedule.trigger.end is not None and schedule.trigger.end < facts.now:
        sentence = f"It is over: it ended at {moment(schedule.trigger.end, facts.zone)}."
    else:
        sentence = "It is over: no instant of it is left."
    return [Reason(code=Code.ENDED, sentence=sentence, since=state.last_scheduled_at)]


def _waits_for_end(facts: ScheduleFacts) -> bool:
    return facts.schedule.waits_for_end and bool(facts.situation.live_jobs)


def _no_scheduler(facts: ScheduleFacts) -> list[Reason]:
    if facts.has_scheduler:
        return []
    sentence = "No live node fires schedules; start one with `rota scheduler`, or `rota up`."
    return [Reason(code=Code.NO_LIVE_NODE, sentence=sentence)]


def _overlaps(facts: ScheduleFacts) -> list[Reason]:
    """A job of an earlier tick is in the way: of its last tick, or of the one that is due."""
    job = facts.situation.live_jobs[-1] if facts.situation.live_jobs else None
    if _waits_for_end(facts):
        sentence = f"Its next tick is counted from the end of job {job}, which has not ended."
        return [Reason(code=Code.PREVIOUS_RUNNING, sentence=sentence, job=job)]
    if not reason_to_skip(facts.schedule, facts.situation) or not (_was_skipped(facts) or _is_due(facts)):
        return []
    overlap = facts.schedule.overlap.value
    sentence = f"Job {job} of an earlier tick has not ended; until it has, ticks are skipped (overlap: {overlap})."
    return [Reason(code=Code.PREVIOUS_RUNNING, sentence=sentence, job=job)]


def _was_skipped(facts: ScheduleFacts) -> bool:
    return facts.last is not None and facts.last.status is TickStatus.SKIPPED and facts.last.reason == "overlap"


def _is_due(facts: ScheduleFacts) -> bool:
    return facts.state.due is not None and facts.state.due <= facts.now


def _waits_for_its_time(facts: ScheduleFacts) -> list[Reason]:
    nominal, due = facts.state.nominal, facts.state.due
    if nominal is None and not _waits_for_end(facts):
        sentence = "Its next tick is counted from the end of its last job, which is looked at within moments."
        return [Reason(code=Code.NOT_DUE, sentence=sentence)]
    if nominal is None or due is None or _is_due(facts):
        return []
    told, start = until(due, facts.now, facts.zone), facts.schedule.trigger.start
    if start is not None and facts.now < start:
        sentence = f"Its time begins at {moment(start, facts.zone)}; its first tick waits {told}."
        found = [Reason(code=Code.BEFORE_START, sentence=sentence, since=start, until=due)]
    else:
        found = [Reason(code=Code.NOT_DUE, sentence=f"Its next tick waits {told}.", until=due)]
    if is_excluded(facts.schedule, nominal):
        sentence = f"Its next tick, {moment(nominal, facts.zone)}, falls on a day that it leaves out, and makes no job."
        found.append(Reason(code=Code.EXCLUDED_DAY, sentence=sentence, until=nominal))
    return found


def _last_tick(facts: ScheduleFacts) -> list[Reason]:
    """What became of the last tick, if it made no job."""
    last = facts.last
    if last is None or last.status is TickStatus.FIRED:
        return []
    code = Code.TICK_SKIPPED if last.status is TickStatus.SKIPPED else Code.TICK_MISSED
    what = f"Its last tick, {moment(last.until or last.nominal, facts.zone)}, was {last.status.value}"
    sentence = f"{what}: {_TICK_WORDS.get(last.reason, last.reason)}."
    return [Reason(code=code, sentence=sentence, since=last.nominal)]


_TICK_WORDS = {
    "overlap": "a job of an earlier tick had not ended",
    "buffer_full": "too many of its jobs were waiting",
    "excluded": "it fell on a day that the schedule leaves out",
    "unique": "a live job had the unique key of the one to be made",
    "paused": "the schedule was paused",
    "no_catch_up": "no scheduler was there in time, and the schedule does not catch up",
    "outside_window": "no scheduler was there in time, and it is too old to catch up on",
    "superseded": "no scheduler was there in time, and a later one was fired instead",
    "over_cap": "no scheduler was there in time, and there were too many to catch up on",
    "edited": "the schedule got other times before it was decided",
}


def _starting(facts: ScheduleFacts) -> Reason:
    due = facts.state.due
    told = f"it is due since {moment(due, facts.zone)}, {ago(due, facts.now)}" if due else "it is due"
    return Reason(code=Code.STARTING, sentence=f"Nothing is in its way: {told}, and fires within moments.", since=due)
