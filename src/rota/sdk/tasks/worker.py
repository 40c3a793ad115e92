"""A worker of an app: a node that has the app's tasks, in a program or started by `rota worker module:app`."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rota.engine.node.options import SCHEDULER, WORKER
from rota.host.host import Host
from rota.host.hosting import hosted
from rota.model.node import DEAD_AFTER_MS
from rota.sdk.tasks.registry import TaskRegistry
from rota.settings import Settings

_logger = logging.getLogger("rota.node")
_SERVE_IT = (
    "no worker serves the queue of tasks; have this one serve it too (--queue, or queues=[...]), or start another"
)
_MOST_TOLD = 500


@contextmanager
def hosted_tasks(
    registry: TaskRegistry, settings: Settings, *, burst: bool, queues: Sequence[str] = ()
) -> Iterator[Host]:
    """A node with the tasks of an app, which may serve more queues than one. It fires schedules too, since any number
    of nodes may; in a burst it does not, which would make new jobs."""
    registry.declare(removes=True)
    roles = frozenset({WORKER}) if burst else frozenset({WORKER, SCHEDULER})
    with hosted(settings, roles, store=registry.connection.engine.store) as host:
        registry.provide_functions(host.engine.executors)
        host.serve_also(queues)
        _warn_of_unserved(registry, host)
        host.stops_when_empty = burst
        host.lifespans += registry.lifespans
        yield host


def _warn_of_unserved(registry: TaskRegistry, host: Host) -> None:
    """Jobs of these tasks would wait and nobody would know why."""
    engine = host.engine
    nodes = engine.store.list_nodes(since=engine.clock.now() - DEAD_AFTER_MS)
    served = {engine.definitions.node_type(name).uuid for name in host.node_types} | {
        node.node_type for node in nodes if WORKER in node.roles
    }
    for queue, tasks in registry.tasks_by_queue().items():
        if engine.definitions.node_type(queue).uuid not in served:
            _logger.warning(_SERVE_IT, extra={"queue": queue, "tasks": ", ".join(tasks)[:_MOST_TOLD]})
