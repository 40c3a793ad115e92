"""`rota sources`, `rota sync` and `rota tasks`: the sources of a file, the store of a folder, no node."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rota.dialects.sync_tasks.task import task_id
from rota.model.job import Claim
from rota.store import open_store
from tests.cli.calling import done, rota
from tests.contract.building import claim, fail, finish, log_batch, succeed
from tests.dialects.sync_tasks.source import Shop
from tests.servers import wait_until


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.chdir(tmp_path)
    store = open_store("sqlite:///rota.db")
    yield Shop(store, tmp_path)
    store.close()


def test_sources_are_listed_with_their_schedule_and_their_latest_task(shop: Shop) -> None:
    ran = task_id(shop.run("users"))

    orders, users = done("sources", "--json").json

    assert orders == {"source": "shop", "collection": "orders", "schedule": "every hour", "status": None, "task": None}
    assert users == {"source": "shop", "collection": "users", "schedule": None, "status": "SUCCESS", "task": ran}
    assert ran in done("sources").stdout


def test_a_collection_is_synchronised_once_while_its_task_waits(shop: Shop) -> None:
    first = done("sync", "shop", "users", "--json").json
    second = done("sync", "shop", "users")

    assert first["is_new"]
    assert (second.stdout, second.stderr) == (
        f"{first['task_id']}\n",
        "Not made anew: this task waits or runs already.\n",
    )


@pytest.mark.parametrize("how", ["--wait", "--follow"])
def test_who_gives_up_waiting_is_told_of_the_task_that_goes_on(shop: Shop, how: str) -> None:
    given_up = rota("sync", "shop", "users", how, "--timeout-wait", "1ms")

    assert given_up.exit_code == 124
    assert given_up.stderr == f"error: still waiting for {given_up.stdout.strip()}; it goes on without us\n"
    assert [one["status"] for one in done("tasks", "--source", "shop", "--json").json] == ["SCHEDULED"]


@pytest.mark.parametrize(("well", "status", "exit_code"), [(True, "SUCCESS", 0), (False, "FAILED", 1)])
@pytest.mark.parametrize("as_json", [False, True])
def test_who_waits_is_told_how_it_ended(shop: Shop, well: bool, status: str, exit_code: int, as_json: bool) -> None:
    def run() -> None:
        claims: list[Claim] = []

        def has_claimed() -> bool:
            claims.extend(claim(shop.store, shop.queue, limit=1, now=shop.store.now()))
            return bool(claims)

        wait_until(has_claimed, "the task")
        finish(shop.store, (succeed if well else fail)(claims[0], shop.store.now()), now=shop.store.now())

    with ThreadPoolExecutor(1) as node:
        running = node.submit(run)
        answer = rota("sync", "shop", "users", "--wait", "--timeout-wait", "60s", *(["--json"] if as_json else []))
        running.result()

    assert answer.exit_code == exit_code
    assert (answer.json["status"] if as_json else answer.stderr.strip()) == status


def test_tasks_are_listed_by_source_and_by_what_is_asked_for(shop: Shop) -> None:
    ran, waits = task_id(shop.run("users")), task_id(shop.tasks.create("shop", "orders")[0])

    def listed(*words: str) -> list[str]:
        return [one["id"] for one in done("tasks", "--source", "shop", "--json", *words).json]

    assert listed() == [ran, waits]
    assert listed("--collection", "users") == [ran]
    assert listed("--status", "scheduled") == [waits]
    assert listed("--limit", "1") == [waits]
    assert listed("--since", "2099-01-01T00:00:00Z") == []
    assert done("tasks", ran, "--json").json["status"] == "SUCCESS"
    assert done("tasks", ran, "--json").json["id"] == ran
    refused = rota("tasks")
    assert (refused.exit_code, "`rota sources` lists sources" in refused.stderr) == (2, True)


def test_tasks_of_the_last_day_are_listed_unless_told_otherwise(shop: Shop) -> None:
    shop.clock.advance(-25 * 3_600_000)
    old = task_id(shop.run("users"))
    shop.clock.advance(2 * 3_600_000)
    young = task_id(shop.run("users"))

    def listed(*words: str) -> list[str]:
        return [one["id"] for one in done("tasks", "--source", "shop", "--json", *words).json]

    assert listed() == [young]
    assert listed("--since", "2020-01-01T00:00:00Z") == [old, young]


def test_no_more_than_a_hundred_tasks_are_listed_unless_told_otherwise(shop: Shop) -> None:
    made = [task_id(shop.run("users")) for _ in range(101)]

    def listed(*words: str) -> list[str]:
        return [one["id"] for one in done("tasks", "--source", "shop", "--json", *words).json]

    assert listed() == made[1:]
    assert listed("--limit", "0") == made


def test_the_log_of_a_task_is_shown(shop: Shop) -> None:
    id = task_id(shop.tasks.create("shop", "users")[0])
    held = claim(shop.store, shop.queue, limit=1, now=shop.clock.now())[0]
    shop.store.append_logs([log_batch(held, "one", "two", now=shop.clock.now())])
    finish(shop.store, fail(held, shop.clock.now()), now=shop.clock.now())

    assert done("tasks", id, "--logs").stdout.splitlines()[:2] == ["one", "two"]
    lines = done("tasks", id, "--logs", "--json").json
    assert [(one["message"], one["level"]) for one in lines][:2] == [("one", "info"), ("two", "info")]
