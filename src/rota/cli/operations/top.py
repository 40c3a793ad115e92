"""`rota top`: queues, nodes and running jobs, live."""

import sys
import time
from collections.abc import Sequence

import click
from msgspec import Struct

from rota.cli.listing import jobs_up_to
from rota.cli.operations.nodes import node_rows
from rota.cli.operations.queues import queue_shapes
from rota.cli.show import moment, print_json, print_table, rich_table, span
from rota.cli.target import Target, takes_target
from rota.engine.engine import Engine
from rota.host.terminal import visible
from rota.model.job import FINAL_STATES, JobState
from rota.model.node import Node
from rota.shapes.jobs import JobShape, job_shape
from rota.shapes.nodes import NodeShape, QueueShape, node_shape
from rota.store.contract.jobs import JobQuery

_RUNNING = JobQuery(states=frozenset({JobState.RUNNING}))
_QUEUE_STATES = (JobState.DELAYED, JobState.QUEUED, JobState.RUNNING, JobState.FAILED)
_Table = tuple[tuple[str, ...], list[list[str]]]


class Look(Struct, frozen=True, kw_only=True):
    """Everything at one moment."""

    time: int
    queues: list[QueueShape]
    nodes: list[Node]
    jobs: list[JobShape]
    queue_names: dict[str, str]

    def ended(self, queue: str) -> int:
        """Jobs of a queue that are over."""
        return next((sum(one.jobs[state] for state in FINAL_STATES) for one in self.queues if one.uuid == queue), 0)


@click.command(short_help="Watch queues, nodes and running jobs.")
@click.option("--interval", type=click.FloatRange(0.1, 3600), default=1.0, show_default=True, help="Seconds.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="Running jobs at most.")
@click.option("--once", is_flag=True, help="Look once. So it is elsewhere than on a terminal, and with --json.")
@takes_target
def top(target: Target, *, interval: float, limit: int, once: bool) -> None:
    """Watch queues, nodes and running jobs, until Ctrl-C."""
    with target.open() as rota:
        if target.as_json:
            print_json(_document(_look(rota, limit)))
        elif once or not sys.stdout.isatty():
            _print(_look(rota, limit))
        else:
            _watch(rota, limit, interval)


def _look(rota: Engine, limit: int) -> Look:
    names, job_types = rota.definitions.queue_names(), rota.definitions.job_type_names()
    jobs, _ = jobs_up_to(limit, rota.store, _RUNNING)
    return Look(
        time=rota.clock.now(),
        queues=queue_shapes(rota),
        nodes=rota.store.list_nodes(since=0),
        jobs=[job_shape(one, job_types, names) for one in jobs],
        queue_names=names,
    )


def _watch(rota: Engine, limit: int, interval: float) -> None:
    from rich.console import Console, Group
    from rich.live import Live

    console = Console()
    before: Look | None = None
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                look = _look(rota, limit)
                tables = _tables(look, before)
                title = f"{visible(rota.store.url)}   {moment(look.time)}   Ctrl-C ends"
                parts = [rich_table(headers, rows, width=console.width) for headers, rows in tables]
                live.update(Group(title, *(item for part in parts for item in ("", part))), refresh=True)
                before = look
                time.sleep(interval)
    except KeyboardInterrupt:
        return


def _print(look: Look) -> None:
    for number, (headers, rows) in enumerate(_tables(look, None)):
        if number:
            click.echo()
        print_table(headers, rows, nothing=f"No {('queues', 'nodes', 'running jobs')[number]}.")


def _tables(look: Look, before: Look | None) -> Sequence[_Table]:
    return (_queue_table(look, before), _node_table(look), _job_table(look))


def _queue_table(look: Look, before: Look | None) -> _Table:
    headers = ("QUEUE", "WORKERS", *(state.upper() for state in _QUEUE_STATES), "ENDED/S", "")
    rows = [
        [
            one.name,
            one.workers,
            *(one.jobs[state] for state in _QUEUE_STATES),
            _pace(one.uuid, look, before),
            _mark(one),
        ]
        for one in look.queues
    ]
    return headers, _shown(rows)


def _pace(queue: str, look: Look, before: Look | None) -> str:
    """How many jobs ended per second since the last look; none that retention took away meanwhile."""
    if before is None or look.time <= before.time:
        return ""
    return f"{max(look.ended(queue) - before.ended(queue), 0) * 1000 / (look.time - before.time):.1f}"


def _mark(one: QueueShape) -> str:
    return "paused" if one.paused else ""


def _node_table(look: Look) -> _Table:
    headers = ("NODE", "TYPE", "STATE", "RUNNING", "ROLES", "PROCESS", "LAST BEAT")
    return headers, _shown(node_rows(look.nodes, look.queue_names, look.time))


def _job_table(look: Look) -> _Table:
    rows = [
        [one.uuid, one.job_type or one.job_type_uuid, one.node_type, moment(one.started_at), _since(one, look.time)]
        for one in look.jobs
    ]
    return ("JOB", "TYPE", "QUEUE", "STARTED", "FOR"), _shown(rows)


def _since(one: JobShape, now: int) -> str:
    return "" if one.started_at is None else span(max(now - one.started_at, 0))


def _shown(rows: Sequence[Sequence[object]]) -> list[list[str]]:
    return [["" if value is None else visible(str(value)) for value in row] for row in rows]


def _document(look: Look) -> dict[str, object]:
    nodes: list[NodeShape] = [node_shape(one, look.queue_names, look.time) for one in look.nodes]
    return {"time": look.time, "queues": look.queues, "nodes": nodes, "jobs": look.jobs}
