"""The tasks of an installation: added, found, changed, brought back and removed. Each is a schedule of the engine's."""

import logging
from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from rota.dialects.tasks.entity.planning import plan_task
from rota.dialects.tasks.entity.task import Task, TaskStatus
from rota.dialects.tasks.entity.view import (
    is_completed,
    is_over_after,
    job_of,
    requested_task,
    says_completed,
    stored_task,
)
from rota.dialects.tasks.names import OWNER, PREFIX_LABEL, Names
from rota.dialects.tasks.shown import Shown, Unseen
from rota.engine.engine import Engine
from rota.errors import Conflict, NotFound
from rota.model.job import FINAL_STATES, LIVE_STATES, Job, JobState
from rota.model.job_type import JobType
from rota.model.schedules.request import ScheduleRequest
from rota.model.triggers.trigger import CronTrigger
from rota.store.contract.jobs import CancelAnswer, JobQuery
from rota.store.contract.schedules import ScheduleEntry

HOLD_MS = 100
"""A task that is to run at once is ready this much later, so that `.with_delay()` right behind it comes in time."""
_TRIES = 5
_PAGE = 500
_MOST_JOBS = 20_000
"""Runs that one question looks through."""
_THREADS = 16
OVER = "a task is over before it began, and is not stored: it has no runs left, or no time for one before its end"
_logger = logging.getLogger("rota.tasks")


class Tasks:
    """The tasks that share a prefix. May be used from any thread."""

    def __init__(self, engine: Engine, names: Names, shown: Shown | None = None) -> None:
        self.engine = engine
        self.names = names
        self._store = engine.store
        self.shown = shown or Unseen()

    # -- adding and changing ---------------------------------------------------------------------------------------

    def add(self, task: Task) -> Task:
        """The stored task: this one, or the one that has its id already, as it is."""
        for _ in range(_TRIES):
            now = self.engine.clock.now()
            name, job_type = self.names.schedule_name(task.id), self.job_type(task.max_tries).uuid
            request = plan_task(task, name=name, job_type=job_type, now=now)
            if request is None:
                return self.find(task.id) or _over(task)
            uuid, hold_ms = self.names.schedule_uuid(task.id), HOLD_MS if task.delay is None else 0
            entry = self.engine.program_schedules.begin(uuid, request, managed_by=OWNER, now=now, hold_ms=hold_ms)
            if entry is not None:
                # Before a worker can have it: its end is shown only of what was shown.
                self.shown.show(stored_task(entry, None, now), is_new=True)
                self._fire_if_due(entry, now, hold_ms=hold_ms)
            if (stored := self.find(task.id)) is not None:
                return stored
            if entry is not None:
                return structs.replace(task, status=TaskStatus.COMPLETED)  # a worker was that quick
            self.remove_completed([task.id])
        raise Conflict(f"task {task.id!r} is added and removed all the time; try again")

    def reschedule(self, id: str, change: Callable[[Task], Task], *, is_paused: bool = False) -> Task:
        """Begin a task anew with other options, keeping count of its runs. A run that waits gives way; one that has
        begun goes on, and the times count after it."""
        for _ in range(_TRIES):
            entry, job = self._look(id)
            if self._begin_anew(entry, job, change, is_paused=is_paused):
                stored = self._require(id)
                self.shown.show(stored)
                return stored
        raise Conflict(f"task {id!r} changes all the time; try again")

    def _begin_anew(
        self, entry: ScheduleEntry, job: Job | None, change: Callable[[Task], Task], *, is_paused: bool
    ) -> bool:
        """What comes instead is there before the run that waits is cancelled: whoever dies in between has the task run
        once too often, and not never."""
        request, now = self._request_anew(entry, job, change)
        request = structs.replace(request, paused=is_paused)
        waiting = job.id if job is not None and job.state in (JobState.DELAYED, JobState.QUEUED) else None
        begun = self.engine.program_schedules.begin(
            entry.schedule.uuid, request, managed_by=OWNER, now=now, after=entry, without=waiting
        )
        if begun is None:
            return False
        if waiting is not None and self.engine.jobs.cancel_each([waiting])[0] is CancelAnswer.FINAL:
            return self._begin_after_run(begun, waiting, change, is_paused=is_paused)
        live = tuple(one for one in entry.live_jobs if one != waiting)
        self._fire_if_due(structs.replace(begun, live_jobs=live), now, hold_ms=0)
        return True

    def _begin_after_run(
        self, begun: ScheduleEntry, job_id: str, change: Callable[[Task], Task], *, is_paused: bool
    ) -> bool:
        """The run that was to give way had ended by then. If it succeeded, it counts."""
        job = self._store.find_jobs([job_id])[0]
        if job is None or job.state is not JobState.SUCCEEDED:
            return True
        try:
            return self._begin_anew(begun, None, lambda task: _with_another_run(change(task)), is_paused=is_paused)
        except Conflict:
            self.engine.program_schedules.forget([begun.schedule.uuid])
            raise

    def _request_anew(
        self, entry: ScheduleEntry, job: Job | None, change: Callable[[Task], Task]
    ) -> tuple[ScheduleRequest, int]:
        """What a task with other options asks for, and as of when; `Conflict` if that cannot be."""
        now = self.engine.clock.now()
        before = stored_task(entry, job, now)
        if before.status is TaskStatus.ACTIVE and before.schedule is None and before.most_runs == 1:
            raise Conflict(f"task {before.id!r} runs already; give its delay or dates with add_task")
        asked = structs.replace(requested_task(entry.schedule.arguments), runs=before.runs, delay=None)
        task = change(asked)
        job_type = self.job_type(task.max_tries).uuid
        request = plan_task(task, name=entry.schedule.name, job_type=job_type, now=now)
        if request is None:
            raise Conflict(f"task {task.id!r} would never run again: its runs or its time are over")
        return request, now

    def _fire_if_due(self, entry: ScheduleEntry, now: int, *, hold_ms: int) -> None:
        """At once, instead of when a ticker looks. Should this process end before, a ticker does it."""
        if entry.state.nominal is not None and entry.state.nominal <= now and not entry.live_jobs:
            self.engine.program_schedules.fire(entry, now=now, hold_ms=hold_ms)

    def run_now(self, id: str) -> Task:
        """Run a waiting task at once, as if its time had come; one that goes by a cron line keeps its times."""
        entry, _ = self._look(id)
        if isinstance(entry.schedule.trigger, CronTrigger):
            self.engine.schedules.run_now(entry.schedule.uuid)
            return self._require(id)
        return self.reschedule(id, lambda task: structs.replace(task, start_date=None))

    def rescue(self, id: str) -> Task:
        """Bring a failed task back: its run is tried again, with all its tries before it."""
        entry, job = self._look(id)
        if job is None or job.state is not JobState.FAILED:
            raise Conflict(f"task {id!r} has not failed, so there is nothing to bring back")
        self.engine.jobs.retry(job.id)
        self.engine.program_schedules.go_on(entry.schedule.uuid)
        stored = self._require(id)
        self.shown.show(stored)
        return stored

    def delete(self, id: str) -> bool:
        """Remove a task; a run under way is asked to end. False: there was none."""
        entry = self._entry(id)
        if entry is None:
            return False
        self.engine.program_schedules.forget([entry.schedule.uuid])
        if entry.live_jobs:
            self.engine.jobs.cancel_each(entry.live_jobs)
        self.shown.hide(id)
        return True

    def is_last_run(self, task: Task) -> bool:
        """Whether a run of the task that succeeds now completes it. Its schedule stays until the store knows of the
        success: whoever dies before leaves a task that runs again, or fails, as any other."""
        entry = self._entry(task.id)
        if entry is None or job_of(entry) != task.job:
            return False
        return is_over_after(entry, self.engine.clock.now())

    def remove_completed(self, ids: Sequence[str]) -> None:
        """Remove the schedules of those of these tasks that are completed; history keeps the tasks."""
        entries = self._store.find_schedules([self.names.schedule_uuid(id) for id in ids])
        found = [entry for entry in entries if entry is not None and is_completed(entry, self._job(entry))]
        if found:
            self.engine.program_schedules.forget([entry.schedule.uuid for entry in found])

    # -- finding ---------------------------------------------------------------------------------------------------

    def find(self, id: str) -> Task | None:
        """The stored task; one that is completed is none."""
        entry = self._entry(id)
        job = None if entry is None else self._job(entry)
        if entry is None or is_completed(entry, job):
            return None
        return stored_task(entry, job, self.engine.clock.now())

    def all(self) -> Iterator[Task]:
        """Every stored task, in pages: as many reads as there are pages."""
        for entries in self.pages():
            yield from (task for task, is_over in self.views(entries) if not is_over)

    def pages(self) -> Iterator[list[ScheduleEntry]]:
        for job_type in self.job_types():
            cursor: str | None = None
            while True:
                page = self._store.list_schedules(limit=_PAGE, cursor=cursor, job_type=job_type.uuid)
                yield page.entries
                cursor = page.cursor
                if cursor is None:
                    break

    def views(self, entries: list[ScheduleEntry]) -> list[tuple[Task, bool]]:
        """Each of the entries as a task, and whether that is completed."""
        now, ids = self.engine.clock.now(), [job_of(entry) for entry in entries]
        known = [id for id in ids if id is not None]
        jobs = dict(zip(known, self._store.find_jobs(known) if known else [], strict=True))
        pairs = [(entry, jobs.get(id or "")) for entry, id in zip(entries, ids, strict=True)]
        return [(stored_task(entry, job, now), is_completed(entry, job)) for entry, job in pairs]

    def completed(self, limit: int) -> list[Task]:
        """Tasks that are over, the latest first, as far as history knows them."""
        found: list[Task] = []
        for job in self._jobs(JobQuery(queue=self.queue(), states=FINAL_STATES)):
            if job.state is JobState.SUCCEEDED and says_completed(job.results):
                found.append(completed_task(job))
            if len(found) == limit:
                break
        return found

    def held(self, longer_than_ms: int) -> list[Task]:
        """Tasks whose run has waited for a worker, or been in the hands of one, for longer; longest first."""
        before = self.engine.clock.now() - longer_than_ms
        query = JobQuery(queue=self.queue(), states=LIVE_STATES)
        jobs = [job for job in self._jobs(query) if _since(job) < before]
        ids = {str(requested_task(job.spec.arguments).id): _since(job) for job in jobs}
        found = [task for id in sorted(ids, key=lambda id: ids[id]) if (task := self.find(id))]
        return [task for task in found if task.status in (TaskStatus.ENQUEUED, TaskStatus.ACTIVE)]

    def _jobs(self, query: JobQuery) -> Iterator[Job]:
        cursor, seen = None, 0
        while seen < _MOST_JOBS:
            page = self._store.list_jobs(query, limit=_PAGE, cursor=cursor)
            yield from page.jobs
            seen, cursor = seen + len(page.jobs), page.cursor
            if cursor is None:
                return

    # -- definitions -----------------------------------------------------------------------------------------------

    def queue(self) -> str:
        """The uuid of their node type, which is made if it is not there."""
        known = self.engine.definitions.known_node_type(self.names.node_type)
        return (known or self.engine.definitions.ensure_node_type(self.names.make_node_type(_THREADS))).uuid

    def job_type(self, max_tries: int) -> JobType:
        """What tasks with so many tries are; made when the first of them is added."""
        wanted = self.names.make_job_type(max_tries)
        known = self.engine.definitions.known_job_type(wanted.uuid)
        if known is None or known.unversioned != wanted:
            self.queue()
            self.engine.definitions.define_job_type(wanted)
        return wanted

    def job_types(self) -> list[JobType]:
        return [one for one in self.engine.definitions.job_types() if one.labels.get(PREFIX_LABEL) == self.names.prefix]

    # -- the rest --------------------------------------------------------------------------------------------------

    def _entry(self, id: str) -> ScheduleEntry | None:
        return self._store.find_schedules([self.names.schedule_uuid(id)])[0]

    def _job(self, entry: ScheduleEntry) -> Job | None:
        id = job_of(entry)
        return None if id is None else self._store.find_jobs([id])[0]

    def _look(self, id: str) -> tuple[ScheduleEntry, Job | None]:
        entry = self._entry(id)
        job = None if entry is None else self._job(entry)
        if entry is None or is_completed(entry, job):
            raise NotFound("task", id, "it never was, or it is completed")
        return entry, job

    def _require(self, id: str) -> Task:
        found = self.find(id)
        if found is None:
            raise NotFound("task", id, "it was there before; somebody removed it, or it is completed")
        return found


def _over(task: Task) -> Task:
    """A task that is not stored, since it would never run."""
    _logger.info(OVER, extra={"task": task.id, "end": task.end_date, "runs": task.runs})
    return structs.replace(task, status=TaskStatus.COMPLETED)


def _with_another_run(task: Task) -> Task:
    return structs.replace(task, runs=task.runs + 1)


def _since(job: Job) -> int:
    return job.available_at if job.started_at is None else job.started_at


def completed_task(job: Job) -> Task:
    """A task as its last run left it."""
    task = requested_task(job.spec.arguments)
    runs = job.results.get("runs") if isinstance(job.results, dict) else None
    return structs.replace(
        task,
        runs=runs if isinstance(runs, int) else task.runs + 1,
        status=TaskStatus.COMPLETED,
        last_run=job.ended_at,
        execution_time=(job.ended_at or 0) - (job.started_at or 0),
        job=job.id,
    )
