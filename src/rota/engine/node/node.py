"""A node: one process. It beats, drives its duties, and runs a worker if it has that role.

role        what it drives
worker      a worker on its node type's queue, and the watchdog
scheduler   the ticker, the watchdog and retention
both        the duties of the dialects that it speaks
"""

import asyncio
import os
import socket
from collections.abc import Sequence
from functools import partial

from rota import __version__
from rota.clock import NodeClock
from rota.engine.bridge.store_thread import StoreThread
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.engine import Engine
from rota.engine.executors.built_in.event import EventExecutor
from rota.engine.executors.built_in.topic import TopicExecutor
from rota.engine.executors.executor import Executor
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.housekeeping.retention import Retention
from rota.engine.liveness.draining import forget_drain_request
from rota.engine.liveness.heart import Heart
from rota.engine.liveness.presence import Presence, own_presence
from rota.engine.liveness.watchdog import Watchdog
from rota.engine.node.dialect import Dialect, DialectContext
from rota.engine.node.driver import Driver
from rota.engine.node.duty import Duty, Round
from rota.engine.node.health import Health
from rota.engine.node.news import News
from rota.engine.node.options import SCHEDULER, WORKER, NodeOptions
from rota.engine.node.thread_count import ThreadCount
from rota.engine.observation.happenings import (
    DrainRequested,
    Fault,
    LeaveFailed,
    NodeJoined,
    NodeLeft,
)
from rota.engine.observation.observers import Observers
from rota.engine.schedules.ticker import Ticker
from rota.engine.topics.light.executor import LightExecutor
from rota.engine.worker.worker import Worker
from rota.errors import StoreError
from rota.model.ids import new_id
from rota.model.liveness import BEATS_PER_DEATH, contact_of_node
from rota.model.node import Node as NodeRecord
from rota.model.node import NodeType
from rota.store.contract.store import Store

_TIMEOUTS_PER_DEATH = 8
_SHORTEST_TIMEOUT_S = 1.0


class Node:
    """One process of an installation."""

    def __init__(
        self, engine: Engine, clock: NodeClock, options: NodeOptions, *, dialects: Sequence[Dialect], presence: Presence
    ) -> None:
        """`clock` is the engine's."""
        self.engine = engine
        self._store = engine.store
        self._definitions = engine.definitions
        self._executors = engine.executors
        self._options = options
        self._clock = clock
        self._observers = engine.observers
        self._health = Health(engine.observers)
        self._presence = presence
        self._contact = contact_of_node(options.dead_after_ms / 1000)
        self._record_contact = contact_of_node(options.dead_after_ms / 1000)
        self._started_at = clock.now()
        self.uuid = new_id(self._started_at)
        self._executors.provide("event", EventExecutor(engine.events, clock))
        self._executors.provide("light", LightExecutor(engine))
        self._executors.provide("topic", TopicExecutor(engine.topics, clock))
        self._dialects = dialects
        self._dialect_duties: list[Duty] = []
        self._node_type: NodeType | None = None
        self._worker: Worker | None = None
        self._stop_requested = asyncio.Event()
        self._at_once = False
        self._main: Node | None = None
        """The node beside which this one lives."""
        self._side_nodes: list[Node] = []
        self._has_ended = asyncio.Event()
        self._news = News(engine, clock, node=self.uuid, health=self._health)

    @classmethod
    def open(
        cls,
        store: Store,
        options: NodeOptions,
        *,
        executors: ExecutorRegistry | None = None,
        clock: NodeClock | None = None,
        dialects: Sequence[Dialect] = (),
        event_types: tuple[str, ...] = (),
        presence: Presence | None = None,
        observers: Observers | None = None,
    ) -> "Node":
        """A node that is ready to run: its clock agrees with the store's, and what its dialects define is known."""
        clock = clock or NodeClock(store.now)
        engine = Engine.open(
            store,
            clock,
            executors=executors,
            event_types=event_types,
            event_retention_ms=options.history_max_age_ms,
            observers=observers,
        )
        node = cls(engine, clock, options, dialects=dialects, presence=presence or own_presence())
        node._join()
        return node

    def beside(self, options: NodeOptions) -> "Node":
        """Another node in this process, on the same engine: it serves another queue, and has hands and a heart of its
        own. This one speaks the dialects, and ends last."""
        node = Node(self.engine, self._clock, options, dialects=(), presence=self._presence)
        node._main = self
        node._join()
        node.find_queue()
        return node

    def _join(self) -> None:
        context = DialectContext(
            engine=self.engine, node=self.uuid, node_type=self._options.node_type, roles=self._options.roles
        )
        self._dialect_duties = [duty for dialect in self._dialects for duty in dialect.join(context)]
        self._news.begin()

    async def run(self) -> None:
        """Live until stopped. Leaves no job, pulse or record behind."""
        if self._main is not None:
            self._main._side_nodes.append(self)
        try:
            await self._live()
        finally:
            self._has_ended.set()

    async def _live(self) -> None:
        node_type = self._node_type or self.find_queue()
        # Before anybody can know of this node: whoever finds the lock free takes it for dead.
        self._presence.hold(self.uuid)
        if WORKER in self._options.roles:
            self._worker = self._make_worker(node_type)
        heart = self._make_heart(node_type)
        driver = Driver(self._clock, self._health, self._observers)
        self._drive_duties(driver, heart, node_type)
        heart.start()
        self._observers.tell(NodeJoined(self.uuid, node_type.uuid, self._options.roles))
        driver.watch(self._watch_duties())
        try:
            await self._work_until_stopped()
        finally:
            await driver.stop()
            for dialect in self._dialects:
                dialect.leave()
            if self._main is None:
                await self._end_side_nodes()
                await self._executors.close()
            # Not in one of the loop's own threads, which jobs may have taken, all of them and for ever.
            await driver.news.call(heart.stop)
            has_left = await driver.news.call(lambda: self._leave(node_type))
            await driver.end()
            if has_left:
                self._presence.release(self.uuid)
            elif not self._runs_on:
                self._presence.let_go(self.uuid)

    def _drive_duties(self, driver: Driver, heart: Heart, node_type: NodeType) -> None:
        """All but the watch."""
        driver.drive(self._housekeeping_duties(), driver.housekeeping)
        driver.drive(self._prompt_duties(), driver.ticks)
        driver.drive(self._dialect_duties, driver.foreign)
        driver.begin(self._keep_listening(driver.news))
        if self._worker is not None and not self._options.threads:
            following = ThreadCount(
                self._definitions, self._worker, node_type=node_type.uuid, on_change=heart.beat_soon
            )
            driver.drive([following], driver.news)

    async def _end_side_nodes(self) -> None:
        """They run jobs in the same executors, which close when nobody needs them any more."""
        for one in self._side_nodes:
            one.request_stop(at_once=self._at_once)
        for one in self._side_nodes:
            await one._has_ended.wait()

    def request_stop(self, *, at_once: bool = False) -> None:
        """Stop after the running jobs have ended or the grace is over; `at_once` interrupts them now."""
        self._at_once = self._at_once or at_once
        self._stop_requested.set()
        if self._worker is not None:
            self._stop_worker(self._worker)

    def _stop_worker(self, worker: Worker) -> None:
        worker.stopping.stop() if self._at_once else worker.stopping.drain()

    def give_up(self) -> None:
        """Leave the store, from any thread: the loop of this node does not answer, and the process is to end."""
        node_type = self._definitions.known_node_type(self._options.node_type)
        if node_type is not None:
            self._leave(node_type)

    def provide(self, name: str, executor: Executor) -> None:
        """Run jobs of an executor's name with this one."""
        self._executors.provide(name, executor)

    def health(self) -> str | None:
        """None when all is well, else what is wrong, in one line."""
        return self._health.trouble

    def find_queue(self) -> NodeType:
        """Find the node type that this node serves; only `default` is made when it is not there. It needs the store,
        and a node that has found it begins although the store is away."""
        if self._options.node_type == DEFAULT_NODE_TYPE:
            default = NodeType(uuid=new_id(self._clock.now()), name=DEFAULT_NODE_TYPE)
            self._node_type = self._definitions.ensure_node_type(default)
        else:
            self._node_type = self._definitions.node_type(self._options.node_type)
        return self._node_type

    def _make_worker(self, node_type: NodeType) -> Worker:
        return Worker(
            self._store,
            queue=node_type.uuid,
            node=self.uuid,
            slots=self._options.threads or node_type.thread_count,
            definitions=self._definitions,
            executors=self._executors,
            clock=self._clock,
            health=self._health,
            observers=self._observers,
            stop_grace_s=self._options.stop_grace_s,
            dead_after_ms=self._options.dead_after_ms,
            times=self._options.worker_times,
        )

    async def _work_until_stopped(self) -> None:
        if self._worker is None:
            await self._stop_requested.wait()
            return
        if self._stop_requested.is_set():  # perhaps before there was a worker
            self._stop_worker(self._worker)
        await self._worker.run()

    def _housekeeping_duties(self) -> list[Duty]:
        options = self._options
        if SCHEDULER not in options.roles:
            return []
        retention = Retention(
            self._store,
            self._definitions,
            max_age_ms=options.history_max_age_ms,
            max_count=options.history_max_count,
            audit_max_age_ms=options.audit_max_age_ms,
            take_flows=self.engine.outbox.take_flows,
            flow_queues=self.engine.intake.flow_queues.all,
            observers=self._observers,
        )
        return [retention]

    def _watch_duties(self) -> list[Watchdog]:
        if not self._options.roles & {WORKER, SCHEDULER}:
            return []
        watchdog = Watchdog(
            self._store,
            self._definitions,
            node=self.uuid,
            clock=self._clock,
            contact=self._contact,
            record_contact=self._record_contact,
            presence=self._presence,
            dead_after_ms=self._options.dead_after_ms,
            observers=self._observers,
        )
        return [watchdog]

    def _make_heart(self, node_type: NodeType) -> Heart:
        timeout_s = max(self._options.dead_after_ms / 1000 / _TIMEOUTS_PER_DEATH, _SHORTEST_TIMEOUT_S)
        return Heart(
            self._store.lifeline(timeout_s=timeout_s),
            node=self.uuid,
            queue=node_type.uuid,
            record=lambda: self._record(node_type),
            holder=self._worker.claims if self._worker else None,
            clock=self._clock,
            contact=self._contact,
            record_contact=self._record_contact,
            health=self._health,
            observers=self._observers,
            dead_after_ms=self._options.dead_after_ms,
        )

    def _prompt_duties(self) -> list[Duty]:
        if SCHEDULER not in self._options.roles:
            return []
        ticker = Ticker(self._store, self._definitions, node=self.uuid, observers=self._observers)
        return [ticker, self.engine.outbox]

    async def _keep_listening(self, thread: StoreThread) -> None:
        """Hear what changed, as often as the heart beats."""
        while True:
            round = Round()
            try:
                if await thread.call(partial(self._news.hear, round)) and not self._stop_requested.is_set():
                    self._observers.tell(DrainRequested())
                    self.request_stop()
                round.end()
            except StoreError as error:
                self._health.store_failed("news", error)
            except Exception as error:
                self._observers.tell(Fault("node", "listening for news failed", error))
            else:
                self._health.store_answered("news")
            await asyncio.sleep(self._options.dead_after_ms / 1000 / BEATS_PER_DEATH)

    def _record(self, node_type: NodeType) -> NodeRecord:
        return NodeRecord(
            uuid=self.uuid,
            node_type=node_type.uuid,
            last_ping=self._clock.now(),
            started_at=self._started_at,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            roles=tuple(sorted(self._options.roles)),
            slots=self._worker.slots if self._worker else 0,
            running=self._worker.running if self._worker else 0,
            draining=self._stop_requested.is_set(),
            trouble=self._health.trouble,
        )

    @property
    def _runs_on(self) -> bool:
        """Whether nobody could stop a run under a lock: such a node does not say that it has gone while it has not."""
        return self._worker is not None and self._worker.holds_lock

    def _leave(self, node_type: NodeType) -> bool:
        """Take leave and leave nothing behind, if the store still answers; otherwise the watchdog of another node
        cleans up."""
        if self._runs_on:
            return False
        floor = self._worker.serial if self._worker else 0
        try:
            self._store.leave_queue(node_type.uuid, self.uuid, floor=floor, now=self._clock.now())
            forget_drain_request(self._store, self.uuid)
            self._store.remove_nodes(uuid=self.uuid)
        except StoreError as error:
            self._observers.tell(LeaveFailed(self.uuid, error))
            return False
        self._observers.tell(NodeLeft(self.uuid, node_type.uuid))
        return True
