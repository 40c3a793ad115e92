"""What arq's programs say, one thing at a time."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rota import InvalidInput
from rota.moving.arq import Retry, create_pool, cron, func, run_worker
from rota.moving.arq.connections import ArqRedis, RedisSettings
from rota.moving.arq.jobs import Job, JobStatus, ResultNotFound
from rota.moving.arq.worker import app_of_worker
from rota.sdk.tasks.loading import app_of
from rota.testing import Installation
from tests.moving.test_rq_jobs import machine_in_tokyo
from tests.patience import DEADLINE_S

__all__ = ["machine_in_tokyo"]

SETTINGS = RedisSettings.from_dsn("sqlite:///rota.db")


async def add(ctx: dict[str, Any], a: int, b: int = 1) -> int:
    return a + b


async def again(ctx: dict[str, Any]) -> None:
    raise Retry(defer=timedelta(0))


async def fail(ctx: dict[str, Any]) -> None:
    raise LookupError("no")


async def look(ctx: dict[str, Any]) -> list[str]:
    return sorted(str(key) for key in ctx)


async def enqueue_another(ctx: dict[str, Any]) -> str:
    job = await ctx["redis"].enqueue_job("add", 1)
    return str(job.job_id)


def plain(ctx: dict[str, Any]) -> None:
    """Not carried."""


def settings_with(**attributes: Any) -> type:
    return type("WorkerSettings", (), {"redis_settings": SETTINGS, **attributes})


def work(settings: type) -> None:
    app = app_of_worker(settings)
    app.run_worker(burst=True)
    app.close()


@pytest.fixture
def pool(folder: Path) -> Iterator[ArqRedis]:
    """For several loops, one after the other; closed after the test."""
    made = asyncio.run(create_pool(SETTINGS))
    yield made
    asyncio.run(made.aclose())


async def enqueue(pool: ArqRedis, *calls: tuple[str, tuple[Any, ...], dict[str, Any]]) -> list[Job | None]:
    return [await pool.enqueue_job(name, *args, **options) for name, args, options in calls]


def test_functions_are_enqueued_by_name_and_run_with_a_context(pool: ArqRedis) -> None:
    jobs = asyncio.run(enqueue(pool, ("add", (1,), {"b": 4}), ("look", (), {}), ("twice", (2,), {})))

    work(settings_with(functions=[add, look, func(add, name="twice")], ctx={"mine": 1}))

    found = [asyncio.run(job.result(timeout=60)) for job in jobs if job is not None]
    assert found == [5, ["enqueue_time", "job_id", "job_try", "mine", "redis"], 3]


def test_only_retry_has_a_function_tried_again(pool: ArqRedis) -> None:
    tried, failed, unknown = asyncio.run(enqueue(pool, ("again", (), {}), ("fail", (), {}), ("nobody", (), {})))
    assert tried is not None
    assert failed is not None
    assert unknown is not None

    work(settings_with(functions=[func(again, max_tries=3), fail]))

    with pytest.raises(Exception, match="asked to be tried again"):
        asyncio.run(tried.result(timeout=60))
    with pytest.raises(LookupError, match=r"^no$"):
        asyncio.run(failed.result(timeout=60))
    with pytest.raises(Exception, match="this worker has no function 'nobody'"):
        asyncio.run(unknown.result(timeout=60))
    attempts = [tried._handle.job.attempts, failed._handle.job.attempts]
    assert attempts == [3, 1]


def test_an_id_is_there_once(folder: Path) -> None:
    async def main() -> None:
        pool = await create_pool(SETTINGS)
        first = await pool.enqueue_job("add", 1, _job_id="monday", _expires=60, _defer_by=timedelta(hours=1))
        assert first is not None
        assert await pool.enqueue_job("add", 1, _job_id="monday") is None
        assert (first.job_id, await first.status()) == ("monday", JobStatus.deferred)
        spec = first._handle.job.spec
        assert (spec.run_at, spec.expires_at) == (spec.enqueued_at + 3_600_000, spec.enqueued_at + 60_000)
        assert await first.abort()
        assert await first.status() == JobStatus.complete
        with pytest.raises(ResultNotFound):
            await Job("nobody", pool).result()
        at = await pool.enqueue_job("add", 1, _defer_until=datetime(2030, 1, 1, tzinfo=UTC), _queue_name="mails")
        assert at is not None
        assert at._handle.job.spec.run_at == 1_893_456_000_000
        with pytest.raises(InvalidInput, match=r"^_job_try: "):
            await pool.enqueue_job("add", 1, _job_try=2)
        await pool.aclose()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "0 * * * * *"),
        ({"hour": {9, 12}, "minute": 0}, "0 0 9,12 * * *"),
        ({"weekday": "tues", "hour": 3, "minute": 5, "second": None}, "* 5 3 * * tue"),
        ({"weekday": {0, 6}, "month": 6, "day": 1}, "0 * * 1 6 mon,sun"),
    ],
)
def test_a_cron_job_has_a_line(fields: dict[str, Any], line: str) -> None:
    assert cron(add, **fields).line == line


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"run_at_startup": True}, "run_at_startup"),
        ({"unique": False}, "unique"),
        ({"weekday": "someday"}, "weekday"),
        ({"weekday": 7}, "weekday"),
        ({"job_id": "a"}, "job_id"),
    ],
)
def test_a_cron_job_that_is_not_carried_is_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        cron(add, **options)


@pytest.mark.parametrize(
    ("attributes", "field"),
    [
        ({"on_job_start": add}, "on_job_start"),
        ({"job_serializer": add}, "job_serializer"),
        ({"burst": True}, "burst"),
        ({"functions": [plain]}, "functions"),
        ({"functions": ["nowhere.add"]}, "coroutine"),
    ],
)
def test_worker_settings_that_are_not_carried_are_refused(attributes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        app_of(settings_with(**{"functions": [], **attributes}))


def test_a_cron_job_is_a_schedule_of_the_worker(folder: Path) -> None:
    settings = settings_with(cron_jobs=[cron(add, name="daily", hour=2, minute=0)], timezone="Europe/Berlin")
    app = app_of_worker(settings)
    app.run_worker(burst=True)

    entry = app.engine.schedules.find("daily")
    assert (entry.schedule.trigger.tz, entry.schedule.arguments) == ("Europe/Berlin", {})
    app.close()


def test_limits_and_the_zone_of_a_worker_hold_for_its_cron_jobs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    crons = [cron(add, name="long", hour=2), cron(add, name="short", hour=2, timeout=5)]
    app = app_of_worker(settings_with(cron_jobs=crons, job_timeout=timedelta(hours=1)))
    app.run_worker(burst=True)

    found = app.engine.definitions
    assert [found.job_type(name).timeout_ms for name in ("long", "short")] == [3_600_000, 5_000]
    assert app.engine.schedules.find("long").schedule.trigger.zone == "Asia/Tokyo"
    app.close()


def test_what_a_job_enqueues_is_for_the_queue_of_its_worker(pool: ArqRedis) -> None:
    settings = settings_with(functions=[enqueue_another, func(add, name="add")], queue_name="mails")
    enqueued = asyncio.run(enqueue(pool, ("enqueue_another", (), {"_queue_name": "mails"})))
    app = app_of_worker(settings)
    app.run_worker(burst=True, queue="mails")
    app.close()

    assert enqueued[0] is not None
    other = asyncio.run(enqueued[0].result(timeout=60))
    assert asyncio.run(Job(other, pool).status()) is JobStatus.complete


def test_a_function_that_is_given_by_its_place_is_enqueued_by_that() -> None:
    place = f"{__name__}.add"

    assert (func(place).name, func(place, name="own").name, func(add).name) == (place, "own", "add")


def test_settings_name_a_store() -> None:
    assert RedisSettings("redis", 7000, 2, password="a/b", ssl=True).url == "rediss://:a%2Fb@redis:7000/2"
    with pytest.raises(InvalidInput, match=r"^sentinel: "):
        RedisSettings(sentinel=True)
    assert app_of(int) is None
    assert isinstance(asyncio.run(create_pool(SETTINGS)), ArqRedis)


def test_what_is_not_told_of_jobs_is_refused_by_name(folder: Path) -> None:
    async def main() -> None:
        async with await create_pool(SETTINGS) as pool:
            job = Job("a", pool)
            for ask in (job.info, job.result_info, pool.queued_jobs, pool.all_job_results):
                with pytest.raises(InvalidInput, match=r"is not carried by Rota; "):
                    ask()

    asyncio.run(main())


async def wait_a_while(ctx: dict[str, Any], defer: float | None) -> None:
    raise Retry(defer)


async def tell(ctx: dict[str, Any]) -> list[object]:
    return [ctx["job_id"], ctx["job_try"], ctx["enqueue_time"].timestamp(), ctx["place"]]


@pytest.mark.parametrize(
    ("of_worker", "of_function", "limits"),
    [
        ({}, {}, (300_000, 5)),
        ({"job_timeout": 60, "max_tries": 7}, {}, (60_000, 7)),
        ({"job_timeout": 60, "max_tries": 7}, {"timeout": timedelta(seconds=5), "max_tries": 2}, (5_000, 2)),
        ({}, {"max_tries": 5_000}, (300_000, 1_000)),
    ],
)
def test_limits_of_a_function_are_its_own_or_else_those_of_its_worker(
    folder: Path, of_worker: dict[str, Any], of_function: dict[str, Any], limits: tuple[int, int]
) -> None:
    app = app_of_worker(settings_with(functions=[func(add, **of_function)], **of_worker))
    app.run_worker(burst=True)

    found = app.engine.definitions.job_type("add")
    assert (found.timeout_ms, found.retry.attempts) == limits
    app.close()


def test_a_cron_job_is_tried_once_unless_it_says_more(folder: Path) -> None:
    crons = [cron(add), cron(add, name="often", max_tries=3), cron(add, name="none", max_tries=None)]
    app = app_of_worker(settings_with(cron_jobs=crons, max_tries=7))
    app.run_worker(burst=True)

    found = [app.engine.definitions.job_type(name).retry.attempts for name in ("cron:add", "often", "none")]
    schedule = app.engine.schedules.find("often").schedule
    assert (found, schedule.overlap, schedule.trigger.days) == ([1, 3, 1], "allow", "both")  # type: ignore[union-attr]
    app.close()


@pytest.mark.parametrize(("defer", "wait_ms"), [(90, 90_000), (0.25, 250)])
def test_a_function_that_asks_for_another_try_waits_as_long_as_it_says(
    folder: Path, defer: float, wait_ms: int
) -> None:
    app = app_of_worker(settings_with(functions=[wait_a_while]))
    with Installation() as installation:
        installation.use(app)
        job = asyncio.run(ArqRedis(app).enqueue_job("wait_a_while", defer))
        installation.drain()

        assert job is not None
        assert job._handle.job.available_at == installation.clock.now() + wait_ms


def test_a_function_knows_its_job_and_its_try(folder: Path) -> None:
    async def come(ctx: dict[str, Any]) -> None:
        ctx["place"] = "shop"

    async def go(ctx: dict[str, Any]) -> None:
        left.append(ctx["place"])

    left: list[str] = []
    settings = settings_with(functions=[tell], on_startup=staticmethod(come), on_shutdown=staticmethod(go))
    app = app_of_worker(settings)
    job = asyncio.run(ArqRedis(app).enqueue_job("tell"))
    app.run_worker(burst=True)

    assert job is not None
    enqueued_at = job._handle.job.spec.enqueued_at
    assert asyncio.run(job.result()) == [job.job_id, 1, enqueued_at / 1000, "shop"]
    assert left == ["shop"]
    app.close()


def test_a_worker_of_a_program_serves_its_queue_until_it_is_ended(pool: ArqRedis) -> None:
    settings = settings_with(functions=[add], queue_name="mails")
    worker = threading.Thread(target=run_worker, args=(settings,))
    worker.start()
    try:
        for number in range(2):
            job = asyncio.run(pool.enqueue_job("add", number, _queue_name="mails"))
            assert job is not None
            assert asyncio.run(job.result(timeout=DEADLINE_S)) == number + 1
    finally:
        app_of_worker(settings).stop_worker()
        worker.join()
        app_of_worker(settings).close()


def test_a_pool_has_a_queue_for_what_names_none(folder: Path) -> None:
    async def main() -> list[str]:
        async with await create_pool(SETTINGS, default_queue_name="mails") as pool:
            calls = [{}, {"_queue_name": "others"}, {"_queue_name": "arq:queue"}]
            made = [await pool.enqueue_job("add", 1, **call) for call in calls]  # type: ignore[arg-type]
            app = pool.__rota_app__
            queues = [one._handle.job.spec.queue for one in made if one is not None]
            return [app.engine.definitions.node_type(queue).name for queue in queues]

    assert asyncio.run(main()) == ["mails", "others", "default"]


def test_a_job_is_aborted_once(pool: ArqRedis) -> None:
    async def main() -> list[object]:
        job = await pool.enqueue_job("add", 1)
        assert job is not None
        return [await job.status(), await job.abort(), await job.abort(), await Job("nobody", pool).status()]

    assert asyncio.run(main()) == [JobStatus.queued, True, False, JobStatus.not_found]


def test_a_time_without_a_zone_is_in_that_of_the_machine(pool: ArqRedis, machine_in_tokyo: None) -> None:
    job = asyncio.run(pool.enqueue_job("add", 1, _defer_until=datetime(2030, 1, 1, 9)))  # noqa: DTZ001

    assert job is not None
    assert job._handle.job.spec.run_at == 1_893_456_000_000


def test_what_settings_leave_open_has_its_usual_value() -> None:
    assert RedisSettings().url == "redis://localhost:6379/0"
    assert RedisSettings(username="a@b", password="c").url == "redis://a%40b:c@localhost:6379/0"
    assert RedisSettings(username="nobody").url == "redis://localhost:6379/0"


def test_a_pool_that_is_closed_has_given_up_its_connections(pool: ArqRedis) -> None:
    asyncio.run(pool.enqueue_job("add", 1))
    connection = pool.__rota_app__._connection
    was_open = connection.is_open

    asyncio.run(pool.close())

    assert (was_open, connection.is_open) == (True, False)


def test_options_of_functions_and_pools_that_are_not_carried_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^colour: of func is not carried by Rota"):
        func(add, colour=1)
    with pytest.raises(InvalidInput, match=r"^job_serializer: of create_pool is not carried by Rota; arguments and"):
        asyncio.run(create_pool(SETTINGS, job_serializer=add))
