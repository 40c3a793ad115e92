"""Ends of jobs as events. The store writes an event into the outbox of the queue in the step that ends a job, if some
configuration waits for jobs of that type, or the flow that the job is part of goes on; this duty takes the outboxes.
Any number may run: a configuration knows an event by its id, and a flow its jobs.

Such an event's time is that of its taking, and it is newer than whatever was executed before. Ends are told by many
nodes in no certain order, and taken by several, whose clocks differ by moments; by the time of the end itself, or by
that of a taker whose clock is behind, one could be older than the job which another has made already, and would count
for nothing.
"""

from collections.abc import Sequence

from msgspec import structs

from rota.engine.definitions.definitions import Definitions
from rota.engine.events.events import Events
from rota.engine.jobs.flow_queues import LOOK_MS, FlowQueues
from rota.engine.jobs.flows import Flows
from rota.engine.node.duty import Round
from rota.model.events.event import Event
from rota.model.runs.settlement import job_of_event
from rota.store.contract.store import Store

EVERY_S = 0.25
MISSING_MS = 60_000
"""How long after an end other jobs of its flow's stage may be on their way into their queues; what is not there then is
gone. They are handed in together, one queue after another."""
_PER_ROUND = 500
_MOST_READ = 10_000
"""Ends that are read of one outbox at once, those that are passed over included."""


class Outbox:
    """A duty: `run_once` takes what is in the outboxes of all queues."""

    def __init__(
        self, store: Store, definitions: Definitions, events: Events, flows: Flows, flow_queues: FlowQueues
    ) -> None:
        self._store = store
        self._flows = flows
        self._flow_queues = flow_queues
        self._definitions = definitions
        self._events = events
        self._is_idle = False
        """Whether no configuration waits for ends, and none are left of those that one waited for."""
        self._looked_at: int | None = None
        """When the store was last asked for queues whose node types are gone; None if the next round asks."""
        self._passed: dict[str, frozenset[str]] = {}
        """Queue to the events at the beginning of its outbox that are kept there, and that the next round passes
        over; a queue whose outbox was seen to its end is not here, and its next round begins anew."""

    def run_once(self, now: int) -> float:
        """Take what is there. Returns the seconds until the next round: none if there may be more."""
        round, is_awaited = Round(), self._definitions.awaits_jobs
        self._is_idle = self._is_idle and not is_awaited
        queues = self._queues(round, now)
        taken = round.each(queues, lambda queue: self.take(queue, now))
        is_more = any(count >= _PER_ROUND for count in taken)
        # After the last configuration has gone: what is left must not surprise one that comes later.
        self._is_idle = self._is_idle or not (is_awaited or is_more or len(taken) < len(queues))
        if is_more:
            self._looked_at = None
        round.end()
        return 0.0 if is_more else EVERY_S

    def _queues(self, round: Round, now: int) -> list[str]:
        """Where ends may be that somebody waits for."""
        return list(dict.fromkeys(self._usual_queues(round, now) + self._undefined_queues(round, now)))

    def _usual_queues(self, round: Round, now: int) -> list[str]:
        if self._is_idle:
            round.each([now], self._flow_queues.refresh)  # or those that are known, if nobody answers
            return self._flow_queues.known()
        return [node_type.uuid for node_type in self._definitions.known_node_types()]

    def _undefined_queues(self, round: Round, now: int) -> list[str]:
        """Those whose node types are gone, once in a while. What ended there before still counts, and while an outbox
        holds something its queue is not forgotten."""
        if self._looked_at is not None and 0 <= now - self._looked_at < LOOK_MS:
            return []
        self._looked_at = now  # first, so that a server that is away does not hold up every round
        known = {node_type.uuid for node_type in self._definitions.known_node_types()}
        listed = round.each([self._store.list_queues], lambda ask: ask())
        return [queue for queues in listed for queue in queues if queue not in known]

    def take(self, queue: str, now: int) -> int:
        """Take what is in the outbox of one queue; returns how many ends these were. Those that are kept are in
        nobody's way: where there are many, each round goes on behind the ones of the round before. A flow that cannot
        go on now is raised when all others have."""
        round = Round()
        passed = self._passed.pop(queue, frozenset())
        events = self._read(queue, passed)
        kept = self._take(queue, events, now, round)
        if len(events) >= _PER_ROUND:
            self._passed[queue] = passed | kept
        round.end()
        return len(events) - len(kept)

    def _read(self, queue: str, passed: frozenset[str]) -> list[Event]:
        """The next ends, without those that are passed over."""
        limit = min(len(passed) + _PER_ROUND, _MOST_READ)
        return [event for event in self._store.read_outbox(queue, limit=limit) if event.id not in passed][:_PER_ROUND]

    def _take(self, queue: str, events: Sequence[Event], now: int, round: Round) -> frozenset[str]:
        """Take some ends out of an outbox; returns the ids of those that are kept there."""
        jobs = self._go_on_with_flows(queue, events, now, round)
        taken = [event for event in events if job_of_event(event) not in jobs]
        if taken:
            now = min(now, self._store.now(queue=queue))  # after the time of an event, older ones count for nothing
            self._events.post([_taken_at(now, event) for event in taken])
            self._store.clear_outbox(queue, taken)
        return frozenset(event.id for event in events if job_of_event(event) in jobs)

    def _go_on_with_flows(self, queue: str, events: Sequence[Event], now: int, round: Round) -> set[str]:
        """The jobs whose ends are to be heard once more."""
        old = [job_of_event(event) for event in events if event.received_at <= now - MISSING_MS]
        new = [job_of_event(event) for event in events if event.received_at > now - MISSING_MS]
        failed = self._flows.go_on(old, queue, round=round, although_missing=True)
        return failed | self._flows.go_on(new, queue, round=round) - set(old)

    def take_flows(self, now: int) -> None:
        """Go on with all flows whose jobs have ended. Comes before jobs are forgotten: a flow is known by its jobs."""
        round = Round()
        round.each(self._flow_queues.all(now), lambda queue: self._take_all(queue, now))
        round.end()

    def _take_all(self, queue: str, now: int) -> None:
        round, events, passed = Round(), self._read(queue, frozenset()), frozenset[str]()
        while events:
            passed |= self._take(queue, events, now, round)
            events = self._read(queue, passed) if len(events) >= _PER_ROUND else []
        round.end()


def _taken_at(now: int, event: Event) -> Event:
    return structs.replace(event, time=now * 1_000, received_at=now, is_always_newer=True)
