"""A trigger in plain English, made from the same tree that fires, so that words and fires never disagree."""

from rota.model.triggers.cron.cron import Cron
from rota.model.triggers.durations import duration_words, period_words
from rota.model.triggers.interval import Anchor
from rota.model.triggers.trigger import CronTrigger, FrequencyTrigger, IntervalTrigger, OnceTrigger, Progress, Trigger
from rota.model.triggers.words.days import day_words
from rota.model.triggers.words.times import lists_times, time_words
from rota.model.triggers.zones.moments import moment

_SINCE = {
    Anchor.START: "",
    Anchor.EPOCH: ", in step with the clock",
    Anchor.SCHEDULED: " after the last one",
    Anchor.ENDED: " after the end of the last run",
}


def cron_words(cron: Cron) -> str:
    """`every 15 minutes between 9:00 and 17:59 on Monday to Friday`. Every line has words."""
    time, days = time_words(cron), day_words(cron)
    if lists_times(cron) and not days.startswith("on "):
        days = f"every day {days}"
    return f"{time} {days}".strip()


def trigger_words(trigger: Trigger, progress: Progress) -> str:
    """Any trigger, without its bounds."""
    match trigger:
        case CronTrigger():
            zone = "" if trigger.zone == "UTC" else f" ({trigger.zone})"
            return cron_words(trigger.parsed(progress)) + zone
        case IntervalTrigger():
            return f"{period_words(trigger.every_ms)}{_SINCE[trigger.anchor]}"
        case FrequencyTrigger():
            return period_words(trigger.time * trigger.unit.millis)
        case OnceTrigger(at=None):
            return f"once, {duration_words(trigger.delay_ms or 0)} after it is made"
        case OnceTrigger():
            at = trigger.at or 0
            return f"once at {moment(at, trigger.zone, timespec='milliseconds' if at % 1000 else 'seconds')}"
