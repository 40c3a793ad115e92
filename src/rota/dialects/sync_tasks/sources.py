"""What there is to synchronise: every collection with its schedule and its latest tasks."""

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from rota.dialects.sync_tasks.names import Collection
from rota.dialects.sync_tasks.task import created_at, status_of, task_id
from rota.dialects.sync_tasks.tasks import Tasks, queue_of_tasks
from rota.dialects.sync_tasks.times import iso
from rota.engine.engine import Engine
from rota.errors import NotFound
from rota.model.job import Job
from rota.model.triggers.words.words import trigger_words
from rota.store.contract.schedules import ScheduleEntry


class TaskRun(Struct, frozen=True):
    """A task, briefly."""

    id: str
    status: str
    created_at: str
    started_at: str
    finished_at: str
    job: str
    """The uuid of the job that it is."""


class CollectionSchedule(Struct, frozen=True):
    """When a collection is synchronised by itself."""

    uuid: str
    words: str
    next: str
    """The next time; empty if there is none."""
    paused: bool


class CollectionShape(Struct, frozen=True):
    """A collection, and how it goes."""

    source: str
    collection: str
    schedule: CollectionSchedule | None
    """None also for those who may not read schedules."""
    tasks: list[TaskRun]
    """The latest first."""


class SourcePage(Struct, frozen=True):
    """Collections, by source and name."""

    collections: list[CollectionShape]
    cursor: str | None


class Sources:
    """The sources of an installation, as whoever asks may see them."""

    def __init__(self, engine: Engine, *, with_schedules: bool = True) -> None:
        self._engine = engine
        self._with_schedules = with_schedules

    def page(self, *, limit: int, cursor: str | None, last: int) -> SourcePage:
        """Costs as much as it shows, beside a look at the names of all."""
        behind = _read_cursor(cursor)
        known = sorted(one for one in Tasks(self._engine).collections() if one > behind)
        found = known[:limit]
        return SourcePage(self.shown(found, last), _cursor(found[-1]) if len(known) > limit else None)

    def find(self, collection: Collection, last: int) -> CollectionShape:
        """One that is defined, or of which tasks are remembered."""
        shape = self.shown([collection], last)[0]
        if not shape.tasks and collection not in Tasks(self._engine).collections():
            hint = "`rota sources` lists those that there are"
            raise NotFound("collection", f"{collection.source}/{collection.name}", hint)
        return shape

    def shown(self, collections: Sequence[Collection], last: int) -> list[CollectionShape]:
        schedules = self._schedules(collections)
        return [
            CollectionShape(one.source, one.name, schedule, list(self._runs(one, last)))
            for one, schedule in zip(collections, schedules, strict=True)
        ]

    def _schedules(self, collections: Sequence[Collection]) -> list[CollectionSchedule | None]:
        if not self._with_schedules:
            return [None] * len(collections)
        store = self._engine.store
        uuids = [store.schedule_uuid(one.job_type_name) for one in collections]
        entries = iter(store.find_schedules([uuid for uuid in uuids if uuid]))
        return [_schedule(next(entries)) if uuid else None for uuid in uuids]

    def _runs(self, collection: Collection, last: int) -> Iterator[TaskRun]:
        queue = queue_of_tasks(self._engine)
        series = collection.series[-1]
        jobs = self._engine.store.list_series(queue, series, limit=last, latest_first=True) if queue else []
        return map(_run, islice(jobs, last))


def _run(job: Job) -> TaskRun:
    return TaskRun(
        id=task_id(job),
        status=status_of(job),
        created_at=iso(created_at(job)),
        started_at=iso(job.started_at),
        finished_at=iso(job.ended_at),
        job=job.id,
    )


def _schedule(entry: ScheduleEntry | None) -> CollectionSchedule | None:
    if entry is None:
        return None
    schedule, state = entry.schedule, entry.state
    words = trigger_words(schedule.trigger, schedule.progress(state))
    return CollectionSchedule(schedule.uuid, words, iso(state.nominal), schedule.paused)


def _cursor(last: Collection) -> str:
    """No name has a slash."""
    return f"{last.source}/{last.name}"


def _read_cursor(cursor: str | None) -> Collection:
    source, _, name = (cursor or "").partition("/")
    return Collection(source, name)
