"""The watchdog: finds claims of dead nodes and settles them on their behalf. Any number may run; each claim has one
winner."""

import logging
from collections.abc import Sequence

from rota.engine.definitions import Definitions
from rota.engine.draining import forget_drain
from rota.model.job import Claim
from rota.model.job_type import OnNodeDeath
from rota.model.node import DEAD_AFTER_MS
from rota.model.settlement import Settlement, settle_death
from rota.store.store import Store

_ROUNDS_PER_LEASE = 10
"""With a lease of 20 s there is a round every 2 s, and a dead node's jobs are back within 22 s."""
_FORGET_AFTER_LEASES = 10
_PER_ROUND = 500
_logger = logging.getLogger("rota.watchdog")


class Watchdog:
    """A duty: `run_once` does one round over all queues."""

    def __init__(self, store: Store, definitions: Definitions, *, dead_after_ms: int = DEAD_AFTER_MS) -> None:
        self._store = store
        self._definitions = definitions
        self._dead_after_ms = dead_after_ms

    def run_once(self, now: int) -> float:
        """Settle what dead nodes left. Returns the seconds until the next round: none if there may be more."""
        queues = [node_type.uuid for node_type in self._definitions.node_types()]
        found = [self._reclaim(queue, now) for queue in queues]
        self._forget_nodes(queues, now)
        return 0.0 if any(count >= _PER_ROUND for count in found) else self._dead_after_ms / 1000 / _ROUNDS_PER_LEASE

    def _reclaim(self, queue: str, now: int) -> int:
        claims = self._store.lost_claims(queue, now=now, limit=_PER_ROUND)
        if claims:
            settlements = [self._settle(claim, now) for claim in claims]
            refused = self._store.reclaim_jobs(queue, settlements, now=now)
            _logger.warning("jobs of dead nodes taken back", extra={"queue": queue, "jobs": len(claims) - len(refused)})
        return len(claims)

    def _settle(self, claim: Claim, now: int) -> Settlement:
        return settle_death(claim, on_node_death=self._rule_for(claim), now=now)

    def _rule_for(self, claim: Claim) -> OnNodeDeath:
        job_type = self._definitions.known_job_type(claim.spec.job_type)
        return job_type.on_node_death if job_type else OnNodeDeath.REQUEUE

    def _forget_nodes(self, queues: Sequence[str], now: int) -> None:
        """Nodes that died are shown for a while, then forgotten with their leases."""
        for node in self._store.list_nodes(since=0):
            if node.last_ping < now - _FORGET_AFTER_LEASES * self._dead_after_ms:
                for queue in queues:
                    self._store.drop_lease(queue, node.uuid)
                self._store.remove_nodes(uuid=node.uuid)
                forget_drain(self._store, node.uuid)
