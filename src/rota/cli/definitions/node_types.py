"""`rota node-type`: the queues, and how many jobs a node of each runs at a time."""

from collections.abc import Sequence

import click

from rota.cli.show import answer, answer_deleted, print_facts, print_table
from rota.cli.target import Target, takes_target
from rota.model.ids import new_id
from rota.model.node import NodeType
from rota.shapes.definitions import NodeTypeShape, node_type_shape


@click.group(name="node-type", short_help="Where it runs: create, list, show, delete.")
def node_type() -> None:
    """A node type is a queue with a concurrency. Nodes of a type run the jobs of its queue."""


@node_type.command()
@click.argument("name")
@click.option("--threads", "--thread-count", "threads", type=int, default=16, show_default=True, help="Jobs at a time.")
@click.option("--replace", is_flag=True, help="Change the node type if it exists.")
@takes_target
def create(target: Target, *, name: str, threads: int, replace: bool) -> None:
    """Define a node type. Serve it with: rota worker --type NAME"""
    with target.open(may_create=True) as rota:
        made = NodeType(uuid=new_id(rota.clock.now()), name=name, thread_count=threads)
        kept = rota.definitions.create_node_type(made, replace=replace)
    answer(node_type_shape(kept), as_json=target.as_json, show=lambda: click.echo(kept.uuid))


@node_type.command(name="list")
@takes_target
def list_node_types(target: Target) -> None:
    """All node types."""
    with target.open() as rota:
        shapes = [node_type_shape(one) for one in rota.definitions.node_types()]
    answer(shapes, as_json=target.as_json, show=lambda: _show_list(shapes))


def _show_list(shapes: list[NodeTypeShape]) -> None:
    rows = [(one.name, one.thread_count, one.uuid) for one in shapes]
    print_table(("NAME", "THREADS", "UUID"), rows, nothing="No node types yet; `rota up` makes the default one.")


@node_type.command()
@click.argument("name")
@takes_target
def show(target: Target, *, name: str) -> None:
    """One node type, by name or uuid."""
    with target.open() as rota:
        shape = node_type_shape(rota.definitions.node_type(name))
    facts = [("name", shape.name), ("uuid", shape.uuid), ("threads", shape.thread_count)]
    answer(shape, as_json=target.as_json, show=lambda: print_facts([*facts, ("owned by", shape.managed_by)]))


@node_type.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@takes_target
def delete(target: Target, *, names: Sequence[str]) -> None:
    """Remove node types that no job type uses and whose queues are empty."""
    with target.open() as rota:
        found = rota.definitions.delete_node_type(*names)
    answer_deleted(found, as_json=target.as_json)
