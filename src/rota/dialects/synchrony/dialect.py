"""The dialect as a node speaks it: which duties it has, and where it is available."""

from collections.abc import Sequence

from rota.dialects.synchrony.exchange import Exchange
from rota.dialects.synchrony.inlet import Inlet
from rota.dialects.synchrony.job_keys import JobKeys
from rota.engine.node.dialect import DialectContext
from rota.engine.node.duty import Duty
from rota.engine.node.options import SCHEDULER, WORKER
from rota.store.contract.store import Store
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.store import RedisStore


class Synchrony:
    """Synchrony's Redis keys for one node."""

    def __init__(self, access: RedisAccess, *, shows_jobs: bool) -> None:
        self._access = access
        self._shows_jobs = shows_jobs
        self._inlet: Inlet | None = None

    def join(self, context: DialectContext) -> Sequence[Duty]:
        """A node that neither runs jobs nor looks after them has nothing to do here."""
        if not context.roles & {WORKER, SCHEDULER}:
            return []
        exchange = Exchange(self._access, context)
        exchange.learn()
        self._inlet = Inlet(self._access, context, exchange.learn, everything=SCHEDULER in context.roles)
        duties: list[Duty] = [exchange, self._inlet]
        if self._shows_jobs:
            duties.append(JobKeys(context.engine.store, self._access, context.engine.definitions, node=context.node))
        return duties

    def leave(self) -> None:
        if self._inlet is not None:
            self._inlet.close()


def open_on_redis(store: Store, *, shows_jobs: bool) -> Synchrony | None:
    """The dialect for a store on a single primary."""
    if not isinstance(store, RedisStore):
        return None
    return Synchrony(store.access(), shows_jobs=shows_jobs)
