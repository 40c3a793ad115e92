"""Retention: keeps history within its age and count, also that of node types that are gone; with the last of their
history, what else is left of their queues goes."""

from collections.abc import Callable, Iterator
from itertools import takewhile

from rota.engine.definitions.definitions import Definitions
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
        observers: Observers | None = None,
    ) -> None:
        self._store = store
        self._observers = observers or Observers()
        self._definitions = definitions
        self._max_age_ms = max_age_ms
        self._max_count = max_count
        self._audit_max_age_ms = audit_max_age_ms
        self._take_flows = take_flows
        self._forgotten_logs: dict[str, Job] = {}
        """Of each series, the last job whose log was forgotten for its age, and with it those of all before."""

    def run_once(self, now: int) -> float:
        """Forget what is too old or too much. Returns the seconds until the next round: few until nothing is left."""
        self._take_flows(now)
        queues = self._store.list_queues()
        defined = {node_type.uuid for node_type in self._definitions.node_types()}
        trimmed = [self._trim(queue, now) for queue in queues]
        trimmed += [self._store.forget_rates(queue, now=now, limit=_PER_ROUND) for queue in queues]
        trimmed += [self._trim_series(one, one.history_max_count) for one in self._bounded_types()]
        trimmed += [self._trim_logs(one, now) for one in self._definitions.known_job_types() if one.log_max_age_ms]
        for queue in queues:
            if queue not in defined and self._store.forget_queue(queue):
                self._observers.tell(QueueForgotten(queue))
        trimmed.append(self._trim_audit(now))
        trimmed.extend(self._trim_topics(now))
        if any(count >= _PER_ROUND for count in trimmed):
            return 0.0
        return AGAIN_S if any(trimmed) else EVERY_S

    def _bounded_types(self) -> list[JobType]:
        return [one for one in self._definitions.known_job_types() if one.series and one.history_max_count is not None]

    def _trim_series(self, job_type: JobType, most: int | None) -> int:
        """Forget the oldest ended jobs of a type's own series that are too many."""
        node_type = self._definitions.known_node_type(job_type.node_type)
        if node_type is None or most is None:
            return 0
        queue, series = node_type.uuid, job_type.series[-1]
        surplus = min(self._store.count_series(queue, series) - most, _PER_ROUND)
        if surplus <= 0:
            return 0
        oldest = self._store.list_series(queue, series, limit=surplus)
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

    def _trim_topics(self, now: int) -> Iterator[int]:
        after, more = "", True
        while more:
            topics = self._store.list_topics(limit=_TOPICS_AT_A_TIME, after=after)
            more = len(topics) == _TOPICS_AT_A_TIME
            after = topics[-1].name if topics else ""
            yield self._store.trim_topics(
                [one.name for one in topics if one.first < one.end],
                older_than=now - TOPIC_MAX_AGE_MS,
                keep=TOPIC_MOST_RECORDS,
                limit=_PER_ROUND,
            )

    def _trim(self, queue: str, now: int) -> int:
        count = self._store.trim_history(
            queue, ended_before=now - self._max_age_ms, keep=self._max_count, limit=_PER_ROUND
        )
        if count:
            self._observers.tell(HistoryTrimmed(queue, count))
        return count
