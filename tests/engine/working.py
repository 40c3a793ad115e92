"""Nodes that run in this process, and waiting for what they do."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from rota.engine.executors.registry import GROUP
from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.engine.observation.observers import Observers
from rota.store import Store
from tests.patience import DEADLINE_S

POLL_S = 0.005


async def until(is_true: Callable[[], bool], what: str) -> None:
    """Ask until the answer is yes."""
    loop = asyncio.get_running_loop()
    end = loop.time() + DEADLINE_S
    while not is_true():
        assert loop.time() < end, f"waited in vain for {what}"
        await asyncio.sleep(POLL_S)


def wait_until(is_true: Callable[[], object], what: str) -> None:
    """The same for a test without a loop."""
    end = time.monotonic() + DEADLINE_S
    while not is_true():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(POLL_S)


@asynccontextmanager
async def working(store: Store, *, observers: Observers | None = None, **options: object) -> AsyncIterator[Node]:
    """A running node. At the end it is stopped at once, and what it raised is raised here."""
    node = Node.open(store, NodeOptions(**options), observers=observers)  # type: ignore[arg-type]
    task = asyncio.create_task(node.run())
    try:
        await until(lambda: task.done() or is_listed(store, node), "the node's first beat")
        yield node
    finally:
        node.request_stop(at_once=True)
        await asyncio.wait_for(task, DEADLINE_S)


def is_listed(store: Store, node: Node) -> bool:
    return any(one.uuid == node.uuid for one in store.list_nodes(since=0))


def install_plug_in(folder: Path, **executors: str) -> None:
    """A package in `folder` that registers executors: name to `module:class`. The folder must be on `sys.path`."""
    package = folder / "odd-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    lines = [f"{name} = {target}\n" for name, target in executors.items()]
    (package / "entry_points.txt").write_text("".join([f"[{GROUP}]\n", *lines]))
