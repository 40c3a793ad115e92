"""Everything that routes use: the engine, and the state of one server."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from msgspec import Struct

from rota.engine.access.keys.key_ring import KeyRing
from rota.engine.access.keys.rate import WRONG_KEYS_AT_ONCE, WRONG_KEYS_PER_S, RateLimit
from rota.engine.access.keys.sessions import Sessions
from rota.engine.engine import Engine
from rota.engine.events.event_batcher import EventBatcher
from rota.engine.jobs.enqueue_batcher import EnqueueBatcher
from rota.engine.observation.counters import Counters
from rota.model.job import Job
from rota.server.bodies.room import BodyRoom
from rota.server.connection.limits import MAX_CONNECTIONS
from rota.server.connection.unread import UnreadAnswers
from rota.server.gate.names import Names
from rota.server.gate.proxies import Proxies
from rota.server.live_logs.feeds import LogFeeds
from rota.server.live_logs.seats import Seats
from rota.server.operations import Operation
from rota.settings import Settings
from rota.settings.section import Section
from rota.shapes.jobs import JobShape, job_shape, progress_of_jobs

HealthCheck = Callable[[], str | None]
"""None when all is well, else what is wrong, in one line."""
Answer = TypeVar("Answer")
_THREADS = 8
MAX_FOLLOWERS_PER_KEY = 300
"""Live logs and pages at a time of one key: others are to have some, too."""


class ServerOptions(Struct, frozen=True, kw_only=True):
    """What a server allows."""

    rate_limit: float = 20_000.0
    """Requests per second of one key; 0 for no limit."""
    metrics_open: bool = False
    """Whether `/metrics` answers without a key."""
    wrong_keys_per_s: float = WRONG_KEYS_PER_S
    """How often one address may show a wrong key; 0 for no limit."""
    bound_to: tuple[str, ...] = ()
    """The name and the address on which it listens."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which it answers beside those and loopback's; `*` for any."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks that are believed when they say for whom they ask."""
    max_followers: int = MAX_CONNECTIONS // 2
    """Live logs and live pages at a time: a connection that follows one stays, and others need connections too."""
    max_followers_per_key: int = MAX_FOLLOWERS_PER_KEY


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
        engine: Engine,
        *,
        keys: KeyRing,
        health: HealthCheck,
        options: ServerOptions | None = None,
        sections: Sequence[Section] = (),
        settings: Settings | None = None,
    ) -> None:
        self.engine = engine
        self.settings = settings or Settings()
        """Those of the process, for whoever examines it."""
        self.sections = sections
        """What dialects read of a file of definitions."""
        self.options = options or ServerOptions()
        self.names = Names(self.options.bound_to, self.options.allowed_hosts)
        self.proxies = Proxies(self.options.trusted_proxies)
        self.keys = keys
        self.sessions = Sessions(engine.store, keys, engine.clock)
        self.health = health
        self.batcher = EnqueueBatcher(engine.store, engine.intake, engine.clock)
        self.event_batcher = EventBatcher(engine.events)
        self.counters = Counters(engine.observers)
        """What happens in this process, for the metrics."""
        self.operations_by_name: dict[str, Operation] = {}
        self.requests = Requests()
        self.body_room = BodyRoom()
        self.unread = UnreadAnswers()
        self.operations: tuple[Operation, ...] = ()
        """What the app offers."""
        # A bucket that holds less than one token would let nobody in.
        burst = max(1.0, self.options.rate_limit * 2)
        self.requests_per_key = RateLimit(engine.clock, per_second=self.options.rate_limit, burst=burst)
        self.wrong_keys = RateLimit(engine.clock, per_second=self.options.wrong_keys_per_s, burst=WRONG_KEYS_AT_ONCE)
        self._threads = ThreadPoolExecutor(_THREADS, "rota-api")
        self.log_feeds = LogFeeds(engine.store, self.in_thread)
        self.seats = Seats(self.options.max_followers, self.options.max_followers_per_key)
        self.stopping = asyncio.Event()
        """Set when streams are to end."""
        self.at_end: list[Callable[[], None]] = []
        """What wakes those who wait, when streams are to end."""

    async def in_thread(self, function: Callable[..., Answer], *arguments: object) -> Answer:
        """Call something that asks the store, without stopping the loop."""
        # Who acts goes along with it, for the audit log.
        call = partial(copy_context().run, _carried, function, *arguments)
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def end_streams(self) -> None:
        """The server stops: whoever follows a log or a page is let go."""
        self.stopping.set()
        for wake in self.at_end:
            wake()
        self.log_feeds.close()

    def close(self) -> None:
        """Give up the threads, after what is under way."""
        self.batcher.close()
        self.event_batcher.close()
        self._threads.shutdown()

    # -- what several routes need ----------------------------------------------------------------------------------

    def describe(self, jobs: list[Job]) -> list[JobShape]:
        """Jobs in the native JSON. Names come from what this process knows of the definitions; how far the jobs have
        come is asked of the store."""
        definitions = self.engine.definitions
        job_types, queues = definitions.known_job_type_names(), definitions.known_queue_names()
        progress = progress_of_jobs(self.engine.store, jobs)
        return [job_shape(job, job_types, queues, progress.get(job.id)) for job in jobs]


def _carried(function: Callable[..., Answer], *arguments: object) -> Answer:
    """What it raises becomes an answer, too. `StopIteration` would not: no future can carry it, and whoever asked would
    wait for ever."""
    try:
        return function(*arguments)
    except StopIteration as error:
        raise RuntimeError("something that was asked for ended too soon") from error
