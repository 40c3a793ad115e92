"""One node in this process: its store, its server, its signals, from start to end.

first TERM or INT    claim nothing more, let running jobs end within the grace
second               interrupt them now; they go back to their queue and no attempt is counted. Should a job's code
                     not let the node go, the process ends all the same a little later
HUP                  as the first; unless it is ignored from the start, as `nohup` has it
"""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from rota.dialects import registry
from rota.ending.last_resort import LEAVE_S, LastResort
from rota.ending.loops import answers, close_runner
from rota.ending.signals import heard_signals
from rota.engine.access.keys.admin_key import KeyPlan
from rota.engine.access.keys.key_ring import KeyRing
from rota.engine.executors.executor import ExecutorOptions
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.node.node import Node
from rota.engine.node.options import WORKER, NodeOptions
from rota.engine.observation.observers import Observers
from rota.engine.worker.times import ABANDON_S
from rota.errors import InvalidInput, MissingExtra, NodeStrained, RotaError, StoreError
from rota.host.kafka import advertised
from rota.host.side_nodes import SideNode
from rota.host.thread_calls import call_in_thread
from rota.model.job import LIVE_STATES
from rota.settings import Settings
from rota.store import Store

if TYPE_CHECKING:
    from rota.server.api import Api
    from rota.server.listen import Tls
    from rota.server.operations import Operation

SERVER = "server"
_DAY_MS = 24 * 3600 * 1000
_EMPTY_CHECK_S = 0.1
_AFTER_ERROR_S = 5.0
LAST_S = ABANDON_S + 1.0
"""When the process begins to end at the latest after the second signal: then the loop does not even answer. After the
first one, a loop that does not answer for this long once the grace is over never will."""
_logger = logging.getLogger("rota.node")


class Duty(Protocol):
    """Something that is done again and again beside the node, until it is over."""

    @property
    def is_over(self) -> bool: ...

    def run_once(self, now: int) -> float:
        """One round; returns how many seconds the next one can wait."""
        ...


class Host:
    """A node that is ready to run, and what runs beside it."""

    def __init__(self, settings: Settings, node: Node, roles: frozenset[str]) -> None:
        self.settings = settings
        self.node = node
        self.engine = node.engine
        self.roles = roles
        self.listener: socket.socket | None = None
        self.key_plan: KeyPlan | None = None
        self.duties: list[Duty] = []
        self.side_nodes = [SideNode(node, *one) for one in _side_queues(settings, roles)]
        self.node_types = [settings.node_type]
        """Those whose queues it serves as it was asked to, its own first."""
        self.stops_when_empty = False
        self.may_end_process = True
        """Whether the process is the node's own, and ends when a job's code would hold it."""
        self.hears_signals = True
        self.lifespans: list[Callable[[], AbstractAsyncContextManager[object]]] = []
        """Entered before the node begins, and left when it has ended."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._signals = 0
        self._last_resort = LastResort()
        self._alone = LastResort()
        """Of a process whose supervisor is gone, which may come at any moment of its end: it takes no other's place."""

    @property
    def address(self) -> str | None:
        """The URL of its server, if it has one."""
        if self.listener is None:
            return None
        from rota.server.listen import address_of

        return address_of(self.listener, has_tls=self.settings.tls_certificate is not None)

    @classmethod
    def open(cls, settings: Settings, store: Store, roles: frozenset[str]) -> "Host":
        """A host whose node is ready to run on a store, as the settings want it."""
        executors = ExecutorRegistry(options=_executor_options(settings))
        executors.get("http")  # so that a bad entry in `http_allow` is told at the start
        node = Node.open(
            store,
            _node_options(settings, roles),
            executors=executors,
            dialects=registry.open_dialects(settings, store),
            event_types=settings.event_types,
        )
        if settings.otel:
            _tell_opentelemetry(node.engine.observers)
        return cls(settings, node, roles)

    def serve_also(self, node_types: Iterable[str]) -> None:
        """Serve these queues too, each with slots of its own: as many as its node type says, or the settings."""
        for name in node_types:
            self.engine.definitions.node_type(name)
            if name not in self.node_types:
                options = _node_options(self.settings, self.roles)
                self.side_nodes.append(SideNode(self.node, options, name, self.settings.thread_count))
                self.node_types.append(name)

    def run(self, announce: Callable[[], None]) -> None:
        """Live until a signal, or an empty queue, ends it. `announce` is called once signals are heard."""
        with self._last_resort, self._alone:
            runner = asyncio.Runner(loop_factory=loop_factory())
            exit_code = 1
            try:
                runner.run(self._live(announce))
                exit_code = 0
            finally:
                # The node is gone. A loop waits until every task and thread has ended, and some of a job's never do.
                if self.may_end_process:
                    self._last_resort.set(LEAVE_S, exit_code)
                close_runner(runner)

    async def serve(self) -> None:
        """The same within a program that has a loop, and its own way with signals."""
        self.hears_signals = self.may_end_process = False
        await self._live(lambda: None)

    async def _live(self, announce: Callable[[], None]) -> None:
        async with AsyncExitStack() as around:
            for lifespan in self.lifespans:
                await around.enter_async_context(lifespan())
            await self._live_within(announce)

    async def _live_within(self, announce: Callable[[], None]) -> None:
        stopping = asyncio.Event()
        self.node.find_queue()  # before anything is announced: whoever has begun does not end for want of it
        # First of all: a request to stop is heard only by a node that has begun.
        node = asyncio.create_task(self.node.run())
        self._loop = loop = asyncio.get_running_loop()
        heard = heard_signals(lambda number: self._on_signal(number, loop)) if self.hears_signals else nullcontext()
        with heard:
            announce()
            beside = self._beside(stopping)
            for task in beside:
                task.add_done_callback(self._stop_on_error)
            try:
                await node
            finally:
                stopping.set()
                ends = await asyncio.gather(*beside, return_exceptions=True)
                self._alone.cancel()
                if self._signals < 2:
                    self._last_resort.cancel()  # no job is left; what is around the node may take its time
        for end in ends:
            if isinstance(end, BaseException):
                raise end

    def _beside(self, stopping: asyncio.Event) -> list[asyncio.Task[None]]:
        """The tasks beside the node; each ends when `stopping` is set."""
        tasks = []
        if self.listener is not None and self.key_plan is not None:
            tasks.append(asyncio.create_task(self._serve(self.listener, self.key_plan, stopping)))
        tasks += [asyncio.create_task(self._drive(duty, stopping)) for duty in self.duties]
        tasks += [asyncio.create_task(one.run(stopping)) for one in self.side_nodes]
        if self.stops_when_empty:
            tasks.append(asyncio.create_task(self._stop_when_empty(stopping)))
        return tasks

    def _stop_on_error(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.node.request_stop()

    def _on_signal(self, number: int, loop: asyncio.AbstractEventLoop) -> None:
        """Called in a thread."""
        if number == signal.SIGHUP and self._signals:
            return  # the kernel and the shell may both say that the terminal is gone: that is one request, not two
        self._signals += 1
        if self._signals == 1:
            self._end_after_grace(self._last_resort, loop)
        elif self._signals == 2:
            self._last_resort.set(LAST_S, 1, before=self._give_up)
        loop.call_soon_threadsafe(self._stop, self._signals > 1)

    def _end_after_grace(self, last_resort: LastResort, loop: asyncio.AbstractEventLoop) -> None:
        grace_s = self.settings.stop_grace_s
        last_resort.set(grace_s, 1, before=self._give_up, unless=lambda: answers(loop, LAST_S))

    def end_alone(self) -> None:
        """From any thread: nobody is left who could send a second signal. As the first one does, also if a job blocks
        the loop."""
        if self._loop is not None:
            self._end_after_grace(self._alone, self._loop)
        self.request_stop()

    def request_stop(self) -> None:
        """From any thread: let running jobs end, and end."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                self._loop.call_soon_threadsafe(self._stop, False)

    def _stop(self, at_once: bool) -> None:
        _logger.info("stopping now" if at_once else "stopping; a second signal interrupts running jobs")
        self._stop_nodes(at_once=at_once)

    def _stop_nodes(self, *, at_once: bool = False) -> None:
        self.node.request_stop(at_once=at_once)
        for one in self.side_nodes:
            one.request_stop(at_once=at_once)

    def _give_up(self) -> None:
        self.node.give_up()
        for one in self.side_nodes:
            one.give_up()

    def health(self) -> str | None:
        """What is wrong with any node of this process, in one line; None when all is well."""
        found = [self.node.health(), *(one.health() for one in self.side_nodes)]
        found.append(self.engine.light.trouble if self.engine.light else None)
        # Some of it, such as a store that is away, all of them find.
        return "; ".join(dict.fromkeys(one for one in found if one)) or None

    def make_api(self, plan: KeyPlan) -> "Api":
        """What the server of this node offers, as the settings want it."""
        from rota.server.api import Api, ServerOptions
        from rota.server.connection.limits import most_connections

        options = ServerOptions(
            rate_limit=self.settings.rate_limit,
            metrics_open=self.settings.metrics_open,
            bound_to=(self.settings.host, *([] if self.listener is None else [str(self.listener.getsockname()[0])])),
            allowed_hosts=(*self.settings.allowed_hosts, *self._advertised_names()),
            trusted_proxies=self.settings.trusted_proxies,
            max_followers=max(1, most_connections(self.settings.max_connections) // 2),
        )
        keys = KeyRing(self.engine.store, plan, self.engine.clock)
        return Api(
            self.engine,
            keys=keys,
            health=self.health,
            options=options,
            sections=registry.sections(),
            settings=self.settings,
        )

    def _advertised_names(self) -> list[str]:
        """The name under which other instances ask this one."""
        name = (
            urlsplit(advertised(self.settings, self.address)).hostname if self.settings.kafka and self.address else None
        )
        return [] if name is None else [name]

    async def _serve(self, listener: socket.socket, plan: KeyPlan, stopping: asyncio.Event) -> None:
        from rota.server.app import make_app
        from rota.server.listen import serve
        from rota.server.pages.sitemap import DASHBOARD

        api = self.make_api(plan)
        try:
            app = make_app(api, self._operations(), registry.with_pages(DASHBOARD))
            most, tls = self.settings.max_connections, tls_of(self.settings)
            await serve(app, listener, stopping, before_end=api.end_streams, max_connections=most, tls=tls)
        finally:
            try:
                await call_in_thread(api.close)
            except NodeStrained:
                api.close()  # it holds up the loop for a while, and no job needs that any more

    def _operations(self) -> "list[Operation]":
        from rota.server import routes

        return [*routes.ALL, *registry.operations(self.settings, self.engine.store)]

    async def _drive(self, duty: Duty, stopping: asyncio.Event) -> None:
        while not duty.is_over and not stopping.is_set():
            try:
                wait_s = await call_in_thread(duty.run_once, self.engine.clock.now())
            except RotaError as error:
                _logger.warning("duty failed", extra={"duty": type(duty).__name__, "error": str(error)})
                wait_s = _AFTER_ERROR_S
            await _wait(stopping, wait_s)

    async def _stop_when_empty(self, stopping: asyncio.Event) -> None:
        """For --burst: stop as soon as the queues have nothing left to run."""
        queues = [self.engine.definitions.node_type(name).uuid for name in self.node_types]
        while not stopping.is_set():
            await _wait(stopping, _EMPTY_CHECK_S)
            with suppress(NodeStrained):  # the next look may have a thread
                if await call_in_thread(self.is_empty, *queues):
                    self._stop_nodes()
                    return

    def is_empty(self, *queues: str) -> bool:
        """Whether nothing is left to run in some queues, now or later, and nothing follows what ran in them."""
        try:
            # An outbox that is empty says that what follows was made, perhaps by another process or in another queue
            # since the jobs were counted: then there are more now.
            made = self._made_in(queues)
            return all(map(self._has_ended, queues)) and self._made_in(queues) == made
        except StoreError:
            return False  # nobody knows; the node says that the store is away and waits for it

    def _made_in(self, queues: Sequence[str]) -> list[int]:
        return [self.engine.store.read_totals(queue).enqueued for queue in queues]

    def _has_ended(self, queue: str) -> bool:
        """Whether all jobs of a queue have, and their ends are told."""
        counts = self.engine.store.count_jobs(queue)
        if any(counts[state] for state in LIVE_STATES):
            return False
        self.engine.outbox.take(queue, self.engine.clock.now())
        return not self.engine.store.read_outbox(queue, limit=1)


def tls_of(settings: Settings) -> "Tls | None":
    from rota.server.listen import Tls

    if settings.tls_certificate is None:
        if settings.tls_key is not None:
            raise InvalidInput("tls_key", "needs tls_certificate beside it")
        return None
    return Tls(settings.tls_certificate, settings.tls_key)


def _tell_opentelemetry(observers: Observers) -> None:
    try:
        from rota.engine.observation.opentelemetry import OpenTelemetry
    except ImportError as error:
        raise MissingExtra("otel: true", "otel") from error
    OpenTelemetry(observers)


def _side_queues(settings: Settings, roles: frozenset[str]) -> list[tuple[NodeOptions, str, int]]:
    """Options, node type and slots of each queue that a worker serves beside its own."""
    if WORKER not in roles:
        return []
    found = registry.side_queues(settings).items()
    options = _node_options(settings, roles)
    return [(options, name, threads) for name, threads in found if threads and name != settings.node_type]


def _executor_options(settings: Settings) -> ExecutorOptions:
    return ExecutorOptions(http_allow=settings.http_allow, pass_environment=settings.pass_environment)


def _node_options(settings: Settings, roles: frozenset[str]) -> NodeOptions:
    return NodeOptions(
        node_type=settings.node_type,
        roles=roles,
        threads=settings.thread_count,
        stop_grace_s=settings.stop_grace_s,
        history_max_age_ms=round(settings.history_max_age_days * _DAY_MS),
        audit_max_age_ms=round(settings.audit_max_age_days * _DAY_MS),
        history_max_count=settings.history_max_count,
    )


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _wait(stopping: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stopping.wait(), seconds)
    except TimeoutError:
        return
