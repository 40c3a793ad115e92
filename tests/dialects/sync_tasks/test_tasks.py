"""Listing and making tasks, on every store."""

from pathlib import Path

import pytest

from rota.dialects.sync_tasks import tasks as module
from rota.dialects.sync_tasks.task import status_of, task_id
from rota.dialects.sync_tasks.tasks import TaskQuery
from rota.engine.definitions.file import Wanted
from rota.engine.jobs.intake import JobRequest
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.job_type import JobType
from rota.store import Store
from tests.contract.building import given
from tests.dialects.sync_tasks.source import Shop, read

OTHER = "0190b8a4-0000-7000-8000-000000000001"


def test_a_page_of_tasks_is_whole_whatever_their_times(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    shop = Shop(store, tmp_path)
    made = []
    for number in range(7):
        made.append(shop.run().id)
        if number % 3 == 2:
            shop.clock.advance(1)
    second = shop.clock.now() // 1000

    found = shop.tasks.list(TaskQuery(source="shop", since=second - 1, until=second))

    assert [job.id for job in found] == made
    for limit in (1, 2, 3, 5, 7, 8):
        latest = list(shop.tasks.pages(TaskQuery(source="shop", since=0, until=second, limit=limit)))
        assert [job.id for page in latest for job in page] == made[-limit:]
        assert max(map(len, latest)) <= 2


@pytest.mark.parametrize("few", [0, 1_000_000])
def test_tasks_of_a_status_are_the_same_on_either_way_to_them(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    monkeypatch.setattr(module, "_ALWAYS_FEW", 2)
    monkeypatch.setattr(module, "_FEW", few)
    shop = Shop(store, tmp_path)
    made = {"orders": [shop.run("orders").id for _ in range(5)], "users": [shop.run("users").id for _ in range(3)]}
    waiting, _ = shop.tasks.create("shop", "users")
    second = shop.clock.now() // 1000

    def listed(status: str, collection: str | None = None, limit: int = 0, since: int = 0) -> list[str]:
        query = TaskQuery(source="shop", collection=collection, since=since, until=second, status=status, limit=limit)
        return [job.id for job in shop.tasks.list(query)]

    assert listed("SUCCESS") == made["orders"] + made["users"]
    assert listed("SUCCESS", "orders") == made["orders"]
    assert listed("SUCCESS", limit=4) == [made["orders"][-1], *made["users"]]
    assert listed("SCHEDULED") == [waiting.id]
    assert listed("FAILED") == []
    assert listed("SUCCESS", since=second + 1) == []


def test_a_task_is_found_by_its_whole_id_and_only_if_it_is_one(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path)
    job = shop.run()
    id = task_id(job)
    shop.engine.definitions.define_job_type(JobType(uuid=OTHER, name="other", executor="log"))
    request = JobRequest(job_type=OTHER, arguments=job.spec.arguments)
    alike = f"shop_orders_{shop.engine.intake.enqueue([request])[0].job_id}"

    assert shop.tasks.find(id).id == job.id
    for wrong in (f"shop_users_{job.id}", job.id, f"{id}x", "", alike):
        with pytest.raises(NotFound, match="it never was, or history has forgotten it"):
            shop.tasks.find(wrong)


def test_a_task_that_has_ended_cannot_be_cancelled(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path)
    ended, waiting = task_id(shop.run("orders")), task_id(shop.tasks.create("shop", "users")[0])

    with pytest.raises(Conflict, match=f"the task '{ended}' has ended already, so there is nothing to cancel"):
        shop.tasks.cancel(ended)
    shop.tasks.cancel(waiting)

    assert status_of(shop.tasks.find(waiting)) == "CANCELED"


def test_tasks_are_listed_up_to_the_end_of_the_last_second(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path)
    shop.clock.advance(-shop.clock.now() % 1000)
    second = shop.clock.now() // 1000
    made = []
    for ms in (0, 999, 1):
        shop.clock.advance(ms)
        made.append(shop.run().id)

    def listed(since: int, until: int, status: str | None = None) -> list[str]:
        return [job.id for job in shop.tasks.list(TaskQuery(source="shop", since=since, until=until, status=status))]

    for status in (None, "SUCCESS"):
        assert listed(second, second, status) == made[:2]
        assert listed(second + 1, second + 1, status) == made[2:]
        assert listed(second - 1, second + 2, status) == made


def test_tasks_of_what_is_no_longer_defined_are_listed_and_what_never_was_is_refused(
    store: Store, tmp_path: Path
) -> None:
    shop = Shop(store, tmp_path)
    job = shop.run()
    second = shop.clock.now() // 1000
    empty = Wanted.of(read(tmp_path, "sources: {web: {collections: [{name: x}]}}"))
    shop.engine.file.apply(empty)

    def listed(source: str, collection: str | None) -> list[str]:
        query = TaskQuery(source=source, collection=collection, since=second - 1, until=second)
        return [job.id for job in shop.tasks.list(query)]

    assert listed("shop", None) == listed("shop", "orders") == [job.id]
    assert listed("web", None) == listed("web", "x") == []
    with pytest.raises(InvalidInput, match="collection: the source 'shop' has no 'users'"):
        listed("shop", "users")
    with pytest.raises(InvalidInput, match="source: there is no source 'shoe'; there are web"):
        listed("shoe", None)
    with pytest.raises(InvalidInput, match="source: there is no source 'shop'; there are web"):
        shop.tasks.create("shop", "orders")
    with pytest.raises(InvalidInput, match="collection: the source 'web' has no 'y'; it has x"):
        shop.tasks.create("web", "y")


def test_what_somebody_asked_for_runs_before_what_the_clock_asked_for(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path)
    by_clock, _ = shop.tasks.create("shop", "orders", priority=200)
    by_hand, _ = shop.tasks.create("shop", "users")

    assert given(store, shop.queue, now=shop.clock.now()) == [by_hand.id, by_clock.id]


def test_the_one_that_waits_or_runs_is_the_answer(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path)
    first, is_new = shop.tasks.create("shop", "orders")

    again, is_new_again = shop.tasks.create("shop", "orders", priority=200)

    assert (again.id, is_new, is_new_again) == (first.id, True, False)
    given(store, shop.queue, now=shop.clock.now())
    assert shop.tasks.create("shop", "orders")[0].id == first.id
