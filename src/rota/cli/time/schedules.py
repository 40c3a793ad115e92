"""`rota schedule`: what makes jobs by itself, and when."""

from collections.abc import Sequence

import click

from rota.cli import parameters
from rota.cli.field_words import parts_words
from rota.cli.listing import schedules_up_to
from rota.cli.show import (
    Shape,
    answer,
    answer_deleted,
    as_fields,
    compact,
    moment_in,
    print_facts,
    print_table,
    talk,
)
from rota.cli.target import Target, takes_target
from rota.cli.time.schedule_backfill import backfill
from rota.cli.time.schedule_options import request_fields, takes_schedule_options
from rota.engine.engine import Engine
from rota.model.schedules.edits import FIELDS, changed_request, request_from, request_of
from rota.model.schedules.hints import schedule_hints
from rota.model.schedules.schedule import Tick
from rota.model.triggers.durations import duration_words
from rota.model.triggers.zones.zones import UTC
from rota.shapes.schedules import schedule_shape, tick_shape
from rota.store.contract.schedules import ScheduleEntry

_in_utc = click.option("--utc", is_flag=True, help="Show times in UTC, not in the schedule's own zone.")


@click.group(short_help="Jobs by the clock: create, list, show, edit, pause, ticks, backfill.")
def schedule() -> None:
    """What makes jobs by itself: at the times of a cron line, every so often, or once."""


schedule.add_command(backfill)


@schedule.command()
@click.argument("name")
@click.argument("words", metavar="[KEY=VALUE]...", nargs=-1, callback=parameters.pairs)
@click.option("--job-type", "--type", "-t", "job_type", required=True, help="What to run.")
@click.option("--paused", is_flag=True, help="Make it, but let it rest.")
@takes_schedule_options
@takes_target
def create(target: Target, *, name: str, words: dict[str, object], **options: object) -> None:
    """Make a schedule NAME, whose jobs get the arguments KEY=VALUE.

    \b
    rota schedule create nightly -t report --cron '30 2 * * *' --tz Europe/Berlin
    rota schedule create poll -t fetch --every 90s url=https://example.org
    rota schedule create launch -t rocket --at 2030-01-31T12:00 --tz America/New_York
    """
    request = request_from({"name": name, **request_fields(options, words)})
    with target.open() as rota:
        entry = rota.schedules.create(request)
        shape, hints = _shape(rota, entry), schedule_hints(entry.schedule, rota.clock.now())
    answer(shape, as_json=target.as_json, show=lambda: _show_made(shape, hints))


def _show_made(shape: Shape, hints: Sequence[str]) -> None:
    click.echo(shape["uuid"])
    due = shape["next_due"]
    when = moment_in(due, str(shape["zone"])) if isinstance(due, int) else ""
    talk(f"{shape['words']}; {f'next {when}' if when else 'it will not fire'}")
    for hint in hints:
        talk(f"warning: {hint}")


@schedule.command()
@click.argument("name")
@click.argument("words", metavar="[KEY=VALUE]...", nargs=-1, callback=parameters.pairs)
@click.option("--job-type", "--type", "-t", "job_type", help="What to run.")
@click.option("--name", "new_name", metavar="NAME", help="A new name.")
@click.option("--unset", metavar="FIELD", multiple=True, type=click.Choice(FIELDS), help="Set a field back.")
@click.option("--if-version", type=int, help="Only if it is still at this version.")
@takes_schedule_options
@takes_target
def edit(
    target: Target,
    *,
    name: str,
    words: dict[str, object],
    new_name: str | None,
    unset: Sequence[str],
    if_version: int | None,
    **options: object,
) -> None:
    """Change what is named; the rest stays. The past is never fired again."""
    changes = request_fields(options, words) | dict.fromkeys(unset)
    if new_name is not None:
        changes["name"] = new_name
    with target.open() as rota:
        entry = rota.schedules.find(name)
        request = changed_request(request_of(entry.schedule), changes)
        version = entry.state.version if if_version is None else if_version
        changed = rota.schedules.replace(entry.schedule.uuid, request, expected=version)
        shape, hints = _shape(rota, changed), schedule_hints(changed.schedule, rota.clock.now())
    answer(shape, as_json=target.as_json, show=lambda: _show_made(shape, hints))


@schedule.command(name="list")
@click.option("--type", "job_type", metavar="NAME", help="Only those of this job type.")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=100, show_default=True, help="At most this many.")
@_in_utc
@takes_target
def list_schedules(target: Target, *, job_type: str | None, limit: int, utc: bool) -> None:
    """Schedules by name, in words, with the next time and the last tick."""
    with target.open() as rota:
        uuid = rota.definitions.job_type(job_type).uuid if job_type else None
        entries, is_cut = schedules_up_to(limit, rota.store, uuid)
        shapes = [_shape(rota, entry) | {"last_tick": _last_tick(rota, entry)} for entry in entries]
    answer(
        shapes, as_json=target.as_json, show=lambda: _show_list([_told_in_utc(one) if utc else one for one in shapes])
    )
    if is_cut:
        talk(f"There are more than {limit}; --limit N shows them.")


def _last_tick(rota: Engine, entry: ScheduleEntry) -> Shape | None:
    rows = rota.store.list_ticks(entry.schedule.uuid, limit=1)
    return as_fields(tick_shape(rows[0])) if rows else None


def _show_list(shapes: list[Shape]) -> None:
    rows = [(one["name"], one["words"], one["job_type"], _next(one), _last(one)) for one in shapes]
    nothing = "No schedules yet. Make one with: rota schedule create nightly -t JOB_TYPE --cron '30 2 * * *'"
    print_table(("NAME", "WHEN", "JOB TYPE", "NEXT", "LAST TICK"), rows, nothing=nothing)


def _next(shape: Shape) -> str:
    due = shape["next_due"]
    return "paused" if shape["paused"] else moment_in(due, str(shape["zone"])) if isinstance(due, int) else "none"


def _last(shape: Shape) -> str:
    """The last tick on one line."""
    tick = shape["last_tick"]
    if not isinstance(tick, dict):
        return ""
    reason = f" ({tick['reason']})" if tick["reason"] else ""
    return f"{moment_in(tick['nominal'], str(shape['zone']))} {tick['status']}{reason}"


def _told_in_utc(shape: Shape) -> Shape:
    return shape | {"zone": UTC}


@schedule.command()
@click.argument("name")
@_in_utc
@takes_target
def show(target: Target, *, name: str, utc: bool) -> None:
    """One schedule, by name or uuid."""
    with target.open() as rota:
        entry = rota.schedules.find(name)
        shape = _shape(rota, entry) | {"last_tick": _last_tick(rota, entry)}
    answer(shape, as_json=target.as_json, show=lambda: _show_one(_told_in_utc(shape) if utc else shape))


def _show_one(one: Shape) -> None:
    trigger, policy = one["trigger"], one["catch_up"]
    assert isinstance(trigger, dict)
    assert isinstance(policy, dict)
    window = f"within {duration_words(policy['window'])}" if policy["window"] else "any age"
    print_facts(
        [
            ("name", one["name"]),
            ("uuid", one["uuid"]),
            ("when", one["words"]),
            ("trigger", parts_words(trigger)),
            ("job type", one["job_type"] or one["job_type_uuid"]),
            ("arguments", compact(one["job_arguments"]) if one["job_arguments"] else None),
            ("next", _next(one)),
            ("last tick", _last(one) or None),
            ("runs", one["runs"] if one["max_runs"] is None else f"{one['runs']} of {one['max_runs']}"),
            ("ticks", compact(one["counts"]) if one["counts"] else None),
            ("overlap", one["overlap"]),
            ("catch-up", f"{policy['mode']}, {window}, at most {policy['max']}"),
            ("excluded", compact(one["exclude"]) if one["exclude"] else None),
            ("pauses on failure", "yes" if one["pause_on_failure"] else None),
            ("paused", (one["note"] or "yes") if one["paused"] else None),
            ("backfills", len(one["backfills"]) or None if isinstance(one["backfills"], list) else None),
            ("owned by", one["managed_by"]),
            ("version", one["version"]),
        ]
    )


@schedule.command()
@click.argument("name")
@click.option("--note", metavar="TEXT", default="", help="Why.")
@takes_target
def pause(target: Target, *, name: str, note: str) -> None:
    """Let a schedule rest. Ticks that pass meanwhile are counted as skipped."""
    with target.open() as rota:
        shape = _shape(rota, rota.schedules.pause(name, note))
    answer(shape, as_json=target.as_json, show=lambda: talk(f"{shape['name']} is paused."))


@schedule.command()
@click.argument("name")
@takes_target
def resume(target: Target, *, name: str) -> None:
    """Let a schedule fire again, from now on."""
    with target.open() as rota:
        shape = _shape(rota, rota.schedules.resume(name))
    answer(shape, as_json=target.as_json, show=lambda: talk(f"{shape['name']} is resumed; next: {_next(shape)}"))


@schedule.command()
@click.argument("name")
@takes_target
def run(target: Target, *, name: str) -> None:
    """Make a job of a schedule now, beside its ticks."""
    with target.open() as rota:
        made = rota.schedules.run_now(name)
    answer({"uuid": made.job_id, "new": made.is_new}, as_json=target.as_json, show=lambda: click.echo(made.job_id))


@schedule.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@takes_target
def delete(target: Target, *, names: Sequence[str]) -> None:
    """Remove schedules with their ticks. Their jobs stay."""
    with target.open() as rota:
        found = rota.schedules.delete(*names)
    answer_deleted(found, as_json=target.as_json)


@schedule.command()
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="At most this many rows.")
@_in_utc
@takes_target
def ticks(target: Target, *, name: str, limit: int, utc: bool) -> None:
    """What became of a schedule's times, the latest first."""
    with target.open() as rota:
        found = rota.schedules.find(name).schedule
        rows = rota.store.list_ticks(found.uuid, limit=limit)
    zone = UTC if utc else found.trigger.zone
    answer([tick_shape(row) for row in rows], as_json=target.as_json, show=lambda: _show_ticks(rows, zone))


def _show_ticks(rows: Sequence[Tick], zone: str) -> None:
    cells = [
        (moment_in(row.nominal, zone), moment_in(row.until, zone), row.count, row.status.value, row.reason, row.job)
        for row in rows
    ]
    print_table(("TICK", "UNTIL", "COUNT", "STATUS", "REASON", "JOB"), cells, nothing="No ticks yet.")


def _shape(rota: Engine, entry: ScheduleEntry) -> Shape:
    return as_fields(schedule_shape(entry, rota.definitions.job_type_names()))
