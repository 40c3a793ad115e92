"""The days of a cron line in words: `on Monday to Friday`, `on the last day of the month or on Friday`."""

from collections.abc import Iterable, Sequence

from rota.model.triggers.cron.cron import Cron, Days
from rota.model.triggers.cron.fields import DayRule, Field, RuleKind, Span
from rota.model.triggers.words.lists import MONTHS, NTH, WEEKDAYS, join_words, ordinal


def day_words(cron: Cron) -> str:
    """On which days, months and years; empty for every day."""
    by_day, by_weekday = _restrictions(cron)
    months = _months(cron.month)
    if by_day and not by_weekday:
        return _joined(_days(cron.day, months or "the month"), "", cron)
    days = _days(cron.day, "the month") if by_day else ""
    if by_day and by_weekday:
        days = _both(cron, days)
    elif by_weekday:
        days = f"on {join_words(_weekdays(cron.weekday))}"
    # A comma, where the months could be taken to belong to the weekday alone.
    apart = "," if by_day and by_weekday and months else ""
    return _joined(days + apart, f"in {months}" if months else "", cron)


def _restrictions(cron: Cron) -> tuple[bool, bool]:
    """Whether the day and the weekday restrict anything. Where either is enough, one that is full frees both."""
    by_day, by_weekday = not cron.day.is_full, not cron.weekday.is_full
    if _is_enough(cron) and not (by_day and by_weekday):
        return False, False
    return by_day, by_weekday


def _is_enough(cron: Cron) -> bool:
    """Whether one of day and weekday is enough, rather than both."""
    return cron.days is Days.EITHER and not cron.day.is_open and not cron.weekday.is_open


def takes_either(cron: Cron) -> bool:
    """Whether day and weekday are both restricted, and one of them is enough."""
    return _is_enough(cron) and all(_restrictions(cron))


def _joined(days: str, months: str, cron: Cron) -> str:
    years = f"in {join_words(_span_words(cron.year.spans))}" if cron.year is not None and not cron.year.is_full else ""
    return " ".join(filter(None, (days, months, years)))


def _both(cron: Cron, days: str) -> str:
    weekdays = _weekdays(cron.weekday)
    if _is_enough(cron):
        return f"{days} or on {join_words(weekdays)}"
    return f"{days}, if that is {join_words(weekdays, 'or')}"


def _days(field: Field, month: str) -> str:
    """`on days 1 to 5 and 15 of the month`; `month` is what they are days of."""
    plain = [span for span in field.spans if len(span.values) == 1 or span.step == 1]
    steps = [f"{_steps(span)} of {month}" for span in field.spans if span not in plain]
    rules = [_rule(rule, month) for rule in field.rules]
    numbers = [_numbers(span) for span in sorted(plain, key=lambda span: span.values[0])]
    is_one = len(plain) == 1 and len(plain[0].values) == 1
    days = [f"day{'' if is_one else 's'} {join_words(numbers)} of {month}"] if numbers else []
    return f"on {join_words([*days, *steps, *rules])}"


def _numbers(span: Span) -> str:
    first, last = span.values[0], span.values[-1]
    return str(first) if first == last else f"{first} to {last}"


def _steps(span: Span) -> str:
    every = f"every {ordinal(span.step)} day"
    return every if span.is_star else f"{every} from {span.values[0]} to {span.values[-1]}"


def _rule(rule: DayRule, month: str = "the month") -> str:
    match rule.kind:
        case RuleKind.LAST_DAY if rule.number:
            return f"the day {rule.number} day{'' if rule.number == 1 else 's'} before the last day of {month}"
        case RuleKind.LAST_DAY:
            return f"the last day of {month}"
        case RuleKind.LAST_WORKDAY if rule.number:
            days = f"{rule.number} day{'' if rule.number == 1 else 's'}"
            return f"the working day (Monday to Friday) nearest {days} before the last day of {month}"
        case RuleKind.LAST_WORKDAY:
            return f"the last working day (Monday to Friday) of {month}"
        case RuleKind.NEAREST_WORKDAY:
            return f"the working day (Monday to Friday) nearest day {rule.number} of {month}"
        case RuleKind.LAST_OF_WEEKDAY:
            return f"the last {WEEKDAYS[rule.number]} of {month}"
        case RuleKind.NTH_OF_WEEKDAY:
            return f"the {NTH[rule.nth]} {WEEKDAYS[rule.number]} of {month}"


def _weekdays(field: Field) -> list[str]:
    """As they are written, but a list of single days from Monday on; then what depends on the month."""
    spans = list(field.spans)
    if all(len(span.values) == 1 for span in spans):
        spans.sort(key=lambda span: (span.values[0] - 1) % 7)
    return [*_span_words(spans, WEEKDAYS), *(_rule(rule) for rule in field.rules)]


def _months(field: Field) -> str:
    """Empty for every month."""
    return "" if field.is_full else join_words(_span_words(field.spans, ("", *MONTHS)))


def _span_words(spans: Iterable[Span], names: Sequence[str] | None = None) -> list[str]:
    """Ranges as ranges, the rest one by one; by name, or by number where there are no names."""
    words: list[str] = []
    for span in spans:
        listed = [names[value] if names else str(value) for value in span.values]
        words.extend([f"{listed[0]} to {listed[-1]}"] if span.step == 1 and len(listed) > 2 else listed)
    return words
