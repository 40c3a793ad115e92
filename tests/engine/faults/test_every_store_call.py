"""Every call that a node makes of its store may go wrong: before it happens, so that nothing did; after it happened, so
that only the answer is lost; and again when it is repeated. Jobs run once all the same, and nothing stays behind.

`test_store_faults.py` tells what a node says and does while its store is away; here no call is left out.
"""

import asyncio
import threading
from collections.abc import Callable

import pytest

from rota.clock import ManualClock
from rota.engine.definitions.definitions import Definitions
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.housekeeping.retention import Retention
from rota.engine.liveness.draining import request_drain
from rota.engine.liveness.heart import Heart
from rota.engine.node.health import Health
from rota.engine.node.node import Node
from rota.engine.node.options import WORKER, NodeOptions
from rota.errors import StoreUnavailable
from rota.model.job import JobState
from rota.model.liveness import contact_of_node
from rota.model.node import DEAD_AFTER_MS, NodeType
from rota.model.node import Node as NodeRecord
from rota.model.runs.retry import RetryPolicy
from rota.store import Store
from rota.store.contract.claims import Renewal
from rota.testing import Faults
from tests.contract.building import (
    NOW,
    beat,
    claim_one,
    counts,
    ended_job,
    enqueue,
    find,
    new_node,
    new_queue,
    spec,
)
from tests.engine.job_functions import new_stage
from tests.engine.liveness.watching import LOOK_MS, Watch
from tests.engine.working import is_listed, until, working
from tests.installation import Installation
from tests.patience import DEADLINE_S

pytestmark = pytest.mark.stores("sqlite-file", "redis")

HOUR_MS = 4 * 3_600_000
"""Beats and looks are an hour away, so that the worker has to help itself."""
SHORT_MS = 400
DAY_MS = 24 * 3_600_000


def be_away() -> None:
    raise StoreUnavailable("the store is away")


Break = Callable[[Faults, str], None]
WAYS: dict[str, Break] = {
    "before": lambda faults, name: faults.before(name, be_away),
    "after": lambda faults, name: faults.after(name, be_away),
    "before, twice": lambda faults, name: faults.before(name, be_away, be_away),
    "after, twice": lambda faults, name: faults.after(name, be_away, be_away),
}
breaks = pytest.mark.parametrize("break_call", WAYS.values(), ids=WAYS.keys())


def each_of(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", names)


# -- a worker ------------------------------------------------------------------------------------------------------


@breaks
@each_of("finish_and_claim_jobs", "finish_jobs", "append_logs", "recover_claims")
def test_jobs_run_once_when_this_call_of_a_worker_fails(
    store: Store, installation: Installation, name: str, break_call: Break
) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        installation.define_python("note")
        installation.define_python("pass_gate")
        installation.define_python("speak_and_wait")
        installation.define_python("count_aloud")
        installation.define_python("fail_until", retry=RetryPolicy(attempts=2, delay_ms=1))
        async with working(faults.store, threads=3, dead_after_ms=HOUR_MS):
            speaking = installation.enqueue("speak_and_wait", {"lines": 3})
            running = installation.enqueue("pass_gate", {"text": "running"})
            await until(lambda: stage.inside == 2, "both to run")
            break_call(faults, name)
            if name == "recover_claims":  # which is called after a failure
                faults.before("finish_jobs", be_away)
                faults.before("finish_and_claim_jobs", be_away)

            (counting,) = await installation.ended(installation.enqueue("count_aloud", {"lines": 3}))
            first = await installation.ended(*(installation.enqueue("note", {"text": f"note {n}"}) for n in range(3)))
            first += await installation.ended(installation.enqueue("fail_until", {"attempt": 2}))
            stage.gate.set()
            last = await installation.ended(running, speaking)

            assert {job.state for job in first + last} == {JobState.SUCCEEDED}
            assert [job.attempts for job in first + last] == [1, 1, 1, 2, 1, 1]
            assert {job.deaths for job in first + last} == {0}
            assert sorted(stage.started) == sorted(
                ["attempt 1", "attempt 2", "note 0", "note 1", "note 2", "running", speaking]
            )
            # Lines that arrived although their answer was lost stand twice; none is missing.
            for job_id in (speaking, counting.id):
                assert list(dict.fromkeys(installation.messages(job_id))) == ["line 0", "line 1", "line 2"]
            assert installation.counts() == {JobState.SUCCEEDED: 7}

    asyncio.run(scene())


def test_log_lines_are_there_once_if_the_end_that_went_with_them_was_not_told(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        is_held, may_go_on = threading.Event(), threading.Event()
        installation.define_python("speak_and_wait")
        installation.define_python("count_aloud")

        def hold() -> None:
            is_held.set()
            may_go_on.wait(DEADLINE_S)

        def lose_the_end() -> None:
            faults.before("finish_and_claim_jobs", be_away)
            faults.before("finish_jobs", be_away)

        async with working(faults.store, threads=2, dead_after_ms=HOUR_MS):
            # Whoever writes the lines of running jobs is busy with one of them: others can only go with their ends.
            faults.before("append_logs", hold)
            speaking = installation.enqueue("speak_and_wait", {"lines": 1})
            await until(is_held.is_set, "the first line to be written")
            faults.after("append_logs", lose_the_end)

            try:
                (job,) = await installation.ended(installation.enqueue("count_aloud", {"lines": 2}))
            finally:
                may_go_on.set()
                stage.gate.set()

            await installation.ended(speaking)
            assert installation.messages(job.id) == ["line 0", "line 1"]

    asyncio.run(scene())


@breaks
@each_of("finish_and_claim_jobs", "finish_jobs")
def test_a_finished_job_whose_settlement_was_not_delivered_runs_once(
    store: Store, installation: Installation, name: str, break_call: Break
) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        installation.define_python("pass_gate")
        async with working(faults.store, threads=2, dead_after_ms=HOUR_MS):
            jobs = [installation.enqueue("pass_gate", {"text": str(number)}) for number in range(2)]
            await until(lambda: stage.inside == 2, "both jobs to run")
            break_call(faults, name)
            stage.gate.set()

            ended = await installation.ended(*jobs)
            await installation.ended(installation.enqueue("pass_gate", {"text": "later"}))

            assert [(job.state, job.attempts, job.deaths) for job in ended] == [(JobState.SUCCEEDED, 1, 0)] * 2
            assert sorted(stage.started) == ["0", "1", "later"]

    asyncio.run(scene())


@breaks
@each_of("definitions_version", "list_node_types", "list_job_types", "listening_configurations")
def test_a_store_that_is_away_while_a_job_type_is_looked_up_refuses_nothing_for_good(
    store: Store, installation: Installation, name: str, break_call: Break
) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        async with working(faults.store, roles=frozenset({WORKER}), dead_after_ms=HOUR_MS):
            await until(lambda: faults.calls.count("list_nodes") > 0, "the duties to have looked once")
            break_call(faults, name)
            installation.define_python("note")  # the node does not know it yet
            (job,) = await installation.ended(installation.enqueue("note", {"text": "x"}))

            assert (job.state, job.attempts, job.deaths, job.errors) == (JobState.SUCCEEDED, 1, 0, None)
            assert stage.started == ["x"]

    asyncio.run(scene())


@each_of("leave_queue", "remove_nodes", "delete_setting")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_node_ends_although_this_call_of_its_leaving_fails(
    store: Store, installation: Installation, name: str, when: str
) -> None:
    async def scene() -> None:
        new_stage()
        faults = Faults(store)
        installation.define_python("note")
        async with working(faults.store, dead_after_ms=HOUR_MS) as node:
            await installation.ended(installation.enqueue("note", {"text": "x"}))
            (faults.before if when == "before" else faults.after)(name, be_away)

        assert name in faults.calls
        # Others see that it is no more, or will: its pulse stands still.
        has_left = name != "leave_queue" or when == "after"
        assert (node.uuid in store.read_pulses(installation.queue)) is not has_left
        # Its record goes last, so that whatever else is left of it is found.
        assert is_listed(store, node) is ((name, when) != ("remove_nodes", "after"))

    asyncio.run(scene())


@each_of("troubles", "now", "definitions_version", "get_setting")
def test_a_node_goes_on_listening_when_this_call_fails(store: Store, installation: Installation, name: str) -> None:
    async def scene() -> None:
        faults = Faults(store)
        node = Node.open(faults.store, NodeOptions(dead_after_ms=SHORT_MS))
        run = asyncio.create_task(node.run())
        await until(lambda: is_listed(store, node), "the node's first beat")
        faults.before(name, be_away, be_away)
        await until(lambda: not faults.awaits(name), "both to have failed")

        request_drain(store, node.uuid)
        await asyncio.wait_for(run, DEADLINE_S)

        assert installation.counts() == {}

    asyncio.run(scene())


# -- a heart -------------------------------------------------------------------------------------------------------


class Holder:
    """A worker, as the heart sees it, that holds one job."""

    def __init__(self, held: dict[str, str]) -> None:
        self._held = held
        self.heard: list[Renewal] = []
        self.is_in_haste = False

    def held(self) -> dict[str, str]:
        return self._held

    def renewed(self, held: dict[str, str], renewal: Renewal, *, at: float) -> None:
        self.heard.append(renewal)


@breaks
@each_of("renew_claims", "beat")
def test_a_heart_beats_on_when_this_call_fails(store: Store, name: str, break_call: Break) -> None:
    queue, node, clock, faults = new_queue(), new_node(), ManualClock(NOW), Faults(store)
    (job_id,) = enqueue(store, spec(queue))
    held = claim_one(store, queue, node=node)
    holder = Holder({job_id: held.token})
    contact, record_contact = (contact_of_node(DEAD_AFTER_MS / 1000) for _ in range(2))
    health = Health()
    heart = Heart(
        faults.lifeline(timeout_s=60),
        node=node,
        queue=queue,
        record=lambda: NodeRecord(uuid=node, node_type=queue, last_ping=clock.now()),
        holder=holder,
        clock=clock,
        contact=contact,
        record_contact=record_contact,
        health=health,
        dead_after_ms=DEAD_AFTER_MS,
    )
    break_call(faults, name)

    failures = 0
    while heart.beat() == pytest.approx(1.0):
        assert health.trouble is not None
        assert (contact.since(clock.monotonic()) is not None) == (name == "beat"), "what it renewed was a write"
        assert record_contact.since(clock.monotonic()) is None
        failures += 1
        clock.advance(1_000)

    assert failures in (1, 2)
    assert not faults.awaits(name)
    assert health.trouble is None
    assert contact.since(clock.monotonic()) is not None
    assert record_contact.since(clock.monotonic()) == clock.monotonic()
    assert set(map(tuple, [(*one.cancelled, *one.lost) for one in holder.heard])) == {()}
    assert [one.uuid for one in store.list_nodes(since=clock.now())] == [node]
    assert store.read_pulses(queue)[node] != held.token
    heart.stop()


# -- a watchdog ----------------------------------------------------------------------------------------------------


def look_through_faults(watch: Watch, *, rounds: int) -> None:
    """Look every second, as a node has its watchdog do whatever it raises."""
    failed = 0
    for _ in range(rounds):
        watch.clock.advance(LOOK_MS)
        try:
            watch.look()
        except StoreUnavailable:
            failed += 1
    assert failed in (1, 2)


@breaks
@each_of(
    *("read_pulses", "try_to_write", "mark_orphans", "claims_of_node", "reclaim_jobs", "forget_pulse"),
    "definitions_version",
)
def test_a_dead_nodes_job_comes_back_once_when_this_call_of_a_watchdog_fails(
    store: Store, name: str, break_call: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.random", lambda: 0.0)  # claims without a pulse are looked for at every look
    queue, dead, faults = new_queue(), new_node(), Faults(store)
    store.put_node_types([NodeType(uuid=queue, name="default")])
    job_id, locked = enqueue(store, spec(queue), spec(queue, lock_key="l"))
    for _ in range(2):
        claim_one(store, queue, node=dead)
    watch = Watch(faults.store)
    break_call(faults, name)

    look_through_faults(watch, rounds=30)

    assert [(find(store, one).state, find(store, one).deaths) for one in (job_id, locked)] == [
        (JobState.QUEUED, 1),
        (JobState.QUEUED, 1),
    ]
    assert find(store, job_id).attempts == 0
    assert store.read_pulses(queue) == {}
    assert counts(store, queue) == {JobState.QUEUED: 2}


@breaks
@each_of("list_nodes", "remove_nodes", "delete_setting")
def test_a_dead_nodes_record_goes_when_this_call_of_a_watchdog_fails(
    store: Store, name: str, break_call: Break
) -> None:
    queue, dead, faults = new_queue(), new_node(), Faults(store)
    store.put_node_types([NodeType(uuid=queue, name="default")])
    beat(store, NodeRecord(uuid=dead, node_type=queue, last_ping=NOW))
    request_drain(store, dead)
    watch = Watch(faults.store)
    break_call(faults, name)

    look_through_faults(watch, rounds=230)

    assert store.list_nodes(since=0) == []
    assert store.list_settings("drain:") == {}


# -- retention -----------------------------------------------------------------------------------------------------


@breaks
@each_of("list_queues", "definitions_version", "trim_history", "forget_queue", "forget_rates")
def test_history_is_kept_within_bounds_when_this_call_of_retention_fails(
    store: Store, name: str, break_call: Break
) -> None:
    kept, gone, faults = new_queue(), new_queue(), Faults(store)
    store.put_node_types([NodeType(uuid=kept, name="kept")])
    old = [ended_job(store, queue, JobState.FAILED) for queue in (kept, gone)]
    young = ended_job(store, kept, JobState.SUCCEEDED, now=NOW + DAY_MS)
    keeper = Retention(faults.store, Definitions(faults.store, ExecutorRegistry()), max_age_ms=DAY_MS, max_count=9)
    break_call(faults, name)

    failed = 0
    for _ in range(5):
        try:
            keeper.run_once(NOW + DAY_MS + 1)
        except StoreUnavailable:
            failed += 1

    assert failed in (1, 2)
    assert store.find_jobs([*old, young])[:2] == [None, None]
    assert counts(store, kept) == {JobState.SUCCEEDED: 1}
    assert store.list_queues() == [kept]
