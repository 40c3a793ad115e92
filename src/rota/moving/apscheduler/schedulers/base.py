"""What all schedulers have: jobs, which are schedules in Rota's store."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar
from uuid import NAMESPACE_OID, uuid4, uuid5

from msgspec import UNSET

from rota.engine.definitions.ownership import owner_of_app
from rota.engine.executors.python.job_context import current_run
from rota.errors import Conflict, InvalidInput
from rota.model.schedules.edits import changed_request, request_of
from rota.model.schedules.request import ScheduleRequest
from rota.moving.apscheduler.changes import changed_fields
from rota.moving.apscheduler.events import (
    EVENT_ALL,
    EVENT_JOB_ADDED,
    EVENT_JOB_MODIFIED,
    EVENT_JOB_REMOVED,
    JobEvent,
    SchedulerEvent,
)
from rota.moving.apscheduler.job import Job
from rota.moving.apscheduler.jobstores.base import ConflictingIdError, JobLookupError
from rota.moving.apscheduler.listeners import Listener, Listeners
from rota.moving.apscheduler.next_run import is_due
from rota.moving.apscheduler.options import JobOptions, SchedulerOptions, read_options, trigger_of
from rota.moving.apscheduler.triggers.base import Trigger
from rota.moving.common.imports import function_of, named_function
from rota.moving.common.refusing import refuse_value, refused_method
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.options import TaskOptions
from rota.sdk.tasks.parameters import Parameters
from rota.store.contract.schedules import ScheduleEntry

_APP = "apscheduler"
_JOB = ("coalesce", "max_instances", "misfire_grace_time", "next_run_time")
_PAGE = 500
_ASK_S = 0.05
F = TypeVar("F", bound=Callable[..., Any])


class SchedulerNotRunningError(Exception):
    """It was not started, or has ended."""


class SchedulerAlreadyRunningError(Exception):
    """It was started before."""


class BaseScheduler:
    """Adds, changes and finds jobs. May be used from any thread."""

    def __init__(self, gconfig: Mapping[str, Any] | None = None, **options: Any) -> None:
        self._options: SchedulerOptions
        self._rota: Rota
        self._listeners = Listeners()
        self._ids: dict[str, str] = {}
        """Of the jobs that were added here, by their schedules."""
        self._functions: dict[str, Callable[..., Any]] = {}
        """Of the jobs that were added here, by their tasks."""
        self.configure(gconfig, **options)

    def configure(self, gconfig: Mapping[str, Any] | None = None, **options: Any) -> None:
        """Before it is started."""
        if gconfig:
            raise InvalidInput("gconfig", "is not carried by Rota; give the options by name")
        self._options = read_options(options)
        self._rota = Rota(self._options.url, name=_APP, keeps=True)

    @property
    def __rota_app__(self) -> Rota:
        """What `rota worker` runs, beside or instead of `start`."""
        return self._rota

    @property
    def timezone(self) -> str:
        return self._options.zone

    # -- jobs ------------------------------------------------------------------------------------------------------

    def add_job(
        self,
        func: Callable[..., Any] | str,
        trigger: Trigger | str | None = None,
        args: Sequence[object] | None = None,
        kwargs: Mapping[str, object] | None = None,
        id: str | None = None,
        name: str | None = None,
        *,
        replace_existing: bool = False,
        **options: Any,
    ) -> Job:
        """Have a function run when a trigger says. `name` is shown nowhere; the id is the schedule's name."""
        own = {**self._options.defaults, **{key: options.pop(key) for key in _JOB if key in options}}
        for key in ("jobstore", "executor"):
            refuse_value(key, options.pop(key, "default"), allowed=("default",), instead="make another scheduler")
        when = trigger_of(trigger, options)
        function = function_of("func", func)
        task = self._rota.add_task(self._listeners.observed(function, self._running_job), TaskOptions())
        self._functions[task.name] = function
        arguments = task.arguments(tuple(args or ()), dict(kwargs or {}))
        job_id = id if id is not None else uuid4().hex
        self._rota.provide_definitions()
        now = self._rota.engine.clock.now()
        request = self._request(job_id, task.name, arguments, when, _job_options(own), now)
        self._ids[_uuid_of(job_id)] = job_id
        self._store_job(job_id, request, replace_existing=replace_existing)
        if is_due(own.get("next_run_time"), self._options.zone, now):
            self._rota.engine.schedules.run_now(_uuid_of(job_id))
        self._tell(EVENT_JOB_ADDED, job_id)
        return Job(self, job_id, task.name)

    def scheduled_job(self, trigger: Trigger | str, **options: Any) -> Callable[[F], F]:
        """`add_job` as a decorator; the function stays as it is."""

        def add(function: F) -> F:
            self.add_job(function, trigger, replace_existing=True, **options)
            return function

        return add

    def _request(
        self, job_id: str, job_type: str, arguments: dict[str, object], when: Trigger, options: JobOptions, now: int
    ) -> ScheduleRequest:
        zone = self._options.zone
        fields = {**when.fields(zone, now), **options.first_run(when, zone, now), **options.fields()}
        return ScheduleRequest(name=job_id, job_type=job_type, job_arguments=arguments, **fields)  # type: ignore[arg-type]

    def _store_job(self, job_id: str, request: ScheduleRequest, *, replace_existing: bool) -> None:
        schedules, there = self._rota.engine.schedules, self._found(job_id)
        if there is not None and (replace_existing or _is_over(there)):
            if _is_over(there) or (request.interval is None and request.cron is None):
                schedules.delete(there.schedule.uuid)  # what runs once is a new one, and not the old one changed
            else:
                schedules.replace(there.schedule.uuid, request)
                return
        try:
            schedules.create(request, uuid=_uuid_of(job_id))
        except Conflict:
            raise ConflictingIdError(job_id) from None

    def reschedule_job(
        self, job_id: str, trigger: Trigger | str | None = None, *, jobstore: str | None = None, **trigger_args: Any
    ) -> Job:
        """Give a job other times, from now on."""
        return self.modify_job(job_id, trigger=trigger_of(trigger, trigger_args))

    def modify_job(self, job_id: str, jobstore: str | None = None, **changes: Any) -> Job:
        """Change some of a job: its `trigger`, `args` and `kwargs`, `coalesce`, `misfire_grace_time`, or
        `next_run_time`. The rest stays."""
        entry = self.find_entry(job_id)
        job_type = self._rota.engine.definitions.job_type(entry.schedule.job_type).name
        zone, now = self._options.zone, self._rota.engine.clock.now()
        request = request_of(entry.schedule)
        is_interval, find = request.interval is not None, partial(self._parameters, job_type)
        fields = changed_fields(changes, find, is_interval=is_interval, zone=zone, now=now)
        self._rota.engine.schedules.replace(entry.schedule.uuid, changed_request(request, fields))
        if is_due(changes.get("next_run_time"), zone, now):
            self._rota.engine.schedules.run_now(entry.schedule.uuid)
        self._tell(EVENT_JOB_MODIFIED, job_id)
        return self._job(entry)

    def _parameters(self, job_type: str) -> Parameters:
        return Parameters(job_type, self._functions.get(job_type) or named_function(job_type))

    def pause_job(self, job_id: str, jobstore: str | None = None) -> Job:
        entry = self.find_entry(job_id)
        self._rota.engine.schedules.pause(entry.schedule.uuid)
        return self._job(entry)

    def resume_job(self, job_id: str, jobstore: str | None = None) -> Job | None:
        """From now on; None if it has no time left, and it is removed then, as in APScheduler."""
        entry = self.find_entry(job_id)
        resumed = self._rota.engine.schedules.resume(entry.schedule.uuid)
        if _is_over(resumed):
            self.remove_job(job_id)
            return None
        return self._job(resumed)

    def remove_job(self, job_id: str, jobstore: str | None = None) -> None:
        self._rota.engine.schedules.delete(self.find_entry(job_id).schedule.uuid)
        self._tell(EVENT_JOB_REMOVED, job_id)

    def remove_all_jobs(self, jobstore: str | None = None) -> None:
        for job in self.get_jobs():
            self.remove_job(job.id)

    def get_job(self, job_id: str, jobstore: str | None = None) -> Job | None:
        entry = self._found(job_id)
        return None if entry is None or _is_over(entry) else self._job(entry)

    def get_jobs(self, jobstore: str | None = None) -> list[Job]:
        """All that have a time to come, or are paused; the next ones first."""
        entries = [entry for entry in self._entries() if not _is_over(entry)]
        entries.sort(key=lambda entry: (entry.state.nominal is None, entry.state.nominal or 0))
        return [self._job(entry) for entry in entries]

    def find_entry(self, job_id: str) -> ScheduleEntry:
        found = self._found(job_id)
        if found is None:
            raise JobLookupError(job_id)
        return found

    def add_listener(self, callback: Listener, mask: int = EVENT_ALL) -> None:
        """Have something called with each event of these kinds that happens in this process."""
        self._listeners.add(callback, mask)

    def remove_listener(self, callback: Listener) -> None:
        self._listeners.remove(callback)

    pause = refused_method("pause", "pause jobs with pause_job, or all of a queue: rota queue pause default")
    resume = refused_method("resume", "resume jobs with resume_job, or all of a queue: rota queue resume default")
    add_jobstore = refused_method("add_jobstore", "name the store where the scheduler is made")
    add_executor = refused_method("add_executor", "name the pool of threads where the scheduler is made")

    def _stop(self, has_ended: Callable[[float], bool]) -> None:
        """Ask the worker to end until it has: it hears this only when it has begun. `has_ended` waits so long."""
        self._rota.stop_worker()
        while not has_ended(_ASK_S):
            self._rota.stop_worker()

    def _tell(self, code: int, job_id: str | None = None) -> None:
        self._listeners.tell(SchedulerEvent(code) if job_id is None else JobEvent(code, job_id))

    def _running_job(self) -> str:
        """The id of the job whose function runs in the calling thread; empty for one that no schedule made."""
        cause = current_run().spec.cause
        if cause is None or cause.name in self._ids:
            return "" if cause is None else self._ids[cause.name]
        found = self._rota.engine.store.find_schedules([cause.name])[0]  # another program added it
        return "" if found is None else found.schedule.name

    def _found(self, job_id: str) -> ScheduleEntry | None:
        return self._rota.engine.store.find_schedules([_uuid_of(job_id)])[0]

    def _job(self, entry: ScheduleEntry) -> Job:
        job_type = self._rota.engine.definitions.job_type(entry.schedule.job_type)
        return Job(self, entry.schedule.name, job_type.name)

    def _entries(self) -> Iterator[ScheduleEntry]:
        engine, owner = self._rota.engine, owner_of_app(_APP)
        for job_type in engine.definitions.job_types():
            cursor: str | None = None
            while job_type.managed_by == owner:
                page = engine.store.list_schedules(limit=_PAGE, cursor=cursor, job_type=job_type.uuid)
                yield from (one for one in page.entries if one.schedule.uuid == _uuid_of(one.schedule.name))
                cursor = page.cursor
                if cursor is None:
                    break


def _uuid_of(job_id: str) -> str:
    """The schedule of an id, the same in every process."""
    return str(uuid5(NAMESPACE_OID, f"rota.moving.apscheduler:{job_id}"))


def _is_over(entry: ScheduleEntry) -> bool:
    """Whether it has run for the last time; APScheduler forgets such jobs."""
    return entry.state.nominal is None and not entry.schedule.paused


def _job_options(given: Mapping[str, Any]) -> JobOptions:
    return JobOptions(**{name: value for name, value in given.items() if value is not UNSET})
