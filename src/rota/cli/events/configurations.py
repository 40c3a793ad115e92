"""`rota configuration` and `rota explain`: which events make which job, and why one was made or not."""

from collections.abc import Sequence
from pathlib import Path

import click

from rota.cli.listing import configurations_up_to
from rota.cli.show import answer, moment, print_facts, print_json, print_table, talk
from rota.cli.target import Target, takes_target
from rota.engine.definitions.built_in import LOG_JOB_TYPE
from rota.engine.engine import Engine
from rota.errors import InvalidInput
from rota.model.events.configuration_request import ConfigurationRequest
from rota.model.events.evaluation import Row
from rota.model.events.event import shown_time
from rota.model.events.explanation import Explanation, named
from rota.shapes.events.configurations import ConfigurationShape, configuration_shape, count_of_parts
from rota.shapes.events.evaluations import explanation_shape
from rota.store.contract.events import ConfigurationEntry


@click.group(short_help="Which events make which job.")
def configuration() -> None:
    """Which events make which job: a file in the last hour, both tables today, and then the clock."""


@configuration.command(name="list")
@click.option("--limit", type=click.IntRange(1, 100_000), default=1_000, show_default=True)
@takes_target
def list_configurations(target: Target, *, limit: int) -> None:
    """Configurations, by name."""
    with target.open() as rota:
        names = rota.definitions.job_type_names()
        entries, is_cut = configurations_up_to(limit, rota.store)
        shapes = [configuration_shape(entry, names) for entry in entries]
    answer(shapes, as_json=target.as_json, show=lambda: _show_list(shapes))
    if is_cut:
        talk(f"There are more than {limit}; --limit N shows them.")


def _show_list(shapes: Sequence[ConfigurationShape]) -> None:
    rows = [
        (
            one.name,
            count_of_parts(one.dependencies),
            one.job.job_type if one.job else LOG_JOB_TYPE,
            one.triggered,
            moment(one.last_execution_at),
        )
        for one in shapes
    ]
    headers = ("NAME", "DEPENDENCIES", "JOB TYPE", "TRIGGERED", "LAST")
    print_table(headers, rows, nothing="No configurations yet. Make one with: rota configuration create -f FILE")


@configuration.command()
@click.argument("name")
@takes_target
def show(target: Target, *, name: str) -> None:
    """One configuration, by name or uuid."""
    with target.open() as rota:
        shape = configuration_shape(rota.configurations.find(name), rota.definitions.job_type_names())
    answer(shape, as_json=target.as_json, show=lambda: _show_one(shape))


def _show_one(one: ConfigurationShape) -> None:
    print_facts(
        [
            ("name", one.name),
            ("uuid", one.uuid),
            ("job type", one.job.job_type if one.job else "writes a line to the log"),
            ("clock", one.clock.value),
            ("late", one.late.value),
            ("last execution", one.last_execution),
            ("triggered", one.triggered),
            ("owned by", one.managed_by),
        ]
    )
    for part in one.dependencies:
        click.echo(f"  {part}")


@configuration.command()
@click.option(
    "-f", "--file", "path", required=True, type=click.Path(path_type=Path), help="YAML with `configurations:`."
)
@click.option("--replace", is_flag=True, help="Change those that exist.")
@takes_target
def create(target: Target, *, path: Path, replace: bool) -> None:
    """Define the configurations that are defined in a file. They are then yours, not the file's.

    \b
    configurations:
      - name: arrivals
        job: {job_type: report}
        dependencies:
          - {type: FILE, resourceId: /in/, lifeDuration: 3600}    valid for so many seconds
    """
    with target.open(may_create=True) as rota:
        entries = [_define(rota, request, replace=replace) for request in _requests(rota, path)]
        names = rota.definitions.job_type_names()
    if target.as_json:
        print_json([configuration_shape(entry, names) for entry in entries])
    else:
        for entry in entries:
            click.echo(entry.configuration.name)


def _requests(rota: Engine, path: Path) -> Sequence[ConfigurationRequest]:
    from rota.settings.configurations import read_configurations
    from rota.settings.document import read_document

    found = read_configurations(read_document(path, str(path)), rota.event_types)
    if not found:
        raise InvalidInput(str(path), "has no configurations")
    return found


def _define(rota: Engine, request: ConfigurationRequest, *, replace: bool) -> ConfigurationEntry:
    if replace and rota.store.configuration_uuid(request.name):
        return rota.configurations.replace(request.name, request)
    return rota.configurations.create(request)


@configuration.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@takes_target
def delete(target: Target, *, names: Sequence[str]) -> None:
    """Remove configurations with all that is known of them. Their jobs stay."""
    with target.open() as rota:
        for name in names:
            rota.configurations.find(name)
        gone = [rota.configurations.delete(name).configuration for name in names]
    if target.as_json:
        print_json([{"uuid": one.uuid, "name": one.name} for one in gone])
    else:
        talk(f"Deleted {', '.join(one.name for one in gone)}.")


@click.command(name="explain", short_help="Why a configuration fired, or did not.")
@click.argument("name")
@takes_target
def explain_configuration(target: Target, *, name: str) -> None:
    """Why the configuration NAME fired or did not, what is missing, and what expires next."""
    with target.open() as rota:
        own_name, found = rota.configurations.explain(name)
    answer(
        explanation_shape(own_name, found),
        as_json=target.as_json,
        show=lambda: _show_explanation(found),
    )


def _show_explanation(found: Explanation) -> None:
    click.echo(found.sentence)
    rows = [_cells(row) for row in (found.last.matrix if found.last else found.standing)]
    print_table(("DEPENDENCY", "EVENT", "TIMESTAMP", "AGE", "LIFE", "NEWER", "MET"), rows, nothing="")
    if found.missing_words:
        click.echo(f"Missing now: {found.missing_words}.")
    if found.expires_next:
        at = shown_time(found.expires_next.at)
        click.echo(f"Expires next: {named(found.expires_next.dependency)}, at {at}.")


def _cells(row: Row) -> tuple[object, ...]:
    seen = row.event
    return (
        named(row.dependency),
        seen.resource if seen else "",
        shown_time(seen.time) if seen else "",
        "" if row.age_us is None or row.age_us < 0 else f"{row.age_us / 1_000_000:g} s",
        f"{row.dependency.life_s} s",
        {True: "yes", False: "no", None: ""}[row.is_newer],
        "yes" if row.is_met else "no",
    )
