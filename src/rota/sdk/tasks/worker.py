"""A worker of an app: a node that has the app's tasks, in a program or started by `rota worker module:app`."""

from collections.abc import Iterator
from contextlib import contextmanager

from rota.engine.node.options import SCHEDULER, WORKER
from rota.host.host import Host
from rota.host.hosting import hosted
from rota.sdk.tasks.registry import TaskRegistry
from rota.settings import Settings


@contextmanager
def hosted_tasks(registry: TaskRegistry, settings: Settings, *, burst: bool) -> Iterator[Host]:
    """A node with the tasks of an app. It fires schedules too, since any number of nodes may; in a burst it does not,
    which would make new jobs."""
    registry.declare(removes=True)
    roles = frozenset({WORKER}) if burst else frozenset({WORKER, SCHEDULER})
    with hosted(settings, roles, store=registry.connection.engine.store) as host:
        registry.provide_functions(host.engine.executors)
        host.stops_when_empty = burst
        host.lifespans += registry.lifespans
        yield host
