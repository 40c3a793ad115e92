"""What a person should know before a cron line is saved: it is legal, and perhaps not what was meant."""

from collections.abc import Iterator

from rota.model.triggers.cron.cron import Cron, Days, Dialect
from rota.model.triggers.cron.fields import Field
from rota.model.triggers.words.days import takes_either
from rota.model.triggers.words.lists import MONTHS, join_words
from rota.model.triggers.words.shapes import Values, shape_of
from rota.model.triggers.words.times import span_of_day

_ONCE_A_MINUTE = 24 * 60
_MONTH_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def cron_warnings(cron: Cron) -> tuple[str, ...]:
    """One sentence for each thing that looks like a slip; empty for a line without any."""
    return (
        *_too_often(cron),
        *_every_minute_of_an_hour(cron),
        *_six_fields(cron),
        *_quartz_by_itself(cron),
        *_either_day(cron),
        *_every_day_after_all(cron),
        *_uneven_steps(cron),
        *_missing_days(cron),
        *_leap_day(cron),
    )


def _too_often(cron: Cron) -> Iterator[str]:
    """More than once a minute. The likely slip is a line that began with the minutes."""
    if cron.times.per_day <= _ONCE_A_MINUTE:
        return
    texts = cron.text.split(" ")
    meant = " ".join(["0", texts[0], "*", *texts[3:]])
    yield f"{_fires(cron)}; did you mean `{meant}`?"


def _fires(cron: Cron) -> str:
    """`3600 fires between 00:00 and 00:59 each day`."""
    return " ".join(filter(None, (f"{cron.times.per_day} fires", span_of_day(cron.hour), "each day")))


def _every_minute_of_an_hour(cron: Cron) -> Iterator[str]:
    is_rare = isinstance(shape_of(cron.hour, 24), Values) and len(cron.second.values) == 1
    if not (is_rare and cron.minute.is_full):
        return
    texts = cron.text.split(" ")
    texts[cron.field_count > 5] = "0"
    yield f"{_fires(cron)}; did you mean `{' '.join(texts)}`?"


def _six_fields(cron: Cron) -> Iterator[str]:
    if cron.field_count != 6:
        return
    if cron.second.values != (0,):
        yield "6 fields: the first one is read as seconds; programs that put seconds last read this line otherwise"
    if cron.dialect is Dialect.UNIX and not cron.weekday.is_full and any(map(str.isdigit, cron.weekday.text)):
        yield (
            f'weekday "{cron.weekday.text}" is counted from Sunday = 0; Quartz counts from Sunday = 1: '
            "write names such as FRI, or ? for the day, to be sure"
        )


def _quartz_by_itself(cron: Cron) -> Iterator[str]:
    """Digits mean other days in Quartz, and nobody said that it is."""
    if not cron.takes_itself_for_quartz or cron.weekday.is_full:
        return
    if any(map(str.isdigit, cron.weekday.text.partition("#")[0])):
        form = "of its 7 fields" if cron.field_count == 7 else "of the ?"
        yield (
            f'weekday "{cron.weekday.text}" is counted from Sunday = 1, as in Quartz, because {form}; Unix counts from '
            "Sunday = 0: write names such as FRI, or say dialect: quartz, to be sure"
        )


def _either_day(cron: Cron) -> Iterator[str]:
    if takes_either(cron):
        yield (
            f'day "{cron.day.text}" and weekday "{cron.weekday.text}" are both restricted: it fires when either '
            "matches; say days: both to ask for both"
        )


def _every_day_after_all(cron: Cron) -> Iterator[str]:
    """`0 0 1-31 * 5`: either is enough, and one of them is every day."""
    day, weekday = cron.day, cron.weekday
    if day.is_full and not day.is_open and not weekday.is_full and not weekday.is_open and cron.days == Days.EITHER:
        yield (
            f'day "{day.text}" is every day, so it fires every day, whatever the weekday "{weekday.text}" says; '
            "write * for the day to let the weekday decide"
        )


def _uneven_steps(cron: Cron) -> Iterator[str]:
    rounds = ((cron.second, 60, "s", "minute"), (cron.minute, 60, "m", "hour"), (cron.hour, 24, "h", "day"))
    for field, size, unit, round_name in rounds:
        step = _lone_star_step(field)
        if step > 1 and size % step:
            effect = "fires once in it" if step > size else "its last wait is shorter"
            yield (
                f'"{field.text}" begins anew each {round_name}, so {effect}; '
                f"for an even rhythm use `@every {step}{unit}`"
            )


def _lone_star_step(field: Field) -> int:
    spans = field.spans
    return spans[0].step if len(field.parts) == 1 and spans and spans[0].is_star else 1


def _missing_days(cron: Cron) -> Iterator[str]:
    """Months that a late day leaves out."""
    if cron.day.rules or not cron.day.values or cron.day.values[0] < 29 or takes_either(cron):
        return
    first = cron.day.values[0]
    missing = [MONTHS[month - 1] for month in cron.month.values if _MONTH_LENGTHS[month - 1] < first]
    if missing:
        yield f"day {first} does not exist in {join_words(missing, 'or')}; L is the last day of every month"


def _leap_day(cron: Cron) -> Iterator[str]:
    """29 February and nothing else."""
    if cron.day.values == (29,) and cron.month.values == (2,) and not cron.day.rules and not takes_either(cron):
        yield "29 February comes in leap years only; L is the last day of every February"
