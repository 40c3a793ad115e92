"""A node: one process that beats, drives its duties, and says how it is."""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from rota import __version__
from rota.engine.liveness.presence import Presence
from rota.engine.node.node import Node
from rota.engine.node.options import SCHEDULER, WORKER, NodeOptions
from rota.errors import NotFound, StoreUnavailable
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.node import Node as NodeRecord
from rota.model.node import NodeType
from rota.store import Store, open_store
from rota.store.contract.queues import Waker
from rota.testing import Faults
from tests.contract.building import claim_one
from tests.engine.job_functions import new_stage
from tests.engine.working import is_listed, until, working
from tests.installation import Installation
from tests.patience import DEADLINE_S
from tests.servers import RedisServer, raw_command, wait_until

# The contract tests hold all stores to the same promises; here one of each kind is enough.
pytestmark = pytest.mark.stores("sqlite-file", "redis")

ROOT = Path(__file__).parents[3]
SHORT_LEASE_MS = 400
"""Beats come every 100 ms, so that a test need not wait for one."""


def record_of(store: Store, node: Node) -> NodeRecord:
    (record,) = [one for one in store.list_nodes(since=0) if one.uuid == node.uuid]
    return record


def test_a_node_tells_who_it_is(store: Store) -> None:
    async def scene() -> None:
        installation = Installation(store, threads=5)
        async with working(store) as node:
            record = record_of(store, node)

            assert record.node_type == installation.queue
            assert record.host == socket.gethostname()
            assert record.pid == os.getpid()
            assert record.version == __version__
            assert record.roles == (SCHEDULER, WORKER)
            assert record.slots == 5
            assert record.running == 0
            assert not record.draining
            assert record.is_alive(store.now())
            await until(lambda: node.health() is None, "the node to be well")

    asyncio.run(scene())


@pytest.mark.parametrize("name", ["waker", "lifeline", "finish_and_claim_jobs", "renew_claims", "beat"])
def test_a_node_holds_its_lock_before_others_can_know_of_it(store: Store, tmp_path: Path, name: str) -> None:
    folder, seen = tmp_path / "locks", list[list[str]]()
    folder.mkdir()

    def look() -> None:
        held = [file.name for file in folder.iterdir()]
        seen.append([one for one in held if one not in Presence(folder).gone(held)])

    async def scene() -> None:
        Installation(store)
        faults = Faults(store)
        node = Node.open(faults.store, NodeOptions(), presence=Presence(folder))
        faults.before(name, look)
        run = asyncio.create_task(node.run())
        await until(lambda: bool(seen), f"the first {name}")
        node.request_stop(at_once=True)
        await asyncio.wait_for(run, DEADLINE_S)

        assert seen == [[node.uuid]]

    asyncio.run(scene())
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", ["leave_queue", "remove_nodes"])
def test_others_know_at_once_of_a_node_that_ended_and_could_not_take_leave(
    store: Store, tmp_path: Path, name: str
) -> None:
    """The store may still show jobs as its own. The process lives on, as that of a program with a worker does."""

    def be_away() -> None:
        raise StoreUnavailable("the store is away")

    async def scene() -> None:
        Installation(store)
        faults = Faults(store)
        node = Node.open(faults.store, NodeOptions(), presence=Presence(tmp_path))
        faults.before(name, be_away)
        run = asyncio.create_task(node.run())
        await until(lambda: is_listed(store, node), "the node to be listed")
        assert Presence(tmp_path).gone([node.uuid]) == []

        node.request_stop(at_once=True)
        await asyncio.wait_for(run, DEADLINE_S)

        assert Presence(tmp_path).gone([node.uuid]) == [node.uuid]

    asyncio.run(scene())


def test_a_node_tells_with_each_beat_what_it_does(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        async with working(store, dead_after_ms=SHORT_LEASE_MS, stop_grace_s=3_600) as node:
            first = record_of(store, node).last_ping
            jobs = [installation.enqueue("pass_gate") for _ in range(2)]
            # A node that was held up gives back what it has not begun; once it stops, nobody would take it again.
            await until(lambda: stage.inside == 2, "both jobs to begin")
            await until(lambda: record_of(store, node).running == 2, "a beat that tells of two jobs")
            assert record_of(store, node).last_ping > first

            node.request_stop()
            await until(lambda: record_of(store, node).draining, "a beat that tells of the stop")
            stage.gate.set()
            await installation.ended(*jobs)

    asyncio.run(scene())


FORGETS_ITS_NODE = """
import asyncio, sys
from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.store import open_store
from tests.engine.working import is_listed, until

store = open_store(sys.argv[1])
node = Node.open(store, NodeOptions())
loop = asyncio.new_event_loop()
run = loop.create_task(node.run())
loop.run_until_complete(until(lambda: is_listed(store, node), "its first beat"))
"""


def test_a_program_that_ends_without_stopping_its_node_ends_all_the_same(
    store: Store, store_url: str, installation: Installation
) -> None:
    """Else it would give signs of life for ever, and nobody would run the jobs that it had."""
    command = [sys.executable, "-c", FORGETS_ITS_NODE, store_url]

    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False)

    assert ended.returncode == 0, ended.stderr
    assert [node.node_type for node in store.list_nodes(since=0)] == [installation.queue]


def own_threads(before: list[threading.Thread]) -> list[str]:
    """Threads of nodes, beside those that were there before. Those of jobs are left to the jobs."""
    names = [thread.name for thread in threading.enumerate() if thread not in before]
    return [name for name in names if name.startswith("rota-") and name != "rota-job"]


def test_a_node_that_stops_leaves_no_record_no_pulse_and_no_thread(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        installation.define_python("note")
        async with working(store) as node:
            await installation.ended(installation.enqueue("note", {"text": "x"}))

        assert not is_listed(store, node)
        assert store.read_pulses(installation.queue) == {}

    new_stage()
    before = threading.enumerate()
    asyncio.run(scene())

    wait_until(lambda: own_threads(before) == [], "the node's threads to end")


def test_a_scheduler_runs_no_jobs(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        installation.define_python("nothing")
        async with working(store, roles=frozenset({SCHEDULER}), dead_after_ms=SHORT_LEASE_MS) as node:
            job_id = installation.enqueue("nothing")
            beat = record_of(store, node).last_ping
            await until(lambda: record_of(store, node).last_ping > beat, "another beat")

            assert record_of(store, node).roles == (SCHEDULER,)
            assert record_of(store, node).slots == 0
            assert installation.job(job_id).state is JobState.QUEUED

    asyncio.run(scene())


@pytest.mark.parametrize("role", [WORKER, SCHEDULER])
def test_a_node_of_any_role_takes_back_the_jobs_of_dead_ones(
    store: Store, installation: Installation, role: str
) -> None:
    async def scene() -> None:
        installation.define_python("nothing")
        job_id = installation.enqueue("nothing")
        claim_one(store, installation.queue, now=store.now())
        # Who is watched in vain again and again, because the machine is slow, is never taken for dead.
        async with working(store, roles=frozenset({role}), dead_after_ms=4_000):
            await until(lambda: installation.job(job_id).deaths == 1, "the death to be noticed")

    asyncio.run(scene())


def test_a_round_of_retention_that_takes_long_does_not_keep_the_jobs_of_dead_nodes(
    store: Store, installation: Installation
) -> None:
    faults, may_return, has_returned = Faults(store), threading.Event(), threading.Event()

    def take_long() -> None:
        may_return.wait(DEADLINE_S)
        has_returned.set()

    async def scene() -> None:
        installation.define_python("nothing")
        job_id = installation.enqueue("nothing")
        claim_one(store, installation.queue, now=store.now())
        faults.before("trim_history", take_long)
        async with working(faults.store, roles=frozenset({SCHEDULER}), dead_after_ms=4_000):
            try:
                await until(lambda: not faults.awaits("trim_history"), "a round of retention")
                await until(lambda: installation.job(job_id).deaths == 1, "the death to be noticed")

                assert not has_returned.is_set()
            finally:
                may_return.set()

    asyncio.run(scene())


def test_a_loop_that_is_blocked_does_not_keep_the_jobs_of_dead_nodes(store: Store, installation: Installation) -> None:
    """Neither for long, nor again and again: a watchdog that was held up would have to watch anew each time."""

    async def scene() -> None:
        installation.define_python("nothing")
        job_id = installation.enqueue("nothing")
        claim_one(store, installation.queue, now=store.now())
        async with working(store, roles=frozenset({SCHEDULER}), dead_after_ms=4_000):
            wait_until(lambda: installation.job(job_id).deaths == 1, "the death, while the loop stands still")

    asyncio.run(scene())


def test_a_scheduler_trims_the_history(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        installation.define_python("nothing")
        async with working(store):
            job_id = installation.enqueue("nothing")
            await installation.ended(job_id)
        async with working(store, roles=frozenset({SCHEDULER}), history_max_count=0):
            await until(lambda: store.find_jobs([job_id]) == [None], "the job to be forgotten")

    asyncio.run(scene())


def test_only_the_default_node_type_is_made_when_it_is_not_there(store: Store) -> None:
    async def scene() -> None:
        async with working(store):
            assert [one.name for one in store.list_node_types()] == ["default"]

        with pytest.raises(NotFound, match="gpu"):
            await Node.open(store, NodeOptions(node_type="gpu")).run()
        assert [one.name for one in store.list_node_types()] == ["default"]

    asyncio.run(scene())


def test_a_node_serves_the_queue_of_its_own_type_only(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.definitions.define_node_type(NodeType(uuid=new_id(installation.clock.now()), name="gpu"))
        installation.define_python("note", node_type="gpu")
        installation.define_python("nothing")
        async with working(store, node_type="gpu") as node:
            other = installation.enqueue("nothing")
            (job,) = await installation.ended(installation.enqueue("note", {"text": "gpu"}))

            assert job.node == node.uuid
            assert stage.started == ["gpu"]
            assert installation.job(other).state is JobState.QUEUED

    asyncio.run(scene())


def test_a_run_whose_claim_was_lost_is_stopped_and_not_recorded(
    store: Store, installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        store.pause_queue(installation.queue)
        job_id = installation.enqueue("pass_gate")
        async with working(store, dead_after_ms=SHORT_LEASE_MS, threads=1) as node:
            store.resume_queue(installation.queue)
            await until(lambda: stage.inside == 1, "the job to start")

            # As if the node had been silent for too long: its claim is put back, and the queue gives out nothing.
            store.pause_queue(installation.queue)
            assert store.recover_claims(installation.queue, node.uuid, {}, floor=0, now=store.now()) == 1
            await until(lambda: stage.inside == 0, "the run to be stopped")

            assert installation.job(job_id).state is JobState.QUEUED
            assert installation.job(job_id).attempts == 0
            stage.gate.set()
            store.resume_queue(installation.queue)
            (job,) = await installation.ended(job_id)
            assert job.state is JobState.SUCCEEDED
            assert len(stage.started) == 2

    with caplog.at_level(logging.WARNING, "rota.worker"):
        asyncio.run(scene())
    assert "claim lost, run stopped" in caplog.text
    # The store would refuse it; nobody tries.
    assert "settlement refused" not in caplog.text


def test_a_changed_definition_is_used_after_the_next_beat(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("fail")
        async with working(store, dead_after_ms=SHORT_LEASE_MS) as node:
            await installation.ended(installation.enqueue("fail"))
            installation.definitions.delete_job_type("fail")
            await until(lambda: node.engine.definitions.known_job_type("fail") is None, "the node to hear of it")

    asyncio.run(scene())


def test_a_store_that_was_emptied_is_noticed_by_every_node(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    redis_server.flush()
    store = open_store(redis_server.url)

    def complaints() -> int:
        return caplog.text.count("the store was emptied or replaced")

    async def scene() -> None:
        async with (
            working(store, dead_after_ms=SHORT_LEASE_MS),
            working(store, dead_after_ms=SHORT_LEASE_MS) as second,
        ):
            assert complaints() == 0

            redis_server.flush()
            await until(lambda: complaints() == 2, "both nodes to say so")

            # Its record went with the rest; two more beats come without another complaint.
            await until(lambda: is_listed(store, second), "a beat")
            beat = record_of(store, second).last_ping
            await until(lambda: record_of(store, second).last_ping > beat, "another beat")
            assert complaints() == 2

    asyncio.run(scene())
    store.close()


def test_a_job_whose_type_cannot_be_read_now_goes_back_and_is_not_to_blame(redis_server: RedisServer) -> None:
    redis_server.flush()
    store = open_store(redis_server.url)

    async def scene() -> None:
        new_stage()
        installation = Installation(store)
        async with working(store, dead_after_ms=4 * 3_600_000):
            # The definitions are out of order for a while, as seen by a node that does not know the type yet.
            store.pause_queue(installation.queue)
            installation.define_python("nothing")
            job_id = installation.enqueue("nothing")
            raw_command(redis_server.port, "RENAME", "rota:{definitions}:job_types", "elsewhere")
            raw_command(redis_server.port, "SET", "rota:{definitions}:job_types", "rubbish")
            store.resume_queue(installation.queue)
            await until(lambda: installation.job(job_id).token != "", "the job to have been in the node's hands")
            # In one step: without any, the type would be taken for deleted.
            raw_command(redis_server.port, "RENAME", "elsewhere", "rota:{definitions}:job_types")

            (job,) = await installation.ended(job_id)

            assert job.state is JobState.SUCCEEDED
            assert job.attempts == 1

    asyncio.run(scene())
    store.close()


class LoopAsked:
    """A call to a store that hangs until the loop has done something for it."""

    def __init__(self, after: Callable[[], bool] = lambda: True) -> None:
        self._after = after
        self._loop = asyncio.get_running_loop()
        self.under_way = threading.Event()
        self.heard: list[bool] = []

    def __call__(self) -> None:
        self.under_way.set()
        wait_until(self._after, "what comes before the question")
        answers = threading.Event()
        self._loop.call_soon_threadsafe(answers.set)
        self.heard.append(answers.wait(DEADLINE_S))


class WakerFaults(Faults):
    """A store whose wakers do something before they close."""

    def __init__(self, store: Store, at_close: Callable[[], object]) -> None:
        super().__init__(store)
        self._at_close = at_close

    def waker(self, queue: str, node: str) -> Waker:
        waker = Faults(self.real.waker(queue, node))
        waker.before("close", self._at_close)
        return cast(Waker, waker)


def test_the_loop_goes_on_while_a_node_that_ends_waits_for_its_waker(store: Store) -> None:
    async def scene() -> None:
        question = LoopAsked()

        async with working(WakerFaults(store, question).store):
            pass

        assert question.heard == [True]

    asyncio.run(scene())


def test_the_loop_goes_on_while_a_node_that_ends_waits_for_a_call_of_a_duty(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.engine.bridge.store_thread.LONGEST_END_S", 2 * DEADLINE_S)

    async def scene() -> None:
        faults, before = Faults(store), threading.enumerate()
        # The first of the node's threads has ended, so the loop waits for the others.
        question = LoopAsked(after=lambda: "rota-news" not in own_threads(before))
        faults.before("read_pulses", question)

        async with working(faults.store):
            await until(question.under_way.is_set, "the watchdog to look")

        assert question.heard == [True]

    asyncio.run(scene())


def test_a_node_ends_although_its_jobs_have_taken_all_threads_of_the_loop(store: Store) -> None:
    async def scene() -> None:
        gate, loop = threading.Event(), asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(max_workers=1))
        taken = loop.run_in_executor(None, gate.wait)
        try:
            async with working(store) as node:
                node.request_stop()
            assert not is_listed(store, node)
        finally:
            gate.set()
            await taken

    asyncio.run(scene())
