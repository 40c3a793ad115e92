"""Listing and making tasks, on every store."""

from pathlib import Path

import pytest

from rota.dialects.sync_tasks import tasks as module
from rota.dialects.sync_tasks.tasks import TaskQuery
from rota.store import Store
from tests.contract.building import given
from tests.dialects.sync_tasks.source import Shop


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
