"""Seed 002: the task manager. Its flow, its keys, its samples and its examples, in its order, seen with redis-cli."""

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from rota import Scheduler, Task, Worker
from rota.dialects.registry import open_dialects
from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.settings import Settings
from rota.store import open_store
from tests.dialects.tasks.working import working
from tests.engine.working import until, wait_until
from tests.seeds.redis_cli import RedisCli
from tests.servers import RedisServer

ID = "9febf4b1-b30a-461a-91a6-248516bf6a80"
SOURCE = {
    "interval": 30000,
    "latencyLimit": 5000,
    "errorAlterThreshold": 1,
    "responseAlertThreshold": 1,
    "active": True,
    "timeoutAfter": 30000,
    "endpoint": "http://localhost:9999/health",
    "application": "6aab4b61-89ea-497f-9f8e-5a35a235f3b4",
    "id": ID,
    "uuid": "a995585f-cb6b-4417-9331-734415656221",
    "createdAt": "2019-07-15T04:35:24.665Z",
    "updatedAt": "2019-07-15T04:35:24.665Z",
}
TASK = {
    "id": ID,
    "key": f"scheduler:tasks:{ID}",
    "data": SOURCE,
    "runs": 94,
    "expire": 30000,
    "reschedule": True,
}


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def cli(redis: RedisServer) -> RedisCli:
    return RedisCli(redis)


@pytest.fixture
def scheduler(redis: RedisServer) -> Iterator[Scheduler]:
    with Scheduler(redis.url) as made:
        yield made


def stored(cli: RedisCli, id: str) -> dict[str, object]:
    return msgspec.json.decode(cli("GET", f"task:{id}"), type=dict[str, object])


def listed(cli: RedisCli, key: str) -> list[str]:
    return [line for line in cli("LRANGE", key, 0, -1).split("\n") if line]


def see(cli: RedisCli, key: str, *expected: str) -> None:
    wait_until(lambda: listed(cli, key) == list(expected), f"{key} to have {expected}")


def ignore(_: Task) -> None:
    """A handler that has nothing to do."""


def wait_for(begun: list[str]) -> Callable[[Task], None]:
    """A handler that goes on until its list is emptied."""

    def handler(task: Task) -> None:
        begun.append(task.id)
        while begun:
            time.sleep(0.01)

    return handler


# The samples


def test_the_sample_task_is_loaded_with_its_count(scheduler: Scheduler, cli: RedisCli) -> None:
    added = scheduler.add_task(TASK)

    assert (added.schedule, added.most_runs, added.runs, added.data) == (30_000, None, 94, SOURCE)
    shown = stored(cli, ID)
    assert {key: shown[key] for key in ("id", "data", "runs", "expire", "reschedule")} == {
        key: TASK[key] for key in ("id", "data", "runs", "expire", "reschedule")
    }
    assert shown["key"] == f"task:{ID}", "where it is"


def test_a_prefix_is_before_every_key(redis: RedisServer, cli: RedisCli) -> None:
    with Scheduler(redis.url, prefix="scheduler:") as scheduler:
        scheduler.add_task({"id": ID})

        assert cli("GET", f"scheduler:task:{ID}") != ""
        assert listed(cli, "scheduler:queue") == [ID]
        assert cli("EXISTS", "queue", f"task:{ID}", "tasks:ids") == "0"


# The flow


def test_a_task_for_now_is_stored_and_in_the_queue(scheduler: Scheduler, cli: RedisCli) -> None:
    scheduler.add_task({"id": "a", "data": {"to": "ada"}})

    assert stored(cli, "a")["data"] == {"to": "ada"}
    assert cli("TYPE", "task:a") == "string"
    assert (listed(cli, "queue"), listed(cli, "tasks:ids")) == (["a"], ["a"])
    assert cli("EXISTS", "task:a:ttl") == "0"


def test_a_task_for_later_has_a_key_that_expires_when_its_time_comes(scheduler: Scheduler, cli: RedisCli) -> None:
    scheduler.add_task({"id": "a"}, delay=3_600_000)

    assert listed(cli, "queue") == []
    assert cli("GET", "task:a:ttl") == "task:a"
    assert 3_500_000 < int(cli("PTTL", "task:a:ttl")) <= 3_600_000


def test_a_worker_moves_a_task_to_the_active_ones_and_then_it_is_completed(
    redis: RedisServer, scheduler: Scheduler, cli: RedisCli
) -> None:
    begun: list[str] = []
    scheduler.add_task({"id": "a", "data": 1})

    with working(Worker(redis.url, wait_for(begun))):
        see(cli, "tasks:active", "a")
        assert listed(cli, "queue") == []
        wait_until(lambda: bool(begun), "the task to begin")
        begun.clear()
        wait_until(lambda: listed(cli, "tasks:completed"), "the task to be completed")

    completed = msgspec.json.decode(listed(cli, "tasks:completed")[0], type=dict[str, object])
    assert (completed["id"], completed["data"], completed["runs"], completed["status"]) == ("a", 1, 1, "completed")
    assert cli("EXISTS", "task:a", "task:a:ttl", "queue", "tasks:active", "tasks:ids") == "0"


def test_a_repeating_task_waits_again_after_its_run(redis: RedisServer, scheduler: Scheduler, cli: RedisCli) -> None:
    scheduler.add_task({"id": "a", "schedule": 3_600_000})

    with working(Worker(redis.url, ignore)):
        wait_until(lambda: cli("EXISTS", "task:a:ttl") == "1", "the task to wait again")

    assert (stored(cli, "a")["runs"], stored(cli, "a")["status"]) == (1, "delayed")
    assert 3_500_000 < int(cli("PTTL", "task:a:ttl")) <= 3_600_000
    assert listed(cli, "tasks:ids") == ["a"]


def test_the_id_of_a_failed_task_is_listed_and_the_task_kept(
    redis: RedisServer, scheduler: Scheduler, cli: RedisCli
) -> None:
    def fail(_: Task) -> None:
        raise ValueError("no")

    scheduler.add_task({"id": "a", "maxTries": 1})
    with working(Worker(redis.url, fail)):
        see(cli, "tasks:failed", "a")

    assert stored(cli, "a")["status"] == "failed"
    assert [error["message"] for error in stored(cli, "a")["errors"]] == ["ValueError: no"]  # type: ignore[attr-defined]
    scheduler.rescue_task("a")
    assert (listed(cli, "tasks:failed"), listed(cli, "queue")) == ([], ["a"])


def test_a_deleted_task_is_in_no_key(scheduler: Scheduler, cli: RedisCli) -> None:
    scheduler.add_task({"id": "a"}, delay=1_000)

    scheduler.delete_task("a")

    assert cli("EXISTS", "task:a", "task:a:ttl", "queue", "tasks:ids") == "0"


# What other programs put there


def test_what_another_program_pushes_is_run_once_however_many_look_and_in_order(
    redis: RedisServer, scheduler: Scheduler, cli: RedisCli
) -> None:
    seen: list[str] = []
    ids = [f"t{number}" for number in range(10)]
    for id in ids:
        cli("SET", f"task:{id}", msgspec.json.encode({"id": id, "data": {"n": 1}, "maxRuns": 1, "more": 7}).decode())
    cli("RPUSH", "queue", *ids)

    with (
        working(Worker(redis.url, ignore, prefix="other")),
        working(Worker(redis.url, lambda task: seen.append(task.id))),
    ):
        wait_until(lambda: len(listed(cli, "tasks:completed")) == 10, "the tasks to be completed")

    assert seen == ids
    assert cli("EXISTS", "queue", "tasks:active", "tasks:ids") == "0"


def test_an_entry_that_is_no_task_stops_nobody(redis: RedisServer, scheduler: Scheduler, cli: RedisCli) -> None:
    seen: list[str] = []
    cli("SET", "task:broken", "{")
    cli("SET", "task:wrong", '{"id": "wrong", "maxRuns": 0}')
    cli("SET", "task:good", '{"id": "good"}')
    cli("RPUSH", "queue", "broken", "wrong", "good")

    with working(Worker(redis.url, lambda task: seen.append(task.id))):
        wait_until(lambda: seen, "the good one to run")
        wait_until(lambda: cli("EXISTS", "queue") == "0", "the others to be put away")

    letters = [msgspec.json.decode(line) for line in listed(cli, "rota:tasks::dead")]
    assert [(one["id"], one["reason"].partition(":")[0]) for one in letters] == [
        ("broken", "task"),
        ("wrong", "maxRuns"),
    ]


def test_a_pushed_task_whose_time_is_over_is_completed_at_once(
    redis: RedisServer, scheduler: Scheduler, cli: RedisCli
) -> None:
    cli("SET", "task:a", '{"id": "a", "scheduleOptions": {"endDate": "2001-01-01"}}')
    cli("RPUSH", "queue", "a")

    with working(Worker(redis.url, ignore)) as worker:
        wait_until(lambda: listed(cli, "tasks:completed"), "the task to be completed")

    assert worker.runs == 0
    assert cli("EXISTS", "queue", "task:a", "tasks:ids") == "0"


def test_pushing_the_id_of_a_waiting_task_runs_it_now(redis: RedisServer, scheduler: Scheduler, cli: RedisCli) -> None:
    seen: list[str] = []
    scheduler.add_task({"id": "a", "schedule": 3_600_000}, delay=3_600_000)
    cli("RPUSH", "queue", "a")

    with working(Worker(redis.url, lambda task: seen.append(task.id))):
        wait_until(lambda: seen and cli("EXISTS", "task:a:ttl") == "1", "the task to run and wait again")

    assert seen == ["a"]


@pytest.mark.parametrize("flags", ["KEA", "xKE"])
def test_an_expired_key_of_another_program_wakes(
    redis: RedisServer, scheduler: Scheduler, cli: RedisCli, flags: str
) -> None:
    seen: list[str] = []
    cli("CONFIG", "SET", "notify-keyspace-events", flags)
    first, second = (Worker(redis.url, lambda task: seen.append(task.id)) for _ in range(2))
    with working(first), working(second):
        scheduler.add_task({"id": "ready"})
        wait_until(lambda: listed(cli, "tasks:completed"), "both to listen")
        cli("SET", "task:a", '{"id": "a"}')
        cli("SET", "task:a:ttl", "task:a", "PX", 100)
        wait_until(lambda: len(listed(cli, "tasks:completed")) == 2, "the task to be completed")

    assert seen == ["ready", "a"]


def test_a_key_that_expired_while_nobody_listened_is_found_all_the_same(redis: RedisServer, cli: RedisCli) -> None:
    seen: list[str] = []
    cli("SET", "task:a", '{"id": "a", "expire": 1, "reschedule": false}')
    cli("SET", "task:listed", '{"id": "listed"}')
    cli("RPUSH", "tasks:ids", "listed")
    cli("SET", "task:milk", '{"id": "milk", "status": "open"}')
    cli("SET", "task:7", '{"id": 7, "expire": 5}')
    cli("RPUSH", "tasks:active", "busy")
    cli("SET", "task:busy", '{"id": "busy", "expire": 5}')

    with working(Worker(redis.url, lambda task: seen.append(task.id))):
        wait_until(lambda: len(listed(cli, "tasks:completed")) == 2, "the tasks to be completed")

    assert sorted(seen) == ["a", "listed"]
    assert cli("EXISTS", "task:milk", "task:7", "task:busy") == "3", "what is somebody else's is left alone"


NEVER = '{"id": "never", "schedule": "0 0 30 2 *"}'
"""A line that no day fits."""


def test_a_stored_task_that_can_never_run_stops_nobody(redis: RedisServer, cli: RedisCli) -> None:
    seen: list[str] = []
    cli("SET", "task:never", NEVER)
    for number in range(20):
        cli("SET", f"task:{number}", f'{{"id": "{number}", "expire": 1, "reschedule": false}}')

    with working(Worker(redis.url, lambda task: seen.append(task.id))):
        wait_until(lambda: len(listed(cli, "tasks:completed")) == 20, "the tasks to be completed")

    assert sorted(seen, key=int) == [str(number) for number in range(20)]
    assert cli("GET", "task:never") == NEVER, "what nobody can run is left alone"


def test_a_ttl_that_is_seen_and_then_gone_is_evidence_enough(
    redis: RedisServer, scheduler: Scheduler, cli: RedisCli
) -> None:
    seen: list[str] = []
    cli("SET", "task:a", '{"id": "a"}')
    cli("SET", "task:a:ttl", "task:a", "PX", 3_600_000)
    with working(Worker(redis.url, lambda task: seen.append(task.id))):
        scheduler.add_task({"id": "one"})
        wait_until(lambda: len(listed(cli, "tasks:completed")) == 1, "the keys to be looked at")
        scheduler.add_task({"id": "two"})
        wait_until(lambda: len(listed(cli, "tasks:completed")) == 2, "the keys to be looked at once more")
        cli("DEL", "task:a:ttl")
        wait_until(lambda: len(listed(cli, "tasks:completed")) == 3, "the task to be completed")

    assert seen == ["one", "two", "a"]


def test_without_notifications_the_log_says_what_to_do_and_tasks_are_on_time(
    redis: RedisServer, scheduler: Scheduler, cli: RedisCli, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler.add_task({"id": "a"}, delay=100)

    with working(Worker(redis.url, ignore)):
        wait_until(lambda: listed(cli, "tasks:completed"), "the task to be completed")

    assert "redis-cli config set notify-keyspace-events KEA" in caplog.text


def test_keys_that_belong_to_somebody_else_do_not_stop_tasks(
    redis: RedisServer, scheduler: Scheduler, cli: RedisCli, caplog: pytest.LogCaptureFixture
) -> None:
    cli("SET", "queue", "mine")
    seen: list[str] = []
    scheduler.add_task({"id": "a"})

    with working(Worker(redis.url, lambda task: seen.append(task.id))):
        wait_until(lambda: seen, "the task to run")

    assert cli("GET", "queue") == "mine"
    assert "give tasks a prefix" in caplog.text
    blamed = [one for one in caplog.records if "store unavailable" in one.message and "WRONGTYPE" in str(vars(one))]
    assert blamed == [], "somebody else's key is no fault of the store"


def test_any_node_keeps_the_keys(redis: RedisServer, scheduler: Scheduler, cli: RedisCli) -> None:
    async def live_until_it_is_in_the_queue() -> None:
        store = open_store(redis.url)
        node = Node.open(store, NodeOptions(), dialects=open_dialects(Settings(store=redis.url), store))
        living = asyncio.create_task(node.run())
        await until(lambda: listed(cli, "queue") == ["a"], "the task to be shown in the queue")
        node.request_stop(at_once=True)
        await living
        store.close()

    scheduler.add_task({"id": "a"}, delay=200)
    assert listed(cli, "queue") == []

    asyncio.run(live_until_it_is_in_the_queue())


# Cleaning up


def test_cleaning_does_all_three_steps_and_counts(redis: RedisServer, scheduler: Scheduler, cli: RedisCli) -> None:
    scheduler.add_task({"id": "waits"}, delay=3_600_000)
    cli("SET", "task:left", '{"id": "left", "data": 1}')
    cli("SET", "task:never", NEVER)
    cli("SET", "task:later", '{"id": "later"}')
    cli("SET", "task:later:ttl", "task:later", "PX", 3_600_000)
    cli("RPUSH", "tasks:ids", "nothing")
    cli("RPUSH", "tasks:active", "nothing")

    with Scheduler(redis.url, clean_tasks=True) as cleaning:
        found = cleaning.cleaned

    assert found is not None
    assert (found.tasks, found.waiting, found.adopted, found.dropped) == (3, 2, 2, 2)
    assert sorted(listed(cli, "tasks:ids")) == ["later", "left", "waits"]
    assert listed(cli, "queue") == ["left"]
    assert int(cli("PTTL", "task:later:ttl")) > 3_500_000


def test_cleaning_shows_what_is_not_shown(redis: RedisServer, cli: RedisCli) -> None:
    with Scheduler(redis.url, keys=False) as unseen:
        unseen.add_task({"id": "a"})
    assert cli("EXISTS", "queue", "task:a", "tasks:ids") == "0"

    Scheduler(redis.url, clean_tasks=True).close()

    assert (listed(cli, "queue"), listed(cli, "tasks:ids")) == (["a"], ["a"])


# Scheduling, and the examples of the notes


def test_a_task_with_a_delay(scheduler: Scheduler, cli: RedisCli) -> None:
    task = {"id": "a"}

    scheduler.add_task(task).with_delay(3_600_000)

    assert listed(cli, "queue") == []
    assert 3_000_000 < int(cli("PTTL", "task:a:ttl")) <= 3_600_000


def test_a_task_between_two_dates(scheduler: Scheduler, cli: RedisCli) -> None:
    task = Task(id="a", schedule=1_000)
    start = datetime.now(UTC) + timedelta(hours=1)

    added = scheduler.add_task(task).interval(start, start + timedelta(hours=1))

    assert added.status == "delayed"
    assert abs((added.next_run or 0) - start.timestamp() * 1000) <= 1
    assert 3_500_000 < int(cli("PTTL", "task:a:ttl")) <= 3_600_000
    assert stored(cli, "a")["scheduleOptions"] == {
        "utc": True,
        "startDate": start.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "endDate": (start + timedelta(hours=1)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }


def test_a_worker_that_begins_while_redis_is_away_waits_for_it(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []
    with RedisServer({"appendonly": "yes", "appendfsync": "no"}) as redis:
        redis.kill9()
        with working(Worker(redis.url, lambda task: seen.append(task.id))):
            wait_until(lambda: "the store of tasks is away" in caplog.text, "the worker to notice")
            redis.restart()

            with Scheduler(redis.url) as scheduler:
                scheduler.add_task({"id": "a"})
                wait_until(lambda: seen == ["a"], "the worker to work")


def test_a_worker_that_waits_for_redis_ends_when_it_is_asked_to(caplog: pytest.LogCaptureFixture) -> None:
    with RedisServer() as redis:
        redis.kill9()
        with working(Worker(redis.url, ignore)):
            wait_until(lambda: "the store of tasks is away" in caplog.text, "the worker to notice")


def test_a_worker_comes_back_by_itself_after_redis_was_away() -> None:
    seen: list[str] = []
    with RedisServer({"appendonly": "yes"}) as redis, working(Worker(redis.url, lambda task: seen.append(task.id))):
        with Scheduler(redis.url) as scheduler:
            scheduler.add_task({"id": "before"})
            wait_until(lambda: seen == ["before"], "the worker to work")
        redis.kill9()
        redis.restart()

        with Scheduler(redis.url) as scheduler:
            scheduler.add_task({"id": "after"})
            wait_until(lambda: "after" in seen, "the worker to work again")
