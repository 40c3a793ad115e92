"""`rota topic`: records that other programs read."""

import click
import msgspec

from rota.cli.show import answer, moment, print_foreign, print_table
from rota.cli.target import Target, takes_target
from rota.engine.topics.following import follow as follow_topic
from rota.engine.topics.following import read_to_end
from rota.shapes.topics import record_shape, topic_shape
from rota.store.contract.topics import MAX_TOPICS, TopicEntry, TopicRow


@click.group(short_help="Read topics: list, tail.")
def topic() -> None:
    """Read the records that due tasks, and jobs of the executor `topic`, put onto topics."""


@topic.command("list")
@takes_target
def list_topics(target: Target) -> None:
    """List the topics, and from where to where each has records."""
    with target.open() as rota:
        found = rota.store.list_topics(limit=MAX_TOPICS)
    answer([topic_shape(one) for one in found], as_json=target.as_json, show=lambda: _show(found))


def _show(topics: list[TopicEntry]) -> None:
    rows = [(one.name, one.end - one.first, one.first, one.end) for one in topics]
    print_table(("NAME", "RECORDS", "FIRST OFFSET", "NEXT OFFSET"), rows, nothing="No topics yet.")


@topic.command()
@click.argument("name")
@click.option("-n", "--lines", type=click.IntRange(1), default=10, show_default=True, help="The last so many records.")
@click.option("--from", "offset", type=click.IntRange(0), help="Instead: all from this offset on.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what comes, until it is stopped.")
@takes_target
def tail(target: Target, *, name: str, lines: int, offset: int | None, follow: bool) -> None:
    """Show the latest records of a topic: offset, time and value.

    With --json there is one document per line.

    \b
    rota topic tail reports -f
    rota topic tail reports --from 0 --json
    """
    with target.open() as rota:
        read = follow_topic if follow else read_to_end
        for row in read(rota.topics, name, -lines if offset is None else offset):
            _print(row, as_json=target.as_json)


def _print(row: TopicRow, *, as_json: bool) -> None:
    shape = record_shape(row)
    if as_json:
        click.echo(msgspec.json.encode(shape).decode())
    else:
        print_foreign(f"{shape.offset}  {moment(shape.timestamp)}  {msgspec.json.encode(shape.value).decode()}")
