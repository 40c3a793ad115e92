"""The installation that users test their programs with."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rota import Rota, Task
from rota.errors import InvalidInput, JobFailed, NotFound, StoreFull, StoreUnavailable
from rota.model.events.configuration_request import read_configuration
from rota.model.job import JobState
from rota.testing import Faults, Installation, ManualClock
from rota.testing.faults import away
from tests.servers import RedisServer
from tests.testing import shop
from tests.testing.shop import again, count_down, double, fail, stumble, work


@pytest.fixture(autouse=True)
def app(rota_installation: Installation) -> Rota:
    shop.seen.clear()
    return rota_installation.use(shop.app)


def test_a_task_runs_when_the_test_says_so(rota_installation: Installation) -> None:
    handle = double.enqueue(number=21)
    assert handle.status is JobState.QUEUED

    ended = rota_installation.drain()

    assert [job.id for job in ended] == [handle.id]
    assert handle.result == 42
    assert [line.message for line in handle.logs()] == ["doubling"]


def test_what_a_job_enqueues_runs_too(rota_installation: Installation) -> None:
    count_down.enqueue(number=3)

    assert [job.results for job in rota_installation.drain()] == [3, 2, 1, 0]


def test_a_job_that_fails_for_good_fails_the_test(rota_installation: Installation) -> None:
    fail.enqueue()
    with pytest.raises(JobFailed, match="ValueError: no"):
        rota_installation.drain()

    fail.enqueue()
    assert [job.state for job in rota_installation.drain(raises=False)] == [JobState.FAILED]


def test_retries_come_when_their_time_has_come(rota_installation: Installation, rota_clock: ManualClock) -> None:
    start = rota_clock.now()
    handle = stumble.enqueue()
    rota_installation.drain()
    assert handle.status is JobState.DELAYED

    rota_installation.advance("1h")

    assert [past.ended_at - start for past in handle.job.past] == [0, 60_000]
    assert (handle.result, handle.job.ended_at) == (3, start + 180_000)
    assert rota_clock.now() == start + 3_600_000


def test_schedules_fire_at_each_of_their_times(rota_installation: Installation) -> None:
    rota_installation.use(shop.clockwork)

    rota_installation.advance(timedelta(days=2))

    assert shop.seen == ["2020-01-01T01:00:00+00:00", "2020-01-02T01:00:00+00:00"]


def test_jobs_for_later_wait(rota_installation: Installation) -> None:
    handle = work.options(delay="5m").enqueue()

    assert rota_installation.advance("4m") == []
    assert [job.id for job in rota_installation.advance("1m")] == [handle.id]


def test_a_job_whose_node_dies_runs_again(rota_installation: Installation) -> None:
    handle = work.enqueue()
    assert rota_installation.lose_job().id == handle.id
    rota_installation.advance("10s")
    assert handle.status is JobState.RUNNING

    rota_installation.advance("20s")

    assert handle.result == "done"
    assert handle.job.deaths == 1


def test_there_must_be_a_job_to_lose(rota_installation: Installation) -> None:
    with pytest.raises(NotFound, match="nothing waits in the queue 'default'"):
        rota_installation.lose_job()


def test_events_live_as_long_as_they_may(rota_installation: Installation) -> None:
    engine = rota_installation.engine
    rota_installation.drain()
    dependencies = [{"type": "FILE", "resourceId": name, "lifeDuration": 60} for name in ("/a", "/b")]
    job = {"job_type": "tests.testing.shop.work"}
    engine.configurations.create(read_configuration({"name": "both", "job": job, "dependencies": dependencies}))

    def arrive(resource: str) -> int:
        rota_installation.post_event("FILE", resource)
        return len(rota_installation.drain())

    assert arrive("/a") == 0
    rota_installation.advance("61s")
    assert arrive("/b") == 0, "the first is no longer valid"
    rota_installation.advance("59s")
    assert arrive("/a") == 1


def test_tasks_of_a_scheduler_run_too(rota_installation: Installation) -> None:
    runs: list[tuple[str, int, int]] = []

    def handler(task: Task) -> None:
        runs.append((task.id, task.runs, task.attempt))
        if task.attempt == 1:
            raise ValueError("not at once")

    scheduler = rota_installation.handle_tasks(handler)
    scheduler.add_task({"id": "hourly", "schedule": 3_600_000, "maxRuns": 2})
    rota_installation.advance("3h")

    assert runs == [("hourly", 0, 1), ("hourly", 0, 2), ("hourly", 1, 1), ("hourly", 1, 2)]
    assert [(task.id, task.runs) for task in scheduler.get_tasks("completed")] == [("hourly", 2)]


def test_a_run_whose_end_cannot_be_stored_is_tried_again(rota_installation: Installation, rota_faults: Faults) -> None:
    def be_full() -> None:
        raise StoreFull("no room")

    def handler(task: Task) -> None:
        runs.append(task.attempt)
        if task.attempt == 1:
            rota_faults.before("find_schedules", be_full)  # by which the end is found to be the last one

    runs: list[int] = []
    scheduler = rota_installation.handle_tasks(handler)
    scheduler.add_task({"id": "a"})

    rota_installation.advance("1m")

    assert runs == [1, 2]
    assert len(scheduler.get_tasks("completed")) == 1


def test_a_store_fails_on_demand(rota_installation: Installation, rota_faults: Faults) -> None:
    work.enqueue()
    rota_installation.drain()
    rota_faults.before("enqueue_jobs", away)

    with pytest.raises(StoreUnavailable, match="as the test wants it"):
        work.enqueue()

    work.enqueue()
    assert len(rota_installation.drain()) == 1


def test_a_test_may_have_a_loop_of_its_own(rota_installation: Installation) -> None:
    async def main() -> str:
        handle = await work.aenqueue()
        rota_installation.drain()
        return await handle.aget(timeout=1)

    assert asyncio.run(main()) == "done"


def test_jobs_that_enqueue_each_other_for_ever_are_an_error(
    rota_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.testing.installation.MOST_JOBS", 20)
    again.enqueue()

    with pytest.raises(RuntimeError, match="do they enqueue each other"):
        rota_installation.drain()


def test_an_app_is_as_before_when_the_installation_is_closed(tmp_path: Path) -> None:
    own = Rota(f"sqlite:///{tmp_path}/own.db", name="own")
    with Installation() as installation:
        installation.use(own)
        assert own.engine is installation.engine

    assert own.engine is not installation.engine
    own.close()


def test_time_begins_where_the_test_wants_it_but_in_the_past(rota_clock: ManualClock) -> None:
    assert rota_clock.now() == 1_577_836_800_000
    with Installation(now=datetime(2021, 5, 1, tzinfo=UTC)) as installation:
        assert installation.clock.now() == 1_619_827_200_000
    with pytest.raises(InvalidInput, match="now: 2999-01-01 is yet to come"):
        Installation(now="2999-01-01")


def test_it_may_be_on_redis(redis_server: RedisServer) -> None:
    redis_server.flush()
    with Installation(redis_server.url) as installation:
        installation.use(shop.clockwork)

        installation.advance("2d")

    assert len(shop.seen) == 2
