"""Ends of jobs that some configuration waits for: each is in the outbox until it is taken."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from msgspec import structs

from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.model.runs.settlement import MOST_DEATHS
from rota.store import Store
from rota.store.redis.keys import NODE_TYPES
from tests.contract.building import (
    NOW,
    claim,
    claim_one,
    counts,
    die,
    enqueue,
    fail,
    fail_and_retry,
    finish,
    new_node,
    reclaim,
    spec,
    succeed,
    token_of,
)
from tests.contract.events.configuring import JOB_TYPE, await_ends, make_queue, outcomes
from tests.servers import RedisServer, wait_until


def test_the_end_of_a_job_that_is_waited_for_is_in_the_outbox_until_it_is_taken(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue), spec(queue, job_type=new_id(NOW)))
    told, plain = succeed(claim_one(store, queue), NOW + 5), succeed(claim_one(store, queue))

    assert finish(store, plain, told) == frozenset()

    (event,) = store.read_outbox(queue, limit=10)
    assert (event.type, event.resource, event.outcome, event.received_at) == ("JOB", "load", "succeeded", NOW + 5)
    store.clear_outbox(queue, [event])
    store.clear_outbox(queue, [event])
    assert store.read_outbox(queue, limit=10) == []


def test_every_queue_has_an_outbox_of_its_own_in_the_order_of_the_ends(store: Store) -> None:
    await_ends(store)
    queues = [make_queue(store) for _ in range(2)]
    ids: dict[str, list[str]] = {queue: [] for queue in queues}
    for n in range(6):
        queue = queues[n % 2]
        enqueue(store, spec(queue))
        one = claim_one(store, queue)
        finish(store, succeed(one, NOW + n), now=NOW + n)
        ids[queue].append(f"{one.spec.id}/{one.token}")

    for queue in queues:
        assert [each.id for each in store.read_outbox(queue, limit=10)] == ids[queue]
        assert [each.id for each in store.read_outbox(queue, limit=2)] == ids[queue][:2]
    store.clear_outbox(queues[0], store.read_outbox(queues[0], limit=2))

    assert [each.id for each in store.read_outbox(queues[0], limit=10)] == ids[queues[0]][2:]
    assert [each.id for each in store.read_outbox(queues[1], limit=10)] == ids[queues[1]]


def test_a_settlement_that_is_refused_or_repeated_tells_nothing_more(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue))
    claim = claim_one(store, queue)

    assert finish(store, succeed(structs.replace(claim, token="x/1"))) == {claim.spec.id}
    assert outcomes(store, queue) == []
    finish(store, fail(claim))
    finish(store, fail(claim))
    assert outcomes(store, queue) == ["failed"]


def test_a_job_that_returns_has_not_ended(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue))

    finish(store, fail_and_retry(claim_one(store, queue)))

    assert outcomes(store, queue) == []


def test_ends_that_the_watchdog_settles_are_events_too(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue))
    claim = structs.replace(claim_one(store, queue), deaths=MOST_DEATHS - 1)

    assert reclaim(store, die(claim), now=NOW + 1) == frozenset()

    assert outcomes(store, queue) == ["failed"]


def test_whoever_settled_jobs_before_tells_every_end_after_a_configuration_waits_for_it(
    store: Store, open_again: Callable[[], Store]
) -> None:
    queue, other = make_queue(store), open_again()
    enqueue(store, *(spec(queue) for _ in range(5)))
    finish(other, succeed(claim_one(other, queue)))  # now it knows that nobody waits
    claims = [claim_one(other, queue) for _ in range(3)]

    await_ends(store)

    finish(other, succeed(claims[0]))
    assert len(outcomes(store, queue)) == 1
    one = await_ends(store)
    claimed = other.finish_and_claim_jobs(queue, [fail(claims[1])], token=token_of(new_node()), limit=1, now=NOW)
    assert len(claimed.claims) == 1
    assert sorted(map(str, outcomes(store, queue))) == ["failed", "succeeded"]
    store.delete_configurations([one.uuid])
    finish(other, succeed(claims[2]))
    assert len(outcomes(store, queue)) == 3, "another configuration still waits"


def test_whoever_settled_jobs_before_tells_no_end_after_nobody_waits_for_it(
    store: Store, open_again: Callable[[], Store]
) -> None:
    queue, other = make_queue(store), open_again()
    one = await_ends(store)
    enqueue(store, spec(queue), spec(queue))
    finish(other, succeed(claim_one(other, queue)))

    store.delete_configurations([one.uuid])
    finish(other, succeed(claim_one(other, queue)))

    assert len(outcomes(store, queue)) == 1


def test_an_end_is_told_by_the_name_that_its_job_type_has_then(store: Store, open_again: Callable[[], Store]) -> None:
    queue, other = make_queue(store), open_again()
    await_ends(store, "unload")
    enqueue(store, spec(queue), spec(queue))
    finish(other, succeed(claim_one(other, queue)))
    assert outcomes(store, queue) == []

    store.put_job_types([JobType(uuid=JOB_TYPE, name="unload", executor="log", node_type=queue)])
    finish(other, succeed(claim_one(other, queue)))

    assert [event.resource for event in store.read_outbox(queue, limit=10)] == ["unload"]


@pytest.mark.stores("redis")  # only there do definitions and queues live apart
def test_ends_are_settled_and_told_although_a_fail_over_took_the_definitions_back_to_an_older_version(
    store: Store, open_again: Callable[[], Store], redis_server: RedisServer
) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue), spec(queue))
    with redis.Redis.from_url(redis_server.url) as client:
        client.decr(NODE_TYPES.version)
    other = open_again()

    for _ in range(2):
        finish(other, succeed(claim_one(other, queue)))

    assert len(outcomes(store, queue)) == 2


def test_no_end_is_lost_while_others_define_what_waits_for_it(store: Store, open_again: Callable[[], Store]) -> None:
    queue, jobs = make_queue(store), 60
    enqueue(store, *(spec(queue) for _ in range(jobs)))
    nodes = [open_again() for _ in range(3)]
    is_acknowledged = threading.Event()

    def end_jobs(number: int) -> int:
        """Ends jobs; returns how many of them after it could know that somebody waits."""
        told = 0
        while found := claim(nodes[number], queue, limit=1):
            told += is_acknowledged.is_set()
            finish(nodes[number], succeed(found[0]))
        return told

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(end_jobs, number) for number in range(3)]
        wait_until(lambda: counts(store, queue).get(JobState.SUCCEEDED, 0) > 5, "some jobs have ended")
        await_ends(store)
        is_acknowledged.set()
        told = sum(one.result(timeout=60) for one in running)

    assert len(store.read_outbox(queue, limit=jobs)) >= told
