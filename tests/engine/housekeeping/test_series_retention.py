"""A job type may bound its own history: the oldest ended jobs of its last series go first."""

import itertools
from functools import partial
from itertools import takewhile

import pytest
from msgspec import structs

from rota.clock import ManualClock
from rota.engine.engine import Engine
from rota.engine.housekeeping.retention import EVERY_S, Retention
from rota.engine.jobs.intake import JobRequest
from rota.errors import StoreUnavailable
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store import Store
from rota.store.sqlite.nouns import history
from tests.conftest import OpenStore
from tests.contract.building import claim_one, finish, log_batch, messages_of, succeed
from tests.contract.steps import run_with

_FOR_EVER = 10**12


def test_only_the_latest_of_a_bounded_type_are_kept(store: Store) -> None:
    clock = ManualClock(store.now())
    engine = Engine(store, clock)
    queue = new_id(clock.now())
    bounded = JobType(uuid=new_id(1), name="bounded", executor="log", series=("all", "own"), history_max_count=3)
    other = structs.replace(bounded, uuid=new_id(2), name="other", series=("all", "other"), history_max_count=None)
    engine.definitions.define([NodeType(uuid=queue, name="default")], [bounded, other])
    ids = []
    for name in ["bounded"] * 5 + ["other"] * 5:
        clock.advance(100)
        ids.append(engine.intake.enqueue([JobRequest(job_type=name)])[0].job_id)
        finish(store, succeed(claim_one(store, queue, now=clock.now())), now=clock.now())
    waiting = engine.intake.enqueue([JobRequest(job_type="bounded")])[0].job_id
    retention = Retention(store, engine.definitions, max_age_ms=_FOR_EVER, max_count=1_000)

    retention.run_once(clock.now())

    assert [job.id for job in store.list_series(queue, "own", limit=10)] == [*ids[3:5], waiting]
    assert store.count_series(queue, "other") == 5
    assert store.count_series(queue, "all") == 8


def test_of_a_bounded_type_all_are_kept_while_a_flow_of_their_queue_cannot_go_on(store: Store) -> None:
    clock = ManualClock(store.now())
    engine = Engine(store, clock)
    queue = new_id(clock.now())
    bounded = JobType(uuid=new_id(1), name="bounded", executor="log", series=("own",), history_max_count=0)
    engine.definitions.define([NodeType(uuid=queue, name="default")], [bounded])
    engine.intake.enqueue([JobRequest(job_type="bounded")])
    finish(store, succeed(claim_one(store, queue, now=clock.now())), now=clock.now())

    def be_away(now: int) -> None:
        raise StoreUnavailable("the store is away")

    bounds = {"max_age_ms": _FOR_EVER, "max_count": 1_000}
    held = Retention(store, engine.definitions, take_flows=be_away, flow_queues=lambda now: [queue], **bounds)  # type: ignore[arg-type]
    with pytest.raises(StoreUnavailable):
        held.run_once(clock.now())
    assert store.count_series(queue, "own") == 1

    Retention(store, engine.definitions, **bounds).run_once(clock.now())  # type: ignore[arg-type]
    assert store.count_series(queue, "own") == 0


@pytest.mark.stores("redis")  # which takes a step for each question
def test_nodes_that_trim_at_once_keep_as_many_as_a_bounded_type_says(store: Store, open_again: OpenStore) -> None:
    clock, other = ManualClock(store.now()), open_again()
    engine = Engine(store, clock)
    queue = new_id(clock.now())
    bounded = JobType(uuid=new_id(1), name="bounded", executor="log", series=("own",), history_max_count=3)
    engine.definitions.define([NodeType(uuid=queue, name="default")], [bounded])
    first, second = (
        Retention(one, Engine(one, clock).definitions, max_age_ms=_FOR_EVER, max_count=1_000) for one in (store, other)
    )
    for number in itertools.count():
        for _ in range(5):
            clock.advance(100)
            engine.intake.enqueue([JobRequest(job_type="bounded")])
            finish(store, succeed(claim_one(store, queue, now=clock.now())), now=clock.now())
        now = clock.now()

        ran = run_with(store, number, partial(first.run_once, now), before=partial(second.run_once, now))

        assert store.count_series(queue, "own") == 3, f"another trimmed before step {number}"
        if not ran.is_reached:
            break


def test_logs_of_a_type_are_forgotten_at_their_age_and_its_jobs_stay(store: Store) -> None:
    clock = ManualClock(store.now())
    engine = Engine(store, clock)
    queue = new_id(clock.now())
    aging = JobType(uuid=new_id(1), name="aging", executor="log", series=("all", "own"), log_max_age_ms=10_000)
    other = structs.replace(aging, uuid=new_id(2), name="other", series=("all", "other"), log_max_age_ms=None)
    engine.definitions.define([NodeType(uuid=queue, name="default")], [aging, other])
    retention = Retention(store, engine.definitions, max_age_ms=_FOR_EVER, max_count=1_000)

    def run(name: str) -> str:
        id = engine.intake.enqueue([JobRequest(job_type=name)])[0].job_id
        held = claim_one(store, queue, now=clock.now())
        store.append_logs([log_batch(held, "line")])
        finish(store, succeed(held, clock.now()), now=clock.now())
        return id

    first, other_one = run("aging"), run("other")
    clock.advance(6_000)
    second = run("aging")
    clock.advance(4_000)
    retention.run_once(clock.now())
    assert [messages_of(store, one) for one in (first, second)] == [["line"]] * 2, "not older than its age"

    clock.advance(1)
    retention.run_once(clock.now())
    assert [messages_of(store, one) for one in (first, second, other_one)] == [[], ["line"], ["line"]]

    clock.advance(6_000)
    retention.run_once(clock.now())
    assert [messages_of(store, one) for one in (first, second, other_one)] == [[], [], ["line"]]
    assert store.count_series(queue, "own") == 2


def test_logs_that_take_long_to_forget_are_forgotten_over_several_rounds(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the store that has one writer. A round that was not done is soon followed by the next."""
    monkeypatch.setattr(history, "STEP_JOBS", 1)
    monkeypatch.setattr(history, "STEP_LINES", 3)
    monkeypatch.setattr(history, "CALL_PIECES", 1)
    clock = ManualClock(store.now())
    engine = Engine(store, clock)
    queue = new_id(clock.now())
    aging = JobType(uuid=new_id(1), name="aging", executor="log", series=("own",), log_max_age_ms=1)
    engine.definitions.define([NodeType(uuid=queue, name="default")], [aging])
    ids = []
    for _ in range(3):
        ids.append(engine.intake.enqueue([JobRequest(job_type="aging")])[0].job_id)
        held = claim_one(store, queue, now=clock.now())
        store.append_logs([log_batch(held, "line") for _ in range(5)])
        finish(store, succeed(held, clock.now()), now=clock.now())
    clock.advance(1_000)
    retention = Retention(store, engine.definitions, max_age_ms=_FOR_EVER, max_count=1_000)

    rounds = list(takewhile(lambda wait_s: wait_s < EVERY_S, (retention.run_once(clock.now()) for _ in range(20))))

    assert len(rounds) < 20
    assert [messages_of(store, one) for one in ids] == [[]] * 3


def test_the_log_of_a_job_that_runs_is_never_too_old(store: Store) -> None:
    clock = ManualClock(store.now())
    engine = Engine(store, clock)
    queue = new_id(clock.now())
    aging = JobType(uuid=new_id(1), name="aging", executor="log", series=("own",), log_max_age_ms=1)
    engine.definitions.define([NodeType(uuid=queue, name="default")], [aging])
    id = engine.intake.enqueue([JobRequest(job_type="aging")])[0].job_id
    held = claim_one(store, queue, now=clock.now())
    store.append_logs([log_batch(held, "line")])
    clock.advance(1_000_000)

    Retention(store, engine.definitions, max_age_ms=_FOR_EVER, max_count=1_000).run_once(clock.now())

    assert messages_of(store, id) == ["line"]
