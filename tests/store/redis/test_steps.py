"""No single step of Redis takes long, whatever there is."""

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from redis import Redis

from rota.model.job import JobState
from rota.store import Store, open_store
from rota.store.contract.claims import MAX_SCANNED
from rota.store.contract.queues import Cancellation
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.scripts import SCRIPTS
from rota.store.redis.nouns.jobs.marks import Hold
from rota.store.redis.store import RedisStore
from tests.contract.building import (
    NOW,
    claim_all,
    claim_one,
    counts,
    enqueue,
    fail,
    finish,
    interrupt,
    log_batch,
    new_node,
    new_queue,
    renew,
    spec,
    succeed,
    token_of,
)
from tests.contract.steps import count_steps, run_with
from tests.patience import DEADLINE_S
from tests.servers import RedisServer, raw_command


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


def test_a_claim_sets_aside_some_locked_jobs_and_asks_for_another(server: RedisServer) -> None:
    store, queue = open_store(server.url), new_queue()
    enqueue(store, spec(queue, lock_key="l"))
    claim_one(store, queue)
    enqueue(store, *(spec(queue, lock_key="l") for _ in range(2 * MAX_SCANNED)))

    def ask() -> int | None:
        answer = store.claim_jobs(queue, token=token_of(new_node()), limit=10, now=NOW)
        assert answer.claims == []
        return answer.next_due

    assert ask() == NOW
    assert raw_command(server.port, "ZCARD", QueueKeys(queue).held) == str(MAX_SCANNED)
    assert ask() is None
    assert raw_command(server.port, "ZCARD", QueueKeys(queue).held) == str(2 * MAX_SCANNED)
    store.close()


def test_a_claim_of_none_asks_for_no_other(server: RedisServer) -> None:
    store, queue = open_store(server.url), new_queue()
    enqueue(store, spec(queue))

    answer = store.claim_jobs(queue, token=token_of(new_node()), limit=0, now=NOW)

    assert answer.next_due is None
    store.close()


def test_a_server_that_has_forgotten_the_scripts_finishes_and_gives_jobs_all_the_same(server: RedisServer) -> None:
    store, queue = open_store(server.url), new_queue()
    first, second = enqueue(store, spec(queue), spec(queue))
    ended = succeed(claim_one(store, queue))
    raw_command(server.port, "SCRIPT", "FLUSH")

    answer = store.finish_and_claim_jobs(queue, [ended], token=token_of(new_node()), limit=9, now=NOW)

    assert ([one.spec.id for one in answer.claims], answer.refused) == ([second], frozenset())
    assert counts(store, queue) == {JobState.SUCCEEDED: 1, JobState.RUNNING: 1}
    assert first == ended.claim.spec.id
    store.close()


def ended_jobs(store: Store, queue: str, count: int, *, results: str = "", line: str = "") -> list[str]:
    """Jobs that ended one millisecond after the other."""
    ids = enqueue(store, *(spec(queue) for _ in range(count)))
    for n, claim in enumerate(claim_all(store, queue)):
        if line:
            store.append_logs([log_batch(claim, line)])
        finish(store, succeed(claim, NOW + n, results), now=NOW + n)
    return ids


@pytest.mark.parametrize("part", ["results", "line"])
def test_history_is_kept_within_its_bytes(server: RedisServer, part: str) -> None:
    store = open_store(f"{server.url}?history_max_bytes=400000")
    queue, text = new_queue(), "x" * 4_000
    ids = ended_jobs(store, queue, 300, **{part: text})

    while store.trim_history(queue, ended_before=0, keep=1_000_000, limit=50):
        pass

    kept = counts(store, queue)[JobState.SUCCEEDED]
    assert 300_000 < kept * len(text) < 400_000
    assert [job is not None for job in store.find_jobs(ids)] == [False] * (300 - kept) + [True] * kept
    store.close()


def test_history_within_its_number_need_not_fill_its_bytes(server: RedisServer) -> None:
    store, queue = open_store(f"{server.url}?history_max_bytes=60000"), new_queue()
    ids = ended_jobs(store, queue, 40, results="x" * 2_000)

    assert store.trim_history(queue, ended_before=0, keep=3, limit=100) == 37
    assert [job is not None for job in store.find_jobs(ids)] == [False] * 37 + [True] * 3
    store.close()


LARGE = "x" * 20_000


def mixed_history(store: Store, queue: str) -> None:
    """Many small successes and cancellations, and among them few failures that are large."""
    enqueue(store, *(spec(queue) for _ in range(820)))
    for n, claim in enumerate(claim_all(store, queue)):
        end = fail(claim, NOW + n, LARGE) if n % 82 == 40 else succeed(claim, NOW + n)
        if n % 2:
            store.cancel_jobs(enqueue(store, spec(queue), now=NOW + n), now=NOW + n)
        finish(store, end, now=NOW + n)


@pytest.mark.stores("redis", "redis-cluster")
@pytest.mark.parametrize(("most", "kept"), [(2_000_000, (10, 10)), (500_000, (3, 6))], ids=["all of it fits", "half"])
def test_few_large_jobs_of_one_state_do_not_count_for_all_others(
    store_url: str, most: int, kept: tuple[int, int]
) -> None:
    store, queue = open_store(f"{store_url}&history_max_bytes={most}"), new_queue()
    mixed_history(store, queue)
    before = counts(store, queue)

    while store.trim_history(queue, ended_before=0, keep=1_000_000, limit=20):
        pass

    after = counts(store, queue)
    assert kept[0] <= after[JobState.FAILED] <= kept[1]
    for state in (JobState.SUCCEEDED, JobState.CANCELLED):
        assert abs(after[state] / before[state] - after[JobState.FAILED] / before[JobState.FAILED]) < 0.15
    store.close()


def test_history_within_its_bytes_stays_although_a_sample_may_have_its_only_large_job(server: RedisServer) -> None:
    store, queue = open_store(f"{server.url}?history_max_bytes=2000000"), new_queue()
    ids = enqueue(store, *(spec(queue) for _ in range(900)))
    for n, claim in enumerate(claim_all(store, queue)):
        finish(store, succeed(claim, NOW + n, "x" * 200_000 if n == 450 else ""), now=NOW + n)

    trimmed = [store.trim_history(queue, ended_before=0, keep=1_000_000, limit=50) for _ in range(400)]

    assert trimmed == [0] * 400
    assert counts(store, queue) == {JobState.SUCCEEDED: len(ids)}
    store.close()


def test_history_without_a_limit_stays(server: RedisServer) -> None:
    store, queue = open_store(server.url), new_queue()
    ended_jobs(store, queue, 20, results="x" * 4_000)

    assert store.trim_history(queue, ended_before=0, keep=1_000_000, limit=50) == 0
    store.close()


EVERYTHING = 100_000
"""Calls that a server remembers; it also counts those within scripts."""
KEYS_OF_A_QUEUE = 8
"""A step that forgets jobs has so many, and one for the log of each job."""


@pytest.mark.parametrize("way", ["trim", "delete"])
def test_no_step_of_retention_forgets_more_than_some_jobs(server: RedisServer, way: str) -> None:
    store, queue = open_store(server.url), new_queue()
    ids = enqueue(store, *(spec(queue) for _ in range(1_200)))
    store.cancel_jobs(ids, now=NOW)
    with Redis(port=server.port) as client:
        client.script_load(SCRIPTS["delete_jobs"].text)
        client.config_set("slowlog-max-len", EVERYTHING)
        client.config_set("slowlog-log-slower-than", 0)

        if way == "trim":
            store.trim_history(queue, ended_before=NOW + 1, keep=0, limit=len(ids))
        else:
            store.delete_jobs(ids)

        calls = [entry["command"].split() for entry in client.slowlog_get(EVERYTHING)]
    keys = [int(words[2]) for words in calls if words[1:2] == [SCRIPTS["delete_jobs"].sha.encode()]]
    assert counts(store, queue) == {}
    assert sorted(number - KEYS_OF_A_QUEUE for number in keys) == [200, 500, 500]
    store.close()


def test_finding_a_job_costs_the_same_whatever_the_number_of_queues(server: RedisServer) -> None:
    store = open_store(server.url)
    (job_id,) = enqueue(store, spec(new_queue()))

    def steps() -> int:
        return count_steps(store, lambda: store.find_jobs([job_id]))

    def scripts() -> int:
        before = calls_of_scripts(server)
        store.find_jobs([job_id])
        return calls_of_scripts(server) - before

    def add_queues(number: int) -> None:
        enqueue(store, *(spec(new_queue()) for _ in range(number)))
        store.find_jobs([new_queue()])  # which is not there, so that the queues are read anew

    add_queues(1)
    store.find_jobs([job_id])  # so that the server knows all scripts
    few = (steps(), scripts())
    add_queues(97)
    assert (steps(), scripts()) == few

    add_queues(200)

    assert (steps(), scripts()) == (few[0], few[1] + 2), "one more script for a hundred queues, and no round trip"
    store.close()


def calls_of_scripts(server: RedisServer) -> int:
    return int(server.info("commandstats")["cmdstat_evalsha"].partition("calls=")[2].partition(",")[0])


class SlowReader(RedisStore):
    """A store in whose recovery something happens between the reading of the claims and their return."""

    meanwhile: Callable[[], object]

    def _holds_of(self, queue: str, node: str, limit: int | None = None) -> dict[str, Hold]:
        found = super()._holds_of(queue, node, limit)
        self.meanwhile()
        return found


def test_a_job_that_is_given_again_while_its_node_recovers_is_left_with_it(server: RedisServer) -> None:
    store, queue, node = SlowReader.open(server.url), new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    lost = claim_one(store, queue, node=node)

    def give_again() -> None:
        finish(store, interrupt(lost))
        claim_one(store, queue, node=node)

    store.meanwhile = give_again

    assert store.recover_claims(queue, node, {}, floor=0, now=NOW) == 0

    assert counts(store, queue) == {JobState.RUNNING: 1}
    (job,) = store.find_jobs([job_id])
    assert job is not None
    assert job.token not in ("", lost.token)
    store.close()


@pytest.mark.parametrize("job_id", ["0190b0c0-0000-7000-8000-000000000001", "an id/of a dialect"])
def test_a_node_understands_a_request_to_cancel_that_an_older_version_wrote(server: RedisServer, job_id: str) -> None:
    store, queue, node = open_store(server.url), new_queue(), new_node()
    waker = store.waker(queue, node)

    raw_command(server.port, "RPUSH", QueueKeys(queue).inbox(node), job_id)

    assert waker.wait(DEADLINE_S, wants_jobs=False) == [Cancellation(job_id)]
    waker.close()
    store.close()


@pytest.mark.parametrize("way", ["leave", "forget"])
def test_nothing_stays_in_the_inbox_of_a_node_that_is_gone(server: RedisServer, way: str) -> None:
    store, queue, node = open_store(server.url), new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    claim_one(store, queue, node=node)
    store.cancel_jobs([job_id], now=NOW)
    inbox = QueueKeys(queue).inbox(node)
    before = raw_command(server.port, "EXISTS", inbox)

    if way == "leave":
        store.leave_queue(queue, node, floor=0, now=NOW)
    else:
        store.forget_pulse(queue, node, pulse=store.read_pulses(queue)[node])

    assert (before, raw_command(server.port, "EXISTS", inbox)) == ("1", "0")
    store.close()


def test_nothing_stays_in_the_inbox_of_a_node_that_leaves_while_its_job_is_cancelled(server: RedisServer) -> None:
    store, other, node = open_store(server.url), open_store(server.url), new_node()
    for number in itertools.count():
        queue = new_queue()
        ids = enqueue(store, spec(queue))
        claim_one(store, queue, node=node)
        leave = partial(other.leave_queue, queue, node, floor=0, now=NOW)

        ran = run_with(store, number, partial(store.cancel_jobs, ids, now=NOW), before=leave)

        if not ran.is_reached:
            break
        assert raw_command(server.port, "EXISTS", QueueKeys(queue).inbox(node)) == "0", f"it left before step {number}"
    assert raw_command(server.port, "EXISTS", QueueKeys(queue).inbox(node)) == "1", "it has not left"
    other.close()
    store.close()


@pytest.mark.parametrize("way", ["leave", "forget"])
def test_nodes_that_have_left_are_kept_in_mind_for_an_hour(server: RedisServer, way: str) -> None:
    store, queue, node = open_store(server.url), new_queue(), new_node()
    floors = QueueKeys(queue).floors
    now = store.now()
    store.recover_claims(queue, "living", {}, floor=3, now=NOW)
    raw_command(server.port, "HSET", floors, "left long ago", f"4 {now - 3_700_000}", "left", f"5 {now - 3_000_000}")

    if way == "leave":
        store.leave_queue(queue, node, floor=6, now=NOW)
    else:
        renew(store, queue, node)
        store.recover_claims(queue, node, {}, floor=6, now=NOW)
        store.forget_pulse(queue, node, pulse=store.read_pulses(queue)[node])

    with Redis(port=server.port, decode_responses=True) as client:
        kept = client.hgetall(floors)
    assert {name: floor.split()[0] for name, floor in kept.items()} == {"living": "3", "left": "5", node: "6"}
    assert now <= int(kept[node].split()[1]) <= store.now()
    store.close()
