"""Retention: keeps history within its age and count, also that of node types that are gone; with the last of their
history, what else is left of their queues goes."""

from collections.abc import Callable
from itertools import takewhile

from rota.engine.definitions.definitions import Definitions
from rota.engine.node.duty import Round
from rota.engine.observation.happenings import HistoryTrimmed, QueueForgotten
from rota.engine.observation.observers import Observers
from rota.model.job import Job
from rota.model.job_type import JobType
from rota.store.contract.store import Store

EVERY_S = 60.0
AGAIN_S = 0.5
"""After a round that forgot some, but not as many as it may: long logs may have taken its time."""
AUDIT_MAX_AGE_MS = 365 * 24 * 3600 * 1000
AUDIT_MOST_ENTRIES = 100_000
"""Entries of the audit log; the oldest go first, whatever their age."""
TOPIC_MAX_AGE_MS = 7 * 24 * 3600 * 1000
TOPIC_MOST_RECORDS = 100_000
"""Records of one topic."""
_TOPICS_AT_A_TIME = 1_000
_PER_ROUND = 1_000
"""Jobs of a queue forgotten in one round, so that no other queue waits long."""


class Retention:
    """A duty: `run_once` does one round over all queues."""

    def __init__(
        self,
        store: Store,
        definitions: Definitions,
        *,
        max_age_ms: int,
        max_count: int,
        audit_max_age_ms: int = AUDIT_MAX_AGE_MS,
        take_flows: Callable[[int], None] = lambda now: None,
        flow_queues: Callable[[int], list[str]] = lambda now: [],
        observers: Observers | None = None,
    ) -> None:
        self._store = store
        self._observers = observers or Observers()
        self._definitions = definitions
        self._max_age_ms = max_age_ms
        self._max_count = max_count
        self._audit_max_age_ms = audit_max_age_ms
        self._take_flows = take_flows
        self._flow_queues = flow_queues
        self._forgotten_logs: dict[str, Job] = {}
        """Of each series, the last job whose log was forgotten for its age, and with it those of all before."""

    def run_once(self, now: int) -> float:
        """Forget what is too old or too much. Returns the seconds until the next round: few until nothing is left."""
        round = Round()
        kept = self._go_on_with_flows(round, now)
        queues = self._store.list_queues()
        defined = {node_type.uuid for node_type in self._definitions.node_types()}
        types = self._definitions.known_job_types()
        trimmed = round.each((queue for queue in queues if queue not in kept), lambda queue: self._trim(queue, now))
        trimmed += round.each(queues, lambda queue: self._store.forget_rates(queue, now=now, limit=_PER_ROUND))
        trimmed += round.each(self._bounded_types(), lambda one: self._trim_series(one, one.history_max_count, kept))
        trimmed += round.each((one for one in types if one.log_max_age_ms), lambda one: self._trim_logs(one, now))
        round.each((queue for queue in queues if queue not in defined), self._forget_queue)
        trimmed += round.each((self._trim_audit, self._trim_topics), lambda trim: trim(now))
        round.end()
        if any(count >= _PER_ROUND for count in trimmed):
            return 0.0
        return AGAIN_S if any(trimmed) else EVERY_S

    def _go_on_with_flows(self, round: Round, now: int) -> frozenset[str]:
        """The queues whose jobs must be kept: where it is not known of all ends what follows them, the jobs of such a
        flow may be in any queue that has flows."""
        return frozenset() if round.each([now], self._take_flows) else frozenset(self._flow_queues(now))

    def _bounded_types(self) -> list[JobType]:
        return [one for one in self._definitions.known_job_types() if one.series and one.history_max_count is not None]

    def _trim_series(self, job_type: JobType, most: int | None, kept: frozenset[str]) -> int:
        """Forget the oldest ended jobs of a type's own series that are too many, unless its queue is kept."""
        node_type = self._definitions.known_node_type(job_type.node_type)
        if node_type is None or most is None or node_type.uuid in kept:
            return 0
        queue, series = node_type.uuid, job_type.series[-1]
        surplus = min(self._store.count_series(queue, series) - most, _PER_ROUND)
        if surplus <= 0:
            return 0
        oldest = self._store.list_series(queue, series, limit=surplus)
        # Counted again: if another node forgot some before these were read, so many fewer of them are too many.
        oldest = oldest[: max(self._store.count_series(queue, series) - most, 0)]
        count = sum(self._store.delete_jobs([job.id for job in oldest if job.state.is_final]))
        if count:
            self._observers.tell(HistoryTrimmed(queue, count))
        return count

    def _trim_logs(self, job_type: JobType, now: int) -> int:
        """Forget the logs that are too old, of jobs of a type's own series; how many jobs have such logs. Where these
        are long, the last of them are left to the next round."""
        node_type = self._definitions.known_node_type(job_type.node_type)
        if node_type is None or not job_type.series:
            return 0
        queue, series = node_type.uuid, job_type.series[-1]
        jobs = self._store.list_series(queue, series, limit=_PER_ROUND, after=self._forgotten_logs.get(series))
        old = list(takewhile(lambda job: not job_type.keeps_log(job.ended_at, now), jobs))
        done = len(self._store.delete_logs([job.id for job in old])) if old else 0
        if done:
            self._forgotten_logs[series] = old[done - 1]
        return len(old)

    def _trim_audit(self, now: int) -> int:
        return self._store.trim_audit(
            older_than=now - self._audit_max_age_ms, keep=AUDIT_MOST_ENTRIES, limit=_PER_ROUND
        )

    def _trim_topics(self, now: int) -> int:
        """How many records were forgotten at most in one step."""
        after, more, most = "", True, 0
        while more:
            topics = self._store.list_topics(limit=_TOPICS_AT_A_TIME, after=after)
            more = len(topics) == _TOPICS_AT_A_TIME
            after = topics[-1].name if topics else ""
            count = self._store.trim_topics(
                [one.name for one in topics if one.first < one.end],
                older_than=now - TOPIC_MAX_AGE_MS,
                keep=TOPIC_MOST_RECORDS,
                limit=_PER_ROUND,
            )
            most = max(most, count)
        return most

    def _forget_queue(self, queue: str) -> None:
        if self._store.forget_queue(queue):
            self._observers.tell(QueueForgotten(queue))

    def _trim(self, queue: str, now: int) -> int:
        count = self._store.trim_history(
            queue, ended_before=now - self._max_age_ms, keep=self._max_count, limit=_PER_ROUND
        )
        if count:
            self._observers.tell(HistoryTrimmed(queue, count))
        return count
