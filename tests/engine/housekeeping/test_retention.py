"""Retention: history keeps within its age and its count."""

import pytest

from rota.engine.definitions.definitions import Definitions
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.housekeeping.retention import AGAIN_S, EVERY_S, TOPIC_MAX_AGE_MS, Retention
from rota.errors import StoreUnavailable
from rota.model.job import JobState
from rota.model.node import NodeType
from rota.model.rate import Rate, rate_key
from rota.model.topics.topic import TopicRecord
from rota.store import Store
from rota.store.contract.queues import Stats
from rota.testing import Faults
from rota.testing.faults import away
from tests.contract.building import (
    NOW,
    claim_all,
    claim_one,
    counts,
    ended_job,
    enqueue,
    finish,
    log_batch,
    new_queue,
    spec,
    states_of,
    succeed,
)

pytestmark = pytest.mark.stores("sqlite-memory", "redis")

DAY_MS = 24 * 3600 * 1000


def retention(store: Store, *queues: str, max_age_ms: int = DAY_MS, max_count: int = 1_000_000) -> Retention:
    definitions = Definitions(store, ExecutorRegistry())
    definitions.define([NodeType(uuid=queue, name=f"queue-{n}") for n, queue in enumerate(queues)], [])
    return Retention(store, definitions, max_age_ms=max_age_ms, max_count=max_count)


def test_what_ended_too_long_ago_is_forgotten_with_its_log(store: Store) -> None:
    queue = new_queue()
    keeper = retention(store, queue)
    (old,) = enqueue(store, spec(queue))
    held = claim_one(store, queue)
    store.append_logs([log_batch(held, "a line")])
    finish(store, succeed(held))
    young = ended_job(store, queue, JobState.SUCCEEDED, now=NOW + 1)

    assert keeper.run_once(NOW + DAY_MS + 1) == AGAIN_S
    assert keeper.run_once(NOW + DAY_MS + 1) == EVERY_S

    assert states_of(store, [old, young]) == [None, JobState.SUCCEEDED]
    assert store.read_logs(old).entries == []


def test_rates_that_count_nothing_any_more_are_forgotten_also_while_nothing_is_claimed(store: Store) -> None:
    queue = new_queue()
    keeper = retention(store, queue)
    enqueue(store, spec(queue, rate_key=rate_key(Rate(1, 60_000), "k", {})))
    claim_one(store, queue)

    keeper.run_once(NOW + 60_000)

    assert store.forget_rates(queue, now=NOW + 60_000, limit=9) == 0, "nothing is left to forget"


def test_of_too_many_the_oldest_are_forgotten_whatever_they_ended_as(store: Store) -> None:
    queue = new_queue()
    keeper = retention(store, queue, max_count=2)
    ended = [
        ended_job(store, queue, state, now=NOW + n)
        for n, state in enumerate([JobState.FAILED, JobState.SUCCEEDED, JobState.CANCELLED, JobState.SUCCEEDED])
    ]

    keeper.run_once(NOW + 10)

    assert states_of(store, ended) == [None, None, JobState.CANCELLED, JobState.SUCCEEDED]


def test_live_jobs_are_never_forgotten(store: Store) -> None:
    queue = new_queue()
    keeper = retention(store, queue, max_count=0)
    running = enqueue(store, spec(queue))
    claim_one(store, queue)
    waiting = enqueue(store, spec(queue), spec(queue, run_at=NOW + 1))

    keeper.run_once(NOW + 100 * DAY_MS)

    assert None not in states_of(store, running + waiting)


def test_a_long_history_is_trimmed_in_steps_that_follow_each_other_at_once(store: Store) -> None:
    queue = new_queue()
    keeper = retention(store, queue)
    enqueue(store, *(spec(queue) for _ in range(2_100)))
    finish(store, *(succeed(held) for held in claim_all(store, queue)))

    steps = 1
    while keeper.run_once(NOW + 2 * DAY_MS) == 0.0:
        steps += 1

    assert steps == 3
    assert counts(store, queue) == {}


def test_every_queue_is_trimmed(store: Store) -> None:
    queues = [new_queue(), new_queue()]
    keeper = retention(store, *queues)
    for queue in queues:
        ended_job(store, queue, JobState.SUCCEEDED)

    keeper.run_once(NOW + 2 * DAY_MS)

    assert [counts(store, queue) for queue in queues] == [{}, {}]


def test_the_history_of_a_deleted_node_type_is_trimmed_and_the_rest_of_its_queue_goes_with_the_last(
    store: Store,
) -> None:
    kept, gone = new_queue(), new_queue()
    keeper = retention(store, kept, gone)
    for queue in (kept, gone):
        ended_job(store, queue, JobState.SUCCEEDED)
    young = ended_job(store, gone, JobState.FAILED, now=NOW + DAY_MS)
    store.delete_node_types([gone])

    keeper.run_once(NOW + DAY_MS + 1)

    assert counts(store, gone) == {JobState.FAILED: 1}
    assert store.read_totals(gone).enqueued == 2
    assert sorted(store.list_queues()) == sorted([kept, gone])

    keeper.run_once(NOW + 3 * DAY_MS)

    assert states_of(store, [young]) == [None]
    assert store.list_queues() == [kept]
    assert (store.read_totals(gone), store.read_totals(kept).enqueued) == (Stats(), 1)


def test_topics_keep_within_their_age_and_their_count(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.engine.housekeeping.retention.TOPIC_MOST_RECORDS", 3)
    monkeypatch.setattr("rota.engine.housekeeping.retention._TOPICS_AT_A_TIME", 2)
    keeper = retention(store)
    for topic in ("a", "b", "c"):
        store.append_topic(topic, [TopicRecord(id=str(n), value=n, time=NOW + n) for n in range(5)])

    assert keeper.run_once(NOW) == AGAIN_S
    assert keeper.run_once(NOW) == EVERY_S
    assert [(one.first, one.end) for one in store.list_topics(limit=9)] == [(2, 5)] * 3

    assert keeper.run_once(NOW + 3 + TOPIC_MAX_AGE_MS) == AGAIN_S
    assert [(one.first, one.end) for one in store.list_topics(limit=9)] == [(3, 5)] * 3


@pytest.mark.parametrize("call", ["trim_history", "forget_rates", "forget_queue", "trim_audit"])
def test_what_cannot_be_reached_keeps_nothing_else_waiting(store: Store, call: str) -> None:
    """On a cluster one server may be away, and with it some of the queues."""
    queues = [new_queue() for _ in range(3)]
    faults = Faults(store)
    keeper = retention(faults.store, *queues)
    ended = [ended_job(store, queue, JobState.SUCCEEDED) for queue in sorted(queues)]
    store.delete_node_types(queues[1:])
    store.append_topic("topic", [TopicRecord(id="1", value=1, time=NOW)])

    faults.before(call, away)
    with pytest.raises(StoreUnavailable):
        keeper.run_once(NOW + 2 * TOPIC_MAX_AGE_MS)

    forgotten = [state is None for state in states_of(store, ended)]
    assert forgotten == [call != "trim_history", True, True], "what is on the others"
    assert [(one.first, one.end) for one in store.list_topics(limit=9)] == [(1, 1)]
    keeper.run_once(NOW + 2 * TOPIC_MAX_AGE_MS)
    keeper.run_once(NOW + 2 * TOPIC_MAX_AGE_MS)
    assert store.list_queues() == queues[:1]
