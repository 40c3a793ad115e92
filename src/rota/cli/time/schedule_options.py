"""The options that say what a schedule is. `create` and `edit` have the same."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TypeVar

import click

from rota.cli import parameters
from rota.errors import InvalidInput
from rota.model.schedules.schedule import Overlap
from rota.model.triggers.catch_up import CatchUpMode
from rota.model.triggers.cron.cron import Days, Dialect
from rota.model.triggers.cron.fires import Dst
from rota.model.triggers.interval import Anchor, TimeUnit

Verb = TypeVar("Verb", bound=Callable[..., object])
Fields = dict[str, object]


def _choice(kind: Iterable[StrEnum]) -> click.Choice[str]:
    return click.Choice([one.value for one in kind], case_sensitive=False)


_OPTIONS = (
    click.option("--cron", metavar="LINE", help="A cron line of 5, 6 or 7 fields, or @daily, @every 90s and so on."),
    click.option("--interval", "--every", metavar="DURATION", help="This long after the last job; see --anchor."),
    click.option("--frequency", metavar="N UNIT", help=f"Every N of {', '.join(TimeUnit)}."),
    click.option("--at", metavar="TIME", help="Once, at this time."),
    click.option("--delay", "--in", metavar="DURATION", help="Once, this long from now."),
    click.option("--tz", metavar="ZONE", help="The zone of its times, such as Europe/Berlin.  [default: UTC]"),
    click.option("--dialect", type=_choice(Dialect), help="How weekdays are numbered.  [default: auto]"),
    click.option("--days", type=_choice(Days), help="When day and weekday are both restricted.  [default: either]"),
    click.option("--dst", type=_choice(Dst), help="What happens at a clock change.  [default: vixie]"),
    click.option("--anchor", type=_choice(Anchor), help="What an interval is counted from.  [default: scheduled]"),
    click.option("--phase", metavar="DURATION", help="With the anchor epoch: this long after each full period."),
    click.option("--start", metavar="TIME", help="Not before this time."),
    click.option("--end", metavar="TIME", help="Not after this time."),
    click.option("--max-runs", type=int, help="End after this many jobs."),
    click.option("--jitter", metavar="DURATION", help="Spread its times by up to so much."),
    click.option("--overlap", type=_choice(Overlap), help="While its job still runs.  [default: skip]"),
    click.option("--catch-up", type=_choice(CatchUpMode), help="After downtime.  [default: last]"),
    click.option("--catch-up-window", metavar="DURATION", help="Ticks older than this are missed.  [default: 1d]"),
    click.option("--catch-up-max", type=int, help="Ticks made up for at most.  [default: 100]"),
    click.option("--exclude", metavar="DATE", multiple=True, help="A day on which it does not fire."),
    click.option("--priority", type=int, help="Of its jobs; higher runs first."),
    click.option("--pause-on-failure/--no-pause-on-failure", default=None, help="Stop when a job of it fails."),
    click.option("--note", metavar="TEXT", help="Why it is paused."),
    click.option("--arguments", metavar="JSON", callback=parameters.json_object, help="Arguments of its jobs."),
)


def takes_schedule_options(verb: Verb) -> Verb:
    """Gives a verb the options, each None (or empty) when it was not given."""
    for option in reversed(_OPTIONS):
        verb = option(verb)
    return verb


def request_fields(options: Fields, words: Fields) -> Fields:
    """The fields of a request that options and `key=value` words name. What was not given is left out."""
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    fields: Fields = {name: value for name, value in given.items() if name not in _TRANSLATED}
    for name in ("start", "end", "at"):
        if name in fields:
            fields[name] = _number_or_text(str(fields[name]))
    if "exclude" in given:
        fields["exclude"] = list(given["exclude"])  # type: ignore[call-overload]
    if "frequency" in given:
        fields["frequency"] = _frequency(str(given["frequency"]))
    if "arguments" in given or words:
        base = given.get("arguments", {})
        fields["job_arguments"] = {**(base if isinstance(base, dict) else {}), **words}
    if catch_up := _catch_up(given):
        fields["catch_up"] = catch_up
    return fields


_TRANSLATED = frozenset({"exclude", "frequency", "arguments", "catch_up", "catch_up_window", "catch_up_max"})


def _number_or_text(text: str) -> int | str:
    """An instant in epoch milliseconds, or as people write it."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text


def _frequency(text: str) -> Fields:
    time, _, unit = text.strip().partition(" ")
    if not time.isdigit() or not unit:
        raise InvalidInput("--frequency", f"{text!r} is not a number and a unit, such as '5 MINUTES'")
    return {"time": int(time[:18]), "timeUnit": unit.strip()}


def _catch_up(given: Fields) -> Fields:
    names = {"catch_up": "mode", "catch_up_window": "window", "catch_up_max": "max"}
    return {key: given[name] for name, key in names.items() if name in given}
