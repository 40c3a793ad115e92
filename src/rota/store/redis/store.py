"""The Redis store: the sum of its nouns, each of which has a file or a folder here.

Each operation is one Lua script of its name in `scripts/`; `keys.py` spells the keys; `link/` is the line to the
servers. Answers of Redis come as bytes; ids and tokens are ASCII.
"""

from typing import Self

from rota.clock import SystemClock
from rota.store.records.unreadable import Unreadable
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.link.connection import Address
from rota.store.redis.link.link import Link
from rota.store.redis.link.troubles import Troubles
from rota.store.redis.nouns.audit import RedisAudit
from rota.store.redis.nouns.claims.claims import RedisClaims
from rota.store.redis.nouns.copies import RedisCopies
from rota.store.redis.nouns.definitions import RedisDefinitions
from rota.store.redis.nouns.events.events import RedisEvents
from rota.store.redis.nouns.history import RedisHistory
from rota.store.redis.nouns.jobs.jobs import RedisJobs
from rota.store.redis.nouns.logs import RedisLogs
from rota.store.redis.nouns.nodes import RedisNodes
from rota.store.redis.nouns.queues.queues import RedisQueues
from rota.store.redis.nouns.schedules.schedules import RedisSchedules
from rota.store.redis.nouns.settings import RedisSettings
from rota.store.redis.nouns.topics import RedisTopics


class RedisStore(
    RedisClaims,
    RedisHistory,
    RedisLogs,
    RedisCopies,
    RedisJobs,
    RedisSchedules,
    RedisEvents,
    RedisDefinitions,
    RedisQueues,
    RedisSettings,
    RedisNodes,
    RedisAudit,
    RedisTopics,
):
    """See `rota.store.contract.store.Store` for what each method promises."""

    def __init__(self, link: Link, problems: list[str]) -> None:
        super().__init__(link)
        self._problems = problems
        self._troubles = Troubles(link, SystemClock().monotonic)

    @classmethod
    def open(cls, url: str) -> Self:
        """Connect, and refuse servers that would lose jobs."""
        return cls._connect(Address(url))

    @classmethod
    def _connect(cls, address: Address) -> Self:
        link = Link(address)
        return cls(link, link.check())

    @property
    def url(self) -> str:
        return self._link.url

    def reopen(self) -> Self:
        return self._connect(self._link.address)

    def now(self, *, queue: str | None = None) -> int:
        return self._link.now(None if queue is None else QueueKeys(queue).jobs)

    def problems(self) -> list[str]:
        return self._problems + self._troubles.past()

    @property
    def contacts(self) -> int:
        return self._link.contacts

    def troubles(self) -> list[str]:
        return self._link.repeated(self._troubles.look)

    def unreadable_records(self) -> list[Unreadable]:
        return self._unreadable.all()

    def close(self) -> None:
        self._link.close()

    def access(self) -> RedisAccess:
        """The server itself, for dialects with keys of their own."""
        return RedisAccess(self._link)
