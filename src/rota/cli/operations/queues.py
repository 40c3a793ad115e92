"""`rota queues`: what waits where; pausing and resuming."""

import click

from rota.cli.show import answer, print_json, print_table, talk
from rota.cli.target import Target, takes_target
from rota.engine.engine import Engine
from rota.model.job import JobState
from rota.model.node import DEAD_AFTER_MS, NodeType
from rota.shapes.nodes import QueueShape, queue_shape


@click.group(short_help="List queues; pause and resume them.", invoke_without_command=True)
@takes_target
def queues(target: Target) -> None:
    """List the queues, one per node type, with their jobs by state."""
    verb = click.get_current_context().invoked_subcommand
    if verb is None:
        with target.open() as rota:
            shapes = queue_shapes(rota)
        answer(shapes, as_json=target.as_json, show=lambda: _show(shapes))
    elif target.has_options:
        raise click.UsageError(f"put options behind the verb: rota queues {verb} NAME --store URL")


def queue_shapes(rota: Engine) -> list[QueueShape]:
    """All queues, with their jobs by state."""
    paused = rota.store.paused_queues()
    nodes = rota.store.list_nodes(since=rota.clock.now() - DEAD_AFTER_MS)
    return [
        queue_shape(one, rota.store.count_jobs(one.uuid), nodes, is_paused=one.uuid in paused)
        for one in rota.definitions.node_types()
    ]


def _show(shapes: list[QueueShape]) -> None:
    states = [state.value for state in JobState]
    headers = ("NAME", "WORKERS", *(state.upper() for state in states), "")
    rows = []
    for one in shapes:
        counts = (one.jobs[state] for state in states)
        rows.append((one.name, one.workers, *counts, "paused" if one.paused else ""))
    print_table(headers, rows, nothing="No queues yet; `rota up` makes the default one.")


@queues.command()
@click.argument("name")
@takes_target
def pause(target: Target, *, name: str) -> None:
    """Give out no jobs of this queue. Running ones go on, new ones are accepted."""
    with target.open() as rota:
        queue = rota.queues.pause(name)
    _report(target, queue, is_paused=True)


@queues.command()
@click.argument("name")
@takes_target
def resume(target: Target, *, name: str) -> None:
    """Give out jobs again."""
    with target.open() as rota:
        queue = rota.queues.resume(name)
    _report(target, queue, is_paused=False)


def _report(target: Target, queue: NodeType, *, is_paused: bool) -> None:
    if target.as_json:
        print_json({"uuid": queue.uuid, "name": queue.name, "paused": is_paused})
    else:
        talk(f"{queue.name} is {'paused' if is_paused else 'resumed'}.")
