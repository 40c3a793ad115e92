"""The duty that tells when a collection's final status is another one than before: a job that posts a notice, made once
however many nodes notice, because its id is made of the task's."""

from collections.abc import Iterator

from rota.dialects.sync_tasks.names import NOTIFY, collection_of
from rota.dialects.sync_tasks.task import SUCCESS, collection_of_job, status_of, task_id
from rota.dialects.sync_tasks.task_log import last_line
from rota.dialects.sync_tasks.tasks import queue_of_tasks
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.model.ids import numbered_id
from rota.model.job import FINAL_STATES, LIVE_STATES, Cause, Job
from rota.store.contract.jobs import JobQuery

EVERY_S = 1.0
_FIRST_LOOK_MS = 10 * 60 * 1000
"""What ended while no scheduler was there is told too, if it is not older."""
_LOOK_BACK_MS = 3_000
"""Ends are told by nodes, whose reports may arrive in another order."""
_PAGE = 200
_MOST_PAGES = 50
_MOST_BEFORE = 20
_CAUSE = Cause("sync_notice")


class Notices:
    """A duty: `run_once` looks at what ended since the last time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._until = engine.clock.now() - _FIRST_LOOK_MS
        self._live: frozenset[str] = frozenset()
        """The tasks that had not ended at the last look."""

    def run_once(self, now: int) -> float:
        queue = queue_of_tasks(self._engine)
        targets = self._targets()
        if queue is not None and targets:
            self._look(queue, targets, now)
        return EVERY_S

    def _look(self, queue: str, targets: dict[str, str], now: int) -> None:
        live = self._live_now(queue)
        # Of a clock that was ahead, all that ends from now on would have ended before.
        until = self._until = min(self._until, now)
        requests: list[JobRequest] = []
        for job in self._ended(queue, live, now):
            until = max(until, job.ended_at or 0)
            target = targets.get(collection_of_job(job).series[-1])
            if target and (request := self._notice(job, target)):
                requests.append(request)
        if requests:
            self._engine.intake.enqueue(requests)
        # Only now: what a store that is away did not take is told at the next look.
        self._live, self._until = live, until

    def _targets(self) -> dict[str, str]:
        """The job type that posts notices of a collection, by the collection's series."""
        known = self._engine.definitions.known_job_types()
        found = ((collection_of(one), one.labels.get(NOTIFY)) for one in known)
        return {collection.series[-1]: notify for collection, notify in found if collection and notify}

    def _live_now(self, queue: str) -> frozenset[str]:
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = self._engine.store.list_jobs(JobQuery(queue=queue, states=LIVE_STATES), limit=_PAGE, cursor=cursor)
            found += [job.id for job in page.jobs]
            cursor = page.cursor
            if cursor is None:
                return frozenset(found)

    def _ended(self, queue: str, live: frozenset[str], now: int) -> Iterator[Job]:
        """The latest, and those whose nodes were cut off and told of their ends only now."""
        seen: set[str] = set()
        for job in self._lately_ended(queue, max(self._until - _LOOK_BACK_MS, now - _FIRST_LOOK_MS), now):
            seen.add(job.id)
            yield job
        late = self._engine.store.find_jobs(sorted(self._live - live - seen))
        yield from (job for job in late if job is not None and job.state.is_final)

    def _lately_ended(self, queue: str, since: int, now: int) -> Iterator[Job]:
        """Not what is still to end, by a clock that was ahead: of that was told then."""
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = self._engine.store.list_jobs(JobQuery(queue=queue, states=FINAL_STATES), limit=_PAGE, cursor=cursor)
            for job in page.jobs:
                if (job.ended_at or 0) <= since:
                    return
                if (job.ended_at or 0) <= now:
                    yield job
            cursor = page.cursor
            if cursor is None:
                return

    def _notice(self, job: Job, target: str) -> JobRequest | None:
        status, before = status_of(job), self._status_before(job)
        if status == before:
            return None
        return JobRequest(
            id=numbered_id(job.ended_at or 0, f"notice {job.id} {job.ended_at}", 0),
            job_type=target,
            arguments={"text": self._text(job, status, before)},
            cause=_CAUSE,
        )

    def _status_before(self, job: Job) -> str:
        """A collection without a past is as good as one that succeeded."""
        series = collection_of_job(job).series[-1]
        before = self._engine.store.list_series(
            job.spec.queue, series, limit=_MOST_BEFORE, after=job, latest_first=True
        )
        return next((status_of(one) for one in before if one.state.is_final), SUCCESS)

    def _text(self, job: Job, status: str, before: str) -> str:
        collection = collection_of_job(job)
        last = last_line(self._engine.store, job)
        said = f": {last.message[:500]}" if last is not None else ""
        return f"{collection.source}/{collection.name} is {status}, was {before}{said} ({task_id(job)})"
