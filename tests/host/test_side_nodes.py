"""A process that serves more than one queue is as well as the worst of its nodes."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rota.dialects import registry
from rota.dialects.sync_tasks.tasks import Tasks
from rota.engine.definitions.file import Wanted
from rota.engine.executors.executor import Run
from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.errors import NodeStrained, NotFound
from rota.host.host import Host
from rota.host.side_nodes import SideNode
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome, succeeded
from rota.settings import load_settings
from rota.store import Store
from rota.testing.faults import Faults, away
from tests.engine.working import until
from tests.patience import DEADLINE_S
from tests.shortage import no_threads

YAML = """
sources:
  shop: {executor: bash, metadata: {command: "true"}, collections: [{name: orders}]}
"""


class Short:
    """An executor that finds no process as long as it is short of them."""

    def __init__(self) -> None:
        self.is_short = True

    def check(self, job_type: JobType) -> None:
        """Anything goes."""

    async def run(self, run: Run) -> Outcome:
        if self.is_short:
            raise NodeStrained("no process can be started")
        return succeeded()

    async def close(self) -> None:
        """Nothing is open."""


class Gated(Short):
    """An executor whose runs end when the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.gate = asyncio.Event(), asyncio.Event()
        self.is_closed = False

    async def run(self, run: Run) -> Outcome:
        self.began.set()
        await self.gate.wait()
        return succeeded()

    async def close(self) -> None:
        self.is_closed = True


def open_host(folder: Path, store: Store) -> Host:
    (folder / "rota.yaml").write_text(YAML)
    settings = load_settings({}, {}, None, folder, registry.sections())
    host = Host.open(settings, store, frozenset({"worker", "server"}))
    host.engine.file.apply(Wanted.of(settings))
    return host


def side_node(host: Host) -> SideNode:
    return next(one for one in host.side_nodes if one.node_type == "sync_tasks")


def test_the_health_of_a_process_counts_each_of_its_nodes(folder: Path, opened: Store) -> None:
    async def scene() -> None:
        host, executor, stopping = open_host(folder, opened), Short(), asyncio.Event()
        host.engine.executors.provide("bash", executor)
        assert host.health() is None
        side = side_node(host)
        life = asyncio.create_task(side.run(stopping))
        job, _ = Tasks(host.engine).create("shop", "orders")

        await until(lambda: "no process can be started" in str(host.health()), "the side node to be in trouble")

        assert host.node.health() is None
        assert host.health() == side.health()
        executor.is_short = False
        await until(lambda: host.engine.jobs.find(job.id).state.is_final, "the task to end")
        stopping.set()
        await life

    asyncio.run(scene())


def test_a_side_node_that_ends_leaves_the_executors_to_the_others(folder: Path, opened: Store) -> None:
    async def scene() -> None:
        host, executor, stopping = open_host(folder, opened), Short(), asyncio.Event()
        host.engine.executors.provide("bash", executor)
        life = asyncio.create_task(side_node(host).run(stopping))
        executor.is_short = False
        job, _ = Tasks(host.engine).create("shop", "orders")
        await until(lambda: host.engine.jobs.find(job.id).state.is_final, "the task to end")

        stopping.set()
        await life

        assert host.engine.executors.get("bash") is executor

    asyncio.run(scene())


def test_a_side_node_that_is_stopped_while_it_is_opened_ends(
    folder: Path, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        host, stopping = open_host(folder, opened), asyncio.Event()
        opening, may_open, beside = threading.Event(), threading.Event(), host.node.beside

        def open_late(options: NodeOptions) -> Node:
            opening.set()
            may_open.wait(DEADLINE_S)
            return beside(options)

        monkeypatch.setattr(host.node, "beside", open_late)
        side = side_node(host)
        life = asyncio.create_task(side.run(stopping))
        await until(opening.is_set, "the node to be opened")

        side.request_stop()
        may_open.set()

        await asyncio.wait_for(life, DEADLINE_S)

    asyncio.run(scene())


def test_a_node_ends_after_those_beside_it(folder: Path, opened: Store) -> None:
    async def scene() -> None:
        host, executor = open_host(folder, opened), Gated()
        host.engine.executors.provide("bash", executor)
        main = asyncio.create_task(host.node.run())
        side = asyncio.create_task(side_node(host).run(asyncio.Event()))
        job, _ = Tasks(host.engine).create("shop", "orders")
        await executor.began.wait()

        host.node.request_stop()
        await asyncio.wait([main], timeout=0.3)
        assert not main.done()
        assert not executor.is_closed
        executor.gate.set()
        await asyncio.gather(main, side)

        assert host.engine.jobs.find(job.id).state is JobState.SUCCEEDED
        assert executor.is_closed

    asyncio.run(scene())


def deleted() -> None:
    """What a look finds whose node type was deleted in that moment."""
    raise NotFound("node type", "sync_tasks")


@pytest.mark.parametrize("fault", [away, deleted])
def test_a_queue_whose_store_or_node_type_is_away_is_served_as_soon_as_it_is_back(
    folder: Path, opened: Store, fault: Callable[[], None]
) -> None:
    async def scene() -> None:
        faults = Faults(opened)
        host, executor, stopping = open_host(folder, faults.store), Short(), asyncio.Event()
        host.engine.executors.provide("bash", executor)
        executor.is_short = False
        faults.before("put_setting", fault)

        life = asyncio.create_task(side_node(host).run(stopping))
        job, _ = Tasks(host.engine).create("shop", "orders")
        await until(lambda: host.engine.jobs.find(job.id).state.is_final, "the task to end")
        stopping.set()
        await life

        assert not faults.awaits("put_setting")

    asyncio.run(scene())


def test_a_queue_is_served_as_soon_as_there_is_room_for_a_thread(
    folder: Path, opened: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        host, executor, stopping = open_host(folder, opened), Short(), asyncio.Event()
        host.engine.executors.provide("bash", executor)
        executor.is_short = False
        with no_threads():
            life = asyncio.create_task(side_node(host).run(stopping))
            await until(lambda: "queue not served yet" in caplog.messages, "the side node to find no thread")

        job, _ = Tasks(host.engine).create("shop", "orders")
        await until(lambda: host.engine.jobs.find(job.id).state.is_final, "the task to end")
        stopping.set()
        await life

    asyncio.run(scene())


def test_a_queue_that_cannot_be_served_yet_does_not_keep_its_process_from_ending(folder: Path, opened: Store) -> None:
    async def scene() -> None:
        faults = Faults(opened)
        host, stopping = open_host(folder, faults.store), asyncio.Event()
        faults.cut_off()
        life = asyncio.create_task(side_node(host).run(stopping))
        await until(lambda: faults.calls[-1] == "put_setting", "the side node to be refused")

        stopping.set()
        await life

    asyncio.run(scene())


def test_a_queue_that_nobody_has_defined_does_not_keep_its_process_from_ending(
    folder: Path, opened: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        host, stopping = open_host(folder, opened), asyncio.Event()
        side = SideNode(host.node, NodeOptions(), "nowhere", None)
        life = asyncio.create_task(side.run(stopping))
        await asyncio.sleep(0)
        assert side.health() is None

        side.request_stop(at_once=True)
        side.give_up()
        await life

    asyncio.run(scene())

    assert "queue not served yet" not in caplog.messages


def test_a_queue_that_cannot_be_served_yet_is_told_once_for_each_reason(
    folder: Path, opened: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rota.host.side_nodes._LOOK_S", 0.001)

    async def scene() -> None:
        faults = Faults(opened)
        host, stopping = open_host(folder, faults.store), asyncio.Event()
        faults.before("put_setting", away, away, away, deleted, away)

        life = asyncio.create_task(side_node(host).run(stopping))
        await until(lambda: not faults.awaits("put_setting"), "the side node to begin")
        stopping.set()
        await life

    asyncio.run(scene())

    assert caplog.messages.count("queue not served yet") == 3


def test_jobs_of_a_side_node_are_interrupted_when_its_process_is_to_end_at_once(folder: Path, opened: Store) -> None:
    async def scene() -> None:
        host, executor = open_host(folder, opened), Gated()
        host.engine.executors.provide("bash", executor)
        side = SideNode(host.node, NodeOptions(stop_grace_s=3_600.0), "sync_tasks", 1)
        life = asyncio.create_task(side.run(asyncio.Event()))
        job, _ = Tasks(host.engine).create("shop", "orders")
        await executor.began.wait()

        side.request_stop(at_once=True)
        await asyncio.wait_for(life, DEADLINE_S)

        assert host.engine.jobs.find(job.id).state is JobState.QUEUED

    asyncio.run(scene())
