"""What can be asked of tasks, and how one is made. Making one is the same for the API, the command line and others."""

from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from rota.dialects.sync_tasks.names import NODE_TYPE, SOURCE, Collection, collection_of, source_series
from rota.dialects.sync_tasks.task import (
    MANUAL_PRIORITY,
    STATUSES,
    job_ids_of,
    status_of,
    task_id,
)
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.errors import InvalidInput, NotFound
from rota.model.job import Cause, Job
from rota.model.job_type import JobType

_PAGE = 1_000


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

    def create(self, source: str, collection: str, *, priority: int = MANUAL_PRIORITY) -> tuple[Job, bool]:
        """The task of a collection and whether it is new: while one waits or runs, there is no other."""
        wanted = Collection(source, collection)
        job_type = self.job_type_of(wanted)
        request = JobRequest(job_type=job_type.uuid, arguments=wanted.arguments, priority=priority, cause=Cause("sync"))
        admission = self._engine.intake.enqueue([request])[0]
        return self._engine.jobs.find(admission.job_id), admission.is_new

    def find(self, id: str) -> Job:
        for job in self._store.find_jobs(job_ids_of(id)):
            if job is not None and SOURCE in job.spec.arguments and task_id(job) == id:
                return job
        raise NotFound("task", id, "it never was, or history has forgotten it")

    def list(self, query: TaskQuery) -> list[Job]:
        """Oldest first, those of collections that are no longer defined too."""
        self._check(query)
        found: deque[Job] = deque(maxlen=query.limit or None)
        for job in self._walk(query):
            if query.status in (None, status_of(job)):
                found.appendleft(job)
                if len(found) == query.limit:
                    break
        return list(found)

    def latest(self, collection: Collection) -> Job | None:
        """The task that was created last."""
        queue = queue_of_tasks(self._engine)
        found = self._store.list_series(queue, collection.series[-1], limit=1, latest_first=True) if queue else []
        return found[0] if found else None

    def cancel(self, id: str) -> None:
        self._engine.jobs.cancel(self.find(id).id)

    def job_type_of(self, collection: Collection) -> JobType:
        """What synchronises a collection; `InvalidInput` if nothing does."""
        known = self.collections()
        found = known.get(collection)
        if found is None:
            source = collection.source
            self._refuse_source(source, known)
            names = ", ".join(sorted(one.name for one in known if one.source == source))
            raise InvalidInput("collection", f"the source {source!r} has no {collection.name!r}; it has {names}")
        return found

    def _check(self, query: TaskQuery) -> None:
        if query.status is not None and query.status not in STATUSES:
            raise InvalidInput("status", f"must be one of {', '.join(STATUSES)}, got {query.status!r}")
        known = self.collections()
        if not any(one.source == query.source for one in known) and not self._has_history(query.source, None):
            self._refuse_source(query.source, known)
        if query.collection is None or Collection(query.source, query.collection) in known:
            return
        if not self._has_history(query.source, query.collection):
            raise InvalidInput("collection", f"the source {query.source!r} has no {query.collection!r}")

    def _refuse_source(self, source: str, known: dict[Collection, JobType]) -> None:
        sources = sorted({one.source for one in known})
        if source not in sources:
            hint = f"there are {', '.join(sources)}" if sources else "none is defined; `sources:` in rota.yaml does"
            raise InvalidInput("source", f"there is no source {source!r}; {hint}")

    def _has_history(self, source: str, collection: str | None) -> bool:
        queue = queue_of_tasks(self._engine)
        return queue is not None and self._store.count_series(queue, _series(source, collection)) > 0

    def _walk(self, query: TaskQuery) -> Iterator[Job]:
        """The latest first, so that a page costs as much as it shows."""
        queue = queue_of_tasks(self._engine)
        series = _series(query.source, query.collection)
        limit = min(query.limit, _PAGE) if query.limit and query.status is None else _PAGE
        last: Job | None = None
        while queue is not None:
            page = self._store.list_series(
                queue,
                series,
                since=query.since * 1000,
                until=(query.until + 1) * 1000,
                limit=limit,
                after=last,
                latest_first=True,
            )
            yield from page
            if not page:
                return
            last = page[-1]


def _series(source: str, collection: str | None) -> str:
    return source_series(source) if collection is None else Collection(source, collection).series[-1]


def queue_of_tasks(engine: Engine) -> str | None:
    """The queue of all tasks, once there are sources."""
    found = engine.definitions.known_node_type(NODE_TYPE)
    if found is None:
        engine.definitions.refresh()
        found = engine.definitions.known_node_type(NODE_TYPE)
    return None if found is None else found.uuid
