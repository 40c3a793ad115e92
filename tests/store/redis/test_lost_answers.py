"""A Redis that does what it is told while its answer is lost on the way: what may be repeated is repeated unseen, and
what may not is told to the caller and happened once."""

from collections.abc import Iterator

import pytest
from redis import Redis

from rota.errors import StoreUnavailable
from rota.model.job import JobState
from rota.store import Store, open_store
from rota.store.claims import Renewal
from rota.store.queues import Stats
from rota.store.redis.scripts import SCRIPTS
from tests.contract.building import (
    NOW,
    claim_one,
    claims_of,
    counts,
    enqueue,
    find,
    finish,
    interrupt,
    log_batch,
    messages_of,
    new_node,
    new_queue,
    spec,
    succeed,
    token_of,
)
from tests.servers import RedisServer
from tests.system.proxy import Proxy


class Line:
    """A store behind a proxy that loses answers."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self.store: Store = open_store(f"redis://127.0.0.1:{proxy.ports[0]}")
        self.queue = new_queue()

    def lose_answer(self, script: str) -> None:
        """Of the next call of a script."""
        self._proxy.swallow_replies(SCRIPTS[script].sha.encode(), 1)

    @property
    def lost(self) -> int:
        return self._proxy.swallowed


@pytest.fixture
def line(redis_server: RedisServer) -> Iterator[Line]:
    redis_server.flush()
    with Proxy(redis_server.port) as proxy:
        line = Line(proxy)
        # The server knows every script, so that each is called by its hash.
        with Redis(port=redis_server.port) as client:
            for script in SCRIPTS.values():
                client.script_load(script.text)
        yield line
        line.store.close()


def test_a_claim_happens_once_and_its_caller_is_told(line: Line) -> None:
    store, queue, node = line.store, line.queue, new_node()
    enqueue(store, *[spec(queue) for _ in range(4)])
    line.lose_answer("claim_jobs")

    with pytest.raises(StoreUnavailable):
        store.claim_jobs(queue, token=token_of(node), limit=1, now=NOW)

    assert line.lost == 1
    assert len(claims_of(store, queue, node)) == 1
    assert store.recover_claims(queue, node, {}, floor=0, now=NOW) == 1
    assert counts(store, queue) == {JobState.QUEUED: 4}


def test_a_finish_with_a_claim_happens_once_and_its_caller_is_told(line: Line) -> None:
    store, queue, node = line.store, line.queue, new_node()
    enqueue(store, *[spec(queue) for _ in range(4)])
    held = claim_one(store, queue, node=node)
    line.lose_answer("finish_jobs")

    with pytest.raises(StoreUnavailable):
        store.finish_and_claim_jobs(queue, [succeed(held)], token=token_of(node), limit=1, now=NOW)

    assert line.lost == 1
    assert counts(store, queue) == {JobState.SUCCEEDED: 1, JobState.RUNNING: 1, JobState.QUEUED: 2}
    assert finish(store, succeed(held)) == frozenset()
    assert store.read_totals(queue) == Stats(enqueued=4, succeeded=1)


def test_log_lines_are_written_once_and_their_caller_is_told(line: Line) -> None:
    store, queue = line.store, line.queue
    enqueue(store, spec(queue))
    held = claim_one(store, queue)
    line.lose_answer("append_logs")

    with pytest.raises(StoreUnavailable):
        store.append_logs([log_batch(held, "one", "two")])

    assert line.lost == 1
    assert messages_of(store, held.spec.id) == ["one", "two"]


def test_a_settlement_is_repeated_and_not_refused(line: Line) -> None:
    store, queue = line.store, line.queue
    enqueue(store, spec(queue), spec(queue))
    first, second = claim_one(store, queue), claim_one(store, queue)
    line.lose_answer("finish_jobs")

    assert finish(store, succeed(first), interrupt(second)) == frozenset()

    assert line.lost == 1
    assert counts(store, queue) == {JobState.SUCCEEDED: 1, JobState.QUEUED: 1}
    assert store.read_totals(queue) == Stats(enqueued=2, succeeded=1)


def test_a_renewal_is_repeated(line: Line) -> None:
    store, queue, node = line.store, line.queue, new_node()
    enqueue(store, spec(queue))
    held = claim_one(store, queue, node=node)
    lifeline = store.lifeline(timeout_s=60)
    line.lose_answer("renew_claims")

    assert lifeline.renew_claims(queue, node, {held.spec.id: held.token}) == Renewal([], [])

    assert line.lost == 1
    lifeline.close()


def test_a_recovery_and_a_leave_are_repeated(line: Line) -> None:
    store, queue, node = line.store, line.queue, new_node()
    (job_id,) = enqueue(store, spec(queue))
    for script in ("raise_floor", "recover_claims", "forget_pulse"):
        store.claim_jobs(queue, token=token_of(node), limit=1, now=NOW)
        line.lose_answer(script)

        store.leave_queue(queue, node, floor=0, now=NOW)

        assert find(store, job_id).state is JobState.QUEUED, script
        assert store.read_pulses(queue) == {}, script
    assert line.lost == 3
