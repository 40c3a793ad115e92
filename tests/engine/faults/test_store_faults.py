"""A node whose store goes away for a while, or whose answers get lost: it tries again, says so, and loses nothing."""

import asyncio
import logging
import threading
from collections.abc import Callable

import pytest

from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.engine.worker.times import WorkerTimes
from rota.errors import StoreFull, StoreUnavailable
from rota.model.job import JobState
from rota.store import Store
from rota.store.contract.queues import Cancellation
from rota.testing import Faults
from tests.engine.job_functions import new_stage
from tests.engine.working import until, working
from tests.installation import Installation
from tests.patience import DEADLINE_S

# The contract tests hold all stores to the same promises; here one of each kind is enough.
pytestmark = pytest.mark.stores("sqlite-file", "redis", "redis-cluster")

HOUR_LEASE_MS = 4 * 3_600_000
"""Beats and watchdog are an hour away, so that the worker has to help itself."""


def be_away() -> None:
    raise StoreUnavailable("the store is away")


def be_full() -> None:
    raise StoreFull("no room")


def test_a_claim_whose_answer_is_lost_leaves_no_job_behind(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        installation.define_python("note")
        async with working(faults.store, dead_after_ms=HOUR_LEASE_MS):
            faults.after("finish_and_claim_jobs", be_away)
            jobs = await installation.ended(*(installation.enqueue("note", {"text": "x"}) for _ in range(3)))

            assert {job.state for job in jobs} == {JobState.SUCCEEDED}
            assert {job.attempts for job in jobs} == {1}
            assert {job.deaths for job in jobs} == {0}
            assert stage.started == ["x"] * 3

    asyncio.run(scene())


class Reconnected(Faults):
    """A store whose connections are counted by the test."""

    contacts = 0


def test_what_a_node_holds_is_compared_once_for_each_time_that_its_store_is_contacted_anew(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        new_stage()
        lines = Reconnected(store)
        installation.define_python("nothing")
        async with working(lines.store, dead_after_ms=HOUR_LEASE_MS):
            await installation.ended(installation.enqueue("nothing"))
            assert "recover_claims" not in lines.calls
            lines.contacts += 1
            for _ in range(3):
                await installation.ended(installation.enqueue("nothing"))
            assert lines.calls.count("recover_claims") == 1

    asyncio.run(scene())


def test_what_a_node_holds_is_compared_again_if_its_store_is_contacted_anew_meanwhile(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        new_stage()
        lines = Reconnected(store)
        installation.define_python("nothing")

        def reconnect() -> None:
            lines.contacts += 1

        async with working(lines.store, dead_after_ms=HOUR_LEASE_MS):
            lines.after("recover_claims", reconnect)
            reconnect()
            for _ in range(3):
                await installation.ended(installation.enqueue("nothing"))
            assert lines.calls.count("recover_claims") == 2

    asyncio.run(scene())


def test_a_job_whose_end_waits_for_the_lines_of_its_log_is_still_in_hand(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        lines = Reconnected(store)
        installation.define_python("speak_and_wait")
        installation.define_python("nothing")
        writing, may_go_on = threading.Event(), threading.Event()

        def hold() -> None:
            writing.set()
            may_go_on.wait(DEADLINE_S)

        async with working(lines.store, threads=2, dead_after_ms=HOUR_LEASE_MS):
            lines.before("append_logs", hold)
            job_id = installation.enqueue("speak_and_wait", {"lines": 3})
            await until(writing.is_set, "the lines to be on their way")
            stage.gate.set()
            await until(lambda: stage.ended == [job_id], "the job to end")
            try:
                await installation.ended(installation.enqueue("nothing"))
                lines.contacts += 1
                await installation.ended(installation.enqueue("nothing"))
            finally:
                may_go_on.set()
            (job,) = await installation.ended(job_id)

            assert lines.calls.count("recover_claims") == 1
            assert (job.state, job.attempts, stage.started) == (JobState.SUCCEEDED, 1, [job_id])

    asyncio.run(scene())


def test_a_settlement_whose_answer_is_lost_is_carried_out_once(
    store: Store, installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        installation.define_python("pass_gate")
        async with working(faults.store, dead_after_ms=HOUR_LEASE_MS):
            job_id = installation.enqueue("pass_gate", {"text": "x"})
            await until(lambda: stage.inside == 1, "the job to run")
            faults.after("finish_and_claim_jobs", be_away, be_away)
            stage.gate.set()

            (job,) = await installation.ended(job_id)
            await installation.ended(installation.enqueue("pass_gate", {"text": "y"}))

            assert job.state is JobState.SUCCEEDED
            assert stage.started == ["x", "y"]

    with caplog.at_level(logging.WARNING, "rota.worker"):
        asyncio.run(scene())
    assert "settlement refused" not in caplog.text


@pytest.mark.parametrize("fault", [be_away, be_full])
def test_a_node_says_that_its_store_is_away_and_goes_on_when_it_is_back(
    store: Store, installation: Installation, caplog: pytest.LogCaptureFixture, fault: Callable[[], None]
) -> None:
    async def scene() -> None:
        new_stage()
        faults = Faults(store)
        installation.define_python("nothing")
        async with working(faults.store, dead_after_ms=HOUR_LEASE_MS) as node:
            await installation.ended(installation.enqueue("nothing"))
            faults.before("finish_and_claim_jobs", fault, fault, fault, fault)
            job_id = installation.enqueue("nothing")
            await until(lambda: node.health() is not None, "the node to say so")
            assert "store unavailable" in str(node.health())

            (job,) = await installation.ended(job_id)

            assert job.state is JobState.SUCCEEDED
            await until(lambda: node.health() is None, "the node to be well again")

    with caplog.at_level(logging.INFO, "rota.node"):
        asyncio.run(scene())
    assert caplog.text.count("store unavailable, trying again") == 1
    assert caplog.text.count("store available again") == 1


def test_a_long_outage_costs_nothing_but_time(store: Store, installation: Installation) -> None:
    times = WorkerTimes(retry_s=(0.001, 0.002, 0.003))

    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        installation.define_python("pass_gate")
        async with working(faults.store, dead_after_ms=HOUR_LEASE_MS, worker_times=times):
            job_id = installation.enqueue("pass_gate", {"text": "x"})
            await until(lambda: stage.inside == 1, "the job to run")
            for name in ("finish_jobs", "finish_and_claim_jobs", "recover_claims"):
                faults.before(name, *[be_away] * 20)
            stage.gate.set()

            (job,) = await installation.ended(job_id)

            assert (job.state, job.attempts, job.deaths) == (JobState.SUCCEEDED, 1, 0)
            assert stage.started == ["x"]

    asyncio.run(scene())


def test_log_lines_of_a_job_that_ended_while_they_could_not_be_written_are_kept(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        installation.define_python("speak_and_wait")
        writing, job_ended = threading.Event(), threading.Event()

        def fail_late() -> None:
            writing.set()
            job_ended.wait(DEADLINE_S)
            be_away()

        async with working(faults.store, dead_after_ms=HOUR_LEASE_MS):
            faults.before("append_logs", fail_late)
            job_id = installation.enqueue("speak_and_wait", {"lines": 3})
            await until(writing.is_set, "the lines to be on their way")
            stage.gate.set()
            await until(lambda: stage.ended == [job_id], "the job to end")
            job_ended.set()

            await installation.ended(job_id)

            assert installation.messages(job_id) == ["line 0", "line 1", "line 2"]

    asyncio.run(scene())


def test_jobs_end_although_the_store_has_no_room_for_their_log_lines(
    store: Store, installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        stage = new_stage()
        stage.gate.set()
        faults = Faults(store)
        installation.define_python("speak_and_wait")
        async with working(faults.store, dead_after_ms=HOUR_LEASE_MS) as node:
            faults.before("append_logs", be_full, be_full)
            first = await installation.ended(installation.enqueue("speak_and_wait", {"lines": 3}))
            second = await installation.ended(installation.enqueue("speak_and_wait", {"lines": 3}))
            third = await installation.ended(installation.enqueue("speak_and_wait", {"lines": 3}))

            assert {job.state for job in first + second + third} == {JobState.SUCCEEDED}
            assert installation.messages(first[0].id) == []
            assert installation.messages(third[0].id) == ["line 0", "line 1", "line 2"]
            assert node.health() is None

    with caplog.at_level(logging.WARNING, "rota.worker"):
        asyncio.run(scene())
    assert caplog.text.count("log lines are dropped: the store is full") == 1
    assert caplog.text.count("log lines are written again") == 1


def test_a_node_whose_store_stays_away_can_still_be_stopped_at_once(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        installation.define_python("pass_gate")
        node = Node.open(faults.store, NodeOptions(dead_after_ms=HOUR_LEASE_MS))
        run = asyncio.create_task(node.run())
        job_id = installation.enqueue("pass_gate")
        await until(lambda: stage.inside == 1, "the job to run")
        for name in ("finish_jobs", "finish_and_claim_jobs", "append_logs", "recover_claims", "leave_queue"):
            faults.before(name, *[be_away] * 1_000)

        node.request_stop(at_once=True)
        await asyncio.wait_for(run, DEADLINE_S)

        assert installation.job(job_id).state is JobState.RUNNING  # until another node's watchdog finds it

    asyncio.run(scene())


def test_an_error_that_nobody_expected_ends_no_node_and_loses_no_job(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        def break_down() -> None:
            raise RuntimeError("a bug")

        new_stage()
        installation.define_python("nothing")
        faults = Faults(store)
        async with working(faults.store, dead_after_ms=HOUR_LEASE_MS):
            faults.before("finish_and_claim_jobs", break_down)
            faults.after("finish_and_claim_jobs", break_down)
            jobs = await installation.ended(*(installation.enqueue("nothing") for _ in range(5)))

            assert {(job.state, job.attempts) for job in jobs} == {(JobState.SUCCEEDED, 1)}

    asyncio.run(scene())


def test_a_beat_that_fails_is_followed_by_others(store: Store) -> None:
    async def scene() -> None:
        def break_down() -> None:
            raise RuntimeError("a bug")

        faults = Faults(store)
        async with working(faults.store, dead_after_ms=200):
            faults.before("beat", be_away, break_down)
            before = faults.calls.count("beat")

            await until(lambda: faults.calls.count("beat") > before + 3, "further beats")

    asyncio.run(scene())


def test_a_duty_that_fails_is_done_again(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        def break_down() -> None:
            raise RuntimeError("a bug")

        faults = Faults(store)
        faults.before("read_pulses", be_away, break_down)
        async with working(faults.store, dead_after_ms=200):
            await until(lambda: faults.calls.count("read_pulses") > 3, "further rounds")

    asyncio.run(scene())
    assert "duty failed" in caplog.text


def test_a_worker_asks_for_jobs_now_and_then_although_nobody_wakes_it(store: Store, installation: Installation) -> None:
    times = WorkerTimes(idle_check_s=0.2)

    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        installation.define_python("note")
        async with working(DeafStore(faults.store).store, dead_after_ms=HOUR_LEASE_MS, worker_times=times):
            await until(lambda: "finish_and_claim_jobs" in faults.calls, "the first question")
            await installation.ended(installation.enqueue("note", {"text": "heard"}))

            assert stage.started == ["heard"]

    asyncio.run(scene())


class DeafWaker:
    """Hears nothing, as after a connection that broke without a word."""

    def __init__(self) -> None:
        self._closed = threading.Event()

    def wait(self, timeout_s: float, *, wants_jobs: bool) -> list[Cancellation]:
        self._closed.wait(DEADLINE_S)
        return []

    def nudge(self) -> None:
        """Nobody is reached."""

    def close(self) -> None:
        self._closed.set()


class DeafStore(Faults):
    """A store that cannot wake anybody."""

    def waker(self, queue: str, node: str) -> DeafWaker:
        return DeafWaker()
