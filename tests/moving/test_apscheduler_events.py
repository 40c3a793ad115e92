"""What a scheduler tells its listeners, and what can be changed of its jobs."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rota import InvalidInput
from rota.moving.apscheduler.events import (
    EVENT_ALL,
    EVENT_JOB_ADDED,
    EVENT_JOB_ERROR,
    EVENT_JOB_EXECUTED,
    EVENT_JOB_MAX_INSTANCES,
    EVENT_JOB_MISSED,
    EVENT_JOB_MODIFIED,
    EVENT_JOB_REMOVED,
    EVENT_JOB_SUBMITTED,
    EVENT_SCHEDULER_SHUTDOWN,
    EVENT_SCHEDULER_STARTED,
)
from rota.moving.apscheduler.schedulers.asyncio import AsyncIOScheduler
from rota.moving.apscheduler.schedulers.background import BackgroundScheduler
from rota.moving.apscheduler.triggers.cron import CronTrigger
from tests.engine.working import until
from tests.moving.test_apscheduler import scheduler, work, work_on_loop
from tests.patience import DEADLINE_S

__all__ = ["scheduler"]


def double(number: int) -> int:
    return 2 * number


def fail() -> None:
    raise LookupError("no")


LATER = datetime.now(UTC) + timedelta(days=1)


class Told:
    """A listener that can be waited for."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self._came = threading.Semaphore(0)

    def __call__(self, event: Any) -> None:
        self.events.append(event)
        self._came.release()

    def wait(self) -> Any:
        assert self._came.acquire(timeout=DEADLINE_S)
        return self.events[-1]


def test_a_listener_is_told_of_runs_and_of_failures(scheduler: BackgroundScheduler) -> None:
    told = Told()
    scheduler.add_listener(told, EVENT_JOB_EXECUTED | EVENT_JOB_ERROR)
    scheduler.start()

    scheduler.add_job(double, args=[21], id="good")
    good = told.wait()
    scheduler.add_job(fail, id="bad")
    bad = told.wait()

    assert (good.code, good.job_id, good.retval, good.exception) == (EVENT_JOB_EXECUTED, "good", 42, None)
    assert isinstance(good.scheduled_run_time, datetime)
    assert (bad.code, bad.job_id, str(bad.exception)) == (EVENT_JOB_ERROR, "bad", "no")
    assert "LookupError: no" in bad.traceback
    scheduler.shutdown()
    assert len(told.events) == 2


def test_a_listener_of_everything_is_told_of_changes_too(scheduler: BackgroundScheduler) -> None:
    told = Told()
    scheduler.add_listener(told)
    scheduler.start()
    job = scheduler.add_job(work, "interval", hours=1, id="a")
    job.modify(kwargs={"number": 2})
    job.remove()
    scheduler.shutdown()
    scheduler.remove_listener(told)
    scheduler.add_job(work, "interval", hours=1, id="b")

    codes = [event.code for event in told.events]
    changes = [EVENT_JOB_ADDED, EVENT_JOB_MODIFIED, EVENT_JOB_REMOVED]
    assert codes == [EVENT_SCHEDULER_STARTED, *changes, EVENT_SCHEDULER_SHUTDOWN]
    assert [event.job_id for event in told.events[1:4]] == ["a", "a", "a"]


def test_a_listener_that_fails_changes_nothing(scheduler: BackgroundScheduler) -> None:
    def broken(event: Any) -> None:
        raise OSError("no disk")

    told = Told()
    scheduler.add_listener(broken, EVENT_JOB_EXECUTED)
    scheduler.add_listener(told, EVENT_JOB_EXECUTED)
    scheduler.start()
    scheduler.add_job(double, args=[1])

    assert told.wait().retval == 2


def test_listeners_hear_of_coroutines(folder: Path) -> None:
    told = Told()

    async def main() -> None:
        scheduler = AsyncIOScheduler()
        scheduler.add_listener(told, EVENT_JOB_EXECUTED | EVENT_SCHEDULER_SHUTDOWN)
        scheduler.start()
        scheduler.add_job(work_on_loop, id="a")
        await until(lambda: bool(told.events), "the coroutine to run")
        scheduler.shutdown()
        await scheduler.ended()
        scheduler.__rota_app__.close()

    asyncio.run(main())

    assert [event.code for event in told.events] == [EVENT_JOB_EXECUTED, EVENT_SCHEDULER_SHUTDOWN]
    assert told.events[0].job_id == "a"


@pytest.mark.parametrize("code", [EVENT_JOB_MISSED, EVENT_JOB_SUBMITTED, EVENT_JOB_MAX_INSTANCES])
def test_events_that_are_never_told_are_refused_by_name(scheduler: BackgroundScheduler, code: int) -> None:
    with pytest.raises(InvalidInput, match=r"^mask: EVENT_JOB_[A-Z_]+ is not carried by Rota; `rota schedule ticks`"):
        scheduler.add_listener(print, EVENT_JOB_EXECUTED | code)
    scheduler.add_listener(print, EVENT_ALL)


@pytest.mark.parametrize("name", ["pause", "resume", "add_jobstore", "add_executor"])
def test_what_a_scheduler_cannot_do_is_refused_by_name(scheduler: BackgroundScheduler, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}: is not carried by Rota; "):
        getattr(scheduler, name)()


def test_some_of_a_job_can_be_changed(scheduler: BackgroundScheduler) -> None:
    job = scheduler.add_job(work, "interval", hours=1, id="a", coalesce=False, misfire_grace_time=30)
    before = scheduler.find_entry("a").schedule

    scheduler.modify_job("a", kwargs={"number": 5}, name="shown nowhere")
    job.modify(misfire_grace_time=60)

    after = scheduler.find_entry("a").schedule
    assert (after.arguments, after.trigger) == ({"number": 5}, before.trigger)
    assert (after.catch_up.mode, after.catch_up.window_ms) == ("all", 60_000)
    job.modify(next_run_time=None)
    assert job.next_run_time is None
    later = (datetime.now().astimezone() + timedelta(days=2)).replace(microsecond=0)
    job.modify(next_run_time=later)
    assert job.next_run_time == later


@pytest.mark.parametrize("trigger", [{"trigger": "interval", "hours": 1}, {"trigger": "cron", "year": 2099}])
def test_a_job_whose_next_run_is_now_runs_at_once(scheduler: BackgroundScheduler, trigger: dict[str, Any]) -> None:
    told = Told()
    scheduler.add_listener(told, EVENT_JOB_EXECUTED)
    job = scheduler.add_job(double, id="a", args=[1], **trigger)
    scheduler.start()

    job.modify(args=[21], next_run_time=datetime.now(UTC))

    assert (told.wait().job_id, told.events[0].retval) == ("a", 42)
    assert job.next_run_time is not None
    assert job.next_run_time > datetime.now().astimezone()
    scheduler.shutdown()
    assert len(told.events) == 1


@pytest.mark.parametrize("trigger", [{"trigger": "interval", "hours": 1}, {"trigger": "cron", "year": 2099}])
def test_a_job_that_is_added_to_run_now_runs_at_once(scheduler: BackgroundScheduler, trigger: dict[str, Any]) -> None:
    told = Told()
    scheduler.add_listener(told, EVENT_JOB_EXECUTED)
    scheduler.start()

    job = scheduler.add_job(double, id="a", args=[21], next_run_time=datetime.now(UTC), **trigger)

    assert (told.wait().job_id, told.events[0].retval) == ("a", 42)
    assert job.next_run_time is not None
    assert job.next_run_time > datetime.now().astimezone()
    scheduler.shutdown()
    assert len(told.events) == 1


def test_a_job_with_other_times_keeps_the_rest(scheduler: BackgroundScheduler) -> None:
    scheduler.add_job(work, "interval", hours=1, id="a", jitter=30, coalesce=False, args=[5])

    job = scheduler.reschedule_job("a", trigger="cron", hour=12)

    found = scheduler.find_entry("a").schedule
    assert (found.trigger.jitter_ms, found.catch_up.mode, found.arguments) == (0, "all", {"number": 5})
    assert job.next_run_time is not None
    assert job.next_run_time.hour == 12


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"func": work}, "func: of modify_job is not carried by Rota; add the job anew"),
        ({"id": "b"}, "id: of modify_job is not carried by Rota; remove the job"),
        ({"max_instances": 3}, "max_instances: 3 is not carried by Rota"),
        ({"args": [1, 2]}, "arguments: .*too many positional arguments"),
        ({"trigger": CronTrigger(hour=1), "next_run_time": LATER}, "next_run_time: is carried for intervals"),
        ({"trigger": "often"}, "trigger: 'often' is not carried by Rota"),
    ],
)
def test_changes_that_are_not_carried_are_refused(
    scheduler: BackgroundScheduler, changes: dict[str, Any], told: str
) -> None:
    scheduler.add_job(work, "interval", hours=1, id="a")

    with pytest.raises(InvalidInput, match=f"^{told}"):
        scheduler.modify_job("a", **changes)
