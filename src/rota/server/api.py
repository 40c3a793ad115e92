"""Everything that routes use: the installation, and the state of one server."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from msgspec import Struct

from rota.clock import Clock
from rota.engine.definitions.definitions import Definitions
from rota.engine.events.configurations import Configurations
from rota.engine.events.event_batcher import EventBatcher
from rota.engine.events.events import Events
from rota.engine.jobs.changes import JobChanges
from rota.engine.jobs.enqueue_batcher import EnqueueBatcher
from rota.engine.jobs.intake import Intake
from rota.engine.observation.counters import Counters
from rota.engine.schedules.backfill import Backfills
from rota.engine.schedules.schedules import Schedules
from rota.errors import NotFound
from rota.model.job import Job
from rota.server.auth.keys import KeyRing
from rota.server.auth.rate import RateLimit
from rota.server.log_feeds import LogFeeds
from rota.server.operations import Operation
from rota.shapes.jobs import JobShape, job_shape
from rota.store.store import Store

HealthCheck = Callable[[], str | None]
"""None when all is well, else what is wrong, in one line."""
Answer = TypeVar("Answer")
_THREADS = 8
_WRONG_KEYS_PER_S = 5.0
_WRONG_KEYS_AT_ONCE = 100.0


class ServerOptions(Struct, frozen=True, kw_only=True):
    """What a server allows."""

    rate_limit: float = 20_000.0
    """Requests per second of one key; 0 for no limit."""
    metrics_open: bool = False
    """Whether `/metrics` answers without a key."""
    wrong_keys_per_s: float = _WRONG_KEYS_PER_S
    """How often one address may show a wrong key; 0 for no limit."""


class Requests:
    """How many requests were answered, for the metrics. Used on one event loop."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, int]] = Counter()

    def count(self, method: str, path: str, status: int) -> None:
        self.counts[method, path, status] += 1


class Api:
    """One server of an installation."""

    def __init__(
        self,
        *,
        store: Store,
        definitions: Definitions,
        intake: Intake,
        clock: Clock,
        keys: KeyRing,
        health: HealthCheck,
        options: ServerOptions | None = None,
        events: Events | None = None,
        event_types: tuple[str, ...] = (),
        counters: Counters | None = None,
    ) -> None:
        self.options = options or ServerOptions()
        self.store = store
        self.definitions = definitions
        self.intake = intake
        self.clock = clock
        self.keys = keys
        self.health = health
        self.batcher = EnqueueBatcher(store, intake, clock)
        self.changes = JobChanges(store)
        self.configurations = Configurations(store, definitions, clock)
        self.events = events or Events(store, definitions, clock)
        self.event_batcher = EventBatcher(self.events)
        self.event_types = event_types
        """Beyond those that every installation knows."""
        self.counters = counters
        """Of the node in this process, for the metrics."""
        self.schedules = Schedules(store, definitions, intake, clock)
        self.backfills = Backfills(store, definitions, self.schedules, clock)
        self.requests = Requests()
        self.operations: tuple[Operation, ...] = ()
        """What the app offers."""
        # A bucket that holds less than one token would let nobody in.
        burst = max(1.0, self.options.rate_limit * 2)
        self.requests_per_key = RateLimit(clock, per_second=self.options.rate_limit, burst=burst)
        self.wrong_keys = RateLimit(clock, per_second=self.options.wrong_keys_per_s, burst=_WRONG_KEYS_AT_ONCE)
        self._threads = ThreadPoolExecutor(_THREADS, "rota-api")
        self.log_feeds = LogFeeds(store, self.in_thread)

    async def in_thread(self, function: Callable[..., Answer], *arguments: object) -> Answer:
        """Call something that asks the store, without stopping the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def end_streams(self) -> None:
        """The server stops: whoever follows a log is let go."""
        self.log_feeds.close()

    def close(self) -> None:
        """Give up the threads, after what is under way."""
        self.batcher.close()
        self.event_batcher.close()
        self._threads.shutdown()

    # -- what several routes need ----------------------------------------------------------------------------------

    def find_job(self, uuid: str) -> Job:
        job = self.store.find_jobs([uuid])[0]
        if job is None:
            raise NotFound("job", uuid)
        return job

    def describe(self, jobs: list[Job]) -> list[JobShape]:
        """Jobs in the native JSON. Names come from what this process knows of the definitions."""
        job_types = {one.uuid: one.name for one in self.definitions.known_job_types()}
        queues = {one.uuid: one.name for one in self.definitions.known_node_types()}
        return [job_shape(job, job_types, queues) for job in jobs]
