"""Attempt tokens: whoever does not present exactly the token that holds a job does nothing to it, also if his token
looks much like it: that of a node whose name begins like the holder's, a serial that begins like it, an older one."""

import pytest
from msgspec.structs import replace

from rota.model.job import Claim, Job, JobState, make_token, node_of_token
from rota.store import Store
from rota.store.contract.claims import Renewal
from rota.store.contract.queues import Cancellation, Stats
from tests.contract.building import (
    LATER,
    NOW,
    claims_of,
    die,
    enqueue,
    fail,
    fail_and_retry,
    find,
    finish,
    interrupt,
    log_batch,
    messages_of,
    new_queue,
    spec,
    succeed,
    token_of,
)
from tests.contract.queues.waiting import quieten, waker_of

# Tokens are compared in SQL and in Lua, which the other kinds of store share.
pytestmark = pytest.mark.stores("sqlite-memory", "redis")

PAIRS = [
    ("node-12/1", "node-1/1"),
    ("node-1/1", "node-12/1"),
    ("node/12", "node/1"),
    ("node/1", "node/12"),
    ("node/2", "node/1"),
    ("node/1", "node"),
    ("node/1", ""),
]
"""The token that holds the job, and one that does not."""
pairs = pytest.mark.parametrize(("token", "other"), PAIRS)


class Held:
    """A running job, under a lock and with a unique key, and a claim of it with a token that does not hold it."""

    def __init__(self, store: Store, token: str, other: str) -> None:
        self.store, self.queue = store, new_queue()
        (self.id,) = enqueue(store, spec(self.queue, lock_key="l", unique_key="u"))
        (self.claim,) = store.claim_jobs(self.queue, token=token, limit=1, now=NOW).claims
        self.stranger: Claim = replace(self.claim, token=other)
        self.before = self.job()

    def job(self) -> Job:
        return find(self.store, self.id)

    def is_untouched(self) -> bool:
        """As it was, and its holder may still end it."""
        return self.job() == self.before and finish(self.store, succeed(self.claim)) == frozenset()


def renewal_of(store: Store, queue: str, node: str, held: dict[str, str]) -> Renewal:
    lifeline = store.lifeline(timeout_s=60)
    try:
        return lifeline.renew_claims(queue, node, held)
    finally:
        lifeline.close()


@pairs
def test_another_token_settles_nothing(store: Store, token: str, other: str) -> None:
    held = Held(store, token, other)

    for settle in (succeed, fail, fail_and_retry, interrupt, die):
        assert finish(store, settle(held.stranger)) == {held.id}, settle.__name__

    assert held.is_untouched()


@pairs
def test_another_token_settles_nothing_when_it_claims(store: Store, token: str, other: str) -> None:
    held = Held(store, token, other)

    answer = store.finish_and_claim_jobs(
        held.queue, [succeed(held.stranger)], token=token_of("claimer"), limit=9, now=NOW
    )

    assert (answer.claims, answer.refused) == ([], frozenset({held.id}))
    assert held.is_untouched()


@pairs
def test_another_token_writes_no_log_lines(store: Store, token: str, other: str) -> None:
    held = Held(store, token, other)

    refused = store.append_logs([log_batch(held.stranger, "boo"), log_batch(held.claim, "mine")])

    assert refused == {held.id}
    assert messages_of(store, held.id) == ["mine"]
    assert held.is_untouched()


@pairs
def test_a_renewal_with_another_token_has_lost_the_job(store: Store, token: str, other: str) -> None:
    held = Held(store, token, other)
    store.cancel_jobs([held.id], now=NOW)

    theirs = renewal_of(store, held.queue, node_of_token(other), {held.id: other})
    ours = renewal_of(store, held.queue, node_of_token(token), {held.id: token})

    assert theirs == Renewal([], [held.id])
    assert ours == Renewal([held.id], [])


@pairs
def test_the_recovery_of_whoever_knows_another_token(store: Store, token: str, other: str) -> None:
    held = Held(store, token, other)
    is_same_node = node_of_token(token) == node_of_token(other)

    recovered = store.recover_claims(held.queue, node_of_token(other), {held.id: other}, floor=0, now=NOW)

    # What a node does not know by its very token is a claim whose answer was lost; what others hold is theirs.
    assert recovered == (1 if is_same_node else 0)
    assert held.job().state is (JobState.QUEUED if is_same_node else JobState.RUNNING)


@pairs
def test_a_recovery_by_the_token_that_holds_the_job_leaves_it(store: Store, token: str, other: str) -> None:
    held = Held(store, token, other)

    assert store.recover_claims(held.queue, node_of_token(token), {held.id: token}, floor=0, now=NOW) == 0

    assert held.is_untouched()


@pairs
def test_a_reclaim_by_another_token_takes_nothing(store: Store, token: str, other: str) -> None:
    held = Held(store, token, other)
    for node in {node_of_token(token), node_of_token(other)}:
        renewal_of(store, held.queue, node, {})
        pulse = store.read_pulses(held.queue)[node]

        refused = store.reclaim_jobs(held.queue, [die(held.stranger)], node=node, pulse=pulse, now=LATER)

        assert refused == {held.id}
    assert held.is_untouched()


NODES = [("node-1", "node-12"), ("node-12", "node-1"), ("node", "Node"), ("0", "00"), ("n", "n0")]
"""A node, and another whose name is much like it."""
nodes = pytest.mark.parametrize(("node", "other"), NODES)


@nodes
def test_a_node_holds_and_gives_back_only_its_own_jobs(store: Store, node: str, other: str) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    (mine,) = store.claim_jobs(queue, token=make_token(node, 1), limit=1, now=NOW).claims
    (theirs,) = store.claim_jobs(queue, token=make_token(other, 1), limit=1, now=NOW).claims

    assert claims_of(store, queue, node) == [mine]
    store.leave_queue(queue, node, floor=1, now=NOW)

    assert claims_of(store, queue, other) == [theirs]
    assert store.read_pulses(queue).keys() == {other}
    assert find(store, mine.spec.id).state is JobState.QUEUED


@nodes
def test_a_pulse_and_a_floor_belong_to_one_node(store: Store, node: str, other: str) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    renewal_of(store, queue, node, {})
    renewal_of(store, queue, other, {})
    before = store.read_pulses(queue)

    store.recover_claims(queue, node, {}, floor=9, now=NOW)
    renewal_of(store, queue, node, {})
    store.forget_pulse(queue, other, pulse=store.read_pulses(queue)[node])
    (claimed,) = store.claim_jobs(queue, token=make_token(other, 1), limit=1, now=NOW).claims

    assert before[node] != before[other]
    assert store.read_pulses(queue)[other] == claimed.token


@nodes
def test_only_the_holder_is_told_of_a_cancellation(store: Store, node: str, other: str) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))
    with waker_of(store, queue, node) as mine, waker_of(store, queue, other) as theirs:
        store.claim_jobs(queue, token=make_token(node, 1), limit=1, now=NOW)
        quieten(mine)
        quieten(theirs)

        store.cancel_jobs([job_id], now=NOW)

        assert theirs.wait(0.01, wants_jobs=False) == []
        assert mine.wait(60, wants_jobs=False) == [Cancellation(job_id, make_token(node, 1))]


def test_a_settlement_for_another_queue_is_refused(store: Store) -> None:
    held, elsewhere = Held(store, "node/1", "node/2"), new_queue()
    store.cancel_jobs([held.id], now=NOW)

    for settle in (succeed, fail, fail_and_retry, interrupt):
        assert store.finish_jobs(elsewhere, [settle(held.claim)], now=NOW) == {held.id}, settle.__name__

    assert held.job().state is JobState.RUNNING
    assert store.read_totals(elsewhere) == Stats()


def test_log_lines_for_another_queue_are_refused(store: Store) -> None:
    held = Held(store, "node/1", "node/2")
    elsewhere = replace(log_batch(held.claim, "boo"), queue=new_queue())

    assert store.append_logs([elsewhere]) == {held.id}

    assert messages_of(store, held.id) == []


def test_a_renewal_on_another_queue_has_lost_the_job(store: Store) -> None:
    held = Held(store, "node/1", "node/2")

    assert renewal_of(store, new_queue(), "node", {held.id: "node/1"}) == Renewal([], [held.id])


def test_the_claims_of_a_node_are_those_of_one_queue(store: Store) -> None:
    held = Held(store, "node/1", "node/2")
    elsewhere = new_queue()

    assert claims_of(store, elsewhere, "node") == []
    assert store.recover_claims(elsewhere, "node", {}, floor=5, now=NOW) == 0
    store.leave_queue(elsewhere, "node", floor=5, now=NOW)

    assert store.read_pulses(held.queue) == {"node": "node/1"}
    assert held.is_untouched()


def test_what_is_settled_together_is_judged_each_by_its_own_token(store: Store) -> None:
    queue = new_queue()
    enqueue(store, *(spec(queue) for _ in range(4)))
    first, second, third, fourth = (
        store.claim_jobs(queue, token=f"node/{serial}", limit=1, now=NOW).claims[0] for serial in (1, 2, 3, 4)
    )

    refused = finish(store, *map(succeed, (first, replace(second, token="node/1"), third, replace(fourth, token=""))))

    assert refused == {second.spec.id, fourth.spec.id}
    assert finish(store, succeed(second), succeed(fourth)) == frozenset()
