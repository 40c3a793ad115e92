"""`rota schedule backfill`: jobs for times that are over."""

import time
from functools import partial

import click

from rota.cli.progress import progress_bar
from rota.cli.show import Shape, answer, as_fields, moment_in, print_facts, talk
from rota.cli.target import Target, takes_target
from rota.engine.engine import Engine
from rota.engine.schedules.backfill import DEFAULT_MOST, BackfillPlan, BackfillRequest
from rota.model.job import FINAL_STATES
from rota.shapes.schedules import backfill_plan_shape, backfill_shape

_LOOK_S = 0.5


@click.command(short_help="Jobs for times that are over.")
@click.argument("name")
@click.option("--from", "start", metavar="TIME", help="After this time.")
@click.option("--to", "end", metavar="TIME", help="Up to this time, which is included.")
@click.option("--max", "most", type=int, default=DEFAULT_MOST, show_default=True, help="Refuse a range with more.")
@click.option("--overlap", default="buffer_all", show_default=True, help="One after another; allow: all at once.")
@click.option("--priority", type=int, help="Of its jobs.  [default: 100 below the schedule's]")
@click.option("--force", is_flag=True, help="Also for times that fired already.")
@click.option("--preview", "--dry-run", "is_preview", is_flag=True, help="Say what would be made, and make nothing.")
@click.option("--wait", "waits", is_flag=True, help="Wait for the end of its jobs.")
@click.option("--progress", "progress_id", metavar="ID", help="Show how far a backfill is.")
@click.option("--cancel", "cancel_id", metavar="ID", help="Cancel what has not ended of a backfill.")
@takes_target
def backfill(
    target: Target,
    *,
    name: str,
    start: str | None,
    end: str | None,
    most: int,
    overlap: str,
    priority: int | None,
    force: bool,
    is_preview: bool,
    waits: bool,
    progress_id: str | None,
    cancel_id: str | None,
) -> None:
    """Make jobs of a schedule for the times after --from up to --to. Doing it again makes none twice.

    \b
    rota schedule backfill nightly --from 2026-01-01 --to 2026-02-01 --preview
    rota schedule backfill nightly --from 2026-01-01 --to 2026-02-01 --wait
    """
    if cancel_id is not None:
        _cancel(target, name, cancel_id)
        return
    if progress_id is not None:
        _progress(target, name, progress_id, waits=waits)
        return
    if start is None or end is None:
        raise click.UsageError("give the range with --from and --to, or --progress or --cancel with an id")
    request = BackfillRequest(
        start=_instant(start), end=_instant(end), max=most, overlap=overlap, priority=priority, force=force
    )
    with target.open() as rota:
        plan = rota.backfills.preview(name, request) if is_preview else rota.backfills.start(name, request)
        if waits and not is_preview:
            # Told before: who stops waiting needs the id to see how far it is, or to cancel it.
            talk(f"Waiting for backfill {plan.backfill.id}, which goes on without us.")
            _wait(rota, name, plan.backfill.id)
        zone = rota.schedules.find(name).schedule.trigger.zone
    show = partial(_show_plan, plan, zone, is_preview=is_preview)
    answer(backfill_plan_shape(plan), as_json=target.as_json, show=show)


def _instant(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and 8 < len(text) < 19 else text


def _show_plan(plan: BackfillPlan, zone: str, *, is_preview: bool) -> None:
    print_facts(
        [
            ("backfill", None if is_preview else plan.backfill.id),
            ("would make" if is_preview else "jobs", plan.jobs),
            ("first", plan.first and moment_in(plan.first, zone)),
            ("last", plan.last and moment_in(plan.last, zone)),
            ("already fired", plan.already_fired or None),
            ("already made", plan.already_made or None),
            ("excluded", plan.excluded or None),
        ]
    )
    if plan.known_from is not None:
        known_from = moment_in(plan.known_from, zone)
        talk(f"What fired before {known_from} is no longer known; those times are taken as not fired.")


def _cancel(target: Target, name: str, backfill_id: str) -> None:
    with target.open() as rota:
        count = rota.backfills.cancel(name, backfill_id)
    shape = {"id": backfill_id, "cancelled": count}
    answer(shape, as_json=target.as_json, show=lambda: talk(f"Cancelled {count} jobs."))


def _progress(target: Target, name: str, backfill_id: str, *, waits: bool) -> None:
    with target.open() as rota:
        if waits:
            _wait(rota, name, backfill_id)
        found = rota.backfills.find(name, backfill_id)[1]
        counts = rota.backfills.progress(name, backfill_id)
    shape: Shape = {**as_fields(backfill_shape(found)), "jobs": counts}
    answer(shape, as_json=target.as_json, show=lambda: print_facts([(state, n) for state, n in counts.items() if n]))


def _wait(rota: Engine, name: str, backfill_id: str) -> None:
    """Until all jobs have ended, with a bar on a terminal."""
    counts = rota.backfills.progress(name, backfill_id)
    with progress_bar("Backfill", sum(counts.values())) as tell:
        while True:
            ended = sum(counts[state] for state in FINAL_STATES)
            tell(ended)
            if ended >= sum(counts.values()):
                return
            time.sleep(_LOOK_S)
            counts = rota.backfills.progress(name, backfill_id)
