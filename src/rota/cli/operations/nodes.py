"""`rota nodes`: the processes that serve."""

import click

from rota.cli.show import answer, print_table, span
from rota.cli.target import Target, takes_target
from rota.model.node import Node
from rota.shapes.nodes import node_shape


@click.command(short_help="List the processes that serve.")
@takes_target
def nodes(target: Target) -> None:
    """List nodes. Those that died are shown for a while."""
    with target.open() as rota:
        now = rota.clock.now()
        names = rota.definitions.queue_names()
        found = rota.store.list_nodes(since=0)
    shapes = [node_shape(one, names, now) for one in found]
    answer(shapes, as_json=target.as_json, show=lambda: _show(found, names, now))


def node_rows(found: list[Node], names: dict[str, str], now: int) -> list[tuple[object, ...]]:
    """Nodes as rows of a table."""
    return [
        (
            one.uuid,
            names.get(one.node_type, one.node_type),
            _state(one, now),
            f"{one.running}/{one.slots}",
            ",".join(one.roles),
            f"{one.host}:{one.pid}",
            f"{span(now - one.last_ping)} ago",
        )
        for one in found
    ]


def _show(found: list[Node], names: dict[str, str], now: int) -> None:
    rows = node_rows(found, names, now)
    headers = ("NODE", "TYPE", "STATE", "RUNNING", "ROLES", "PROCESS", "LAST BEAT")
    print_table(headers, rows, nothing="No nodes. Start one with: rota up, or rota worker")
    for one in found:
        if one.trouble and one.is_alive(now):
            click.echo(f"{one.uuid}: {one.trouble}")


def _state(node: Node, now: int) -> str:
    if not node.is_alive(now):
        return "dead"
    if node.draining:
        return "draining"
    return "in trouble" if node.trouble else "alive"
