"""The duty that keeps definitions the same among Synchrony's keys and in Rota. One node at a time does it."""

import threading
from collections.abc import Iterator, Sequence
from functools import partial

from rota.dialects.synchrony import keys
from rota.dialects.synchrony.agreement import Agreement
from rota.dialects.synchrony.definition_hashes import JobTypes, NodeTypes, ScheduleItems
from rota.dialects.synchrony.shapes import node_text
from rota.engine.node.dialect import DialectContext
from rota.store.contract.schedules import ScheduleEntry
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.link.skip_refused import SkipRefused

ROUND_MS = 1_000
LOOK_S = 0.2
_TURN_MS = 5_000
_NODES_MS = 5_000
_SCHEDULES_PER_S = 500
"""With many schedules they are looked through less often, so that they cost about the same."""
_PAGE = 500


class Every:
    """Says when a time has passed again. A clock that was set back makes nothing wait."""

    def __init__(self) -> None:
        self._last: int | None = None

    def is_due(self, now: int, period_ms: int) -> bool:
        if self._last is not None and 0 <= now - self._last < period_ms:
            return False
        self._last = now
        return True


class Exchange:
    """A duty: `run_once` carries changes over, in both directions."""

    def __init__(self, access: RedisAccess, context: DialectContext) -> None:
        engine = context.engine
        self._store = engine.store
        self._access = access
        self._node = context.node
        self._definitions = [
            Agreement(access, NodeTypes(engine.definitions)),
            Agreement(access, JobTypes(engine.definitions)),
        ]
        self._schedules = Agreement(
            access, ScheduleItems(engine.schedules, self._all_schedules, self._unreadable_schedules)
        )
        self._schedule_count = 0
        self._round, self._schedules_round, self._nodes_round = Every(), Every(), Every()
        self._has_turn = False
        self._version = -1
        self._lock = threading.Lock()
        self._skip_refused = SkipRefused("synchrony")

    def run_once(self, now: int) -> float:
        """One round, if it is this node's turn. Returns the seconds until the next: whether our definitions changed is
        quickly asked, so it is asked more often."""
        if self._round.is_due(now, ROUND_MS):
            self._has_turn = self._access.take_turn(keys.TURN, self._node, for_ms=_TURN_MS)
            if self._has_turn:
                self._exchange_all(now)
        elif self._has_turn and self._store.definitions_version() != self._version:
            self.learn()
        return LOOK_S

    def _exchange_all(self, now: int) -> None:
        agreements = list(self._definitions)
        if self._schedules_round.is_due(now, self._schedule_count * 1000 // _SCHEDULES_PER_S):
            agreements.append(self._schedules)
        self._reach(agreements, quietly=self._schedules not in agreements)
        if self._nodes_round.is_due(now, _NODES_MS):
            self._skip_refused.do(keys.NODES, self._show_nodes)

    def learn(self) -> None:
        """Carry over node types and job types now, whosever turn it is."""
        self._reach(self._definitions, quietly=True)

    def _reach(self, agreements: Sequence[Agreement], *, quietly: bool) -> None:
        """What refers to something else comes after it and goes before it: so forwards, and then backwards what was
        refused. Only what is refused then is worth a word."""
        with self._lock:
            self._version = self._store.definitions_version()
            for one in agreements:
                self._skip_refused.do(one.key, partial(one.reach, quietly=True))
            for one in reversed(agreements):
                if not one.is_reached:
                    self._skip_refused.do(one.key, partial(one.reach, quietly=quietly))

    def _all_schedules(self) -> Iterator[ScheduleEntry]:
        count, cursor = 0, None
        while True:
            page = self._store.list_schedules(limit=_PAGE, cursor=cursor)
            yield from page.entries
            count, cursor = count + len(page.entries), page.cursor
            if cursor is None:
                self._schedule_count = count
                return

    def _unreadable_schedules(self) -> list[str]:
        return [one.id for one in self._store.unreadable_records() if one.kind == "schedule"]

    def _show_nodes(self) -> None:
        """Nodes of the original program may be there too: only those are removed that were written here."""
        nodes = {one.uuid: node_text(one) for one in self._store.list_nodes(since=0)}
        shown = {raw.decode() for raw in self._access.ask("smembers", keys.SHOWN_NODES)}
        if nodes:
            self._access.ask("sadd", keys.SHOWN_NODES, *nodes)
            self._access.ask("hset", keys.NODES, mapping=nodes)
        if gone := shown - set(nodes):
            self._access.ask("hdel", keys.NODES, *gone)
            self._access.ask("srem", keys.SHOWN_NODES, *gone)
