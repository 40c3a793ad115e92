"""What a person should know when a schedule is defined: it is legal, and perhaps not what was meant."""

from collections.abc import Iterator

from rota.model.schedules.request import ScheduleRequest, make_schedule
from rota.model.schedules.schedule import Overlap, Schedule, ScheduleState
from rota.model.triggers.catch_up import CatchUpMode
from rota.model.triggers.cron.warnings import cron_warnings
from rota.model.triggers.durations import duration_words
from rota.model.triggers.trigger import CronTrigger, IntervalTrigger, next_nominal


def schedule_hints(schedule: Schedule, now: int) -> tuple[str, ...]:
    """One sentence for each thing that looks like a slip, in its times and its policies."""
    trigger, progress = schedule.trigger, schedule.progress(ScheduleState())
    of_times = cron_warnings(trigger.parsed(progress)) if isinstance(trigger, CronTrigger) else ()
    return (*of_times, *_is_over(schedule, now), *_long_jitter(schedule, now), *_skipped_catch_up(schedule))


def request_hints(request: ScheduleRequest, now: int) -> tuple[str, ...]:
    """The same, of a schedule that is not made yet."""
    return schedule_hints(make_schedule(request, uuid="", job_type="", queue="", created_at=now, now=None), now)


def _is_over(schedule: Schedule, now: int) -> Iterator[str]:
    """Only a file may have such a schedule: a process must not refuse to start when a year ends."""
    if next_nominal(schedule.trigger, now - 1, schedule.progress(ScheduleState())) is None:
        yield "its time is over, so it never fires; remove it, or give it a time to come"


def _long_jitter(schedule: Schedule, now: int) -> Iterator[str]:
    trigger, progress = schedule.trigger, schedule.progress(ScheduleState())
    if isinstance(trigger, IntervalTrigger) and not trigger.is_series:
        yield from _jitter_of_pauses(trigger)
        return
    first = next_nominal(trigger, now, progress)
    second = None if first is None else next_nominal(trigger, first, progress)
    if first is not None and second is not None and trigger.jitter_ms > second - first:
        jitter, wait = duration_words(trigger.jitter_ms), duration_words(second - first)
        yield f"its jitter of {jitter} is longer than the {wait} to its next time, and is cut to that"


def _jitter_of_pauses(trigger: IntervalTrigger) -> Iterator[str]:
    """What is counted from the last job has no next time that would cut the jitter."""
    if trigger.jitter_ms > trigger.every_ms:
        jitter, every = duration_words(trigger.jitter_ms), duration_words(trigger.every_ms)
        longest = duration_words(trigger.every_ms + trigger.jitter_ms)
        yield f"its jitter of {jitter} is longer than its interval, so its jobs come {every} to {longest} apart"


def _skipped_catch_up(schedule: Schedule) -> Iterator[str]:
    if schedule.catch_up.mode is CatchUpMode.ALL and schedule.overlap is Overlap.SKIP:
        yield (
            "after downtime catch_up: all fires the first missed time, and overlap: skip skips the others while its "
            "job is there; say overlap: buffer_all to run each of them, one after another"
        )
