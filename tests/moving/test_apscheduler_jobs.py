"""Triggers, jobs and schedulers of APScheduler's: what they say, what they leave open, and how they end."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rota import InvalidInput
from rota.clock import STEP_MS, as_datetime
from rota.engine.jobs.intake import JobRequest
from rota.model.schedules.schedule import Schedule
from rota.moving.apscheduler import events
from rota.moving.apscheduler.events import EVENT_ALL, EVENT_JOB_ERROR, EVENT_JOB_EXECUTED, EVENT_SCHEDULER_STARTED
from rota.moving.apscheduler.executors.pool import ThreadPoolExecutor
from rota.moving.apscheduler.jobstores.base import JobLookupError
from rota.moving.apscheduler.jobstores.memory import MemoryJobStore
from rota.moving.apscheduler.jobstores.redis import RedisJobStore
from rota.moving.apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from rota.moving.apscheduler.next_run import is_due
from rota.moving.apscheduler.options import read_options
from rota.moving.apscheduler.schedulers.asyncio import AsyncIOScheduler
from rota.moving.apscheduler.schedulers.background import BackgroundScheduler
from rota.moving.apscheduler.schedulers.base import SchedulerAlreadyRunningError, SchedulerNotRunningError
from rota.moving.apscheduler.schedulers.blocking import BlockingScheduler
from rota.moving.apscheduler.triggers.cron import CronTrigger
from rota.moving.apscheduler.triggers.date import DateTrigger
from rota.moving.apscheduler.triggers.interval import IntervalTrigger
from rota.testing import Installation
from tests.engine.working import until, wait_until
from tests.moving.test_apscheduler import scheduler, work
from tests.moving.test_apscheduler_events import Told, double, fail
from tests.patience import DEADLINE_S

__all__ = ["scheduler"]

NOON = 1_577_880_000_000
"""2020-01-01T12:00:00Z."""


@pytest.fixture
def installation(scheduler: BackgroundScheduler) -> Iterator[Installation]:
    """Whose time stands still, for the jobs of `scheduler`."""
    with Installation(now=NOON) as made:
        made.use(scheduler.__rota_app__)
        yield made


async def fail_on_loop() -> None:
    raise LookupError("no")


def say(word: str) -> None:
    print(word)


def schedule_of(scheduler: BackgroundScheduler, job_id: str) -> Schedule:
    return scheduler.find_entry(job_id).schedule


# -- triggers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "every_ms"),
    [
        ({}, 1_000),
        ({"weeks": 1}, 604_800_000),
        ({"days": 1, "hours": 1}, 90_000_000),
        ({"minutes": 1, "seconds": 0.5}, 60_500),
    ],
)
def test_an_interval_is_the_sum_of_what_is_given_and_else_a_second(given: dict[str, Any], every_ms: int) -> None:
    assert IntervalTrigger(**given).fields("UTC", NOON) == {
        "interval": every_ms,
        "anchor": "start",
        "start": NOON + every_ms,
        "tz": "UTC",
    }


@pytest.mark.parametrize(
    ("when", "field"),
    [
        (date(2030, 1, 1), "2030-01-01"),
        (datetime(2030, 1, 1, 9), "2030-01-01T09:00:00"),  # noqa: DTZ001  in the zone of the trigger
        (datetime(2030, 1, 1, tzinfo=UTC), 1_893_456_000_000),
        ("2030-01-01 09:00", "2030-01-01 09:00"),
    ],
)
def test_dates_bound_a_trigger_in_its_zone(when: Any, field: object) -> None:
    zone: dict[str, Any] = {"timezone": "Asia/Tokyo"}

    assert DateTrigger(when, **zone).fields("UTC", NOON) == {"at": field, "tz": "Asia/Tokyo"}
    for kind in (IntervalTrigger(start_date=when, end_date=when, **zone), CronTrigger(start_date=when, end_date=when)):
        found = kind.fields("UTC", NOON)
        assert (found["start"], found["end"]) == (field, field)
    assert CronTrigger(hour=1, jitter=2.5, **zone).fields("UTC", NOON) == {
        "cron": "0 0 1 * * *",
        "days": "both",
        "tz": "Asia/Tokyo",
        "jitter": 2_500,
    }


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: DateTrigger(5), "run_date"),  # type: ignore[arg-type]
        (lambda: IntervalTrigger(end_date=5.5), "end_date"),  # type: ignore[arg-type]
        (lambda: CronTrigger.from_crontab("0 0 * *"), "expr"),
        (lambda: CronTrigger(day="2nd fri", day_of_week="mon"), "day"),
        (lambda: CronTrigger(day="6th fri"), "day"),
        (lambda: CronTrigger(day_of_week="mon-funday"), "day_of_week"),
        (lambda: RedisJobStore(password="x"), "password"),
        (lambda: SQLAlchemyJobStore("mysql://"), "url"),
        (lambda: SQLAlchemyJobStore("sqlite:///a.db", engine=1), "engine"),
    ],
)
def test_triggers_and_stores_that_are_not_carried_are_refused(make: Any, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        make()


@pytest.mark.parametrize(
    ("weekday", "line"),
    [
        ("tue/2", "tue,thu,sat"),
        ("mon-fri/2", "mon,wed,fri"),
        ("1-5/3", "tue,fri"),
        ("6", "sun"),
        ("*", "*"),
    ],
)
def test_weekdays_may_be_given_in_steps(weekday: str, line: str) -> None:
    assert CronTrigger.from_crontab(f"30 5 * * {weekday}").line == f"0 30 5 * * {line}"


# -- schedulers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "threads", "url"),
    [
        ({}, 10, "sqlite://:memory:"),
        ({"executors": {"default": ThreadPoolExecutor(3)}}, 3, "sqlite://:memory:"),
        ({"executors": {"default": {"type": "threadpool"}}}, 10, "sqlite://:memory:"),
        ({"executors": {"default": {"max_workers": "4"}}}, 4, "sqlite://:memory:"),
        ({"jobstores": {"default": MemoryJobStore()}}, 10, "sqlite://:memory:"),
        ({"jobstores": {"default": {"type": "memory"}}}, 10, "sqlite://:memory:"),
        ({"jobstores": {"default": {"type": "sqlalchemy", "url": "sqlite:///a.db"}}}, 10, "sqlite:///a.db"),
        ({"jobstores": {"default": "redis://shop:1/2"}}, 10, "redis://shop:1/2"),
        ({"jobstores": {"default": RedisJobStore()}}, 10, "redis://localhost:6379/0"),
    ],
)
def test_a_scheduler_has_the_threads_and_the_store_that_are_named(given: Any, threads: int, url: str) -> None:
    found = read_options({**given, "timezone": "Asia/Tokyo"})

    assert (found.threads, found.url, found.zone, found.defaults) == (threads, url, "Asia/Tokyo", {})


def test_a_pool_of_processes_is_not_taken_for_one_of_threads() -> None:
    with pytest.raises(InvalidInput, match=r"^executors: is carried with one pool of threads"):
        read_options({"executors": {"default": {"type": "processpool", "max_workers": 4}}})


def test_a_scheduler_without_a_zone_is_in_that_of_the_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")

    assert (BackgroundScheduler().timezone, BackgroundScheduler(timezone="UTC").timezone) == ("Asia/Tokyo", "UTC")


def test_the_numbers_of_events_are_those_of_apscheduler() -> None:
    """Programs keep them, and combine them."""
    names = (
        *("SCHEDULER_STARTED", "SCHEDULER_SHUTDOWN", "SCHEDULER_PAUSED", "SCHEDULER_RESUMED", "EXECUTOR_ADDED"),
        *("EXECUTOR_REMOVED", "JOBSTORE_ADDED", "JOBSTORE_REMOVED", "ALL_JOBS_REMOVED", "JOB_ADDED", "JOB_REMOVED"),
        *("JOB_MODIFIED", "JOB_EXECUTED", "JOB_ERROR", "JOB_MISSED", "JOB_SUBMITTED", "JOB_MAX_INSTANCES"),
    )

    assert [getattr(events, f"EVENT_{name}") for name in names] == [2**number for number in range(17)]
    assert (EVENT_ALL, events.EVENT_SCHEDULER_START) == (131_071, 1)
    made = [events.SchedulerEvent(1), events.SchedulerEvent(64, "own"), events.JobEvent(512, "a")]
    assert [(one.code, one.alias) for one in made] == [(1, None), (64, "own"), (512, None)]
    assert events.JobEvent(512, "a").jobstore == "default"


def test_a_scheduler_in_a_thread_has_ended_when_its_shutdown_returns(scheduler: BackgroundScheduler) -> None:
    with pytest.raises(SchedulerNotRunningError):
        scheduler.shutdown()
    scheduler.start()
    thread = scheduler._thread
    assert (thread is not None and thread.is_alive(), scheduler.running) == (True, True)

    scheduler.shutdown()

    assert thread is not None
    assert not thread.is_alive()


def test_a_scheduler_on_a_loop_is_started_and_ended_once(folder: Path) -> None:
    async def main() -> None:
        scheduler = AsyncIOScheduler()
        with pytest.raises(SchedulerNotRunningError):
            scheduler.shutdown()
        await scheduler.ended()  # it was never begun
        scheduler.start()
        with pytest.raises(SchedulerAlreadyRunningError):
            scheduler.start()
        scheduler.shutdown()
        await scheduler.ended()
        with pytest.raises(SchedulerNotRunningError):
            scheduler.shutdown()
        scheduler.__rota_app__.close()

    asyncio.run(main())


def test_a_blocking_scheduler_is_started_once_at_a_time(folder: Path) -> None:
    scheduler, refused = BlockingScheduler(), []

    def begin_again(event: Any) -> None:
        try:
            scheduler.start()
        except SchedulerAlreadyRunningError as error:
            refused.append(str(error))
        scheduler.shutdown()

    scheduler.add_listener(begin_again, EVENT_SCHEDULER_STARTED)
    for _ in range(2):
        scheduler.start()

    assert (refused, scheduler.running) == (["the scheduler runs already"] * 2, False)
    scheduler.__rota_app__.close()


@pytest.mark.parametrize("kind", [BackgroundScheduler, BlockingScheduler, AsyncIOScheduler])
def test_a_scheduler_does_not_begin_paused(kind: type[BackgroundScheduler]) -> None:
    with pytest.raises(InvalidInput, match=r"^paused: True is not carried by Rota; pause jobs with pause_job"):
        kind().start(paused=True)


@pytest.mark.parametrize("kind", [BackgroundScheduler, BlockingScheduler])
def test_what_jobs_print_is_printed(folder: Path, capfd: pytest.CaptureFixture[str], kind: type[Any]) -> None:
    scheduler = kind()
    scheduler.add_listener(lambda event: scheduler.shutdown(wait=False), EVENT_JOB_EXECUTED)
    scheduler.add_job(say, args=["hello"])
    scheduler.start()
    if kind is BackgroundScheduler:
        wait_until(lambda: scheduler._stopping is not None, "the job to end the scheduler")
        scheduler._stopping.join(DEADLINE_S)

    assert "hello" in capfd.readouterr().out
    scheduler.__rota_app__.close()


def test_listeners_hear_of_coroutines_that_fail(folder: Path) -> None:
    told = Told()

    async def main() -> None:
        scheduler = AsyncIOScheduler()
        scheduler.add_listener(told, EVENT_JOB_EXECUTED | EVENT_JOB_ERROR)
        scheduler.start()
        scheduler.add_job(fail_on_loop, id="a")
        await until(lambda: bool(told.events), "the coroutine to fail")
        scheduler.shutdown()
        await scheduler.ended()
        scheduler.__rota_app__.close()

    asyncio.run(main())

    assert [(one.code, one.job_id, str(one.exception)) for one in told.events] == [(EVENT_JOB_ERROR, "a", "no")]


# -- jobs ----------------------------------------------------------------------------------------------------------


def test_jobs_are_listed_by_their_next_times_and_paused_ones_last(scheduler: BackgroundScheduler) -> None:
    for job_id, hours in (("late", 5), ("paused", 1), ("early", 2)):
        scheduler.add_job(work, "interval", hours=hours, id=job_id)
    scheduler.pause_job("paused")

    assert [one.id for one in scheduler.get_jobs()] == ["early", "late", "paused"]
    scheduler.remove_all_jobs()
    assert scheduler.get_jobs() == []
    with pytest.raises(JobLookupError, match="No job by the id of late was found"):
        scheduler.remove_job("late")


def test_all_jobs_are_listed_however_many_there_are(
    scheduler: BackgroundScheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.moving.apscheduler.schedulers.base._PAGE", 2)
    for number in range(1, 6):
        scheduler.add_job(work, "interval", hours=number, id=str(number))

    assert [one.id for one in scheduler.get_jobs()] == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize(("ahead_ms", "expected"), [(-5_000, True), (STEP_MS, True), (STEP_MS + 1, False)])
def test_a_run_is_due_although_the_clock_of_the_program_is_a_little_ahead(ahead_ms: int, expected: bool) -> None:
    when = as_datetime(NOON + ahead_ms)

    assert (is_due(when, "UTC", NOON), is_due(None, "UTC", NOON)) == (expected, False)
    assert is_due(when.replace(tzinfo=None), "UTC", NOON) is expected


def test_a_decorated_function_stays_as_it_is_and_its_job_is_replaced(scheduler: BackgroundScheduler) -> None:
    for hours in (1, 2):
        assert scheduler.scheduled_job("interval", hours=hours, id="a")(work) is work

    assert [one.id for one in scheduler.get_jobs()] == ["a"]
    assert schedule_of(scheduler, "a").trigger.every_ms == 7_200_000  # type: ignore[union-attr]


def test_a_job_that_is_replaced_by_one_that_runs_once_does_so(
    scheduler: BackgroundScheduler, installation: Installation
) -> None:
    scheduler.add_job(double, "interval", hours=1, id="a", args=[1])
    scheduler.add_job(double, id="a", args=[21], replace_existing=True)

    ran = installation.advance("3h")

    assert [one.results for one in ran] == [42]
    assert scheduler.get_job("a") is None


def test_a_job_whose_time_passed_while_it_was_paused_is_gone_when_it_is_resumed(
    scheduler: BackgroundScheduler, installation: Installation
) -> None:
    job = scheduler.add_job(work, "date", run_date="2020-01-01 14:00", id="a")
    job.pause()
    installation.advance("1d")

    assert (job.resume(), scheduler.get_job("a"), scheduler.get_jobs()) == (None, None, [])
    with pytest.raises(JobLookupError):
        scheduler.find_entry("a")


def test_a_job_that_gets_other_times_runs_although_it_was_paused(scheduler: BackgroundScheduler) -> None:
    job = scheduler.add_job(work, "interval", hours=1, id="a", end_date="2099-01-01")
    job.pause()

    job.reschedule("interval", hours=3)

    found = schedule_of(scheduler, "a")
    assert (found.paused, found.trigger.every_ms, found.trigger.end) == (False, 10_800_000, None)  # type: ignore[union-attr]
    assert job.next_run_time is not None


@pytest.mark.parametrize(
    ("changes", "policy"),
    [
        ({"coalesce": True}, ("last", 30_000)),
        ({"coalesce": False}, ("all", 30_000)),
        ({"misfire_grace_time": None}, ("all", None)),
        ({"misfire_grace_time": 12.5}, ("all", 12_500)),
        ({"max_instances": 1}, ("all", 30_000)),
    ],
)
def test_what_is_not_changed_of_missed_times_stays(
    scheduler: BackgroundScheduler, changes: dict[str, Any], policy: tuple[str, int | None]
) -> None:
    scheduler.add_job(work, "interval", hours=1, id="a", coalesce=False, misfire_grace_time=30)

    scheduler.modify_job("a", **changes)

    found = schedule_of(scheduler, "a").catch_up
    assert (found.mode, found.window_ms) == policy


def test_a_job_that_is_added_without_a_next_run_is_paused(scheduler: BackgroundScheduler) -> None:
    job = scheduler.add_job(work, "interval", hours=1, id="a", next_run_time=None)
    plain = scheduler.add_job(work, "interval", hours=1, id="b")

    assert (schedule_of(scheduler, "a").paused, job.next_run_time) == (True, None)
    assert (schedule_of(scheduler, "b").paused, plain.next_run_time is None) == (False, False)
    assert schedule_of(scheduler, "b").catch_up.mode == "last"


def test_an_interval_whose_next_run_was_before_goes_on_from_there(
    scheduler: BackgroundScheduler, installation: Installation
) -> None:
    before = datetime(2020, 1, 1, 11, 45, tzinfo=UTC)
    job = scheduler.add_job(work, "interval", hours=1, id="a", next_run_time=before)

    assert len(installation.drain()) == 1
    assert job.next_run_time == before + timedelta(hours=1)


def test_a_listener_is_told_of_jobs_that_another_program_added(folder: Path) -> None:
    store: Any = {"default": SQLAlchemyJobStore("sqlite:///jobs.db")}
    adding, running = BackgroundScheduler(jobstores=store), BackgroundScheduler(jobstores=store)
    told = Told()
    running.add_listener(told, EVENT_JOB_EXECUTED)
    running.add_job(double, "interval", hours=1, args=[1], id="its own")
    adding.add_job(double, "date", args=[21], id="another's")
    running.start()

    assert (told.wait().job_id, told.events[0].retval) == ("another's", 42)
    assert sorted(one.id for one in adding.get_jobs()) == ["its own"]
    running.shutdown()
    for one in (adding, running):
        one.__rota_app__.close()


def test_runs_that_nobody_scheduled_have_no_job(scheduler: BackgroundScheduler, installation: Installation) -> None:
    told = Told()
    scheduler.add_listener(told)
    scheduler.add_job(fail, "interval", hours=1, id="a")
    scheduler.remove_job("a")
    engine = scheduler.__rota_app__.engine
    engine.intake.enqueue([JobRequest(job_type=f"{fail.__module__}.fail")])
    installation.drain(raises=False)

    assert (told.events[-1].code, told.events[-1].job_id, told.events[-1].retval) == (EVENT_JOB_ERROR, "", None)
