"""What can be asked of tasks, and how one is made. Making one is the same for the API, the command line and others."""

from collections.abc import Iterator

from msgspec import Struct, structs

from rota.dialects.sync_tasks.names import NODE_TYPE, SOURCE, Collection, collection_of
from rota.dialects.sync_tasks.task import (
    MANUAL_PRIORITY,
    STATUSES,
    LogLine,
    LogLines,
    collection_of_job,
    job_ids_of,
    status_of,
    task_id,
)
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.errors import InvalidInput, NotFound
from rota.model.job import Cause, Job
from rota.model.job_type import JobType
from rota.store.jobs import JobQuery

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
        job_type = self._job_type(source, collection)
        arguments = Collection(source, collection).arguments
        request = JobRequest(job_type=job_type.uuid, arguments=arguments, priority=priority, cause=Cause("sync"))
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
        # By id: a task that moves on meanwhile is met twice.
        found = {job.id: job for job in self._walk(query)}.values()
        jobs = [job for job in found if query.status in (None, status_of(job))]
        jobs.sort(key=lambda job: (job.spec.enqueued_at, job.id))
        return jobs[-query.limit :] if query.limit else jobs

    def latest(self) -> dict[Collection, Job]:
        """The task of each collection that was created last."""
        found: dict[Collection, Job] = {}
        for job in self._walk_queue(JobQuery()):
            before = found.get(collection_of_job(job))
            if before is None or (job.spec.enqueued_at, job.id) > (before.spec.enqueued_at, before.id):
                found[collection_of_job(job)] = job
        return found

    def cancel(self, id: str) -> None:
        self._engine.jobs.cancel(self.find(id).id)

    def log(self, job: Job) -> Iterator[tuple[int, LogLine]]:
        """Every line so far, with its time in microseconds. The caller read the job before: then nothing is missing
        of one that has ended."""
        lines = LogLines()
        position = 0
        while True:
            page = self._store.read_logs(job.id, after=position, limit=_PAGE)
            yield from lines.read(page.entries)
            position = page.next
            if len(page.entries) < _PAGE:
                break
        yield from lines.last_words(job)

    def _job_type(self, source: str, collection: str) -> JobType:
        known = self.collections()
        found = known.get(Collection(source, collection))
        if found is None:
            self._refuse_source(source, known)
            names = sorted(one.name for one in known if one.source == source)
            raise InvalidInput("collection", f"the source {source!r} has no {collection!r}; it has {', '.join(names)}")
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
        everything = TaskQuery(source=source, since=0, until=1 << 40, collection=collection)
        return next(self._walk(everything), None) is not None

    def _walk(self, query: TaskQuery) -> Iterator[Job]:
        for job in self._walk_queue(JobQuery(since=query.since * 1000, until=(query.until + 1) * 1000)):
            collection = collection_of_job(job)
            if collection.source == query.source and query.collection in (None, collection.name):
                yield job

    def _walk_queue(self, query: JobQuery) -> Iterator[Job]:
        """Tasks by their states; one that moves on meanwhile may come twice."""
        queue = queue_of_tasks(self._engine)
        cursor: str | None = None
        while queue is not None:
            wanted = structs.replace(query, queue=queue)
            page = self._store.list_jobs(wanted, limit=_PAGE, cursor=cursor)
            yield from page.jobs
            cursor = page.cursor
            if cursor is None:
                return


def queue_of_tasks(engine: Engine) -> str | None:
    """The queue of all tasks, once there are sources."""
    found = engine.definitions.known_node_type(NODE_TYPE)
    if found is None:
        engine.definitions.refresh()
        found = engine.definitions.known_node_type(NODE_TYPE)
    return None if found is None else found.uuid
