"""What APScheduler's programs say, one thing at a time."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rota import InvalidInput
from rota.model.triggers.trigger import CronTrigger as EngineCron
from rota.moving.apscheduler.events import EVENT_SCHEDULER_STARTED
from rota.moving.apscheduler.executors.pool import ProcessPoolExecutor, ThreadPoolExecutor
from rota.moving.apscheduler.jobstores.base import ConflictingIdError, JobLookupError
from rota.moving.apscheduler.jobstores.redis import RedisJobStore
from rota.moving.apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from rota.moving.apscheduler.schedulers.asyncio import AsyncIOScheduler
from rota.moving.apscheduler.schedulers.background import BackgroundScheduler
from rota.moving.apscheduler.schedulers.base import SchedulerAlreadyRunningError, SchedulerNotRunningError
from rota.moving.apscheduler.schedulers.blocking import BlockingScheduler
from rota.moving.apscheduler.triggers.cron import CronTrigger
from rota.moving.apscheduler.triggers.date import DateTrigger
from rota.moving.apscheduler.triggers.interval import IntervalTrigger
from tests.engine.working import until
from tests.patience import DEADLINE_S
from tests.servers import wait_until

ran = threading.Semaphore(0)
loops: list[asyncio.AbstractEventLoop] = []


def work(number: int = 1) -> None:
    ran.release()


async def work_on_loop() -> None:
    loops.append(asyncio.get_running_loop())


@pytest.fixture
def scheduler(folder: Path) -> Iterator[BackgroundScheduler]:
    made = BackgroundScheduler(timezone="Europe/Berlin")
    yield made
    if made.running:
        made.shutdown()
    made.__rota_app__.close()


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "* * * * * *"),
        ({"hour": 5, "minute": 30, "day_of_week": "mon-fri"}, "0 30 5 * * mon-fri"),
        ({"hour": "*/2"}, "0 0 */2 * * *"),
        ({"month": "6-8,11-12", "day": "3rd fri", "hour": "0-3"}, "0 0 0-3 * 6-8,11-12 fri#3"),
        ({"day": "last"}, "0 0 0 L * *"),
        ({"day": "last sun"}, "0 0 0 * * sunL"),
        ({"day_of_week": 0}, "0 0 0 * * mon"),
        ({"day_of_week": "4-6,0"}, "0 0 0 * * fri-sun,mon"),
        ({"day_of_week": "*/3"}, "0 0 0 * * mon,thu,sun"),
        ({"second": "*/10"}, "*/10 * * * * *"),
        ({"year": 2030}, "0 0 0 1 1 * 2030"),
        ({"month": "jan"}, "0 0 0 1 jan *"),
        ({"day": 1, "minute": 20}, "0 20 * 1 * *"),
        ({"day_of_week": "mon-fri", "minute": 30}, "0 30 * * * mon-fri"),
        ({"hour": 5, "second": 10}, "10 * 5 * * *"),
    ],
)
def test_cron_fields_become_a_line(fields: dict[str, Any], line: str) -> None:
    assert CronTrigger(**fields).line == line


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"week": 5}, "week"), ({"day": "2nd day"}, "day"), ({"day_of_week": "7"}, "day_of_week")],
)
def test_cron_fields_that_are_not_carried_are_refused(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        CronTrigger(**fields)


def test_every_line_is_one_that_fires(scheduler: BackgroundScheduler) -> None:
    triggers = [
        CronTrigger.from_crontab("0 0 1-15 may-aug *"),
        CronTrigger(month="6-8,11-12", day="3rd fri", hour="0-3"),
        CronTrigger(day="last sun", hour=3),
        CronTrigger(day="last"),
        CronTrigger(day_of_week="4-6,0", hour=1),
        CronTrigger(hour=3, start_date="2030-01-01 12:00:00", end_date="2031-01-01"),
    ]
    found = [scheduler.add_job(work, trigger).next_run_time for trigger in triggers]

    assert all(found)
    assert str(found[-1]) == "2030-01-02 03:00:00+01:00"
    assert found[1] is not None
    assert (found[1].weekday(), 15 <= found[1].day <= 21) == (4, True)


def test_a_weekday_and_a_day_must_both_match(scheduler: BackgroundScheduler) -> None:
    job = scheduler.add_job(work, "cron", day=13, day_of_week="fri", id="unlucky")

    trigger = scheduler.find_entry("unlucky").schedule.trigger
    assert isinstance(trigger, EngineCron)
    assert (trigger.days, trigger.tz) == ("both", "Europe/Berlin")
    found = job.next_run_time
    assert found is not None
    assert (found.day, found.weekday()) == (13, 4)


def test_an_interval_begins_after_one_interval_or_at_its_start(scheduler: BackgroundScheduler) -> None:
    plain = scheduler.add_job(work, "interval", hours=2)
    dated = scheduler.add_job(work, "interval", minutes=30, start_date="2030-01-01 00:10:00", jitter=5)
    past = scheduler.add_job(work, IntervalTrigger(days=1, start_date=datetime(2020, 1, 1, 9, tzinfo=UTC)))
    first = scheduler.add_job(work, "interval", hours=2, next_run_time=datetime(2030, 1, 1, tzinfo=UTC))
    abroad = IntervalTrigger(hours=2, timezone="America/New_York")
    naive = scheduler.add_job(work, abroad, next_run_time=datetime(2030, 1, 1, 9))  # noqa: DTZ001  in the scheduler's zone

    now = datetime.now(UTC)
    assert plain.next_run_time is not None
    assert timedelta(hours=1, minutes=50) < plain.next_run_time - now <= timedelta(hours=2)
    assert str(dated.next_run_time) == "2030-01-01 00:10:00+01:00"
    assert past.next_run_time is not None
    assert past.next_run_time.astimezone(UTC).hour == 9
    assert past.next_run_time > now
    assert first.next_run_time == datetime(2030, 1, 1, tzinfo=UTC)
    assert naive.next_run_time == datetime(2030, 1, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"trigger": "interval", "hours": 1, "max_instances": 3}, "max_instances"),
        ({"trigger": "cron", "hour": 1, "next_run_time": datetime(2030, 1, 1, tzinfo=UTC)}, "next_run_time"),
        ({"trigger": "interval", "colour": 1}, "trigger"),
        ({"trigger": "sometimes"}, "trigger"),
        ({"trigger": DateTrigger(), "hours": 1}, "hours"),
        ({"trigger": "date", "run_date": "2020-01-01"}, "at"),
        ({"trigger": "interval", "hours": 1, "executor": "processpool"}, "executor"),
        ({"trigger": "interval", "hours": 1, "args": [1, 2]}, "arguments"),
        ({"func": lambda: None, "trigger": "interval", "hours": 1}, "function"),
    ],
)
def test_what_is_not_carried_is_refused(scheduler: BackgroundScheduler, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        scheduler.add_job(**{"func": work, **options})

    assert scheduler.get_jobs() == []


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"jobstores": {"mongo": 1}}, "jobstores"),
        ({"jobstores": {"default": "mongodb://"}}, "jobstores"),
        ({"executors": {"default": 5}}, "executors"),
        ({"executors": {"processpool": ThreadPoolExecutor()}}, "executors"),
        ({"job_defaults": {"colour": 1}}, "colour"),
        ({"colour": 1}, "colour"),
        ({"gconfig": {"apscheduler.timezone": "UTC"}}, "gconfig"),
    ],
)
def test_options_of_a_scheduler_that_are_not_carried_are_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        BackgroundScheduler(**options)
    with pytest.raises(InvalidInput, match=r"^ProcessPoolExecutor: "):
        ProcessPoolExecutor(5)


def test_policies_of_a_job_are_carried(folder: Path) -> None:
    scheduler = BackgroundScheduler(job_defaults={"coalesce": False, "misfire_grace_time": 30})
    scheduler.add_job(work, "interval", hours=1, id="a")
    scheduler.add_job(work, "interval", hours=1, id="b", coalesce=True, misfire_grace_time=None)

    found = [scheduler.find_entry(name).schedule for name in "ab"]
    assert [(one.catch_up.mode, one.catch_up.window_ms, one.overlap) for one in found] == [
        ("all", 30_000, "skip"),
        ("last", None, "skip"),
    ]
    scheduler.__rota_app__.close()


@pytest.mark.parametrize("grace", [1, 9.9, 0, -5, True, "1 hour", float("nan"), float("inf")])
def test_a_grace_time_that_cannot_be_carried_is_refused_by_its_own_name(
    scheduler: BackgroundScheduler, grace: object
) -> None:
    scheduler.add_job(work, "interval", hours=1, id="a")
    refused = r"^misfire_grace_time: must be None, or 10 seconds or more, got .*; give 10 or more, or leave it out"

    with pytest.raises(InvalidInput, match=refused):
        scheduler.add_job(work, "interval", hours=1, id="b", misfire_grace_time=grace)
    with pytest.raises(InvalidInput, match=refused):
        scheduler.modify_job("a", misfire_grace_time=grace)
    by_default = BackgroundScheduler(job_defaults={"misfire_grace_time": grace})
    with closing(by_default.__rota_app__), pytest.raises(InvalidInput, match=refused):
        by_default.add_job(work, "interval", hours=1)


def test_the_shortest_grace_time_is_carried(scheduler: BackgroundScheduler) -> None:
    scheduler.add_job(work, "interval", hours=1, id="a", misfire_grace_time=10)

    assert scheduler.find_entry("a").schedule.catch_up.window_ms == 10_000


def test_jobs_are_added_found_paused_and_removed(scheduler: BackgroundScheduler) -> None:
    job = scheduler.add_job(work, "interval", hours=1, args=[7], id="a")
    with pytest.raises(ConflictingIdError):
        scheduler.add_job(work, "interval", hours=1, id="a")

    assert ([one.id for one in scheduler.get_jobs()], job.kwargs, job.name) == (["a"], {"number": 7}, "work")
    job.pause()
    assert (job.next_run_time, [one.id for one in scheduler.get_jobs()]) == (None, ["a"])
    assert job.resume() is not None
    assert job.next_run_time is not None
    job.remove()
    assert (scheduler.get_job("a"), scheduler.get_jobs()) == (None, [])
    for call in (scheduler.pause_job, scheduler.resume_job, scheduler.remove_job):
        with pytest.raises(JobLookupError):
            call("a")


def test_a_job_that_has_run_for_the_last_time_is_forgotten_and_its_id_is_free(scheduler: BackgroundScheduler) -> None:
    scheduler.start()
    with pytest.raises(SchedulerAlreadyRunningError):
        scheduler.start()
    for _ in range(2):
        scheduler.add_job(work, id="once")
        assert ran.acquire(timeout=DEADLINE_S)

        assert (scheduler.get_job("once"), scheduler.get_jobs()) == (None, [])
    scheduler.shutdown()

    assert not scheduler.running
    with pytest.raises(SchedulerNotRunningError):
        scheduler.shutdown()


def test_a_blocking_scheduler_ends_when_it_is_asked_to(folder: Path) -> None:
    scheduler = BlockingScheduler(executors={"default": {"type": "threadpool", "max_workers": 2}})
    scheduler.add_job(scheduler_to_end, kwargs={"name": "x"})
    blocking.append(scheduler)

    scheduler.start()

    scheduler.__rota_app__.close()


blocking: list[BlockingScheduler] = []


def scheduler_to_end(name: str) -> None:
    blocking.pop().shutdown(wait=False)


def test_a_scheduler_on_a_loop_runs_coroutines_there(folder: Path) -> None:
    async def main() -> None:
        scheduler = AsyncIOScheduler()
        scheduler.start()
        scheduler.add_job(work_on_loop)
        await until(lambda: bool(loops), "the coroutine to run")
        assert loops == [asyncio.get_running_loop()]
        scheduler.shutdown()
        await scheduler.ended()
        assert not scheduler.running
        scheduler.__rota_app__.close()

    loops.clear()
    asyncio.run(main())


def test_a_scheduler_on_a_loop_that_is_ended_at_once_ends(folder: Path) -> None:
    async def main() -> None:
        scheduler = AsyncIOScheduler()
        scheduler.start()
        scheduler.shutdown()
        await scheduler.ended()
        scheduler.__rota_app__.close()

    asyncio.run(main())


def test_a_scheduler_in_a_thread_that_is_ended_at_once_ends_and_can_be_started_again(folder: Path) -> None:
    scheduler = BackgroundScheduler()
    scheduler.start()
    first = scheduler._thread
    assert first is not None
    scheduler.shutdown(wait=False)
    scheduler.start()

    scheduler.add_job(work)

    assert ran.acquire(timeout=DEADLINE_S)
    first.join(DEADLINE_S)  # nobody waited for its end
    assert not first.is_alive()
    scheduler.shutdown()
    scheduler.__rota_app__.close()


def test_a_blocking_scheduler_that_is_ended_before_it_has_begun_ends(folder: Path) -> None:
    scheduler, threads_before = BlockingScheduler(), threading.enumerate()
    scheduler.add_listener(lambda event: scheduler.shutdown(), EVENT_SCHEDULER_STARTED)
    with pytest.raises(SchedulerNotRunningError):
        scheduler.shutdown()
    starting = threading.Thread(target=scheduler.start, daemon=True)
    starting.start()

    starting.join(DEADLINE_S)

    assert not starting.is_alive()
    assert not scheduler.running
    scheduler.__rota_app__.close()
    wait_until(lambda: set(threading.enumerate()) <= set(threads_before), "nobody stops what comes after it")


def test_a_store_may_outlive_the_program(folder: Path) -> None:
    for number in range(2):
        scheduler = BackgroundScheduler(jobstores={"default": SQLAlchemyJobStore(url="sqlite:///jobs.db")})
        scheduler.add_job(work, "interval", hours=1, id="a", replace_existing=number > 0)
        assert [one.id for one in scheduler.get_jobs()] == ["a"]
        scheduler.__rota_app__.close()

    assert RedisJobStore(2, host="redis", port=7000).url == "redis://redis:7000/2"
