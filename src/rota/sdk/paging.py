"""What takes several requests, once for both colours: a generator that yields a request, and is sent its answer.

It also yields the items that it finds, and pauses. It does no I/O itself.
"""

from collections.abc import Generator
from typing import Any, Generic, TypeVar

from msgspec import Struct

from rota.clock import Clock, SystemClock
from rota.errors import Conflict
from rota.sdk import calls, event_calls
from rota.sdk.call import Call
from rota.sdk.inputs import Which
from rota.sdk.shapes import Configuration, ConfigurationPage, Job, JobPage, JobType, JobTypePage, Schedule, SchedulePage

T = TypeVar("T")
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


class Found(Struct, Generic[T], frozen=True):
    """An item for the caller."""

    item: T


class Pause(Struct, frozen=True):
    seconds: float


Paging = Generator[Call[Any] | Found[T] | Pause, Any, None]


class WaitedTooLong(Conflict):
    """The job has not ended within the time that was given."""

    exit_code = 124


def jobs(which: Which | None = None, *, page: int = 500) -> Paging[Job]:
    """All jobs that meet the conditions, page by page. One that moves on meanwhile, from queued to ended, may be found
    again there."""
    cursor: str | None = None
    while True:
        found: JobPage = yield calls.list_jobs(which, limit=page, cursor=cursor)
        for job in found.jobs:
            yield Found(job)
        cursor = found.cursor
        if cursor is None:
            return


def list_job_types() -> Paging[list[JobType]]:
    """All job types, by name."""
    found: list[JobType] = []
    cursor: str | None = None
    while True:
        page: JobTypePage = yield calls.list_job_types(cursor=cursor)
        found += page.job_types
        cursor = page.cursor
        if cursor is None:
            yield Found(found)
            return


def schedules() -> Paging[Schedule]:
    """All schedules, page by page."""
    cursor: str | None = None
    while True:
        found: SchedulePage = yield calls.list_schedules(cursor=cursor)
        for schedule in found.schedules:
            yield Found(schedule)
        cursor = found.cursor
        if cursor is None:
            return


def configurations() -> Paging[Configuration]:
    """All configurations, page by page."""
    cursor: str | None = None
    while True:
        found: ConfigurationPage = yield event_calls.list_configurations(cursor=cursor)
        for configuration in found.configurations:
            yield Found(configuration)
        cursor = found.cursor
        if cursor is None:
            return


def wait(uuid: str, *, timeout_s: float | None = None) -> Paging[Job]:
    """The job when it has ended. `WaitedTooLong` when it does not end in time; a server that does not answer is waited
    for as long as the client waits for any answer."""
    return waiting(uuid, SystemClock(), timeout_s=timeout_s)


def waiting(uuid: str, clock: Clock, *, timeout_s: float | None = None) -> Paging[Job]:
    """`wait`, by a clock: the time that answers take counts as well as the pauses."""
    begun, pause_s = clock.monotonic(), _FIRST_PAUSE_S
    while True:
        job: Job = yield calls.get_job(uuid)
        if job.state.is_final:
            yield Found(job)
            return
        if timeout_s is not None:
            left_s = timeout_s - (clock.monotonic() - begun)
            if left_s <= 0:
                raise WaitedTooLong(f"job {uuid} is still {job.state.value} after {timeout_s:g} s")
            pause_s = min(pause_s, left_s)
        yield Pause(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
