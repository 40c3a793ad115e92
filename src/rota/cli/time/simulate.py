"""`rota simulate`: what would fire in a stretch of time, as a table, as JSON, or as a picture."""

from itertools import islice
from pathlib import Path

import click

from rota.cli import parameters
from rota.cli.listing import schedules_up_to
from rota.cli.show import Shape, answer, as_fields, moment_in, print_table, talk
from rota.cli.target import Target, takes_target
from rota.cli.time.heat_map import draw_heat_map
from rota.engine.engine import Engine
from rota.engine.schedules.simulation import SimulatedTick
from rota.engine.schedules.simulation import simulate as run_simulation
from rota.errors import InvalidInput
from rota.model.schedules.schedule import TickStatus
from rota.model.triggers.zones.dates import parse_instant
from rota.model.triggers.zones.zones import UTC, parse_zone
from rota.shapes.schedules import fire_shape, tick_shape
from rota.store.contract.schedules import ScheduleEntry

_DAY_MS = 24 * 3600 * 1000


@click.command(short_help="Show what would fire, without firing it.")
@click.option("--from", "start", metavar="TIME", help="From this time on.  [default: now]")
@click.option("--to", "end", metavar="TIME", help="Up to this time.  [default: a day later]")
@click.option("--tz", metavar="ZONE", help="The zone of these times and of those shown.  [default: UTC, each its own]")
@click.option("--schedule", "names", metavar="NAME", multiple=True, help="Only these schedules.")
@click.option("--job-time", metavar="DURATION", callback=parameters.duration, help="How long a job runs.  [default: 0]")
@click.option("--max", "most", type=click.IntRange(1), default=100_000, show_default=True, help="Refuse to list more.")
@click.option("--svg", metavar="FILE", type=click.Path(path_type=Path), help="Draw a calendar of fires into a file.")
@takes_target
def simulate(
    target: Target,
    *,
    start: str | None,
    end: str | None,
    tz: str | None,
    names: tuple[str, ...],
    job_time: int | None,
    most: int,
    svg: Path | None,
) -> None:
    """Show what the schedules in the store would do, by their own rules, on a clock that runs ahead.

    \b
    rota simulate --from 2026-03-28 --to 2026-03-30 --tz Europe/Berlin
    rota simulate --from 2026-01-01 --to 2027-01-01 --svg year.svg
    """
    zone = UTC if tz is None else parse_zone("--tz", tz)
    with target.open() as rota:
        first = rota.clock.now() if start is None else parse_instant("--from", start, zone)
        last = first + _DAY_MS if end is None else parse_instant("--to", end, zone)
        if last <= first:
            raise InvalidInput("--to", f"{end} is not after the beginning")
        entries = _entries(rota, names)
        job_types = rota.definitions.job_type_names()
    ticks = list(islice(run_simulation(entries, first, last, job_ms=job_time or 0), most + 1))
    if len(ticks) > most:
        raise InvalidInput("--max", f"there are more than {most} ticks; choose a shorter time or some schedules")
    if svg is not None:
        fires = [one.tick.nominal for one in ticks if one.tick.status is TickStatus.FIRED]
        svg.write_text(draw_heat_map(fires, first, last, zone))
        talk(f"{len(fires)} fires, drawn into {svg}")
    shapes = [_shape(one, one.schedule.trigger.zone if tz is None else zone, job_types) for one in ticks]
    if svg is None or target.as_json:
        answer(shapes, as_json=target.as_json, show=lambda: _show(shapes))


def _entries(rota: Engine, names: tuple[str, ...]) -> list[ScheduleEntry]:
    if names:
        return [rota.schedules.find(name) for name in names]
    return schedules_up_to(None, rota.store)[0]


def _shape(one: SimulatedTick, zone: str, job_types: dict[str, str]) -> Shape:
    told, fire = as_fields(tick_shape(one.tick)), as_fields(fire_shape(one.tick.nominal, zone))
    return {
        "schedule": one.schedule.name,
        "schedule_uuid": one.schedule.uuid,
        "job_type": job_types.get(one.schedule.job_type),
        **{key: fire[key] for key in ("instant", "utc", "local", "zone")},
        "due": one.at,
        **{key: told[key] for key in ("status", "reason", "count", "until")},
    }


def _show(shapes: list[Shape]) -> None:
    rows = [(_time(one), one["schedule"], one["job_type"], one["status"], one["reason"]) for one in shapes]
    print_table(("TIME", "SCHEDULE", "JOB TYPE", "STATUS", "REASON"), rows, nothing="Nothing would fire.")


def _time(shape: Shape) -> str:
    instant, zone = shape["instant"], shape["zone"]
    assert isinstance(instant, int)
    return moment_in(instant, str(zone))
