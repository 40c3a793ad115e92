"""The original's keys show what is, and never what was before."""

from pathlib import Path
from typing import Any

import pytest

from rota.dialects.sync_tasks.redis import keys
from rota.dialects.sync_tasks.redis.mirror import Mirror
from rota.dialects.sync_tasks.task import task_id
from rota.store import Store
from rota.store.redis.store import RedisStore
from tests.contract.building import claim_one, finish, succeed
from tests.dialects.sync_tasks.source import Shop

pytestmark = pytest.mark.stores("redis")  # the keys have no place elsewhere


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
