"""The watchdog: notices that nodes died and settles their claims on their behalf. Any number may run; each claim has
one winner.

A node is dead when its process is known to have ended (`presence.py`), or when this watchdog saw the same pulse of it
for the whole dead time without a gap in its own contact with the store (`model/liveness.py`). Nobody judges himself,
nor another node of his own process: what that one runs goes on as long as the process does.
"""

import random
from functools import partial

from rota.clock import Clock
from rota.engine.definitions.definitions import Definitions
from rota.engine.liveness.draining import forget_drain_request
from rota.engine.liveness.looks import Look, Looks
from rota.engine.liveness.presence import Presence
from rota.engine.node.duty import Round
from rota.engine.observation.happenings import ClaimsTaken, OrphansFound
from rota.engine.observation.observers import Observers
from rota.model.job import Claim
from rota.model.job_type import OnNodeDeath
from rota.model.liveness import LOOKS_PER_DEATH, Contact, Observer, Writes, common_since
from rota.model.node import DEAD_AFTER_MS
from rota.model.runs.settlement import Settlement, settle_death
from rota.store.contract.store import Store

_SHOWN_FOR = 10
"""Dead times for which the record of a dead node is still shown."""
_SWEEP_EVERY_LOOKS = 60
"""Claims without a pulse are looked for once in this many looks, by one of the watchdogs."""
_PER_ROUND = 500
_DEFINITIONS = "definitions"
_RECORDS = "records"


class Watchdog:
    """A duty: `run_once` takes one look at all queues."""

    def __init__(
        self,
        store: Store,
        definitions: Definitions,
        *,
        node: str,
        clock: Clock,
        contact: Contact,
        record_contact: Contact,
        presence: Presence,
        dead_after_ms: int = DEAD_AFTER_MS,
        observers: Observers | None = None,
    ) -> None:
        self._store = store
        self._definitions = definitions
        self._node = node
        self._clock = clock
        self._contact = contact
        self._record_contact = record_contact
        self._presence = presence
        self._dead_after_s = dead_after_ms / 1000
        self._observers = observers or Observers()
        self._looks = Looks(clock, slow_s=self._dead_after_s / LOOKS_PER_DEATH)
        self._watched: dict[str, Observer] = {}
        self._writes: dict[str, Writes] = {}
        self._records = Observer(self._dead_after_s * _SHOWN_FOR)
        self._records_at: float | None = None
        """When they were last looked at, and all was forgotten that was to be."""

    def run_once(self, now: int) -> float:
        """Settle what dead nodes left. Returns the seconds until the next look: none if there may be more."""
        round = Round()
        self._looks.take({_DEFINITIONS: self._refresh}, round)
        queues = [node_type.uuid for node_type in self._definitions.known_node_types()]
        looks: dict[str, Look] = {queue: partial(self._look_at, queue, now) for queue in queues}
        left_over = self._looks.take(looks | {_RECORDS: self._forget_nodes}, round)
        round.end()
        return 0.0 if left_over else self._dead_after_s / LOOKS_PER_DEATH

    def end(self) -> None:
        """No look is taken any more: wait for those that are under way, as long as that makes sense."""
        self._looks.end()

    def _refresh(self) -> bool:
        """Until it is done, the queues that are known are looked at."""
        self._definitions.refresh()
        return False

    def _look_at(self, queue: str, now: int) -> bool:
        """Take a look at one queue; tells whether there is more to settle."""
        pulses = self._read_pulses(queue)
        self._sweep(queue, len(pulses) + 1)
        silent = self._observe(queue, pulses)
        if silent:
            # To take their claims is a write, which may have to wait, as every sign of life has to: for a foreign lock
            # on the file. So a write comes first, and only who is silent after it too, without a gap, is dead.
            self._try_to_write(queue)
            pulses = self._read_pulses(queue)
            silent = self._observe(queue, pulses)
        dead = {*silent, *self._presence.gone(pulses)}
        left_over = [self._reclaim(queue, node, pulses[node], now) for node in sorted(dead)]
        return any(left_over)

    def _read_pulses(self, queue: str) -> dict[str, str]:
        """Those of the others, after a write if none is known of for long: a server may answer who reads, and refuse
        all signs of life. Where somebody lives, his own are such writes."""
        pulses = self._store.read_pulses(queue)
        writes, at = self._writes_to(queue), self._clock.monotonic()
        writes.saw(pulses, at)
        others = self._of_others(pulses)
        if others and writes.need_proof(at):
            self._try_to_write(queue)
        return others

    def _try_to_write(self, queue: str) -> None:
        self._store.try_to_write(queue)
        self._writes_to(queue).made(self._clock.monotonic())

    def _writes_to(self, queue: str) -> Writes:
        return self._writes.setdefault(queue, Writes(self._dead_after_s))

    def _observe(self, queue: str, pulses: dict[str, str]) -> list[str]:
        """Those who gave no sign of life for the whole dead time, while this node could see and write, there too."""
        at = self._clock.monotonic()
        observer = self._watched.setdefault(queue, Observer(self._dead_after_s))
        in_touch_since = common_since(self._contact.since(at), self._writes_to(queue).since(at))
        return observer.look(pulses, at=at, in_touch_since=in_touch_since)

    def _of_others(self, signs: dict[str, str]) -> dict[str, str]:
        """Of its own node, and of those beside it, a watchdog knows that they live."""
        return {node: sign for node, sign in signs.items() if node != self._node and not self._presence.is_here(node)}

    def _reclaim(self, queue: str, node: str, pulse: str, now: int) -> bool:
        """Take a dead node's claims, a bounded number at a time; tells whether it may have more."""
        claims = self._store.claims_of_node(queue, node, limit=_PER_ROUND)
        if claims:
            settlements = [self._settle(claim, now) for claim in claims]
            refused = self._store.reclaim_jobs(queue, settlements, node=node, pulse=pulse, now=now)
            self._observers.tell(ClaimsTaken(queue, node, len(claims) - len(refused)))
        if len(claims) == _PER_ROUND:
            return True
        self._store.forget_pulse(queue, node, pulse=pulse)
        return False

    def _settle(self, claim: Claim, now: int) -> Settlement:
        return settle_death(claim, on_node_death=self._rule_for(claim), now=now)

    def _rule_for(self, claim: Claim) -> OnNodeDeath:
        job_type = self._definitions.known_job_type(claim.spec.job_type)
        return job_type.on_node_death if job_type else OnNodeDeath.REQUEUE

    def _sweep(self, queue: str, nodes: int) -> None:
        """Look for claims without a pulse. That reads all running jobs, so the nodes share the work by chance."""
        if random.random() * nodes * _SWEEP_EVERY_LOOKS < 1 and self._store.mark_orphans(queue):
            self._observers.tell(OrphansFound(queue))

    def _forget_nodes(self) -> bool:
        """Records of nodes that died are shown for a while, then forgotten. Each node reads the records of all, so that
        is done once in the dead time; it is no hurry, and often enough to watch without a gap."""
        at = self._clock.monotonic()
        if self._records_at is not None and at - self._records_at < self._dead_after_s:
            return False
        beats = self._of_others({node.uuid: str(node.last_ping) for node in self._store.list_nodes(since=0)})
        for node in self._records.look(beats, at=at, in_touch_since=self._record_contact.since(at)):
            # The record goes last: as long as it is there, somebody comes back for what could not be forgotten.
            forget_drain_request(self._store, node)
            self._presence.forget(node)
            self._store.remove_nodes(uuid=node)
        self._records_at = at  # only now: what could not be forgotten is tried again at the next look
        return False
