"""Runs that are stopped from outside: by their timeout, by a cancellation, by a node that stops."""

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from rota.engine.node.node import Node
from rota.engine.node.options import NodeOptions
from rota.engine.worker.times import WorkerTimes
from rota.model.job import JobState
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import Settlement
from rota.store import Store
from rota.store.contract.claims import Claims
from rota.testing import Faults
from rota.testing.faults import away
from tests.engine.job_functions import new_stage
from tests.engine.working import is_listed, until, working
from tests.installation import Installation
from tests.patience import DEADLINE_S
from tests.processes import is_alive
from tests.servers import RedisServer, raw_command

# The contract tests hold all stores to the same promises; here one of each kind is enough.
pytestmark = pytest.mark.stores("sqlite-file", "redis")

TIMEOUTS_MS = (250, 2_500, 25_000)
"""Tried one after the other: on a slow machine a short one strikes before the job has begun, which proves nothing."""
WITH_GRANDCHILD = "sleep 600 & echo $$ $!; wait"
"""Tells the numbers of the shell and of its child, and waits for the child."""


async def family_of(installation: Installation, job_id: str) -> list[int]:
    """The processes of a `WITH_GRANDCHILD` job, from its live log."""
    await until(lambda: bool(installation.messages(job_id)), "the first line of the job's log")
    return [int(word) for word in installation.messages(job_id)[0].split()]


async def assert_gone(pids: list[int]) -> None:
    await until(lambda: not any(map(is_alive, pids)), f"processes {pids} to be gone")


def test_a_timeout_kills_the_whole_process_group_and_keeps_the_results_so_far(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        installation.define_command(WITH_GRANDCHILD)
        async with working(store):
            for timeout_ms in TIMEOUTS_MS:
                (job,) = await installation.ended(installation.enqueue("command", timeout_ms=timeout_ms))
                if installation.messages(job.id):
                    break
            pids = await family_of(installation, job.id)

            assert job.state is JobState.FAILED
            assert isinstance(job.errors, dict)
            assert job.errors["type"] == "timeout"
            assert job.errors["timeout_ms"] == timeout_ms
            assert isinstance(job.results, dict)
            assert job.results["stdout"] == f"{pids[0]} {pids[1]}\n"
            await assert_gone(pids)

    asyncio.run(scene())


def test_a_request_may_have_a_timeout_of_its_own(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("pass_gate", timeout_ms=3_600_000)
        async with working(store):
            (job,) = await installation.ended(installation.enqueue("pass_gate", timeout_ms=20))

            assert isinstance(job.errors, dict)
            assert job.errors["type"] == "timeout"
            assert job.errors["timeout_ms"] == 20

    asyncio.run(scene())


def test_a_timeout_uses_up_an_attempt_and_is_tried_again(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        retry = RetryPolicy(attempts=2, delay_ms=1)
        function: dict[str, object] = {"function": "tests.engine.job_functions:pass_gate"}
        async with working(store):
            for timeout_ms in TIMEOUTS_MS:
                stage = new_stage()
                name = installation.define(f"{timeout_ms}", "python", function, timeout_ms=timeout_ms, retry=retry)
                (job,) = await installation.ended(installation.enqueue(name))
                if len(stage.started) == 2:
                    break

            assert job.state is JobState.FAILED
            assert job.attempts == 2
            assert len(stage.started) == 2

    asyncio.run(scene())


def test_a_function_that_blocks_its_thread_gives_its_slot_free_at_its_timeout(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        installation.define_python("block")
        installation.define_python("nothing")
        async with working(store, threads=1):
            for timeout_ms in TIMEOUTS_MS:
                stage = new_stage()
                blocked = installation.enqueue("block", {"seconds": 3_600.0}, timeout_ms=timeout_ms)
                behind = installation.enqueue("nothing")
                (job, _) = await installation.ended(blocked, behind)
                stage.release.set()
                if stage.started:
                    break

            assert isinstance(job.errors, dict)
            assert job.errors["type"] == "timeout"
            assert stage.started[:1] == ["block"]

    asyncio.run(scene())


def test_a_waiting_job_is_cancelled_at_once_and_never_runs(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("note")
        delayed = installation.enqueue("note", {"text": "delayed"}, delay_ms=50)
        queued = installation.enqueue("note", {"text": "queued"})

        installation.cancel(delayed)
        installation.cancel(queued)

        assert installation.job(delayed).state is JobState.CANCELLED
        assert installation.job(queued).state is JobState.CANCELLED
        async with working(store, threads=1):
            await installation.ended(installation.enqueue("note", {"text": "last"}, delay_ms=100))
            assert stage.started == ["last"]

    asyncio.run(scene())


def test_a_cancellation_reaches_a_running_command_long_before_the_next_beat(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        installation.define_command(WITH_GRANDCHILD)
        # The beat, which would bring the news as well, is an hour away.
        async with working(store, dead_after_ms=4 * 3_600_000):
            job_id = installation.enqueue("command")
            pids = await family_of(installation, job_id)

            installation.cancel(job_id)
            (job,) = await installation.ended(job_id)

            assert job.state is JobState.CANCELLED
            assert isinstance(job.errors, dict)
            assert job.errors["type"] == "cancelled"
            await assert_gone(pids)

    asyncio.run(scene())


def test_a_cancelled_job_is_not_tried_again(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate", retry=RetryPolicy(attempts=5, delay_ms=1))
        async with working(store):
            job_id = installation.enqueue("pass_gate")
            await until(lambda: stage.inside == 1, "the job to start")

            installation.cancel(job_id)
            (job,) = await installation.ended(job_id)

            assert job.state is JobState.CANCELLED
            assert len(stage.started) == 1

    asyncio.run(scene())


def test_a_job_may_end_well_although_it_was_asked_to_stop(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("survive_being_stopped")
        async with working(store):
            job_id = installation.enqueue("survive_being_stopped")
            await until(lambda: stage.started == ["survivor"], "the job to start")

            installation.cancel(job_id)
            (job,) = await installation.ended(job_id)

            assert job.state is JobState.SUCCEEDED
            assert job.results == "ended well"

    asyncio.run(scene())


def test_a_slot_whose_job_ignored_a_request_to_stop_serves_on(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("survive_being_stopped")
        installation.define_python("raise_cancelled")
        installation.define_python("nothing")
        async with working(store, threads=1):
            survivor = installation.enqueue("survive_being_stopped")
            await until(lambda: stage.started == ["survivor"], "the job to start")
            installation.cancel(survivor)

            # The request must not be held against the jobs that come later.
            (odd, plain) = await installation.ended(
                installation.enqueue("raise_cancelled"), installation.enqueue("nothing")
            )

            assert odd.state is JobState.FAILED
            assert plain.state is JobState.SUCCEEDED

    asyncio.run(scene())


@pytest.mark.parametrize("reason", ["cancelled", "timeout"])
def test_a_job_that_was_stopped_and_broke_over_it_ended_for_that_reason(
    store: Store, installation: Installation, reason: str
) -> None:
    async def scene() -> None:
        installation.define_python("break_when_stopped")
        async with working(store):
            for timeout_ms in TIMEOUTS_MS if reason == "timeout" else (None,):
                stage = new_stage()
                job_id = installation.enqueue("break_when_stopped", timeout_ms=timeout_ms)
                if timeout_ms is None:
                    await until(partial(stage.started.__contains__, "breaker"), "the job to start")
                    installation.cancel(job_id)
                (job,) = await installation.ended(job_id)
                if stage.started:
                    break

            assert stage.started == ["breaker"]
            assert isinstance(job.errors, dict)
            assert job.errors["type"] == reason

    asyncio.run(scene())


def test_the_first_request_to_stop_lets_running_jobs_end(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        node = Node.open(store, NodeOptions(threads=1))
        run = asyncio.create_task(node.run())
        running = installation.enqueue("pass_gate")
        waiting = installation.enqueue("pass_gate")
        await until(lambda: stage.inside == 1, "a job to run")

        node.request_stop()
        stage.gate.set()
        await asyncio.wait_for(run, DEADLINE_S)

        assert installation.job(running).state is JobState.SUCCEEDED
        assert installation.job(waiting).state is JobState.QUEUED
        assert installation.job(waiting).attempts == 0

    asyncio.run(scene())


def test_a_node_that_drains_claims_nothing_although_slots_are_free(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        node = Node.open(store, NodeOptions(threads=3, stop_grace_s=3_600))
        run = asyncio.create_task(node.run())
        running, cancelled = installation.enqueue("pass_gate"), installation.enqueue("pass_gate")
        await until(lambda: stage.inside == 2, "the jobs to run")

        node.request_stop()
        # What the node asked before it was told to stop has its answer once the end of a later run is known.
        installation.cancel(cancelled)
        await until(lambda: installation.job(cancelled).state is JobState.CANCELLED, "a run to be cancelled")
        later = installation.enqueue("pass_gate")
        stage.gate.set()
        await asyncio.wait_for(run, DEADLINE_S)

        assert installation.job(running).state is JobState.SUCCEEDED
        assert installation.job(later).state is JobState.QUEUED
        assert installation.job(later).token == ""  # it was in nobody's hands

    asyncio.run(scene())


def test_after_the_grace_running_jobs_go_back_and_their_attempts_do_not_count(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate", retry=RetryPolicy(attempts=1))
        node = Node.open(store, NodeOptions(stop_grace_s=0.05))
        run = asyncio.create_task(node.run())
        jobs = [installation.enqueue("pass_gate") for _ in range(3)]
        await until(lambda: stage.inside == 3, "the jobs to run")

        node.request_stop()
        await asyncio.wait_for(run, DEADLINE_S)

        assert {installation.job(job_id).state for job_id in jobs} == {JobState.QUEUED}
        assert {installation.job(job_id).attempts for job_id in jobs} == {0}
        assert {installation.job(job_id).deaths for job_id in jobs} == {0}

    asyncio.run(scene())


def test_a_job_that_broke_because_its_node_stopped_has_used_up_no_attempt(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("break_when_stopped")
        node = Node.open(store, NodeOptions())
        run = asyncio.create_task(node.run())
        job_id = installation.enqueue("break_when_stopped")
        await until(lambda: stage.started == ["breaker"], "the job to start")

        node.request_stop(at_once=True)
        await asyncio.wait_for(run, DEADLINE_S)

        assert installation.job(job_id).state is JobState.QUEUED
        assert installation.job(job_id).attempts == 0

    asyncio.run(scene())


def test_the_second_request_to_stop_interrupts_running_commands_at_once(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        installation.define_command(WITH_GRANDCHILD)
        node = Node.open(store, NodeOptions(stop_grace_s=3_600))
        run = asyncio.create_task(node.run())
        job_id = installation.enqueue("command")
        pids = await family_of(installation, job_id)

        node.request_stop()
        node.request_stop(at_once=True)
        await asyncio.wait_for(run, DEADLINE_S)

        assert installation.job(job_id).state is JobState.QUEUED
        assert installation.job(job_id).attempts == 0
        await assert_gone(pids)

    asyncio.run(scene())


def test_a_job_that_is_cancelled_while_its_node_stops_is_cancelled(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        node = Node.open(store, NodeOptions(stop_grace_s=3_600))
        run = asyncio.create_task(node.run())
        job_id = installation.enqueue("pass_gate")
        await until(lambda: stage.inside == 1, "the job to run")

        node.request_stop()
        installation.cancel(job_id)
        await asyncio.wait_for(run, DEADLINE_S)

        assert installation.job(job_id).state is JobState.CANCELLED

    asyncio.run(scene())


def test_another_node_is_woken_for_what_a_stopped_one_gave_back(
    store: Store, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.store.redis.nouns.queues.waker._LONGEST_WAIT_S", 3_600.0)

    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        node = Node.open(store, NodeOptions(stop_grace_s=0.0))
        run = asyncio.create_task(node.run())
        job_id = installation.enqueue("pass_gate")
        await until(lambda: stage.inside == 1, "the job to run")
        async with working(store, worker_times=WorkerTimes(idle_check_s=3_600.0)) as other:
            node.request_stop()
            await asyncio.wait_for(run, DEADLINE_S)
            await until(lambda: len(stage.started) == 2, "the job to run again")
            stage.gate.set()
            (job,) = await installation.ended(job_id)

            assert job.node == other.uuid
            assert job.attempts == 1

    asyncio.run(scene())


class NotedClaims(Faults):
    """Notes with which token and for how many jobs a worker asked each time."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.tokens: list[str] = []
        self.limits: list[int] = []

    def finish_and_claim_jobs(
        self, queue: str, settlements: Sequence[Settlement], *, token: str, limit: int, **options: Any
    ) -> Claims:
        self.tokens.append(token)
        self.limits.append(limit)
        return self.real.finish_and_claim_jobs(queue, settlements, token=token, limit=limit, **options)


@pytest.mark.stores("sqlite-file")
def test_a_node_that_stops_passes_on_what_its_listener_may_have_heard_at_last(store: Store) -> None:
    """A claim of none signals another node. Whether the listener has heard something is a matter of chance."""

    async def scene() -> None:
        noted = NotedClaims(store)
        async with working(noted.store, worker_times=WorkerTimes(idle_check_s=3_600.0)):
            await until(lambda: bool(noted.limits), "the worker to ask for jobs")

        assert noted.limits[-1] == 0
        assert all(noted.limits[:-1])

    asyncio.run(scene())


@pytest.mark.stores("redis", "redis-cluster")  # a claim on a file cannot be on its way when its node has left
def test_a_claim_that_the_network_held_up_until_its_node_had_left_takes_nothing(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        noted = NotedClaims(store)
        name = installation.define_python("pass_gate")
        async with working(noted.store):
            await until(lambda: bool(noted.tokens), "the worker to ask for jobs")
        job_id = installation.enqueue(name)
        queue = installation.job(job_id).spec.queue

        for token in noted.tokens:
            assert store.claim_jobs(queue, token=token, limit=1, now=store.now()).claims == []
        assert installation.job(job_id).state is JobState.QUEUED

    asyncio.run(scene())


def test_a_request_to_stop_that_comes_before_the_node_runs_is_heard(store: Store) -> None:
    async def scene() -> None:
        node = Node.open(store, NodeOptions())
        node.request_stop()

        await asyncio.wait_for(node.run(), DEADLINE_S)

        assert not is_listed(store, node)

    asyncio.run(scene())


@pytest.mark.parametrize("at_once", [False, True])
def test_what_a_claim_brings_after_the_request_to_stop_goes_back_unstarted(
    store: Store, installation: Installation, at_once: bool
) -> None:
    async def scene() -> None:
        stage, faults = new_stage(), Faults(store)
        installation.define_python("pass_gate")
        under_way, may_go_on = threading.Event(), threading.Event()

        def take_long() -> None:
            under_way.set()
            may_go_on.wait(DEADLINE_S)

        faults.before("finish_and_claim_jobs", take_long)
        node = Node.open(faults.store, NodeOptions(stop_grace_s=3_600))
        run = asyncio.create_task(node.run())
        await until(under_way.is_set, "the first claim to be under way")
        job_id = installation.enqueue("pass_gate")
        node.request_stop(at_once=at_once)
        may_go_on.set()
        await asyncio.wait_for(run, DEADLINE_S)

        assert stage.started == []
        assert installation.job(job_id).attempts == 0

    asyncio.run(scene())


@pytest.mark.parametrize("retry_beside", [False, True])
def test_a_thread_that_outlives_its_timeout_is_said_to_run_on_and_no_retry_starts_beside_it(
    store: Store, installation: Installation, retry_beside: bool
) -> None:
    async def scene() -> None:
        metadata: dict[str, object] = {"function": "tests.engine.job_functions:block", "retry_beside": retry_beside}
        retry = RetryPolicy(attempts=2, delay_ms=1, jitter=0.0)
        expected = ["block"] * (2 if retry_beside else 1)
        async with working(store):
            for timeout_ms in TIMEOUTS_MS:
                stage = new_stage()
                name = installation.define(f"{timeout_ms}", "python", metadata, timeout_ms=timeout_ms, retry=retry)
                (job,) = await installation.ended(installation.enqueue(name, {"seconds": DEADLINE_S}))
                stage.release.set()
                if stage.started == expected:
                    break

        assert isinstance(job.errors, dict)
        assert (job.state, job.errors["type"]) == (JobState.FAILED, "timeout")
        assert stage.started == expected
        assert ("it runs on" in str(job.errors["message"])) is not retry_beside

    asyncio.run(scene())


@pytest.mark.stores("sqlite-file")
def test_what_sidekiq_has_begun_is_not_pushed_again_beside_it_when_it_is_over_its_time(
    store: Store, installation: Installation, redis_server: RedisServer
) -> None:
    async def scene() -> None:
        metadata: dict[str, object] = {
            "class": "Any",
            "queue": "over",
            "completion": "report",
            "redis": redis_server.url,
        }
        retry = RetryPolicy(attempts=3, delay_ms=1, jitter=0.0)
        name = installation.define("ruby", "sidekiq", metadata, timeout_ms=1, retry=retry)
        # As a Sidekiq that waits for jobs, and has this one as soon as it is in the queue.
        sidekiq = asyncio.create_task(asyncio.to_thread(raw_command, redis_server.port, "BRPOP", "queue:over", 60))
        await until(lambda: redis_server.info("clients")["blocked_clients"] == "1", "Sidekiq to wait")
        async with working(store):
            (job,) = await installation.ended(installation.enqueue(name))

        assert job.id in await sidekiq
        assert (job.state, job.attempts) == (JobState.FAILED, 1)
        assert isinstance(job.errors, dict)
        assert "could not be stopped, so it runs on" in str(job.errors["message"])

    asyncio.run(scene())


@pytest.mark.parametrize("function", ["pass_gate", "swallow_cancellation"])
def test_a_node_that_stops_while_its_store_is_away_ends_when_its_grace_is_over(
    store: Store, installation: Installation, function: str
) -> None:
    async def scene() -> None:
        stage, faults = new_stage(), Faults(store)
        installation.define_python(function)
        times = WorkerTimes(idle_check_s=0.01, retry_s=(0.001,), abandon_s=0.2)
        node = Node.open(faults.store, NodeOptions(threads=2, stop_grace_s=0.2, worker_times=times))
        run = asyncio.create_task(node.run())
        job_id = installation.enqueue(function)
        await until(lambda: stage.inside == 1, "the job to run")
        faults.cut_off()
        faults.calls.clear()
        await until(lambda: faults.calls.count("recover_claims") > 2, "the worker to know it")

        # The worker waits for something to change, and wakes before its slots when the grace is over.
        node.request_stop()
        await asyncio.wait_for(run, DEADLINE_S)

        stage.gate.set()
        assert installation.job(job_id).state is JobState.RUNNING

    asyncio.run(scene())


def test_a_node_that_stops_at_once_tells_what_ended_although_the_store_failed_once(
    store: Store, installation: Installation
) -> None:
    """The job would be given back, and run a second time."""

    async def scene() -> None:
        stage, faults = new_stage(), Faults(store)
        failed: list[bool] = []
        installation.define_python("swallow_cancellation")
        times = WorkerTimes(idle_check_s=3_600.0, retry_s=(0.001,))

        def fail_once() -> None:
            if not failed:
                failed.append(True)
                away()

        async with working(faults.store, worker_times=times) as node:
            job_id = installation.enqueue("swallow_cancellation")
            await until(lambda: stage.inside == 1, "the job to run")
            for name in ("finish_jobs", "finish_and_claim_jobs"):
                faults.before(name, fail_once)
            node.request_stop(at_once=True)
            stage.gate.set()

        assert (installation.job(job_id).state, failed) == (JobState.SUCCEEDED, [True])

    asyncio.run(scene())
