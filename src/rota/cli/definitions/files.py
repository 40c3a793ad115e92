"""`rota apply` and `rota diff`: definitions and schedules kept in a file."""

import os
from pathlib import Path

import click

from rota.cli.show import Shape, answer, compact, talk
from rota.cli.target import Target, takes_target
from rota.dialects import registry
from rota.engine.definitions.file import Difference, Wanted, schedule_hints
from rota.settings import Settings, load_settings

_MARKS = {"create": "+", "change": "~", "delete": "-"}
_FILE = click.option(
    "-f", "--file", "file", metavar="FILE", type=click.Path(path_type=Path), required=True, help="Like rota.yaml."
)

_PRUNE = click.option("--prune", is_flag=True, help="Remove also what other files own and this one does not have.")


@click.command(short_help="Make the store agree with a file of definitions.")
@_FILE
@_PRUNE
@takes_target
def apply(target: Target, *, file: Path, prune: bool) -> None:
    """Make node types, job types and schedules of the file, change them, and remove those it no longer has.

    Only what the file owns is removed, by its `owner`; what other files own or was made in another way stays as it is.
    """
    target, settings = _read(target, file)
    with target.open(may_create=True) as rota:
        wanted = Wanted.of(settings, prunes=prune)
        changes = rota.file.apply(wanted)
        hints = schedule_hints(wanted, changes, rota.clock.now())
    answer([_shape(one) for one in changes], as_json=target.as_json, show=lambda: _show(changes, hints))


@click.command(short_help="Show what apply would change.")
@_FILE
@_PRUNE
@takes_target
def diff(target: Target, *, file: Path, prune: bool) -> None:
    """Show what `rota apply` would change, field by field; change nothing."""
    target, settings = _read(target, file)
    with target.open(may_create=True) as rota:
        wanted = Wanted.of(settings, prunes=prune)
        changes = rota.file.diff(wanted)
        hints = schedule_hints(wanted, changes, rota.clock.now())
    answer([_shape(one) for one in changes], as_json=target.as_json, show=lambda: _show(changes, hints))


def _read(target: Target, file: Path) -> tuple[Target, Settings]:
    """What is defined in the file, and the store that is meant: the file's own, if it names one."""
    settings = load_settings({}, os.environ, file, Path.cwd(), registry.sections())
    if "store" in settings.sources and target.named_store is None:
        return target.with_store(settings.store), settings
    return target, settings


def _shape(one: Difference) -> Shape:
    return {"kind": one.kind, "name": one.name, "action": one.action, "before": one.before, "after": one.after}


def _show(changes: list[Difference], hints: list[str]) -> None:
    for one in changes:
        click.echo(f"{_MARKS[one.action]} {one.kind} {one.name}")
        if one.action == "change":
            for field in one.after:
                click.echo(f"    {field}: {compact(one.before[field])} -> {compact(one.after[field])}")
    for hint in hints:
        talk(f"warning: {hint}")
    if not changes:
        talk("No differences.")
