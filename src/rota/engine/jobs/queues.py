"""Queues as a whole: pausing, resuming, emptying. A queue is known by the name or uuid of its node type."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from rota.clock import Clock
from rota.engine.access.audit.record import Change, Recording, recorded
from rota.engine.definitions.definitions import Definitions
from rota.model.job import LIVE_STATES
from rota.model.node import NodeType
from rota.store.contract.jobs import JobQuery
from rota.store.contract.store import Store

_STEP = 1_000
"""Jobs of one store operation, so that nobody else waits long."""
_FAR_FUTURE = 1 << 50


class Queues:
    """Changes queues."""

    def __init__(
        self, store: Store, definitions: Definitions, clock: Clock, *, take_flows: Callable[[int], None]
    ) -> None:
        self._store = store
        self._definitions = definitions
        self._clock = clock
        self._take_flows = take_flows

    def pause(self, name: str) -> NodeType:
        """Give out no jobs of a queue until it is resumed. Running ones go on, new ones are accepted."""
        found = self._definitions.node_type(name)
        with self._recorded("pause", found):
            self._store.pause_queue(found.uuid)
        return found

    def resume(self, name: str) -> NodeType:
        """Give out jobs again."""
        found = self._definitions.node_type(name)
        with self._recorded("resume", found):
            self._store.resume_queue(found.uuid)
        return found

    def empty(self, name: str) -> NodeType:
        """Cancel what is live in a queue that no node serves, and forget everything that ended there. Flows go on
        before that, in other queues."""
        found = self._definitions.node_type(name)
        with self._recorded("empty", found):
            while self._cancel_some(found.uuid):
                pass  # a flow may have made more
            while self._store.trim_history(found.uuid, ended_before=_FAR_FUTURE, keep=0, limit=_STEP):
                pass  # one step at a time
        return found

    def _cancel_some(self, queue: str) -> bool:
        """Whether there was anything live. Flows have gone on when there is nothing more."""
        self._take_flows(self._clock.now())
        jobs = self._store.list_jobs(JobQuery(queue=queue, states=LIVE_STATES), limit=_STEP).jobs
        self._store.cancel_jobs([job.id for job in jobs], now=self._clock.now())
        return bool(jobs)

    def _recorded(self, action: str, node_type: NodeType) -> AbstractContextManager[Recording]:
        change = Change(action=action, kind="queue", name=node_type.name, uuid=node_type.uuid)
        return recorded(self._store, change, now=self._clock.now())
