"""Nodes that run in this process, waiting for what they do, and stores that fail."""

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from rota.engine.executors.registry import GROUP
from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.engine.observation.observers import Observers
from rota.errors import StoreUnavailable
from rota.store import Store
from rota.store.claims import Lifeline

DEADLINE_S = float(os.environ.get("ROTA_TEST_PATIENCE_S", "60"))
"""Only a guard: what is waited for comes within milliseconds on any machine that is not stuck. Whoever expects tests to
fail has less patience."""
POLL_S = 0.005


async def until(is_true: Callable[[], bool], what: str) -> None:
    """Ask until the answer is yes."""
    loop = asyncio.get_running_loop()
    end = loop.time() + DEADLINE_S
    while not is_true():
        assert loop.time() < end, f"waited in vain for {what}"
        await asyncio.sleep(POLL_S)


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


class Faults:
    """Makes calls of a store go wrong: before they happen, or after, when only the answer is lost."""

    def __init__(self, store: object) -> None:
        self._store = store
        self._before: dict[str, deque[Callable[[], object]]] = {}
        self._after: dict[str, deque[Callable[[], object]]] = {}
        self._is_cut = threading.Event()
        self.calls: list[str] = []

    def cut_off(self) -> None:
        """Nothing gets through any more, until `reconnect`."""
        self._is_cut.set()

    def reconnect(self) -> None:
        self._is_cut.clear()

    @property
    def real(self) -> Store:
        """The same store, without faults."""
        return cast(Store, self._store)

    @property
    def store(self) -> Store:
        """The same store, with the faults."""
        return cast(Store, self)

    def before(self, name: str, *faults: Callable[[], object]) -> None:
        """The next calls of an operation do this first, one fault for each; what it raises is raised to the caller."""
        self._before.setdefault(name, deque()).extend(faults)

    def after(self, name: str, *faults: Callable[[], object]) -> None:
        """The next calls of an operation happen, and then do this."""
        self._after.setdefault(name, deque()).extend(faults)

    def awaits(self, name: str) -> bool:
        """Whether faults of an operation have not happened yet."""
        return bool(self._before.get(name) or self._after.get(name))

    def lifeline(self, *, timeout_s: float) -> Lifeline:
        """A line with the same faults."""
        self._prepare("lifeline")
        line = Faults(self.real.lifeline(timeout_s=timeout_s))
        line._before, line._after, line.calls, line._is_cut = self._before, self._after, self.calls, self._is_cut
        return cast(Lifeline, line)

    def _prepare(self, name: str) -> None:
        self.calls.append(name)
        if self._is_cut.is_set() and name != "close":
            raise StoreUnavailable("cut off")
        if self._before.get(name):
            self._before[name].popleft()()

    def __getattr__(self, name: str) -> object:
        real = getattr(self._store, name)
        if not callable(real):
            return real

        def call(*args: object, **options: object) -> object:
            self._prepare(name)
            answer = real(*args, **options)
            if self._after.get(name):
                self._after[name].popleft()()
            return answer

        return call


def is_listed(store: Store, node: Node) -> bool:
    return any(one.uuid == node.uuid for one in store.list_nodes(since=0))


def install_plug_in(folder: Path, **executors: str) -> None:
    """A package in `folder` that registers executors: name to `module:class`. The folder must be on `sys.path`."""
    package = folder / "odd-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    lines = [f"{name} = {target}\n" for name, target in executors.items()]
    (package / "entry_points.txt").write_text("".join([f"[{GROUP}]\n", *lines]))
