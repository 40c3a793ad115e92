"""A trigger in plain English, made from the same tree that fires, so that words and fires never disagree."""

from datetime import UTC, datetime, timedelta

from rota.model.triggers.cron.cron import Cron
from rota.model.triggers.durations import duration_words, period_words
from rota.model.triggers.interval import Anchor
from rota.model.triggers.trigger import CronTrigger, FrequencyTrigger, IntervalTrigger, OnceTrigger, Progress, Trigger
from rota.model.triggers.words.days import day_words
from rota.model.triggers.words.times import lists_times, time_words

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
            return f"once at {_iso(trigger.at or 0)}"


def _iso(millis: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds").removesuffix(".000") + " UTC"
