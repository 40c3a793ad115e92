"""Ends of jobs that some configuration waits for: each is in the outbox until it is taken."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
from msgspec import structs

from rota.model.flows.flow import Flow, FlowCall, Stage
from rota.model.ids import new_id
from rota.model.job import Claim, JobSpec, JobState, node_of_token
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.runs.settlement import MOST_DEATHS, job_of_event
from rota.store import Store
from rota.store.contract.jobs import CancelAnswer
from rota.store.contract.schedules import Firing
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
    interrupt,
    new_node,
    new_queue,
    reclaim,
    spec,
    succeed,
    token_of,
)
from tests.contract.events.configuring import JOB_TYPE, await_ends, make_queue, outcomes
from tests.contract.schedules.scheduling import firing, schedule, tick
from tests.contract.schedules.scheduling import put as put_schedule
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


def put_back_by_finish(store: Store, one: Claim) -> None:
    assert finish(store, interrupt(one)) == frozenset()


def put_back_by_retry(store: Store, one: Claim) -> None:
    assert finish(store, fail_and_retry(one)) == frozenset()


def put_back_by_the_watchdog(store: Store, one: Claim) -> None:
    assert reclaim(store, die(one)) == frozenset()


def put_back_by_recovery(store: Store, one: Claim) -> None:
    assert store.recover_claims(one.spec.queue, node_of_token(one.token), {}, floor=0, now=NOW) == 1


def put_back_by_leaving(store: Store, one: Claim) -> None:
    store.leave_queue(one.spec.queue, node_of_token(one.token), floor=0, now=NOW)


WAYS_BACK = [
    put_back_by_finish,
    put_back_by_retry,
    put_back_by_the_watchdog,
    put_back_by_recovery,
    put_back_by_leaving,
]
FLOW = Flow(id=new_id(NOW), made_at=NOW, rest=(Stage(calls=(FlowCall(job_type="load"),)),))


@pytest.mark.parametrize("put_back", WAYS_BACK)
@pytest.mark.parametrize("is_cancelled", [True, False])
def test_a_job_that_is_cancelled_on_its_way_back_has_ended(
    store: Store, put_back: Callable[[Store, Claim], None], is_cancelled: bool
) -> None:
    queue = make_queue(store)
    await_ends(store)
    enqueue(store, spec(queue))
    one = claim_one(store, queue)
    if is_cancelled:
        store.cancel_jobs([one.spec.id], now=NOW)

    put_back(store, one)

    assert outcomes(store, queue) == (["cancelled"] if is_cancelled else [])


@pytest.mark.parametrize("put_back", WAYS_BACK)
def test_a_flow_hears_of_a_job_that_is_cancelled_on_its_way_back(
    store: Store, put_back: Callable[[Store, Claim], None]
) -> None:
    queue = make_queue(store)
    enqueue(store, structs.replace(spec(queue), flow=FLOW), spec(queue))
    both = [claim_one(store, queue), claim_one(store, queue)]
    store.cancel_jobs([one.spec.id for one in both], now=NOW)

    for one in both:
        put_back(store, one)

    told = [job_of_event(event) for event in store.read_outbox(queue, limit=10)]
    assert told == [one.spec.id for one in both if one.spec.flow]


@pytest.mark.parametrize("put_back", WAYS_BACK)
def test_whoever_put_jobs_back_before_tells_every_end_after_a_configuration_waits_for_it(
    store: Store, open_again: Callable[[], Store], put_back: Callable[[Store, Claim], None]
) -> None:
    queue, other = make_queue(store), open_again()
    enqueue(store, spec(queue), spec(queue), spec(queue))
    first, second = claim_one(other, queue), claim_one(other, queue)
    store.cancel_jobs([first.spec.id, second.spec.id], now=NOW)
    put_back(other, first)
    other.cancel_jobs([claim_one(store, queue).spec.id], now=NOW)  # now it knows that nobody waits

    await_ends(store)
    put_back(other, second)

    assert [job_of_event(event) for event in store.read_outbox(queue, limit=10)] == [second.spec.id]


def test_a_job_that_is_cancelled_while_it_waits_has_ended(store: Store, open_again: Callable[[], Store]) -> None:
    queue, other = make_queue(store), open_again()
    queued, delayed, before = spec(queue), spec(queue, run_at=NOW + 60_000), spec(queue)
    enqueue(store, queued, delayed, before)
    other.cancel_jobs([before.id], now=NOW)  # now it knows that nobody waits
    await_ends(store)

    other.cancel_jobs([queued.id, delayed.id], now=NOW)
    other.cancel_jobs([queued.id, delayed.id], now=NOW + 1)

    events = store.read_outbox(queue, limit=10)
    assert {job_of_event(event) for event in events} == {queued.id, delayed.id}
    assert [event.outcome for event in events] == ["cancelled", "cancelled"]
    assert store.retry_jobs([queued.id], now=NOW + 2) == [True]
    store.cancel_jobs([queued.id], now=NOW + 3)
    ids = {event.id for event in store.read_outbox(queue, limit=10)}
    assert len(ids) == 3, "each end is an event of its own"


def test_an_expired_job_that_gives_its_unique_key_to_another_has_ended(store: Store) -> None:
    queue = make_queue(store)
    await_ends(store)
    old = structs.replace(spec(queue, unique_key="k"), expires_at=NOW + 1)
    enqueue(store, old)

    enqueue(store, spec(queue, unique_key="k"), now=NOW + 1)

    (event,) = store.read_outbox(queue, limit=10)
    assert (job_of_event(event), event.outcome, event.received_at) == (old.id, "cancelled", NOW + 1)


def test_a_waiting_job_that_gives_way_to_the_next_of_its_schedule_has_ended(
    store: Store, open_again: Callable[[], Store]
) -> None:
    queue, other = make_queue(store), open_again()
    entry = put_schedule(store, schedule(queue))
    old, running, new = spec(queue), spec(queue), spec(queue)
    enqueue(store, running)
    claim_one(store, queue)
    enqueue(store, old)
    other.fire_schedules(queue, [firing(entry)], now=NOW)
    other.cancel_jobs([running.id], now=NOW)  # now it knows that nobody waits
    await_ends(store)
    state = structs.replace(entry.state, version=3)
    giving_way = Firing(entry.schedule, 2, state, (tick(NOW + 1, new.id),), (new,), cancels=(old.id, running.id))

    assert other.fire_schedules(queue, [giving_way], now=NOW) == [True]

    assert [job_of_event(event) for event in store.read_outbox(queue, limit=10)] == [old.id]
    assert outcomes(store, queue) == ["cancelled"]


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


def end_by_cancelling(store: Store, job: JobSpec) -> None:
    assert store.cancel_jobs([job.id], now=NOW) == [CancelAnswer.CANCELLED]


def end_by_settling(store: Store, job: JobSpec) -> None:
    assert finish(store, succeed(claim_one(store, job.queue))) == frozenset()


def end_by_settling_with_a_claim(store: Store, job: JobSpec) -> None:
    ended = succeed(claim_one(store, job.queue))
    answer = store.finish_and_claim_jobs(job.queue, [ended], token=token_of(new_node()), limit=1, now=NOW)
    assert answer.refused == frozenset()


@pytest.mark.parametrize("has_node_type", [True, False])
@pytest.mark.parametrize("end", [end_by_cancelling, end_by_settling, end_by_settling_with_a_claim])
def test_whoever_ended_jobs_before_tells_every_end_in_a_queue_that_is_made_after_the_configuration(
    store: Store, open_again: Callable[[], Store], end: Callable[[Store, JobSpec], None], has_node_type: bool
) -> None:
    other, before, after = open_again(), spec(make_queue(store)), spec(new_queue())
    enqueue(store, before)
    end(other, before)  # now it knows that nobody waits
    await_ends(store)

    if has_node_type:
        store.put_node_types([NodeType(uuid=after.queue, name=after.queue)])
    enqueue(store, after)
    end(other, after)

    assert [job_of_event(event) for event in store.read_outbox(after.queue, limit=10)] == [after.id]


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
