"""`rota event`: what happened outside."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import msgspec
from msgspec import structs

from rota.cli.listing import configurations_up_to
from rota.cli.show import answer, moment, print_json, print_table, talk
from rota.cli.target import Target, takes_target
from rota.engine.engine import Engine
from rota.engine.events.events import EventAnswer, Ignored
from rota.engine.events.request import read_event, read_events
from rota.errors import InvalidInput
from rota.model.events.evaluation import Verdict
from rota.model.events.event import shown_time
from rota.model.events.explanation import named
from rota.shapes.events.evaluations import preview_shape
from rota.shapes.events.events import ValidationShape, answer_shape, answers_shape, validation_shape
from rota.store.contract.events import ConfigurationEntry

_MOST_CONFIGURATIONS = 200


@click.group(short_help="Post events; list those that counted.")
def event() -> None:
    """What happened outside: a file arrived, a table was filled, a clock struck."""


@event.command()
@click.argument("type", required=False)
@click.argument("resource", required=False)
@click.option("--at", metavar="TIMESTAMP", help="When it happened, ISO 8601.  [default: now]")
@click.option("--id", "event_id", metavar="ID", help="A repeated delivery of the same id counts for nothing.")
@click.option("--outcome", help="For JOB: how the job ended.")
@click.option(
    "-f", "--file", type=click.Path(path_type=Path), help="An event or a list of them as JSON; - reads stdin."
)
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@takes_target
def post(
    target: Target,
    *,
    type: str | None,
    resource: str | None,
    at: str | None,
    event_id: str | None,
    outcome: str | None,
    file: Path | None,
    dry_run: bool,
) -> None:
    """Post an event of TYPE about RESOURCE, or those in a file.

    \b
    rota event post FILE /in/path/a.csv
    rota event post TIME_BASED cron --at '2021-01-01 12:30:00'
    """
    if (file is None) == (type is None or resource is None):
        raise click.UsageError("give TYPE and RESOURCE, or a file with -f")
    with target.open() as rota:
        if file is not None:
            raw = _read(file)
        else:
            stated = at or shown_time(rota.clock.now() * 1_000)
            raw = {"eventType": type, "eventResourceId": resource, "eventTimestamp": stated}
            raw |= {"eventId": event_id} if event_id else {}
            raw |= {"outcome": outcome} if outcome else {}
        if dry_run:
            _preview(target, rota, raw)
        else:
            _post(target, rota, raw)


def _read(file: Path) -> object:
    text = sys.stdin.read() if str(file) == "-" else _text_of(file)
    try:
        found: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise InvalidInput(str(file), f"is not valid JSON: {error}") from None
    return found


def _text_of(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(str(file), f"cannot be read: {error}") from None


def _post(target: Target, rota: Engine, raw: object) -> None:
    now, types = rota.clock.now(), rota.event_types
    if not isinstance(raw, list):
        found = rota.events.post([read_event(raw, now, types)])
        answer(answer_shape(found), as_json=target.as_json, show=lambda: _show(found))
        _tell_the_rest(found, [0])
        return
    good, failed = read_events(raw, now, types)
    if failed and not good:
        raise InvalidInput(f"[{failed[0].index}].{failed[0].field}", failed[0].error)
    found, indexes = rota.events.post([one for _, one in good]), [index for index, _ in good]
    failed += [structs.replace(bad, index=indexes[bad.index]) for bad in found.refused]
    failed.sort(key=lambda bad: bad.index)
    answer(answers_shape(found, indexes, failed), as_json=target.as_json, show=lambda: _show(found))
    _tell_the_rest(found, indexes, is_list=True)
    for bad in failed:
        talk(f"Refused [{bad.index}].{bad.field}: {bad.error}")


def _show(found: EventAnswer) -> None:
    for valid in found.validated:
        click.echo(f"validated  {valid.configuration}  {named(valid.dependency)}")
    for made in found.triggered:
        click.echo(f"triggered  {made.configuration}  job {made.job}")


def _tell_the_rest(found: EventAnswer, indexes: Sequence[int], *, is_list: bool = False) -> None:
    """Why events did nothing; `indexes` are their places in the file."""
    for left in found.ignored:
        which = f"Event [{indexes[left.event]}]" if is_list else "The event"
        talk(f"{which} did not count for {left.configuration}: {_why_ignored(left)}.")
    refused = {bad.index for bad in found.refused}
    for number, index in enumerate(indexes):
        if number not in found.matched | refused:
            which = f"Event [{index}]" if is_list else "The event"
            talk(f"{which} matched no configuration; rota configuration list shows what is waited for.")


def _why_ignored(left: Ignored) -> str:
    if left.verdict is Verdict.DUPLICATE:
        return "one with its id had counted before"
    return f"it is not newer than the last execution, {shown_time(left.last_execution or 0)}"


def _preview(target: Target, rota: Engine, raw: object) -> None:
    found = rota.events.preview(read_event(raw, rota.clock.now(), rota.event_types))
    rows = [(one.configuration, one.evaluation.verdict, shown_time(one.evaluation.at)) for one in found]
    answer(
        {"evaluations": [preview_shape(one) for one in found]},
        as_json=target.as_json,
        show=lambda: print_table(("CONFIGURATION", "VERDICT", "AT"), rows, nothing="It matches no configuration."),
    )


@event.command(name="list")
@click.argument("names", metavar="[CONFIGURATION]...", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@takes_target
def list_events(target: Target, *, names: tuple[str, ...], limit: int) -> None:
    """Events that validated dependencies, the last received first."""
    with target.open() as rota:
        found = sorted(_validations(rota, names, limit), key=lambda one: -one[1].event.received_at)[:limit]
    if target.as_json:
        print_json([{"configuration": name, **msgspec.to_builtins(one)} for name, one in found])
        return
    rows = [(moment(one.event.received_at), one.event.timestamp, one.event.resource_id, name) for name, one in found]
    print_table(("RECEIVED", "TIMESTAMP", "RESOURCE", "CONFIGURATION"), rows, nothing="No event has counted yet.")


def _validations(rota: Engine, names: tuple[str, ...], limit: int) -> Iterable[tuple[str, ValidationShape]]:
    for entry in _configurations(rota, names):
        one = entry.configuration
        for valid in rota.store.list_validations(one.uuid, limit=limit):
            yield one.name, validation_shape(valid, one)


def _configurations(rota: Engine, names: tuple[str, ...]) -> list[ConfigurationEntry]:
    if names:
        return [rota.configurations.find(name) for name in names]
    entries, is_cut = configurations_up_to(_MOST_CONFIGURATIONS, rota.store)
    if is_cut:
        talk(f"Only the first {_MOST_CONFIGURATIONS} configurations were looked at; name others to see theirs.")
    return entries
