"""A Redis, one server or a cluster, that does what it is told while its answer is lost on the way: what may be repeated
is repeated unseen, and what may not is told to the caller and happened once."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import count

import pytest
from msgspec import structs

from rota.errors import StoreUnavailable
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.store import Store, open_store
from rota.store.contract.claims import Renewal
from rota.store.contract.jobs import CancelAnswer
from rota.store.contract.queues import Stats
from rota.store.contract.schedules import ScheduleChange
from rota.store.redis.link.scripts import SCRIPTS
from tests.contract.building import (
    NOW,
    claim_one,
    claims_of,
    counts,
    ended_job,
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
from tests.contract.events.configuring import await_ends
from tests.contract.schedules.scheduling import MINUTE, found, put, schedule
from tests.contract.steps import lose_answer, run_with
from tests.servers import RedisCluster, RedisServer, raw_command
from tests.system.proxy import Proxy, proxied

_STEPS_BEFORE_PUT = 3
"""A schedule is looked up with two commands, and its record is read, before it is changed."""


class Line:
    """A store behind a proxy that loses answers."""

    def __init__(self, proxy: Proxy, url: str) -> None:
        self._proxy, self._lost_before = proxy, proxy.swallowed
        self.store: Store = open_store(url)
        self.queue = new_queue()

    def lose_answer(self, script: str) -> None:
        """Of the next call of a script."""
        self.lose_answer_to(SCRIPTS[script].sha.encode())

    def lose_answer_to(self, marker: bytes) -> None:
        """Of the next request that has these bytes."""
        self._proxy.swallow_replies(marker, 1)

    @property
    def lost(self) -> int:
        return self._proxy.swallowed - self._lost_before


@pytest.fixture(scope="module", params=[RedisServer, RedisCluster])
def servers(request: pytest.FixtureRequest) -> Iterator[RedisServer | RedisCluster]:
    """They know every script, so that each is called by its hash."""
    with request.param() as servers:
        for server in servers.servers:
            for script in SCRIPTS.values():
                raw_command(server.port, "SCRIPT", "LOAD", script.text)
        yield servers


@pytest.fixture(scope="module")
def way(servers: RedisServer | RedisCluster) -> Iterator[tuple[Proxy, str]]:
    with proxied(servers) as way:
        yield way


@pytest.fixture
def line(servers: RedisServer | RedisCluster, way: tuple[Proxy, str]) -> Iterator[Line]:
    servers.flush()
    line = Line(*way)
    yield line
    line.store.close()


def test_a_job_type_is_changed_once_and_its_own_change_is_no_conflict(line: Line) -> None:
    report = JobType(uuid=new_id(NOW), name="report", executor="log")
    line.store.put_job_types([report])
    line.lose_answer("put_definitions")

    line.store.put_job_types([structs.replace(report, timeout_ms=5)], same_version=True)

    assert line.lost == 1
    assert line.store.list_job_types() == [structs.replace(report, timeout_ms=5, version=2)]


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
    enqueue(store, *[spec(queue) for _ in range(5)])
    finish(store, succeed(claim_one(store, queue)))  # a queue's very first end is told twice
    held = claim_one(store, queue, node=node)
    line.lose_answer("claim_jobs")  # and on a single server that of the finish, which goes together with it

    with pytest.raises(StoreUnavailable):
        store.finish_and_claim_jobs(queue, [succeed(held)], token=token_of(node), limit=1, now=NOW)

    assert line.lost == 1
    assert counts(store, queue) == {JobState.SUCCEEDED: 2, JobState.RUNNING: 1, JobState.QUEUED: 2}
    assert finish(store, succeed(held)) == frozenset()
    assert store.read_totals(queue) == Stats(enqueued=5, succeeded=2)


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


def test_a_renewal_is_repeated_by_the_heart_alone(line: Line) -> None:
    """Which knows when it must be heard again; a call must not take twice its patience."""
    store, queue, node = line.store, line.queue, new_node()
    enqueue(store, spec(queue))
    held = claim_one(store, queue, node=node)
    lifeline = store.lifeline(timeout_s=60)
    line.lose_answer("renew_claims")

    with pytest.raises(StoreUnavailable):
        lifeline.renew_claims(queue, node, {held.spec.id: held.token})

    assert line.lost == 1
    assert lifeline.renew_claims(queue, node, {held.spec.id: held.token}) == Renewal([], [])
    lifeline.close()


def test_a_recovery_and_a_leave_are_repeated(line: Line) -> None:
    store, queue, node = line.store, line.queue, new_node()
    (job_id,) = enqueue(store, spec(queue))
    for script in ("raise_floor", "recover_claims", "leave_queue"):
        store.claim_jobs(queue, token=token_of(node), limit=1, now=NOW)
        line.lose_answer(script)

        store.leave_queue(queue, node, floor=0, now=NOW)

        assert find(store, job_id).state is JobState.QUEUED, script
        assert store.read_pulses(queue) == {}, script
    assert line.lost == 3


def test_a_cancellation_is_repeated_and_tells_what_it_did(line: Line) -> None:
    store, queue = line.store, line.queue
    ended = ended_job(store, queue, JobState.CANCELLED, now=NOW - 1)
    (running,) = enqueue(store, spec(queue))
    claim_one(store, queue)
    (waiting,) = enqueue(store, spec(queue, unique_key="a"))
    line.lose_answer("cancel_jobs")

    answers = store.cancel_jobs([waiting, running, ended], now=NOW)

    assert answers == [CancelAnswer.CANCELLED, CancelAnswer.REQUESTED, CancelAnswer.FINAL]
    assert line.lost == 1
    assert find(store, waiting).state is JobState.CANCELLED
    assert store.read_totals(queue).cancelled == 2


def test_a_cancellation_tells_what_it_did_also_if_other_ends_are_waited_for_when_it_is_repeated(line: Line) -> None:
    store, queue = line.store, line.queue

    def changes() -> None:
        with closing(store.reopen()) as other:
            await_ends(other)
        lose_answer()

    for number in count():
        (waiting,) = enqueue(store, spec(queue))

        ran = run_with(store, number, partial(store.cancel_jobs, [waiting], now=NOW), after=changes)

        assert ran.answer == [CancelAnswer.CANCELLED], f"the answer to step {number} was lost"
        if not ran.is_reached:
            break


def test_a_retry_is_repeated_and_tells_what_it_did(line: Line) -> None:
    store, queue = line.store, line.queue
    failed = ended_job(store, queue, JobState.FAILED, unique_key="a")
    cancelled = ended_job(store, queue, JobState.CANCELLED)
    succeeded = ended_job(store, queue, JobState.SUCCEEDED)
    refused = ended_job(store, queue, JobState.FAILED, unique_key="b")
    enqueue(store, spec(queue, unique_key="b"))
    (queued,) = enqueue(store, spec(queue), now=NOW)
    line.lose_answer("retry_jobs")

    answers = store.retry_jobs([failed, cancelled, succeeded, refused, queued], now=NOW)

    assert answers == [True, True, False, False, False]
    assert line.lost == 1
    assert [find(store, job_id).state for job_id in (failed, cancelled)] == [JobState.QUEUED] * 2


def test_a_deletion_is_repeated_and_tells_what_it_did(line: Line) -> None:
    store, queue = line.store, line.queue
    ended = [ended_job(store, queue, JobState.SUCCEEDED), ended_job(store, queue, JobState.FAILED)]
    (queued,) = enqueue(store, spec(queue))
    line.lose_answer("delete_jobs")

    assert store.delete_jobs([*ended, queued, "unknown"]) == [True, True, False, False]

    assert line.lost == 1
    assert counts(store, queue) == {JobState.QUEUED: 1}


def test_forgetting_history_is_repeated_and_tells_how_much_it_forgot(line: Line) -> None:
    store, queue = line.store, line.queue
    for _ in range(3):
        ended_job(store, queue, JobState.SUCCEEDED)
    line.lose_answer("delete_jobs")

    assert store.trim_history(queue, ended_before=NOW + 1, keep=0, limit=2) == 2

    assert line.lost == 1
    assert counts(store, queue) == {JobState.SUCCEEDED: 1}


def test_a_schedule_that_was_put_is_put_also_if_the_answer_was_lost(line: Line) -> None:
    store, one = line.store, schedule(line.queue)
    line.lose_answer("put_schedules")

    entry = put(store, one)

    changed = structs.replace(entry.state, version=entry.state.version + 1, due=NOW + MINUTE)
    line.lose_answer("put_schedules")
    assert store.put_schedules([ScheduleChange(one, changed, entry.state.version)]) == [True]
    assert found(store, one).state == changed
    assert line.lost == 2


def test_a_change_that_lost_against_another_is_refused_also_if_the_answer_was_lost(line: Line) -> None:
    store, one = line.store, schedule(line.queue)
    entry = put(store, one)
    newer = structs.replace(entry.state, version=entry.state.version + 1)
    own, others = (ScheduleChange(structs.replace(one, priority=n), newer, entry.state.version) for n in (2, 1))

    def another_is_faster() -> None:
        assert other.put_schedules([others]) == [True]
        line.lose_answer("put_schedules")

    with closing(open_store(store.url)) as other:
        ran = run_with(store, _STEPS_BEFORE_PUT, lambda: store.put_schedules([own]), before=another_is_faster)

    assert ran.answer == [False]
    assert line.lost == 1
    assert found(store, one).schedule.priority == 1


def test_a_deletion_of_schedules_is_repeated_and_tells_what_it_did(line: Line) -> None:
    store, one, other = line.store, schedule(line.queue), schedule(line.queue)
    put(store, one)
    put(store, other)
    line.lose_answer("delete_schedules")

    assert store.delete_schedules([one.uuid, "unknown"]) == [True, False]

    assert line.lost == 1
    assert store.find_schedules([one.uuid]) == [None]
    assert found(store, other).schedule == other


def test_a_setting_that_was_deleted_was_there_also_if_the_answer_was_lost(line: Line) -> None:
    line.store.put_setting("one", "1")
    line.lose_answer_to(b"HDEL")

    assert line.store.delete_setting("one")

    assert line.lost == 1
    assert line.store.get_setting("one") is None
    assert not line.store.delete_setting("one")


# -- contacts ------------------------------------------------------------------------------------------------------


def test_a_connection_that_broke_is_told_so_that_whoever_holds_claims_compares_them(line: Line) -> None:
    line.store.count_jobs(line.queue)
    calm = line.store.contacts
    line.store.count_jobs(line.queue)
    assert line.store.contacts == calm

    line.lose_answer("put_definitions")
    line.store.put_job_types([JobType(uuid=new_id(NOW), name="report", executor="log")])
    assert line.lost == 1
    # One connection broke, and another was made; on a cluster perhaps one more, for its layout.
    assert line.store.contacts >= calm + 2
