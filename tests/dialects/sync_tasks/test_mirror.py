"""The original's keys show what is, and never what was before."""

import json
from pathlib import Path
from typing import Any

import pytest

from rota.dialects.sync_tasks.names import Collection
from rota.dialects.sync_tasks.redis import dialect, keys
from rota.dialects.sync_tasks.redis.dialect import KeyKeeper
from rota.dialects.sync_tasks.redis.mirror import Mirror
from rota.dialects.sync_tasks.task import task_id
from rota.engine.definitions.file import Wanted
from rota.engine.jobs.intake import JobRequest
from rota.errors import StoreUnavailable
from rota.model.triggers.durations import DAY_MS
from rota.store import Store
from rota.store.redis.store import RedisStore
from rota.testing.faults import Faults, away
from tests.contract.building import claim_one, fail, finish, log_batch, succeed
from tests.dialects.sync_tasks.source import YAML, Shop, read

pytestmark = pytest.mark.stores("redis")  # the keys have no place elsewhere

ORDERS = Collection("shop", "orders")


class Seen:
    """What another program sees."""

    def __init__(self, store: Store) -> None:
        assert isinstance(store, RedisStore)
        self.access = store.access()
        self.mirror = Mirror(store, self.access)

    def status(self, id: str) -> Any:
        return self.access.ask("hget", keys.task(id), "status")

    def waits(self, id: str) -> bool:
        return self.access.ask("zscore", keys.QUEUE, id) is not None


def test_whoever_read_an_older_state_shows_the_newer_one(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(store, tmp_path), Seen(store)
    waiting, _ = shop.tasks.create("shop", "orders")
    id = task_id(waiting)
    seen.mirror.show([waiting])
    assert (seen.status(id), seen.waits(id)) == (b"SCHEDULED", True)
    claim = claim_one(store, shop.queue, now=shop.clock.now())

    (running,) = seen.mirror.show([waiting])

    assert (running.state, seen.status(id), seen.waits(id)) == ("running", b"RUNNING", False)
    finish(store, succeed(claim), now=shop.clock.now())
    seen.mirror.show([running])
    seen.mirror.show([waiting])
    assert (seen.status(id), seen.waits(id)) == (b"SUCCESS", False)


def test_what_history_forgot_is_shown_no_more(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(store, tmp_path), Seen(store)
    job = shop.run()
    id = task_id(job)
    seen.mirror.show([job])
    seen.mirror.hide_forgotten([id], [job.id], shop.queue)
    assert seen.status(id) == b"SUCCESS"

    store.delete_jobs([job.id])
    seen.mirror.hide_forgotten([id], [job.id], shop.queue)

    assert list(seen.access.ask("keys", "sync_tasks*")) == []
    assert seen.access.ask("hlen", keys.SHOWN) == 0


def test_what_comes_back_under_its_id_while_it_is_taken_for_forgotten_stays_shown(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(store, tmp_path), Seen(store)
    job = shop.run()
    id = task_id(job)
    seen.mirror.show([job])
    store.delete_jobs([job.id])
    faults = Faults(store)
    request = JobRequest(id=job.id, job_type=job.spec.job_type, arguments=job.spec.arguments)
    faults.after("find_jobs", lambda: shop.engine.intake.enqueue([request]))

    Mirror(faults.store, seen.access).hide_forgotten([id], [job.id], shop.queue)

    assert seen.status(id) == b"SUCCESS", "until somebody shows it as it is now"
    assert seen.access.ask("hlen", keys.SHOWN) == 1


def test_a_task_that_is_forgotten_waits_no_more(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(store, tmp_path), Seen(store)
    job, _ = shop.tasks.create("shop", "orders")
    id = task_id(job)
    seen.mirror.show([job])
    store.cancel_jobs([job.id], now=shop.clock.now())
    store.delete_jobs([job.id])
    assert seen.waits(id)

    seen.mirror.hide_forgotten([id], [job.id], shop.queue)

    assert not seen.waits(id)


AGING = YAML + "sync_tasks: {log_max_age_days: 1}\n"


def test_a_log_is_hidden_at_its_age_and_its_task_stays(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(store, tmp_path, AGING), Seen(store)
    job, _ = shop.tasks.create("shop", "orders")
    held = claim_one(store, shop.queue, now=shop.clock.now())
    store.append_logs([log_batch(held, "same", "same", now=shop.clock.now())])
    finish(store, succeed(held, shop.clock.now()), now=shop.clock.now())
    keeper = KeyKeeper(seen.access, shop.engine, "a node")
    log = keys.logs(task_id(job))

    keeper.run_once(shop.clock.now())
    assert seen.access.ask("zcard", log) == 2
    keeper.run_once(shop.clock.advance(DAY_MS))
    assert seen.access.ask("zcard", log) == 2
    keeper.run_once(shop.clock.advance(1))

    assert seen.access.ask("exists", log) == 0
    assert seen.status(task_id(job)) == b"SUCCESS"


def test_the_log_of_what_is_no_longer_defined_is_shown_for_as_long_as_it_is_kept(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(store, tmp_path, AGING), Seen(store)
    job, _ = shop.tasks.create("shop", "orders")
    held = claim_one(store, shop.queue, now=shop.clock.now())
    store.append_logs([log_batch(held, "said", now=shop.clock.now())])
    finish(store, succeed(held, shop.clock.now()), now=shop.clock.now())
    keeper = KeyKeeper(seen.access, shop.engine, "a node")
    keeper.run_once(shop.clock.now())
    without_orders = AGING.replace('{name: orders, schedule: "@hourly"}, ', "")
    shop.engine.file.apply(Wanted.of(read(tmp_path, without_orders)))

    keeper.run_once(shop.clock.advance(DAY_MS + 1))

    assert seen.access.ask("zcard", keys.logs(task_id(job))) == 1


def test_a_long_log_is_shown_round_by_round(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "_LOG_LINES", 700)
    shop, seen = Shop(store, tmp_path), Seen(store)
    job, _ = shop.tasks.create("shop", "orders")
    held = claim_one(store, shop.queue, now=shop.clock.now())
    store.append_logs([log_batch(held, *("same" for _ in range(1_600)), now=shop.clock.now())])
    finish(store, succeed(held, shop.clock.now()), now=shop.clock.now())
    keeper = KeyKeeper(seen.access, shop.engine, "a node")

    waits, shown = [], []
    for _ in range(4):
        waits.append(keeper.run_once(shop.clock.advance(60_000)))
        shown.append(seen.access.ask("zcard", keys.logs(task_id(job))))

    assert shown == [700, 1_400, 1_600, 1_600]
    assert waits[0] == waits[1] < waits[2] == waits[3] == dialect.EVERY_S
    (first, second) = (json.loads(one) for one in seen.access.ask("zrange", keys.logs(task_id(job)), 0, 1))
    assert first["message"] == second["message"] == "same"
    assert first["time"] < second["time"]


def test_no_line_is_shown_of_a_task_that_history_forgot(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(store, tmp_path), Seen(store)
    job, _ = shop.tasks.create("shop", "orders")
    held = claim_one(store, shop.queue, now=shop.clock.now())
    store.append_logs([log_batch(held, "line", now=shop.clock.now())])
    faults = Faults(store)
    faults.after("read_logs", lambda: [finish(store, succeed(held)), store.delete_jobs([job.id])])

    Mirror(faults.store, seen.access).show_log(job, task_id(job))

    assert list(seen.access.ask("keys", "sync_tasks*")) == []


def end_another(shop: Shop) -> None:
    """A task of another collection ends at this moment."""
    shop.tasks.create("shop", "users")
    held = claim_one(shop.store, shop.queue, now=shop.clock.now())
    finish(shop.store, succeed(held, shop.clock.now()), now=shop.clock.now())


def test_what_could_not_be_shown_of_an_ended_task_is_shown_by_whoever_comes_next(store: Store, tmp_path: Path) -> None:
    faults = Faults(store)
    shop, seen = Shop(faults.store, tmp_path), Seen(store)
    job, _ = shop.tasks.create("shop", "orders")
    held = claim_one(store, shop.queue, now=shop.clock.now())
    store.append_logs([log_batch(held, "a line", now=shop.clock.now())])
    finish(store, succeed(held, shop.clock.now()), now=shop.clock.now())
    shop.clock.advance(10_000)
    end_another(shop)
    faults.before("count_logs", away)

    with pytest.raises(StoreUnavailable):
        KeyKeeper(seen.access, shop.engine, "a node").run_once(shop.clock.now())
    KeyKeeper(seen.access, shop.engine, "a node").run_once(shop.clock.now())

    assert seen.access.ask("zcard", keys.logs(task_id(job))) == 1


def test_whoever_takes_over_shows_the_rest_of_a_long_log(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialect, "_LOG_LINES", 2)
    shop, seen = Shop(store, tmp_path), Seen(store)
    job, _ = shop.tasks.create("shop", "orders")
    held = claim_one(store, shop.queue, now=shop.clock.now())
    store.append_logs([log_batch(held, "one", "two", "three", now=shop.clock.now())])
    finish(store, succeed(held, shop.clock.now()), now=shop.clock.now())
    shop.clock.advance(10_000)
    end_another(shop)

    for _ in range(2):  # the second one knows nothing of the first
        KeyKeeper(seen.access, shop.engine, "a node").run_once(shop.clock.now())
        monkeypatch.setattr(dialect, "_LOG_LINES", 3)

    assert seen.access.ask("zcard", keys.logs(task_id(job))) == 3


def test_a_task_whose_end_was_told_late_is_shown_as_ended(store: Store, tmp_path: Path) -> None:
    """Its node was cut off; another task, which ended after it, was told of before it."""
    shop, seen = Shop(store, tmp_path), Seen(store)
    keeper = KeyKeeper(seen.access, shop.engine, "a node")
    job, _ = shop.tasks.create("shop", "orders")
    held = claim_one(store, shop.queue, now=shop.clock.now())
    late = succeed(held, shop.clock.now())
    keeper.run_once(shop.clock.advance(10_000))
    end_another(shop)
    keeper.run_once(shop.clock.now())

    finish(store, late, now=shop.clock.now())
    keeper.run_once(shop.clock.now())

    assert seen.status(task_id(job)) == b"SUCCESS"


def test_tasks_are_shown_as_ended_when_a_clock_that_was_ahead_is_right_again(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(store, tmp_path), Seen(store)
    keeper = KeyKeeper(seen.access, shop.engine, "a node")
    shop.clock.advance(DAY_MS)
    end_another(shop)
    keeper.run_once(shop.clock.now())

    shop.clock.set(shop.clock.now() - DAY_MS)
    job, _ = shop.tasks.create("shop", "orders")
    finish(store, succeed(claim_one(store, shop.queue, now=shop.clock.now()), shop.clock.now()), now=shop.clock.now())
    keeper.run_once(shop.clock.now())

    assert seen.status(task_id(job)) == b"SUCCESS"


def test_what_a_task_says_that_was_brought_back_is_shown_too(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(store, tmp_path), Seen(store)
    keeper = KeyKeeper(seen.access, shop.engine, "a node")
    job, _ = shop.tasks.create("shop", "orders")
    for said in ("first", "second"):
        held = claim_one(store, shop.queue, now=shop.clock.now())
        store.append_logs([log_batch(held, said, now=shop.clock.now())])
        finish(store, fail(held, shop.clock.now(), "no"), now=shop.clock.now())
        keeper.run_once(shop.clock.advance(1_000))
        shop.engine.jobs.retry(job.id)

    lines = [json.loads(one) for one in seen.access.ask("zrange", keys.logs(task_id(job)), 0, -1)]

    assert [line["message"] for line in lines if line["level"] == "info"] == ["first", "second"]


@pytest.mark.parametrize("key", ["queue", "index", "task", "logs"])
def test_a_key_that_another_program_has_is_told_once_and_the_rest_is_shown(
    store: Store, tmp_path: Path, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    shop, seen = Shop(store, tmp_path), Seen(store)
    keeper = KeyKeeper(seen.access, shop.engine, "a node")
    job, _ = shop.tasks.create("shop", "orders")
    id = task_id(job)
    foreign = {"queue": keys.QUEUE, "index": keys.index(ORDERS), "task": keys.task(id), "logs": keys.logs(id)}[key]
    seen.access.ask("set", foreign, "hello")
    held = claim_one(store, shop.queue, now=shop.clock.now())
    store.append_logs([log_batch(held, "line", now=shop.clock.now())])
    finish(store, succeed(held), now=shop.clock.now())
    other, _ = shop.tasks.create("shop", "users")

    with caplog.at_level("WARNING", "rota.sync_tasks"):
        for _ in range(3):
            keeper.run_once(shop.clock.advance(250))

    told = [vars(record) for record in caplog.records if "cannot be used" in record.getMessage()]
    assert {one["key"] for one in told} == ({keys.ANY, keys.QUEUE} if key == "queue" else {keys.ANY})
    assert len({(one["key"], one["reason"]) for one in told}) == len(told)
    assert seen.access.ask("get", foreign) == b"hello"
    assert seen.status(task_id(other)) == b"SCHEDULED"
    assert seen.access.ask("exists", keys.logs(id)) == 1
    store.delete_jobs([job.id])
    keeper.run_once(shop.clock.advance(250))


def test_a_store_that_is_away_is_not_taken_for_a_key_of_another_program(store: Store, tmp_path: Path) -> None:
    shop, seen = Shop(store, tmp_path), Seen(store)
    job, _ = shop.tasks.create("shop", "orders")
    faults = Faults(seen.access)
    faults.before("run", away)

    with pytest.raises(StoreUnavailable):
        Mirror(store, faults).show([job])  # type: ignore[arg-type]
