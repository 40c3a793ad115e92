"""The time of day of a cron line in words: `at 2:30`, `every 15 minutes between 9:00 and 17:59`."""

from itertools import product

from rota.model.triggers.cron.cron import Cron
from rota.model.triggers.cron.fields import Field
from rota.model.triggers.words.lists import join_words, list_words, ordinal, stretches
from rota.model.triggers.words.shapes import Every, Run, Shape, Values, shape_of, told_shape

_MAX_LISTED = 8


def time_words(cron: Cron) -> str:
    """When on a day it fires."""
    second, minute, hour = told_shape(cron.second, 60), told_shape(cron.minute, 60), told_shape(cron.hour, 24)
    if lists_times(cron):
        times = product(cron.hour.values, cron.minute.values, cron.second.values)
        return f"at {join_words([clock(*time) for time in times])}"
    if cron.times.per_day == len(cron.hour.values):
        return _hourly(hour, cron.minute.values[0], cron.second.values[0])
    return " ".join(filter(None, (_within_hour(second, minute, hour), _hours(hour))))


def lists_times(cron: Cron) -> bool:
    """Whether its words are a list of times of day."""
    fields = ((cron.second, 60), (cron.minute, 60), (cron.hour, 24))
    if not all(isinstance(told_shape(field, size), Values) for field, size in fields):
        return False
    hours = cron.hour.values
    has_no_stretch = cron.times.per_day == len(hours) == len(stretches(hours))
    return cron.times.per_day <= _MAX_LISTED or has_no_stretch


def clock(hour: int, minute: int, second: int = 0) -> str:
    """`9:05`, or `9:05:30` when there are seconds."""
    return f"{hour}:{minute:02}" + (f":{second:02}" if second else "")


def _hourly(hour: Shape, minute: int, second: int) -> str:
    """One fire in each hour that matches."""
    match hour:
        case Values(values):
            return f"every hour {join_words([_stretch(*pair, minute, second) for pair in stretches(values)])}"
        case Every(1):
            return f"{_past(minute, second)}every hour"
        case Every(step):
            return f"every {step} hours" + (_at(minute, second) if minute or second else "")
        case Run(first, last, step):
            rhythm = "every hour" if step == 1 else f"every {step} hours"
            return f"{rhythm} from {clock(first, minute, second)} to {clock(last, minute, second)}"


def _stretch(first: int, last: int, minute: int, second: int) -> str:
    if first == last:
        return f"at {clock(first, minute, second)}"
    return f"from {clock(first, minute, second)} to {clock(last, minute, second)}"


def _past(minute: int, second: int) -> str:
    if second:
        return f"at minute {minute} and second {second} of "
    if minute:
        return f"at {minute} minute{'' if minute == 1 else 's'} past "
    return ""


def _at(minute: int, second: int) -> str:
    return f" at minute {minute}" + (f" and second {second}" if second else "")


def _within_hour(second: Shape, minute: Shape, hour: Shape) -> str:
    if second == Values((0,)):
        return _rhythm(minute, "minute", "of every hour" if hour == Every(1) or isinstance(hour, Run) else "")
    return f"{_rhythm(second, 'second', 'of every minute' if minute == Every(1) else '')} {_minutes(minute)}".strip()


def _rhythm(shape: Shape, unit: str, listed: str) -> str:
    """`every 5 minutes`, `every second from second 10 to second 20`, `at minutes 5 and 35 of every hour`."""
    match shape:
        case Every(1):
            return f"every {unit}"
        case Every(step):
            return f"every {step} {unit}s"
        case Run(first, last, step):
            rhythm = f"every {unit}" if step == 1 else f"every {step} {unit}s"
            return f"{rhythm} from {unit} {first} to {unit} {last}"
        case Values(values):
            plural = "" if len(values) == 1 else "s"
            return f"at {unit}{plural} {list_words(values)} {listed}".strip()


def _minutes(shape: Shape) -> str:
    """The minutes within which seconds are counted."""
    match shape:
        case Every(1):
            return ""
        case Every(step):
            return f"of every {ordinal(step)} minute"
        case Run(first, last, step):
            which = "of minutes" if step == 1 else f"of every {ordinal(step)} minute from"
            return f"{which} {first} to {last}"
        case Values(values):
            return f"of minute{'' if len(values) == 1 else 's'} {list_words(values)}"


def _hours(shape: Shape) -> str:
    """The hours within which minutes are counted."""
    match shape:
        case Every(1):
            return ""
        case Every(step):
            return f"in every {ordinal(step)} hour"
        case Run(first, last, 1):
            return f"between {first}:00 and {last}:59"
        case Run(first, last, step):
            return f"in every {ordinal(step)} hour between {first}:00 and {last}:59"
        case Values((hour,)):
            return f"between {hour}:00 and {hour}:59"
        case Values(values):
            return f"in the hours of {list_words(values, '{}:00')}"
    raise AssertionError(shape)


def span_of_day(hours: Field) -> str | None:
    """`between 00:00 and 00:59`, when the hours are one stretch and not the whole day."""
    match shape_of(hours, 24):
        case Run(first, last, 1):
            return f"between {first:02}:00 and {last:02}:59"
        case Values((hour,)):
            return f"between {hour:02}:00 and {hour:02}:59"
        case _:
            return None
