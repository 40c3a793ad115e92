"""One node in this process: its store, its server, its signals, from start to end.

    first TERM or INT    claim nothing more, let running jobs end within the grace
    second               interrupt them now; they go back to their queue and no attempt is counted
"""

import asyncio
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from msgspec import Struct

from rota.cli.target import require_shared_store, store_url
from rota.clock import SystemClock
from rota.engine.node import Node, NodeOptions
from rota.engine.store_thread import StoreThread
from rota.errors import StoreError
from rota.model.job import LIVE_STATES
from rota.server.keys import KeyPlan, KeyRing, prepare_key
from rota.settings import Settings
from rota.store import Store, open_store

SERVER = "server"
_DAY_MS = 24 * 3600 * 1000
_BURST_CHECK_S = 0.1
_logger = logging.getLogger("rota.node")


class Duty(Protocol):
    """Something done again and again beside the node until it is over."""

    @property
    def is_over(self) -> bool: ...

    def run_once(self, now: int) -> float: ...


class Hosted:
    """A node that is ready to run, with what it needs."""

    def __init__(self, store: Store, settings: Settings, roles: frozenset[str]) -> None:
        self.store = store
        self.settings = settings
        self.clock = SystemClock()
        self.node = Node(store, node_options(settings, roles), clock=self.clock)
        self.listener: socket.socket | None = None
        self.key_plan: KeyPlan | None = None
        self.duties: list[Duty] = []

    def run(self) -> None:
        """Until a signal stops it."""
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._live())
