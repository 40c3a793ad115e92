"""The next fires of a trigger, with notes where a clock change touches one."""

from itertools import islice

from msgspec import Struct

from rota.model.triggers.cron.dst_notes import dst_notes
from rota.model.triggers.cron.warnings import cron_warnings
from rota.model.triggers.trigger import CronTrigger, Progress, Trigger, nominals_between

_FAR = 1 << 47
"""Later than any fire."""


class Fire(Struct, frozen=True):
    instant: int
    note: str | None


def next_fires(trigger: Trigger, progress: Progress, after: int, count: int) -> list[Fire]:
    """Up to this many fires after an instant. A note is at the first fire that is not before its clock change."""
    instants = list(islice(nominals_between(trigger, after, _FAR, progress), count))
    notes = []
    if instants and isinstance(trigger, CronTrigger):
        cron = trigger.parsed(progress)
        notes = list(dst_notes(cron, after, instants[-1], zone=trigger.zone, dst=trigger.dst))
    fires = []
    for instant in instants:
        told = [note.text for note in notes if note.instant <= instant]
        notes = notes[len(told) :]
        fires.append(Fire(instant, "; ".join(told) or None))
    return fires


def warnings_of(trigger: Trigger, progress: Progress) -> tuple[str, ...]:
    """What looks like a slip, one sentence each."""
    return cron_warnings(trigger.parsed(progress)) if isinstance(trigger, CronTrigger) else ()
