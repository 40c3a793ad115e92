"""What other programs put into the queue key: each is taken in its turn, whatever lies before it."""

from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from rota.dialects.sync_tasks.names import Collection
from rota.dialects.sync_tasks.redis import adoption, keys
from rota.dialects.sync_tasks.redis.adoption import BATCH, PATIENCE_MS
from rota.dialects.sync_tasks.redis.dialect import KeyKeeper
from rota.dialects.sync_tasks.sources import Sources
from rota.dialects.sync_tasks.task import foreign_job_id, task_of
from rota.dialects.sync_tasks.times import iso
from rota.errors import StoreError, StoreFull, StoreUnavailable
from rota.store import Store
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.store import RedisStore
from rota.testing import Faults
from tests.dialects.sync_tasks.source import Shop

pytestmark = pytest.mark.stores("redis")  # the keys have no place elsewhere

SCORE = 300 * 10**12
NAMES = ["orders", "users", *(f"c{n}" for n in range(BATCH))]
YAML = f"""
sources:
  shop:
    executor: bash
    metadata: {{command: "true"}}
    collections: [{", ".join(f"{{name: {name}}}" for name in NAMES)}]
"""


class Others:
    """Another program, on the same Redis as a node."""

    def __init__(self, store: Store, folder: Path) -> None:
        assert isinstance(store, RedisStore)
        self.access = store.access()
        self.faults = Faults(self.access)
        """Of the node's own access."""
        self.shop = Shop(store, folder, YAML)
        self.keeper = KeyKeeper(cast(RedisAccess, self.faults), self.shop.engine, "a node")

    def push(self, id: str | bytes, collection: str, *, rank: int = 0) -> None:
        """As the original does: the hash, and then the queue."""
        name = b"sync_tasks#" + (id if isinstance(id, bytes) else id.encode())
        fields = {"source": "shop", "collection": collection, "created_at": iso(self.shop.clock.now())}
        self.access.ask("hset", name, mapping=fields)
        self.access.ask("zadd", keys.QUEUE, {id: SCORE - rank})

    def look(self, ms: int = 250) -> None:
        """A round of the node, so much later."""
        self.keeper.run_once(self.shop.clock.advance(ms))

    def is_taken(self, id: str) -> bool:
        return self.shop.store.find_jobs([foreign_job_id(id)])[0] is not None

    @property
    def waiting(self) -> list[bytes]:
        found: list[bytes] = self.access.ask("zrevrange", keys.QUEUE, 0, -1)
        return found

    @property
    def dead(self) -> list[Any]:
        return [msgspec.json.decode(one) for one in self.access.ask("lrange", keys.DEAD, 0, -1)]


@pytest.fixture
def others(store: Store, tmp_path: Path) -> Others:
    return Others(store, tmp_path)


def test_a_task_is_taken_however_many_wait_before_it_for_a_busy_collection(others: Others) -> None:
    others.shop.tasks.create("shop", "orders")
    for n in range(2 * BATCH):
        others.push(f"of a busy one {n}", "orders", rank=n)
    others.push("behind them", "users", rank=2 * BATCH)

    for _ in range(3):
        others.look()

    assert others.is_taken("behind them")
    assert not others.is_taken("of a busy one 0")
    assert len(others.waiting) == 2 * BATCH + 2  # and the two of Rota's own


def test_a_task_is_taken_however_many_collections_are_busy_before_it(others: Others) -> None:
    for n in range(BATCH):
        others.shop.tasks.create("shop", f"c{n}")
        others.push(f"of a busy one {n}", f"c{n}", rank=n)
    others.push("behind them", "users", rank=BATCH)

    for _ in range(2):
        others.look()

    assert others.is_taken("behind them")


def test_an_id_that_is_no_text_is_taken_out_and_kept_among_the_dead(others: Others) -> None:
    for id in (b"caf\xe9", b"caf\xe8"):
        others.push(id, "orders")
    others.push("next", "users", rank=1)

    others.look()
    others.look(PATIENCE_MS)

    assert [id for id in others.waiting if b"caf" in id] == []
    assert [one["reason"] for one in others.dead] == ["task: its id is not UTF-8"] * 2
    assert others.is_taken("next")


def test_an_id_that_is_too_long_for_a_job_stops_no_other(others: Others) -> None:
    others.push("x" * 10_000, "orders")
    others.push("next", "users", rank=1)

    others.look()

    assert others.is_taken("next")
    assert [one["id"] for one in others.dead] == ["x" * 10_000]


def test_whoever_queues_a_task_before_its_fields_has_five_seconds_for_them(others: Others) -> None:
    assert PATIENCE_MS == 5_000
    others.access.ask("zadd", keys.QUEUE, {"slow": SCORE, "never": SCORE})
    others.look()
    others.look(4_999)
    assert others.dead == []

    others.push("slow", "orders")
    others.look(1)

    assert [(one["id"], one["reason"]) for one in others.dead] == [("never", "task: there is no hash sync_tasks#never")]
    assert others.is_taken("slow")


@pytest.mark.parametrize("trouble", [StoreUnavailable, StoreFull])
def test_a_store_that_is_away_at_any_step_of_a_round_makes_no_dead_letter(
    others: Others, trouble: type[StoreError]
) -> None:
    others.look()  # what is done once is done
    others.push("first", "orders")
    calls = others.faults.calls
    calls.clear()
    others.look()
    steps = [(name, number) for name in ("ask", "run") for number in range(calls.count(name))]
    assert others.is_taken("first")
    assert len(steps) > 2

    def fail() -> None:
        raise trouble("the store has trouble")

    for tried, (name, number) in enumerate(steps):
        others.push(f"task {tried}", f"c{tried}")
        others.faults.before(name, *[lambda: None] * number, fail)
        with pytest.raises(trouble):
            others.look()
        others.look()

        assert others.dead == []
        assert others.is_taken(f"task {tried}")


def test_a_task_has_the_priority_of_its_score(others: Others) -> None:
    others.push("low", "orders", rank=SCORE - 100 * 10**12 + 1)
    others.push("high", "users")

    others.look()

    jobs = others.shop.store.find_jobs([foreign_job_id("low"), foreign_job_id("high")])
    assert [job.spec.priority for job in jobs if job] == [100, 300]


def test_of_two_tasks_of_a_collection_one_is_taken_at_a_time(others: Others) -> None:
    others.push("first", "orders")
    others.push("second", "orders", rank=1)

    for _ in range(2):
        others.look()
        assert (others.is_taken("first"), others.is_taken("second")) == (True, False)
    assert others.dead == []


def test_of_the_dead_only_the_latest_are_kept(others: Others, monkeypatch: pytest.MonkeyPatch) -> None:
    assert adoption.MOST_DEAD == 10_000
    monkeypatch.setattr(adoption, "MOST_DEAD", 2)
    for rank in range(3):
        others.push(f"bad {rank}", "unheard of", rank=rank)

    others.look()

    assert [one["id"] for one in others.dead] == ["bad 1", "bad 2"]


def test_what_somebody_takes_away_before_it_is_put_aside_is_no_dead_letter(others: Others) -> None:
    others.push("bad", "unheard of")
    others.faults.before("run", *[lambda: others.access.ask("zrem", keys.QUEUE, "bad")] * 5)

    others.look()

    assert (others.waiting, others.dead) == ([], [])
    assert others.access.ask("hget", "sync_tasks#bad", "status") is None


def test_a_task_of_another_program_has_the_same_creation_wherever_it_is_told(others: Others) -> None:
    created = iso(others.shop.clock.now())
    others.push("theirs", "orders")

    others.look(90_000)

    (shown,) = Sources(others.shop.engine).shown([Collection("shop", "orders")], last=1)
    assert [one.created_at for one in shown.tasks] == [created]
    assert task_of(others.shop.tasks.find("theirs")).created_at == created
