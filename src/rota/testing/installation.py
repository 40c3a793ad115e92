"""An installation for a test: a real store, a clock that stands still until it is moved, and a worker that runs what is
ready when it is told to. Jobs, retries, schedules, events and the deaths of nodes go the way they always go."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import ExitStack
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rota.clock import ManualClock, SystemClock, as_datetime
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.engine import Engine
from rota.engine.events.request import read_event
from rota.engine.executors.built_in.event import EventExecutor
from rota.engine.executors.python.python import PythonExecutor
from rota.engine.liveness.presence import Presence
from rota.engine.liveness.watchdog import Watchdog
from rota.engine.schedules.ticker import Ticker
from rota.engine.worker.single_step import SingleStep
from rota.errors import InvalidInput, JobFailed, NotFound
from rota.model.ids import new_id
from rota.model.job import Job, JobState
from rota.model.liveness import contact_of_node
from rota.model.node import DEAD_AFTER_MS, NodeType
from rota.model.triggers.zones.dates import parse_instant
from rota.sdk.tasks.options import read_duration
from rota.store import Store, open_store
from rota.store.contract.jobs import JobQuery
from rota.testing.faults import Faults

if TYPE_CHECKING:
    from rota.dialects.tasks.scheduler import Scheduler
    from rota.dialects.tasks.worker import Handler
    from rota.sdk.tasks.app import Rota

START = "2020-01-01T00:00:00Z"
MOST_JOBS = 10_000
_LOOK_MS = 1_000
"""A watchdog looks this often; only one that never stopped looking may take a node for dead."""
_PAGE = 1_000
Answer = TypeVar("Answer")


class Installation:
    """See the module. Close it, or use it in a `with` block."""

    def __init__(self, url: str = "sqlite://:memory:", *, now: str | int | datetime = START) -> None:
        """`now` is when time stands still first. It must have passed: no store lets anything happen before its time."""
        instant = parse_instant("now", now)
        if instant > SystemClock().now():
            raise InvalidInput("now", f"{now} is yet to come; a test begins in the past, by default at {START}")
        self.clock = ManualClock(instant)
        self.faults = Faults(open_store(url))
        self.store: Store = self.faults.store
        self.engine = Engine(self.store, self.clock)
        self.engine.executors.provide("event", EventExecutor(self.engine.events, self.clock))
        self.engine.definitions.ensure_node_type(NodeType(uuid=new_id(instant), name=DEFAULT_NODE_TYPE))
        self._step = SingleStep(self.engine, self.clock)
        self._contact = contact_of_node(DEAD_AFTER_MS / 1000)
        self._watchdog = self._make_watchdog()
        self._loop = _Loop()
        self._apps: list[Rota] = []
        self._lent = ExitStack()

    def use(self, app: "Rota") -> "Rota":
        """Have an app use this installation until it is closed: what its code enqueues comes here."""
        self._lent.enter_context(app.lent(self.engine))
        self._apps.append(app)
        return app

    def handle_tasks(self, handler: "Handler", prefix: str = "") -> "Scheduler":
        """A scheduler of tasks. Their runs call this handler, as those of a worker do, when they are drained."""
        from rota.dialects.tasks.backends.store_backend import StoreBackend
        from rota.dialects.tasks.names import FUNCTION, names_of
        from rota.dialects.tasks.scheduler import Scheduler
        from rota.dialects.tasks.worker import Worker

        backend = StoreBackend("", names_of(prefix), keys=False, engine=self.engine)
        python = self.engine.executors.get("python")
        assert isinstance(python, PythonExecutor)
        python.provide(FUNCTION, backend.deliver)
        worker = Worker(backend, handler)
        serving = self._loop.start(worker.serve())
        self._lent.callback(serving.result)
        self._lent.callback(worker.stop)
        return Scheduler(backend)

    def drain(self, *, raises: bool = True) -> list[Job]:
        """Run everything that is ready, and what follows from it at this instant; returns the jobs that ended. With
        `raises`, one that failed for good is an error, `JobFailed`. Whatever is to run later stays."""
        for app in self._apps:
            app.provide_functions(self.engine.executors)
        ended = [self.engine.jobs.find(job_id) for job_id in self._run_all()]
        failed = next((job for job in ended if job.state is JobState.FAILED), None)
        if raises and failed is not None:
            raise JobFailed(failed.id, failed.state.value, failed.errors)
        return ended

    def advance(self, time: str | float | timedelta, *, raises: bool = True) -> list[Job]:
        """Let time pass, from one instant at which something is due to the next, and run what is: `"1d"`, seconds or a
        timedelta. Returns the jobs that ended."""
        target = self.clock.now() + read_duration("time", time)
        ended = self.drain(raises=raises)
        while (instant := self._next_instant()) <= target:
            self._move_to(instant)
            ended += self.drain(raises=raises)
        self._move_to(target)
        return ended + self.drain(raises=raises)

    def post_event(self, type: str, resource: str) -> None:
        """Let something happen to a resource, now. `drain` runs what it triggers."""
        now = self.clock.now()
        raw = {"eventType": type, "eventResourceId": resource, "eventTimestamp": as_datetime(now).isoformat()}
        self.engine.events.post([read_event(raw, now)])

    def lose_job(self, queue: str = DEFAULT_NODE_TYPE) -> Job:
        """Let a node take the next job of a queue, and die with it. `advance` notices as a watchdog does."""
        claim = SingleStep(self.engine, self.clock).claim(self.engine.definitions.node_type(queue).uuid)
        if claim is None:
            raise NotFound("job", "that is ready", f"nothing waits in the queue {queue!r}; enqueue something first")
        return self.engine.jobs.find(claim.spec.id)

    def close(self) -> None:
        self._lent.close()
        self._loop.run(self.engine.executors.close())
        self._loop.close()
        self._step.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- running ---------------------------------------------------------------------------------------------------

    def _run_all(self) -> list[str]:
        """Ids of the jobs that ended, in order."""
        ended: list[str] = []
        while len(ended) <= MOST_JOBS:
            self._do_duties()
            ran = [self._run_queue(queue, ended) for queue in self._queues()]
            if not any(ran):
                return ended
        raise RuntimeError(f"{MOST_JOBS} jobs ran at one instant, and there are more: do they enqueue each other?")

    def _run_queue(self, queue: str, ended: list[str]) -> bool:
        has_run = False
        while len(ended) <= MOST_JOBS and (settlement := self._loop.run(self._step.run_one(queue))) is not None:
            has_run = True
            if settlement.ending is not None:
                ended.append(settlement.claim.spec.id)
        return has_run

    def _do_duties(self) -> None:
        """What a node does beside running jobs. A new ticker has looked at nothing yet, so it looks at everything."""
        now = self.clock.now()
        Ticker(self.store, self.engine.definitions, node=self._node, observers=self.engine.observers).run_once(now)
        self.engine.outbox.run_once(now)

    def _queues(self) -> list[str]:
        return [node_type.uuid for node_type in self.engine.definitions.node_types()]

    # -- time ------------------------------------------------------------------------------------------------------

    def _next_instant(self) -> int:
        """When something is due next; the end of time if nothing is."""
        now = self.clock.now()
        found = [*self._dues(), *self._ready_times()]
        if any(self.store.count_jobs(queue)[JobState.RUNNING] for queue in self._queues()):
            found.append(now + _LOOK_MS)  # of a node that died: the watchdog looks for it
        return max(min(found, default=1 << 62), now + 1)

    def _dues(self) -> list[int]:
        """When each schedule is due."""
        found, cursor = [], None
        while True:
            page = self.store.list_schedules(limit=_PAGE, cursor=cursor)
            found += [entry.state.due for entry in page.entries if entry.state.due is not None]
            cursor = page.cursor
            if cursor is None:
                return found

    def _ready_times(self) -> list[int]:
        """When jobs become ready that wait for their time."""
        found = []
        for queue in self._queues():
            jobs = self.store.list_jobs(JobQuery(queue=queue, states=frozenset({JobState.DELAYED})), limit=_PAGE).jobs
            found += [job.available_at for job in jobs]
        return found

    def _move_to(self, instant: int) -> None:
        self.clock.advance(instant - self.clock.now())
        self._contact.made(self.clock.monotonic())
        self._watchdog.run_once(self.clock.now())

    def _make_watchdog(self) -> Watchdog:
        self._node = new_id(self.clock.now())
        return Watchdog(
            self.store,
            self.engine.definitions,
            node=self._node,
            clock=self.clock,
            contact=self._contact,
            record_contact=self._contact,
            presence=Presence(None),
            observers=self.engine.observers,
        )


class _Loop:
    """An event loop in a thread, so that a test may have one of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rota-testing", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Answer]) -> Answer:
        return self.start(coroutine).result()

    def start(self, coroutine: Coroutine[Any, Any, Answer]) -> "Future[Answer]":
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
