"""A Redis whose memory is full takes no new jobs, but hears the end of those that it gave out."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import pytest
from msgspec import structs

from rota.errors import StoreError, StoreFull
from rota.model.ids import new_id
from rota.model.job import Claim, JobSpec, JobState
from rota.model.node import Node
from rota.store import Store, open_store
from rota.store.contract.jobs import CancelAnswer
from rota.store.contract.queues import Cancellation
from rota.store.redis.keys import QueueKeys
from tests.contract.building import (
    LATER,
    NOW,
    beat,
    claim,
    claim_all,
    claim_one,
    counts,
    enqueue,
    fail_and_retry,
    finish,
    given,
    interrupt,
    log_batch,
    new_node,
    new_queue,
    renew,
    spec,
    state_of,
    succeed,
)
from tests.contract.steps import lose_answer, run_with
from tests.ports import HOST
from tests.servers import RedisCluster, RedisServer, raw_command, wait_until


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def store(server: RedisServer) -> Iterator[Store]:
    opened = open_store(server.url)
    yield opened
    opened.close()


def fill(server: RedisServer) -> None:
    """From now on the server has more in memory than it may have."""
    raw_command(server.port, "CONFIG", "SET", "maxmemory", 1)


def claimed(store: Store, queue: str, count: int, *, node: str | None = None) -> list[Claim]:
    enqueue(store, *(spec(queue) for _ in range(count)))
    return claim(store, queue, node=node)


def test_no_job_is_accepted_and_the_error_says_that_the_store_is_full(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    fill(server)

    with pytest.raises(StoreFull, match="of 2 jobs 0 were accepted"):
        enqueue(store, spec(queue), spec(queue))

    assert counts(store, queue) == {JobState.QUEUED: 1}


def test_many_jobs_are_accepted_whole_or_not_at_all(server: RedisServer, store: Store) -> None:
    queue, many = new_queue(), 10_000
    used = int(server.info("memory")["used_memory"])
    raw_command(server.port, "CONFIG", "SET", "maxmemory", used + 12_000_000)

    def enqueue_for_ever() -> None:
        while True:
            enqueue(store, *(spec(queue, unique_key=new_id(NOW)) for _ in range(many)))

    with pytest.raises(StoreFull, match="of 10000 jobs 0 were accepted"):
        enqueue_for_ever()

    accepted = counts(store, queue)[JobState.QUEUED]
    assert accepted > 0
    assert accepted % many == 0


def test_an_error_says_what_was_accepted_if_one_shard_of_a_cluster_is_full(redis_cluster: RedisCluster) -> None:
    store = open_store(redis_cluster.url)
    with_room, full = new_queue(), new_queue()
    while _shard_of(redis_cluster, full) is _shard_of(redis_cluster, with_room):
        full = new_queue()
    enqueue(store, spec(with_room), spec(full))
    raw_command(_shard_of(redis_cluster, full).port, "CONFIG", "SET", "maxmemory", 1)

    with pytest.raises(StoreFull, match="of 2 jobs 1 were accepted"):
        enqueue(store, spec(with_room), spec(full))

    raw_command(_shard_of(redis_cluster, full).port, "CONFIG", "SET", "maxmemory", 0)
    assert [counts(store, queue)[JobState.QUEUED] for queue in (with_room, full)] == [2, 1]
    store.close()


def _shard_of(cluster: RedisCluster, queue: str) -> RedisServer:
    return cluster.server_of(QueueKeys(queue).jobs)


def plain_jobs() -> list[JobSpec]:
    """For two queues."""
    return [spec(queue) for queue in (new_queue(), new_queue()) for _ in range(2)]


def jobs_with_own_ids() -> list[JobSpec]:
    """For two queues; their ids are looked for in all."""
    return [structs.replace(one, has_own_id=True) for one in plain_jobs()]


def jobs_after_expired_ones() -> list[JobSpec]:
    """Two of them have a key that a job may have which did not begin in time."""
    queue = new_queue()
    return [spec(queue, now=LATER, unique_key=key) for key in ("a", None, "b")]


def refuse_for_memory(server: RedisServer) -> Callable[[], object]:
    """The server refuses from now on what needs memory, until that is called which this returns."""
    fill(server)
    return lambda: raw_command(server.port, "CONFIG", "SET", "maxmemory", 0)


def refuse_for_replicas(server: RedisServer) -> Callable[[], object]:
    """The same with every write."""
    raw_command(server.port, "CONFIG", "SET", "min-replicas-to-write", 5)
    return lambda: raw_command(server.port, "CONFIG", "SET", "min-replicas-to-write", 0)


Refusal = Callable[[], Callable[[], object]]


def answer_of(store: Store, specs: Sequence[JobSpec]) -> Callable[[], str]:
    """Enqueues, and tells what was said."""

    def enqueue_now() -> str:
        try:
            return str(len(enqueue(store, *specs, now=LATER)))
        except StoreError as error:
            return str(error)

    return enqueue_now


def is_true_of(told: str, accepted: int, specs: Sequence[JobSpec]) -> bool:
    """Whether what was said of an enqueue fits what is there now; nothing may have been said of it at all."""
    if told == str(len(specs)) or "written, but" in told:
        return accepted == len(specs)
    if found := re.search(rf"of {len(specs)} jobs (\d+) were accepted", told):
        return accepted == int(found[1])
    return "written" not in told and "accepted" not in told


@pytest.fixture
def followed(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store whose enqueues wait for the replica of its server."""
    monkeypatch.setattr("rota.store.redis.link.link._REPLICA_PATIENCE_MS", 60_000)
    with RedisServer({"replicaof": f"{HOST} {server.port}"}):
        wait_until(lambda: "state=online" in server.info("replication").get("slave0", ""), "the replica to follow")
        opened = open_store(f"{server.url}?wait_replicas=1&answer_timeout_s=90")
        yield opened
        opened.close()


def specs_after_expired_ones(store: Store, specs_of: Callable[[], list[JobSpec]]) -> list[JobSpec]:
    """Each unique key of theirs has a job that did not begin in time."""
    specs = specs_of()
    expired = [structs.replace(spec(one.queue, unique_key=one.unique_key), expires_at=LATER) for one in specs]
    enqueue(store, *(one for one in expired if one.unique_key))
    return specs


def what_is_said(
    store: Store, specs_of: Callable[[], list[JobSpec]], refuse: Refusal, *, is_lost: bool = False
) -> Iterator[str]:
    """Of enqueues: in each the server begins to refuse before another step, or after one whose answer is lost. It must
    fit what is there then."""
    eases: list[Callable[[], object]] = []

    def begin() -> None:
        eases.append(refuse())
        if is_lost:
            lose_answer()

    when = {"after" if is_lost else "before": begin}
    enqueue(store, *specs_after_expired_ones(store, specs_of), now=LATER)  # so that the server knows all scripts
    for number in count():
        specs = specs_after_expired_ones(store, specs_of)
        ran = run_with(store, number, answer_of(store, specs), **when)
        if not ran.is_reached:
            return
        eases.pop()()
        accepted = sum(job is not None for job in store.find_jobs([one.id for one in specs]))
        assert is_true_of(ran.answer or "", accepted, specs), f"step {number}: {accepted} are there, but {ran.answer}"
        yield ran.answer or ""


@pytest.mark.parametrize("is_lost", [False, True], ids=["refused", "refused after a lost answer"])
@pytest.mark.parametrize("specs_of", [plain_jobs, jobs_with_own_ids, jobs_after_expired_ones])
@pytest.mark.parametrize("refuse", [refuse_for_memory, refuse_for_replicas])
def test_whatever_step_of_an_enqueue_is_refused_what_is_said_of_it_is_true(
    server: RedisServer,
    followed: Store,
    specs_of: Callable[[], list[JobSpec]],
    refuse: Callable[[RedisServer], Callable[[], object]],
    is_lost: bool,
) -> None:
    said = list(what_is_said(followed, specs_of, lambda: refuse(server), is_lost=is_lost))

    assert len(said) > 4


def test_jobs_that_fill_the_memory_are_acknowledged_when_replicas_have_them(
    server: RedisServer, followed: Store
) -> None:
    *_, last = what_is_said(followed, plain_jobs, lambda: refuse_for_memory(server))

    assert last == "4"


def test_jobs_for_which_no_replica_can_be_asked_are_told_to_be_written(server: RedisServer, followed: Store) -> None:
    *_, last = what_is_said(followed, plain_jobs, lambda: refuse_for_replicas(server))

    assert "written, but it is not known whether replicas have it" in last


def test_ends_are_told_whatever_they_write(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    one, other, third, fourth = claimed(store, queue, 4)
    fill(server)

    assert finish(store, succeed(one)) == frozenset()
    assert finish(store, fail_and_retry(other)) == frozenset()
    assert finish(store, interrupt(third)) == frozenset()
    assert finish(store, succeed(fourth, results={"rows": 1_000})) == frozenset()

    assert counts(store, queue) == {JobState.SUCCEEDED: 2, JobState.DELAYED: 1, JobState.QUEUED: 1}


def test_log_lines_are_refused(server: RedisServer, store: Store) -> None:
    (held,) = claimed(store, new_queue(), 1)
    fill(server)

    with pytest.raises(StoreFull):
        store.append_logs([log_batch(held, "a line")])


def test_what_waits_is_given_out_and_what_is_due_is_made_ready(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue, run_at=NOW + 1))
    fill(server)

    assert len(claim_all(store, queue, now=NOW + 1)) == 2


def test_a_node_beats_renews_and_recovers(server: RedisServer, store: Store) -> None:
    queue, node = new_queue(), new_node()
    (held,) = claimed(store, queue, 1, node=node)
    fill(server)

    beat(store, Node(uuid=node, node_type=queue, last_ping=NOW, started_at=NOW))
    renewal = renew(store, queue, node, held)
    recovered = store.recover_claims(queue, node, {}, floor=0, now=NOW)

    assert [one.uuid for one in store.list_nodes(since=0)] == [node]
    assert (renewal.cancelled, renewal.lost) == ([], [])
    assert recovered == 1
    assert given(store, queue) == [held.spec.id]


def test_jobs_are_cancelled_and_forgotten(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    node = new_node()
    running, ended = claimed(store, queue, 2, node=node)
    finish(store, succeed(ended))
    (waiting,) = enqueue(store, spec(queue))
    waker = store.waker(queue, node)
    fill(server)

    assert store.cancel_jobs([running.spec.id, waiting], now=NOW) == [CancelAnswer.REQUESTED, CancelAnswer.CANCELLED]
    assert waker.wait(10.0, wants_jobs=False) == [Cancellation(running.spec.id, running.token)]
    assert store.delete_jobs([ended.spec.id]) == [True]
    assert state_of(store, waiting) is JobState.CANCELLED
    waker.close()


def test_a_paused_queue_is_resumed(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    store.pause_queue(queue)
    fill(server)

    store.resume_queue(queue)

    assert claim_one(store, queue)


def test_jobs_are_accepted_again_when_there_is_room(server: RedisServer, store: Store) -> None:
    queue = new_queue()
    fill(server)
    with pytest.raises(StoreFull):
        enqueue(store, spec(queue))

    raw_command(server.port, "CONFIG", "SET", "maxmemory", 0)

    assert len(enqueue(store, spec(queue))) == 1
