"""The watchdog: what dead nodes left is settled on their behalf, by the rules of the job's type."""

from collections.abc import Callable

import pytest

from rota.clock import ManualClock
from rota.engine.definitions import Definitions
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.watchdog import Watchdog
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType, OnNodeDeath
from rota.model.node import DEAD_AFTER_MS, NodeType
from rota.model.node import Node as NodeRecord
from rota.model.settlement import POISON_DEATHS
from rota.store import Store
from tests.contract.building import (
    NOW,
    claim,
    claim_one,
    counts,
    enqueue,
    find,
    finish,
    new_node,
    spec,
    state_of,
    succeed,
)

pytestmark = pytest.mark.stores("sqlite-memory", "redis")

QUEUE = new_id(NOW)
SECOND_QUEUE = new_id(NOW)
GOES_BACK = new_id(NOW)
FAILS = new_id(NOW)

Round = Callable[[], float]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def definitions(store: Store) -> Definitions:
    made = Definitions(store, ExecutorRegistry())
    made.define(
        [NodeType(uuid=QUEUE, name="default"), NodeType(uuid=SECOND_QUEUE, name="second")],
        [
            JobType(uuid=GOES_BACK, name="goes_back", executor="log"),
            JobType(uuid=FAILS, name="fails", executor="log", on_node_death=OnNodeDeath.FAIL),
        ],
    )
    return made


@pytest.fixture
def watch(store: Store, definitions: Definitions, clock: ManualClock) -> Round:
    """One round of a watchdog at the present time."""
    watchdog = Watchdog(store, definitions)
    return lambda: watchdog.run_once(clock.now())


def run_on_a_node_that_dies(store: Store, clock: ManualClock, watch: Round) -> None:
    claim_one(store, QUEUE, lease_ms=DEAD_AFTER_MS, now=clock.now())
    clock.advance(DEAD_AFTER_MS)
    watch()


def test_a_living_nodes_jobs_are_left_to_it(store: Store, clock: ManualClock, watch: Round) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=GOES_BACK))
    claim_one(store, QUEUE, lease_ms=DEAD_AFTER_MS)
    clock.advance(DEAD_AFTER_MS - 1)

    watch()

    assert state_of(store, job_id) is JobState.RUNNING


def test_a_dead_nodes_job_goes_back_and_only_the_death_counts(store: Store, clock: ManualClock, watch: Round) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=GOES_BACK))

    run_on_a_node_that_dies(store, clock, watch)

    job = find(store, job_id)
    assert job.state is JobState.QUEUED
    assert job.attempts == 0
    assert job.deaths == 1


def test_a_dead_nodes_job_fails_if_its_type_says_so(store: Store, clock: ManualClock, watch: Round) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=FAILS))

    run_on_a_node_that_dies(store, clock, watch)

    job = find(store, job_id)
    assert job.state is JobState.FAILED
    assert isinstance(job.errors, dict)
    assert job.errors["type"] == "node_lost"
    assert job.deaths == 1


def test_a_job_of_a_type_that_is_gone_goes_back(store: Store, clock: ManualClock, watch: Round) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=new_id(NOW)))

    run_on_a_node_that_dies(store, clock, watch)

    assert state_of(store, job_id) is JobState.QUEUED


def test_a_job_that_outlived_its_nodes_too_often_is_quarantined(store: Store, clock: ManualClock, watch: Round) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=GOES_BACK))

    for deaths in range(1, POISON_DEATHS):
        run_on_a_node_that_dies(store, clock, watch)
        assert find(store, job_id).deaths == deaths
        assert state_of(store, job_id) is JobState.QUEUED
    run_on_a_node_that_dies(store, clock, watch)

    job = find(store, job_id)
    assert job.state is JobState.FAILED
    assert isinstance(job.errors, dict)
    assert job.errors["type"] == "poison"
    assert job.deaths == POISON_DEATHS


def test_a_rule_that_was_changed_a_moment_ago_is_obeyed(
    store: Store, definitions: Definitions, clock: ManualClock, watch: Round
) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=GOES_BACK))
    watch()
    elsewhere = Definitions(store, ExecutorRegistry())
    elsewhere.define_job_type(JobType(uuid=GOES_BACK, name="goes_back", executor="log", on_node_death=OnNodeDeath.FAIL))

    run_on_a_node_that_dies(store, clock, watch)

    assert state_of(store, job_id) is JobState.FAILED


def test_a_node_that_renewed_its_lease_keeps_its_jobs(store: Store, clock: ManualClock, watch: Round) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=GOES_BACK))
    node = new_node()
    held = claim_one(store, QUEUE, node=node, lease_ms=DEAD_AFTER_MS)
    clock.advance(DEAD_AFTER_MS)

    store.renew_claims(QUEUE, node, {job_id: held.token}, lease_ms=DEAD_AFTER_MS, now=clock.now())
    watch()

    assert state_of(store, job_id) is JobState.RUNNING
    assert finish(store, succeed(held, clock.now()), now=clock.now()) == frozenset()


def test_a_node_that_was_only_slow_cannot_end_a_job_that_was_taken_from_it(
    store: Store, clock: ManualClock, watch: Round
) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=GOES_BACK))
    slow = claim_one(store, QUEUE, lease_ms=DEAD_AFTER_MS)
    clock.advance(DEAD_AFTER_MS)
    watch()
    now = clock.now()
    second = claim_one(store, QUEUE, now=now)

    refused = finish(store, succeed(slow, now, results="too late"), now=now)

    assert refused == {job_id}
    assert finish(store, succeed(second, now, results="in time"), now=now) == frozenset()
    assert find(store, job_id).results == "in time"


def test_claims_without_any_lease_are_taken_back(store: Store, watch: Round) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=GOES_BACK))
    node = new_node()
    claim_one(store, QUEUE, node=node, lease_ms=DEAD_AFTER_MS)
    store.drop_lease(QUEUE, node)

    watch()

    assert state_of(store, job_id) is JobState.QUEUED


def test_every_queue_is_watched(store: Store, clock: ManualClock, watch: Round) -> None:
    ids = enqueue(store, spec(QUEUE, job_type=GOES_BACK), spec(SECOND_QUEUE, job_type=GOES_BACK))
    claim(store, QUEUE, lease_ms=DEAD_AFTER_MS)
    claim(store, SECOND_QUEUE, lease_ms=DEAD_AFTER_MS)
    clock.advance(DEAD_AFTER_MS)

    watch()

    assert [state_of(store, job_id) for job_id in ids] == [JobState.QUEUED] * 2


def test_a_round_that_leaves_something_is_followed_by_another_at_once(
    store: Store, clock: ManualClock, watch: Round
) -> None:
    enqueue(store, *(spec(QUEUE, job_type=GOES_BACK) for _ in range(1_200)))
    assert len(claim(store, QUEUE, limit=1_000, lease_ms=DEAD_AFTER_MS)) == 1_000
    clock.advance(DEAD_AFTER_MS)

    rounds = 1
    while watch() == 0.0:
        rounds += 1

    assert rounds == 3
    assert counts(store, QUEUE) == {JobState.QUEUED: 1_200}


def test_with_nothing_to_do_a_tenth_of_the_lease_passes_between_two_rounds(
    store: Store, definitions: Definitions, watch: Round
) -> None:
    assert watch() == pytest.approx(2.0)
    assert Watchdog(store, definitions, dead_after_ms=1_000).run_once(NOW) == pytest.approx(0.1)


def test_a_dead_node_is_shown_for_a_while_and_then_forgotten(store: Store, clock: ManualClock, watch: Round) -> None:
    store.beat(NodeRecord(uuid=new_node(), node_type=QUEUE, last_ping=NOW))

    clock.advance(10 * DEAD_AFTER_MS)
    watch()
    assert len(store.list_nodes(since=0)) == 1

    clock.advance(1)
    watch()
    assert store.list_nodes(since=0) == []


def test_two_watchdogs_count_a_death_once(
    store: Store, definitions: Definitions, clock: ManualClock, watch: Round
) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=GOES_BACK))
    other = Watchdog(store, definitions)

    run_on_a_node_that_dies(store, clock, watch)
    other.run_once(clock.now())

    assert find(store, job_id).deaths == 1
