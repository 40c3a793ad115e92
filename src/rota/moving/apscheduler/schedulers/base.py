"""What all schedulers have: jobs, which are schedules in Rota's store."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from uuid import NAMESPACE_OID, uuid4, uuid5

from msgspec import UNSET

from rota.engine.definitions.ownership import owner_of_app
from rota.errors import Conflict, InvalidInput
from rota.model.schedules.request import ScheduleRequest
from rota.moving.apscheduler.job import Job
from rota.moving.apscheduler.jobstores.base import ConflictingIdError, JobLookupError
from rota.moving.apscheduler.options import JobOptions, SchedulerOptions, read_options, trigger_of
from rota.moving.apscheduler.triggers.base import Trigger
from rota.moving.common.imports import function_of
from rota.moving.common.refusing import refuse_value
from rota.sdk.tasks.app import Rota
from rota.sdk.tasks.options import TaskOptions
from rota.store.contract.schedules import ScheduleEntry

_APP = "apscheduler"
_JOB = ("coalesce", "max_instances", "misfire_grace_time", "next_run_time")
_PAGE = 500
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
        task = self._rota.add_task(function_of("func", func), TaskOptions())
        arguments = task.arguments(tuple(args or ()), dict(kwargs or {}))
        job_id = id if id is not None else uuid4().hex
        self._rota.provide_definitions()
        request = self._request(job_id, task.name, arguments, when, _job_options(own))
        self._store_job(job_id, request, replace_existing=replace_existing)
        return Job(self, job_id, task.name)

    def scheduled_job(self, trigger: Trigger | str, **options: Any) -> Callable[[F], F]:
        """`add_job` as a decorator; the function stays as it is."""

        def add(function: F) -> F:
            self.add_job(function, trigger, replace_existing=True, **options)
            return function

        return add

    def _request(
        self, job_id: str, job_type: str, arguments: dict[str, object], when: Trigger, options: JobOptions
    ) -> ScheduleRequest:
        now = self._rota.engine.clock.now()
        fields = {**when.fields(self._options.zone, now), **options.first_run(when), **options.fields()}
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
        entry, when = self.find_entry(job_id), trigger_of(trigger, trigger_args)
        schedule, now = entry.schedule, self._rota.engine.clock.now()
        fields = {**when.fields(self._options.zone, now), **_job_options(self._options.defaults).fields()}
        request = ScheduleRequest(
            name=job_id,
            job_type=schedule.job_type,
            job_arguments=schedule.arguments,
            **fields,  # type: ignore[arg-type]
        )
        self._rota.engine.schedules.replace(schedule.uuid, request)
        return self._job(entry)

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

    def add_listener(self, callback: Callable[..., object], mask: int = 0) -> None:
        """Not carried."""
        raise InvalidInput("add_listener", "is not carried by Rota; `rota jobs` and docs/events.md tell how runs ended")

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
