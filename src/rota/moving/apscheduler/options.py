"""What is said about a scheduler, and about each of its jobs."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from rota.errors import InvalidInput
from rota.model.schedules.request import CatchUpRequest
from rota.model.triggers.catch_up import MAX_WINDOW_MS, MIN_WINDOW_MS
from rota.model.triggers.durations import SECOND_MS
from rota.moving.apscheduler.executors.pool import ThreadPoolExecutor
from rota.moving.apscheduler.jobstores.base import JobStore
from rota.moving.apscheduler.jobstores.memory import MemoryJobStore
from rota.moving.apscheduler.next_run import next_run
from rota.moving.apscheduler.triggers.base import Date, Trigger
from rota.moving.apscheduler.triggers.cron import CronTrigger
from rota.moving.apscheduler.triggers.date import DateTrigger
from rota.moving.apscheduler.triggers.interval import IntervalTrigger
from rota.moving.common.refusing import Options
from rota.moving.common.stores import store_url
from rota.sdk.tasks.options import read_zone
from rota.settings.machine_zone import machine_zone

_SCHEDULER = Options(
    of="the scheduler",
    carried=("jobstores", "executors", "job_defaults", "timezone"),
    harmless=("daemon", "jobstore_retry_interval"),
    instead={"event_loop": "start it on the loop"},
)
_DEFAULTS = Options(of="job_defaults", carried=("coalesce", "max_instances", "misfire_grace_time"))
_TRIGGERS: dict[str, type[Trigger]] = {"cron": CronTrigger, "interval": IntervalTrigger, "date": DateTrigger}


class SchedulerOptions(Struct, frozen=True, kw_only=True):
    """Of one scheduler."""

    url: str
    threads: int
    zone: str
    defaults: dict[str, Any]


def read_options(given: Mapping[str, Any]) -> SchedulerOptions:
    _SCHEDULER.check(given)
    defaults = dict(given.get("job_defaults") or {})
    _DEFAULTS.check(defaults)
    zone = given.get("timezone")
    return SchedulerOptions(
        url=_url(given.get("jobstores") or {}),
        threads=_threads(given.get("executors") or {}),
        zone=machine_zone() if zone is None else read_zone("timezone", zone),
        defaults=defaults,
    )


def _url(stores: Mapping[str, Any]) -> str:
    for name in stores:
        if name != "default":
            raise InvalidInput("jobstores", f"{name!r}: a scheduler has one store, 'default'; make another scheduler")
    found = stores.get("default", MemoryJobStore())
    if isinstance(found, Mapping):
        found = MemoryJobStore() if found.get("type") == "memory" else found.get("url")
    return found.url if isinstance(found, JobStore) else store_url("jobstores", found) or ""


def _threads(executors: Mapping[str, Any]) -> int:
    found = executors.get("default", ThreadPoolExecutor())
    if isinstance(found, Mapping) and found.get("type", "threadpool") == "threadpool":
        found = ThreadPoolExecutor(int(found.get("max_workers", 10)))
    if set(executors) - {"default"} or not isinstance(found, ThreadPoolExecutor):
        raise InvalidInput("executors", "is carried with one pool of threads, 'default'; leave the others out")
    return found.max_workers


def trigger_of(trigger: Trigger | str | None, given: Mapping[str, Any]) -> Trigger:
    """The trigger itself, or one by its name and fields; without any, once and now."""
    if isinstance(trigger, Trigger):
        for name in given:
            raise InvalidInput(name, "belongs into the trigger that was given")
        return trigger
    kind = _TRIGGERS.get("date" if trigger is None else trigger)
    if kind is None:
        known = ", ".join(_TRIGGERS)
        raise InvalidInput("trigger", f"{trigger!r:.100} is not carried by Rota; known are {known}, and their classes")
    try:
        return kind(**given)
    except TypeError as error:
        raise InvalidInput("trigger", f"{trigger or 'date'}: {error}") from None


class JobOptions(Struct, frozen=True, kw_only=True):
    """Of one job."""

    coalesce: bool = True
    max_instances: int = 1
    misfire_grace_time: float | UnsetType | None = UNSET
    next_run_time: Date | UnsetType | None = UNSET

    def fields(self) -> dict[str, object]:
        """Of a request for a schedule."""
        if self.max_instances != 1:
            raise InvalidInput(
                "max_instances", f"{self.max_instances} is not carried by Rota; leave it out: one runs at a time"
            )
        return {"overlap": "skip", "catch_up": self._catch_up(), "paused": self.next_run_time is None}

    def _catch_up(self) -> CatchUpRequest:
        mode = "last" if self.coalesce else "all"
        if self.misfire_grace_time is UNSET:
            return CatchUpRequest(mode=mode)
        return CatchUpRequest(mode=mode, window=window_of(self.misfire_grace_time))

    def first_run(self, trigger: Trigger, zone: str, now: int) -> dict[str, object]:
        """When `next_run_time` names the first run."""
        if self.next_run_time is UNSET:
            return {}
        return next_run(self.next_run_time, is_interval=isinstance(trigger, IntervalTrigger), zone=zone, now=now)


def window_of(grace_s: float | None) -> int | str:
    """The window of catch-up that a `misfire_grace_time` is."""
    if grace_s is None:
        return "none"
    if not isinstance(grace_s, int | float) or not MIN_WINDOW_MS <= grace_s * SECOND_MS <= MAX_WINDOW_MS:
        least = MIN_WINDOW_MS // SECOND_MS
        raise InvalidInput(
            "misfire_grace_time",
            f"must be None, or {least} seconds or more, got {grace_s!r:.100}: a scheduler that is busy for a moment is "
            f"not one that was down; give {least} or more, or leave it out for a day",
        )
    return round(grace_s * SECOND_MS)
