"""What can be asked of tasks, and how one is made. Making one is the same for the API, the command line and others."""

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice
from typing import TypeGuard

from msgspec import Struct, structs

from rota.dialects.sync_tasks.names import NODE_TYPE, Collection, collection_of, source_series
from rota.dialects.sync_tasks.task import (
    MANUAL_PRIORITY,
    STATUSES,
    collection_of_job,
    job_ids_of,
    states_of,
    status_of,
    task_id,
)
from rota.engine.access.keys.access import Caller
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.job import Cause, Job
from rota.model.job_type import JobType
from rota.store.contract.jobs import JobQuery

_PAGE = 100
"""Tasks that are in memory at a time: each may have a megabyte of results."""
_ALWAYS_FEW = 1_000
_FEW = 20
"""Of so many tasks one or none."""


class TaskQuery(Struct, frozen=True, kw_only=True):
    """Which tasks to list."""

    source: str
    since: int
    """Created in this second (counted from the epoch) or later."""
    until: int
    """Created in this second or before."""
    collection: str | None = None
    status: str | None = None
    limit: int = 0
    """The latest so many; 0 for all."""


class Tasks:
    """The tasks of an installation."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.store

    def collections(self) -> dict[Collection, JobType]:
        """All that are defined."""
        found = ((collection_of(one), one) for one in self._engine.definitions.job_types())
        return {collection: job_type for collection, job_type in found if collection is not None}

    def create(
        self, source: str, collection: str, *, priority: int = MANUAL_PRIORITY, by: Caller | None = None
    ) -> tuple[Job, bool]:
        """The task of a collection and whether it is new: while one waits or runs, there is no other. `by` is whoever
        asks, as in `Intake.enqueue`."""
        wanted = Collection(source, collection)
        job_type = self.job_type_of(wanted)
        request = JobRequest(job_type=job_type.uuid, arguments=wanted.arguments, priority=priority, cause=Cause("sync"))
        admission = self._engine.intake.enqueue([request], by=by)[0]
        return self._engine.jobs.find(admission.job_id), admission.is_new

    def find(self, id: str) -> Job:
        queue = queue_of_tasks(self._engine)
        for job in self._store.find_jobs(job_ids_of(id)):
            # Any job may have such an argument; those of this queue are tasks.
            if job is not None and job.spec.queue == queue and task_id(job) == id:
                return job
        raise NotFound("task", id, "it never was, or history has forgotten it")

    def list(self, query: TaskQuery) -> list[Job]:
        """Oldest first, those of collections that are no longer defined too."""
        return [job for page in self.pages(query) for job in page]

    def pages(self, query: TaskQuery) -> Iterator[Sequence[Job]]:
        """The same, a page at a time: there may be very many, and no more than a page of them is in memory."""
        self._check(query)
        queue = queue_of_tasks(self._engine)
        jobs = iter(()) if queue is None else self._find(queue, query)
        return iter(lambda: list(islice(jobs, _PAGE)), [])

    def cancel(self, id: str) -> None:
        try:
            self._engine.jobs.cancel(self.find(id).id)
        except Conflict:
            raise Conflict(f"the task {id!r} has ended already, so there is nothing to cancel") from None

    def job_type_of(self, collection: Collection) -> JobType:
        """What synchronises a collection; `InvalidInput` if nothing does."""
        found = self._defined(collection)
        if found is None:
            source, known = collection.source, self.collections()
            self._refuse_source(source, known)
            names = ", ".join(sorted(one.name for one in known if one.source == source))
            raise InvalidInput("collection", f"the source {source!r} has no {collection.name!r}; it has {names}")
        return found

    def _defined(self, collection: Collection) -> JobType | None:
        self._engine.definitions.refresh()
        found = self._engine.definitions.known_job_type(collection.job_type_name)
        return found if found is not None and collection_of(found) == collection else None

    def _check(self, query: TaskQuery) -> None:
        if query.status is not None and query.status not in STATUSES:
            raise InvalidInput("status", f"must be one of {', '.join(STATUSES)}, got {query.status!r}")
        if query.collection is not None and self._defined(Collection(query.source, query.collection)):
            return
        if not self._has_history(query.source, None):
            self._refuse_source(query.source, self.collections())
        if query.collection is not None and not self._has_history(query.source, query.collection):
            raise InvalidInput("collection", f"the source {query.source!r} has no {query.collection!r}")

    def _refuse_source(self, source: str, known: dict[Collection, JobType]) -> None:
        sources = sorted({one.source for one in known})
        if source not in sources:
            hint = f"there are {', '.join(sources)}" if sources else "none is defined; `sources:` in rota.yaml does"
            raise InvalidInput("source", f"there is no source {source!r}; {hint}")

    def _has_history(self, source: str, collection: str | None) -> bool:
        queue = queue_of_tasks(self._engine)
        return queue is not None and self._store.count_series(queue, _series(source, collection)) > 0

    def _are_few(self, queue: str, status: str) -> bool:
        """Whether few tasks of all have a status, so that these are the shortest way to those that are wanted."""
        counts = self._store.count_jobs(queue)
        few = sum(counts[state] for state in states_of(status))
        return few * _FEW < sum(counts.values()) or few <= _ALWAYS_FEW

    def _find(self, queue: str, query: TaskQuery) -> Iterator[Job]:
        """Oldest first."""
        if query.status is not None and self._are_few(queue, query.status):
            return self._pick(queue, query)
        if 0 < query.limit <= _PAGE:
            return reversed(list(islice(self._walk(queue, query), query.limit)))
        if not query.limit:
            return self._walk(queue, query, latest_first=False)
        return islice(self._walk_latest(queue, query), query.limit)

    def _walk_latest(self, queue: str, query: TaskQuery) -> Iterator[Job]:
        """From the oldest of the latest so many on: found from the end, and then read in the other direction."""
        first = deque(islice(self._walk(queue, query), query.limit), maxlen=1)
        if not first:
            return iter(())
        from_there = structs.replace(query, since=first[0].spec.enqueued_at // 1000)
        later = self._walk(queue, from_there, latest_first=False)
        return dropwhile(lambda job: _place(job) < _place(first[0]), later)

    def _pick(self, queue: str, query: TaskQuery) -> Iterator[Job]:
        """Those that are wanted of all that have their status. Only their ids are kept meanwhile."""
        conditions = JobQuery(
            queue=queue, states=states_of(str(query.status)), since=query.since * 1000, until=(query.until + 1) * 1000
        )
        series = _series(query.source, query.collection)
        found: list[tuple[int, str]] = []
        cursor: str | None = None
        while True:
            page = self._store.list_jobs(conditions, limit=_PAGE, cursor=cursor)
            found += [_place(job) for job in page.jobs if series in collection_of_job(job).series]
            cursor = page.cursor
            if cursor is None:
                break
        ids = [id for _, id in sorted(set(found))][-query.limit or None :]
        for at in range(0, len(ids), _PAGE):
            yield from (job for job in self._store.find_jobs(ids[at : at + _PAGE]) if _has(job, query.status))

    def _walk(self, queue: str, query: TaskQuery, *, latest_first: bool = True) -> Iterator[Job]:
        """The latest first, so that a few cost as much as they show."""
        series = _series(query.source, query.collection)
        limit = min(query.limit or _PAGE, _PAGE)
        last: Job | None = None
        while True:
            page = self._store.list_series(
                queue,
                series,
                since=query.since * 1000,
                until=(query.until + 1) * 1000,
                limit=limit,
                after=last,
                latest_first=latest_first,
            )
            yield from (job for job in page if query.status is None or _has(job, query.status))
            if not page:
                return
            last, limit = page[-1], min(limit * 2, _PAGE)


def _place(job: Job) -> tuple[int, str]:
    """Among others, by the time of their making."""
    return job.spec.enqueued_at, job.id


def _has(job: Job | None, status: str | None) -> TypeGuard[Job]:
    return job is not None and status_of(job) == status


def _series(source: str, collection: str | None) -> str:
    return source_series(source) if collection is None else Collection(source, collection).series[-1]


def queue_of_tasks(engine: Engine) -> str | None:
    """The queue of all tasks, once there are sources."""
    found = engine.definitions.known_node_type(NODE_TYPE)
    if found is None:
        engine.definitions.refresh()
        found = engine.definitions.known_node_type(NODE_TYPE)
    return None if found is None else found.uuid
