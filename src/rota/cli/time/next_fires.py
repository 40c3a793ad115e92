"""`rota next`: when a cron line fires, and what the clock changes do to it. Needs no store."""

import click

from rota.cli.show import Shape, answer, as_fields, print_table, talk
from rota.clock import SystemClock
from rota.engine.schedules.upcoming import next_fires as upcoming
from rota.engine.schedules.upcoming import warnings_of
from rota.errors import InvalidInput
from rota.model.schedules.request import ScheduleRequest, read_trigger
from rota.model.triggers.trigger import Progress, Trigger
from rota.model.triggers.words.words import trigger_words
from rota.model.triggers.zones.dates import parse_instant
from rota.shapes.schedules import fire_shape


@click.command(name="next", short_help="Show when a cron line fires.")
@click.argument("cron")
@click.option("--tz", metavar="ZONE", default="UTC", show_default=True, help="The zone of its times.")
@click.option("--count", "-n", type=click.IntRange(1, 10_000), default=10, show_default=True, help="How many times.")
@click.option("--from", "start", metavar="TIME", help="After this time.  [default: now]")
@click.option("--dialect", default="auto", show_default=True, help="auto, unix or quartz.")
@click.option("--days", default="either", show_default=True, help="either, or both of day and weekday must match.")
@click.option("--dst", default="vixie", show_default=True, help="At a clock change: vixie, literal or skip.")
@click.option("--name", metavar="NAME", default="", help="The schedule whose H is meant.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
def next_fires(
    *, cron: str, tz: str, count: int, start: str | None, dialect: str, days: str, dst: str, name: str, as_json: bool
) -> None:
    """Show when CRON fires next, in words and as a list, with notes about clock changes.

    \b
    rota next '30 2 * * *' --tz Europe/Berlin --from 2026-03-27
    rota next '0 9 ? * MON#1' --count 3
    """
    trigger = read_trigger(ScheduleRequest(job_type="", cron=cron, tz=tz, dialect=dialect, days=days, dst=dst), None)
    after = SystemClock().now() if start is None else _instant(start, trigger.zone)
    progress = Progress(schedule=name, created_at=after)
    fires = upcoming(trigger, progress, after, count)
    if not fires:
        raise InvalidInput("cron", f'"{cron}" does not fire after {start or "now"}')
    shapes = [as_fields(fire_shape(one.instant, trigger.zone, one.note)) for one in fires]
    answer(shapes, as_json=as_json, show=lambda: _show(trigger, progress, shapes))


def _instant(text: str, zone: str) -> int:
    is_millis = text.isascii() and text.isdigit() and len(text) > 8
    return parse_instant("--from", int(text[:18]) if is_millis else text, zone)


def _show(trigger: Trigger, progress: Progress, shapes: list[Shape]) -> None:
    talk(trigger_words(trigger, progress))
    for warning in warnings_of(trigger, progress):
        talk(f"warning: {warning}")
    is_utc = trigger.zone == "UTC"  # then its own clock is no second column
    rows = [(*([] if is_utc else [_spaced(one["local"])]), _spaced(one["utc"]), one["note"]) for one in shapes]
    print_table((*([] if is_utc else [trigger.zone]), "UTC", "NOTE"), rows, nothing="")


def _spaced(iso: object) -> str:
    return str(iso).replace("T", " ")
