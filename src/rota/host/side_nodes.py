"""Queues that a process serves beside that of its own node type, as soon as there are such."""

import asyncio
import logging

from msgspec import structs

from rota.engine.node.node import Node
from rota.engine.node.options import WORKER, NodeOptions
from rota.errors import NodeStrained, NotFound, StoreError
from rota.host.thread_calls import call_in_thread

_LOOK_S = 1.0
_logger = logging.getLogger("rota.node")


class SideNode:
    """A node for one more queue in this process. It begins when its node type is defined."""

    def __init__(self, main: Node, options: NodeOptions, node_type: str, threads: int | None) -> None:
        self.node_type = node_type
        self._main = main
        self._options = structs.replace(options, node_type=node_type, threads=threads, roles=frozenset({WORKER}))
        self._node: Node | None = None
        self._is_stopped = asyncio.Event()

    async def run(self, stopping: asyncio.Event) -> None:
        """Live until it is stopped, or until `stopping` is set."""
        watch = asyncio.create_task(self._stop_at(stopping))
        try:
            if await self._is_defined():
                self._node = await self._opened()
            if self._node is not None:
                if self._is_stopped.is_set():
                    self._node.request_stop()
                await self._node.run()
        finally:
            watch.cancel()

    def request_stop(self, *, at_once: bool = False) -> None:
        self._is_stopped.set()
        if self._node is not None:
            self._node.request_stop(at_once=at_once)

    def health(self) -> str | None:
        """None when all is well, else what is wrong, in one line. As long as there is no such queue, all is."""
        return None if self._node is None else self._node.health()

    def give_up(self) -> None:
        if self._node is not None:
            self._node.give_up()

    async def _is_defined(self) -> bool:
        """Wait for the node type; the main node hears of new ones with its beats. False when it is stopped first."""
        definitions = self._main.engine.definitions
        while definitions.known_node_type(self._options.node_type) is None:
            if await self._is_stopped_soon():
                return False
        return True

    async def _opened(self) -> Node | None:
        """The node, as soon as the store lets it; the main node goes on meanwhile. None when it is stopped first."""
        said = ""
        while True:
            try:
                return await call_in_thread(self._main.beside, self._options)
            except (StoreError, NotFound, NodeStrained) as error:
                # The store is away, the node type was deleted just now, or there is no room for a thread.
                if said != (said := str(error)):
                    _logger.warning("queue not served yet", extra={"node_type": self.node_type, "error": said})
            if await self._is_stopped_soon():
                return None

    async def _is_stopped_soon(self) -> bool:
        try:
            await asyncio.wait_for(self._is_stopped.wait(), _LOOK_S)
        except TimeoutError:
            return False
        return True

    async def _stop_at(self, stopping: asyncio.Event) -> None:
        await stopping.wait()
        self.request_stop()
