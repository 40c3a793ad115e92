"""`rota apply` and `rota diff`: definitions and schedules kept in a file."""

import os
from pathlib import Path

import click

from rota.cli.field_words import field_name, field_words
from rota.cli.show import answer, talk
from rota.cli.target import Target, takes_target
from rota.dialects import registry
from rota.engine.definitions.file import Difference, Wanted, schedule_hints
from rota.engine.engine import Engine
from rota.settings import load_settings
from rota.shapes.differences import difference_shape

_MARKS = {"create": "+", "change": "~", "delete": "-"}
_FILE = click.option(
    "-f",
    "--file",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A file like rota.yaml.  [default: the configuration file, such as rota.yaml in this folder]",
)

_PRUNE = click.option("--prune", is_flag=True, help="Remove also what other files own and this one does not have.")


@click.command(short_help="Make the store agree with a file of definitions.")
@_FILE
@_PRUNE
@takes_target
def apply(target: Target, *, file: Path | None, prune: bool) -> None:
    """Make node types, job types and schedules of the file, change them, and remove those it no longer has.

    Only what the file owns is removed, by its `owner`; what other files own or was made in another way stays as it is.
    """
    target, wanted = _read(target, file or _config_file(target), prune=prune)
    with target.open(may_create=True) as rota:
        _answer(target, rota, wanted, rota.file.apply(wanted))


@click.command(short_help="Show what apply would change.")
@_FILE
@_PRUNE
@takes_target
def diff(target: Target, *, file: Path | None, prune: bool) -> None:
    """Show what `rota apply` would change, field by field; change nothing."""
    target, wanted = _read(target, file or _config_file(target), prune=prune)
    with target.open(may_create=True) as rota:
        _answer(target, rota, wanted, rota.file.diff(wanted))


def _config_file(target: Target) -> Path:
    found = target.config_file()
    if found is None:
        raise click.UsageError("there is no rota.yaml in this folder; name a file of definitions with -f FILE")
    return found


def _read(target: Target, file: Path, *, prune: bool) -> tuple[Target, Wanted]:
    """What is defined in the file, and the installation that is meant: the file's own store, if it names one and
    neither the command line nor the environment names another."""
    from rota.settings.content import definition_keys
    from rota.settings.document import read_document

    sections = registry.sections()
    settings = load_settings({}, os.environ, file, Path.cwd(), sections)
    content = read_document(file, str(file)).content
    written = {key: content[key] for key in definition_keys(sections) if content.get(key)}
    wanted = Wanted.of(settings, prunes=prune, written=written)
    is_named = "store" in settings.sources and not target.is_named
    return target.with_store(settings.store) if is_named else target, wanted


def _answer(target: Target, rota: Engine, wanted: Wanted, changes: list[Difference]) -> None:
    hints = schedule_hints(wanted, changes, rota.clock.now())
    shapes = [difference_shape(one) for one in changes]
    answer(shapes, as_json=target.as_json, show=lambda: _show(changes, hints))


def _show(changes: list[Difference], hints: list[str]) -> None:
    for one in changes:
        click.echo(f"{_MARKS[one.action]} {one.kind} {one.name}")
        if one.action == "change":
            for field in one.after:
                was, will = (field_words(field, side[field]) for side in (one.before, one.after))
                click.echo(f"    {field_name(field)}: {was} -> {will}")
    for hint in hints:
        talk(f"warning: {hint}")
    if not changes:
        talk("No differences.")
