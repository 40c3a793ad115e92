"""The worker: claims jobs, runs them, settles them."""

import asyncio
from functools import partial
from typing import Any

import pytest

from rota.engine.jobs.intake import JobRequest
from rota.engine.worker.times import WorkerTimes
from rota.errors import StoreUnavailable
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import Unique
from rota.model.runs.retry import RetryPolicy
from rota.store import Store, open_store
from rota.store.contract.claims import Claims
from rota.store.redis.keys import QueueKeys
from rota.testing import Faults
from tests.contract.building import enqueue, spec
from tests.engine.job_functions import new_stage
from tests.engine.worker.waking import WatchedStore
from tests.engine.working import until, working
from tests.installation import Installation
from tests.servers import RedisServer, raw_command

# The contract tests hold all stores to the same promises; here one of each kind is enough.
pytestmark = pytest.mark.stores("sqlite-file", "redis")

ONLY_WHEN_WOKEN = WorkerTimes(idle_check_s=3_600.0)
"""Of nodes that do not look for jobs by themselves."""
SOON = RetryPolicy(attempts=3, delay_ms=1, factor=1.0, jitter=0.0)


@pytest.fixture
def endless_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait in Redis ends by itself after ten seconds, and a job that nobody awaits would be found by chance."""
    monkeypatch.setattr("rota.store.redis.nouns.queues.waker._LONGEST_WAIT_S", 3_600.0)


def test_a_job_runs_and_its_result_stays(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("note")
        async with working(store) as node:
            request = JobRequest(job_type="note", arguments={"text": "hello"})
            (made,) = node.engine.intake.enqueue([request])  # by the clock that tells when it starts

            (job,) = await installation.ended(made.job_id)

            assert job.state is JobState.SUCCEEDED
            assert job.results == "hello"
            assert job.errors is None
            assert job.attempts == 1
            assert job.node == node.uuid
            assert job.started_at is not None
            assert job.ended_at is not None
            assert job.spec.enqueued_at <= job.started_at <= job.ended_at

    asyncio.run(scene())


def test_jobs_that_waited_before_the_node_came_are_run(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("nothing")
        admissions = installation.intake.enqueue([JobRequest(job_type="nothing") for _ in range(300)])
        async with working(store):
            jobs = await installation.ended(*(admission.job_id for admission in admissions))

            assert {job.state for job in jobs} == {JobState.SUCCEEDED}
            assert {job.attempts for job in jobs} == {1}

    asyncio.run(scene())


def test_jobs_run_by_priority_and_then_in_the_order_of_their_coming(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("note")
        for text, priority in (("a", 0), ("b", 5), ("c", -5), ("d", 5), ("e", 0)):
            last = installation.enqueue("note", {"text": text}, priority=priority)
        async with working(store, threads=1):
            await installation.ended(last)
            await until(lambda: len(stage.ended) == 5, "all jobs")

            assert stage.started == ["b", "d", "a", "e", "c"]

    asyncio.run(scene())


def test_a_delayed_job_runs_when_its_time_has_come_and_not_before(
    store: Store, installation: Installation, endless_waits: None
) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("nothing")
        async with working(store, worker_times=ONLY_WHEN_WOKEN):
            for delay_ms in (300, 3_000, 30_000):  # on a slow machine a short one is over before anybody looks
                job_id = installation.enqueue("nothing", delay_ms=delay_ms)
                state = installation.job(job_id).state
                if state is JobState.DELAYED:
                    break
            assert state is JobState.DELAYED

            (job,) = await installation.ended(job_id)

            assert job.started_at is not None
            assert job.spec.run_at is not None
            assert job.started_at >= job.spec.run_at

    asyncio.run(scene())


def test_a_job_that_is_delayed_less_than_one_that_is_awaited_is_not_late(
    store: Store, installation: Installation, endless_waits: None
) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("nothing")
        async with working(store, worker_times=ONLY_WHEN_WOKEN):
            far = installation.enqueue("nothing", delay_ms=3_600_000)
            near = installation.enqueue("nothing", delay_ms=100)

            (job,) = await installation.ended(near)

            assert job.started_at is not None
            assert job.spec.run_at is not None
            assert job.started_at >= job.spec.run_at
            assert installation.job(far).state is JobState.DELAYED

    asyncio.run(scene())


def test_a_failed_attempt_is_tried_again_as_its_policy_says(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("fail_until", retry=SOON)
        async with working(store):
            job_id = installation.enqueue("fail_until", {"attempt": 3})

            (job,) = await installation.ended(job_id)

            assert job.state is JobState.SUCCEEDED
            assert job.results == 3
            assert job.attempts == 3
            assert stage.started == ["attempt 1", "attempt 2", "attempt 3"]
            assert [(one.number, one.error) for one in job.past] == [
                (1, "ValueError: not yet"),
                (2, "ValueError: not yet"),
            ]
            assert all(one.started_at and one.started_at <= one.ended_at for one in job.past)

    asyncio.run(scene())


def test_between_two_attempts_a_job_waits_as_long_as_its_policy_says(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("fail", retry=RetryPolicy(attempts=2, delay_ms=3_600_000, jitter=0.0))
        async with working(store):
            job_id = installation.enqueue("fail")
            await until(
                lambda: installation.job(job_id).state is JobState.DELAYED, "the job to wait for its second attempt"
            )

            job = installation.job(job_id)

            assert job.attempts == 1
            assert job.available_at > installation.clock.now() + 3_500_000

    asyncio.run(scene())


def test_a_job_fails_when_its_attempts_are_used_up(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("fail", retry=SOON)
        async with working(store):
            job_id = installation.enqueue("fail")

            (job,) = await installation.ended(job_id)

            assert job.state is JobState.FAILED
            assert job.attempts == 3
            assert stage.started == [job_id] * 3
            assert isinstance(job.errors, dict)
            assert job.errors["type"] == "ValueError"
            assert job.errors["message"] == "as always"

    asyncio.run(scene())


def test_a_request_may_have_a_retry_policy_of_its_own(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("fail_until")
        async with working(store):
            job_id = installation.enqueue("fail_until", {"attempt": 2}, retry=SOON)

            (job,) = await installation.ended(job_id)

            assert job.state is JobState.SUCCEEDED

    asyncio.run(scene())


def test_of_a_type_that_is_unique_while_running_one_job_runs_at_a_time_on_all_nodes_in_order(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("take_a_moment", unique=Unique.WHILE_RUNNING)
        # Nobody gives up a run because the machine stood still.
        hours = 4 * 3_600_000
        async with working(store, threads=4, dead_after_ms=hours), working(store, threads=4, dead_after_ms=hours):
            texts = [f"{number:02}" for number in range(30)]

            await installation.ended(*(installation.enqueue("take_a_moment", {"text": text}) for text in texts))

            assert stage.most_inside == 1
            assert stage.started == texts

    asyncio.run(scene())


def test_a_type_that_is_unique_while_pending_takes_one_live_job_with_equal_arguments(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate", unique=Unique.WHILE_PENDING)
        async with working(store):
            first = installation.enqueue("pass_gate", {"text": "a"})
            await installation.running(first)

            assert installation.enqueue("pass_gate", {"text": "a"}) == first
            other = installation.enqueue("pass_gate", {"text": "b"})
            assert other != first

            stage.gate.set()
            await installation.ended(first, other)
            again = installation.enqueue("pass_gate", {"text": "a"})
            assert again != first
            await installation.ended(again)
            assert sorted(stage.started) == ["a", "a", "b"]

    asyncio.run(scene())


def test_a_paused_queue_runs_nothing_until_it_is_resumed(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        installation.define_python("note")
        async with working(store):
            running = installation.enqueue("pass_gate", {"text": "running"})
            await installation.running(running)

            store.pause_queue(installation.queue)
            waiting = installation.enqueue("note", {"text": "waiting"})
            stage.gate.set()
            await installation.ended(running)
            assert installation.job(waiting).state is JobState.QUEUED

            store.resume_queue(installation.queue)
            await installation.ended(waiting)
            assert stage.started == ["running", "waiting"]

    asyncio.run(scene())


def test_a_node_runs_as_many_jobs_at_a_time_as_its_type_says(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation = Installation(store, threads=3)
        installation.define_python("pass_gate")
        jobs = [installation.enqueue("pass_gate") for _ in range(12)]
        async with working(store):
            await until(lambda: stage.inside == 3, "three jobs to run")
            stage.gate.set()
            await installation.ended(*jobs)

            assert stage.most_inside == 3

    asyncio.run(scene())


def test_a_process_may_run_fewer_jobs_at_a_time_than_its_type_says(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation = Installation(store, threads=16)
        installation.define_python("take_a_moment")
        async with working(store, threads=2):
            # The function is looked for in a thread, once for each slot. While one is late, the other may do it all.
            for start in 0, 30:
                await installation.ended(
                    *(installation.enqueue("take_a_moment", {"text": str(start + n)}) for n in range(30))
                )

            assert stage.most_inside == 2

    asyncio.run(scene())


def test_a_job_whose_type_is_gone_fails_and_says_so(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("nothing")
        unknown = new_id(installation.clock.now())
        (job_id,) = enqueue(
            store,
            spec(installation.queue, job_type=unknown, now=installation.clock.now()),
            now=installation.clock.now(),
        )
        async with working(store):
            (job,) = await installation.ended(job_id)
            (next_job,) = await installation.ended(installation.enqueue("nothing"))

            assert job.state is JobState.FAILED
            assert isinstance(job.errors, dict)
            assert unknown in str(job.errors["message"])
            assert next_job.state is JobState.SUCCEEDED

    asyncio.run(scene())


def test_a_job_of_a_type_that_was_defined_after_the_node_started_runs_at_once(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        new_stage()
        async with working(store):
            installation.define_python("nothing")

            (job,) = await installation.ended(installation.enqueue("nothing"))

            assert job.state is JobState.SUCCEEDED

    asyncio.run(scene())


def test_jobs_begin_in_order_and_never_more_of_them_run_than_there_are_slots(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation = Installation(store)
        installation.define_python("nap")
        most = 0
        async with working(store, threads=4):
            first = installation.enqueue("nap")  # the function is looked for in a thread, once
            await installation.ended(first)
            ids = [one.job_id for one in installation.intake.enqueue([JobRequest(job_type="nap") for _ in range(60)])]
            while (counts := installation.counts()).get(JobState.SUCCEEDED) != 1 + len(ids):
                most = max(most, counts.get(JobState.RUNNING, 0))
                await asyncio.sleep(0)

        assert stage.started == [first, *ids]
        assert most <= 4

    asyncio.run(scene())


def test_what_a_node_claimed_ahead_is_queued_and_runs_once_it_has_begun(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation = Installation(store)
        installation.define_python("nothing")
        installation.define_python("pass_gate")
        async with working(store, threads=2) as node:
            # A server that does not know a script yet is sent it behind the next one: a claim may then come before the
            # ends that were told with it. So a few jobs go first.
            first = await installation.ended(*(installation.enqueue("nothing") for _ in range(10)))
            # Quick jobs make the node claim ahead; then some come that hold its slots.
            installation.intake.enqueue([JobRequest(job_type="nothing") for _ in range(1_000 - len(first))])
            slow = [installation.enqueue("pass_gate") for _ in range(10)]

            expected = {JobState.SUCCEEDED: 1_000, JobState.RUNNING: 2, JobState.QUEUED: 8}
            most = 0
            while (counts := installation.counts()) != expected:
                most = max(most, counts.get(JobState.RUNNING, 0))
                await asyncio.sleep(0)
            assert most <= 2

            assert [installation.job(one).state for one in slow] == [JobState.RUNNING] * 2 + [JobState.QUEUED] * 8
            assert {installation.job(one).node for one in slow[:2]} == {node.uuid}
            # The function is looked for in a thread, once for each slot. One that has it must not go on to the jobs
            # behind it while the other is still at that.
            await until(lambda: len(stage.started) == 2, "both to be in the function")
            stage.gate.set()
            jobs = await installation.ended(*slow)
            # Two slots that are free at the same moment may begin in either order.
            begun = [slow.index(one) for one in stage.started]
            assert all(abs(begun.index(place) - place) <= 1 for place in range(len(slow))), begun
            assert {(job.attempts, job.deaths) for job in jobs} == {(1, 0)}

    asyncio.run(scene())


class ClaimedAhead(Faults):
    """A store that has every job as claimed ahead, until it is told that it has begun."""

    def finish_and_claim_jobs(self, *args: Any, **options: Any) -> Claims:
        self._prepare("finish_and_claim_jobs")
        return self.real.finish_and_claim_jobs(*args, **options | {"begin": 0})


def test_that_a_job_has_begun_is_told_again_when_the_store_did_not_hear_it(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults = ClaimedAhead(store)
        installation = Installation(store)
        installation.define_python("pass_gate")
        async with working(faults.store, threads=2):
            faults.before("begin_jobs", be_away)
            job_id = installation.enqueue("pass_gate")

            await until(lambda: not faults.awaits("begin_jobs"), "the store not to hear it")
            await installation.running(job_id)

            stage.gate.set()
            (job,) = await installation.ended(job_id)
            assert (job.attempts, job.deaths, stage.started) == (1, 0, [job_id])

    asyncio.run(scene())


def be_away() -> None:
    raise StoreUnavailable("the store is away")


def has_ended(installation: Installation, count: int) -> bool:
    return installation.counts().get(JobState.SUCCEEDED, 0) >= count


def test_what_was_claimed_ahead_of_slots_that_are_stuck_goes_to_another_node(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("nothing")
        installation.define_python("pass_gate")
        installation.define_python("note")
        async with working(store, threads=1, worker_times=ONLY_WHEN_WOKEN) as hungry:
            # Quick jobs make the node claim ahead; then one comes that holds its only slot.
            installation.intake.enqueue([JobRequest(job_type="nothing") for _ in range(3_000)])
            stuck = installation.enqueue("pass_gate")
            behind = [installation.enqueue("note", {"text": "behind"}) for _ in range(20)]
            for count in range(500, 3_001, 500):
                await until(partial(has_ended, installation, count), "quick jobs to end")
            await installation.running(stuck)
            await until(lambda: stage.inside == 1, "the slot to be stuck")
            async with working(store, threads=1, worker_times=ONLY_WHEN_WOKEN) as other:
                jobs = await installation.ended(*behind)

                assert {job.node for job in jobs} == {other.uuid}
                assert {job.attempts for job in jobs} == {1}
                assert installation.job(stuck).node == hungry.uuid
                stage.gate.set()
                await installation.ended(stuck)

    asyncio.run(scene())


def test_an_idle_node_is_woken_for_a_job_that_a_busy_one_heard_of(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        installation.define_python("note")
        async with (
            working(store, threads=2, worker_times=ONLY_WHEN_WOKEN),
            working(store, threads=2, worker_times=ONLY_WHEN_WOKEN),
        ):
            for round_number in range(10):
                holding = [installation.enqueue("pass_gate") for _ in range(3)]
                (job,) = await installation.ended(installation.enqueue("note", {"text": str(round_number)}))
                assert job.state is JobState.SUCCEEDED
                stage.gate.set()
                await installation.ended(*holding)
                stage.gate.clear()

    asyncio.run(scene())


@pytest.mark.parametrize("is_away", [False, True], ids=["at once", "once the store is back"])
def test_word_that_reaches_a_full_node_is_passed_on(
    redis_server: RedisServer, endless_waits: None, is_away: bool
) -> None:
    """Whatever it hears, there may be jobs for others."""
    redis_server.flush()
    store = open_store(redis_server.url)

    async def scene() -> None:
        stage, busy = new_stage(), Faults(store)
        installation = Installation(store)
        installation.define_python("pass_gate")
        installation.define_python("note")
        async with working(busy.store, threads=1, worker_times=ONLY_WHEN_WOKEN) as full:
            holding = installation.enqueue("pass_gate")
            await until(lambda: stage.inside == 1, "the first node to be full")
            idle, answers = Faults(store), list[None]()
            idle.after("finish_and_claim_jobs", *[lambda: answers.append(None)] * 99)
            async with working(idle.store, threads=1, worker_times=ONLY_WHEN_WOKEN):
                store.pause_queue(installation.queue)
                waiting = installation.enqueue("note", {"text": "found"})
                asked = idle.calls.count("finish_and_claim_jobs")
                await until(lambda: len(answers) > asked, "the idle node to have asked in vain")
                # There is a job now, and word of it for nobody.
                raw_command(redis_server.port, "DEL", QueueKeys(installation.queue).paused)
                if is_away:
                    busy.before("finish_and_claim_jobs", be_away)

                raw_command(
                    redis_server.port,
                    "RPUSH",
                    QueueKeys(installation.queue).inbox(full.uuid),
                    "a job that is long gone",
                )
                (job,) = await installation.ended(waiting)

                assert job.state is JobState.SUCCEEDED
                stage.gate.set()
                await installation.ended(holding)

    asyncio.run(scene())
    store.close()


def test_a_worker_of_a_paused_queue_does_not_ask_for_what_is_overdue_again_and_again(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        counted = Faults(store)
        installation.define_python("note")
        store.pause_queue(installation.queue)
        job_id = installation.enqueue("note", {"text": "x"}, delay_ms=1)
        async with working(counted.store, dead_after_ms=1_000, worker_times=ONLY_WHEN_WOKEN):
            beats = counted.calls.count("beat")
            await until(lambda: counted.calls.count("beat") >= beats + 4, "some beats")
            claims = sum(counted.calls.count(name) for name in ("claim_jobs", "finish_and_claim_jobs"))
            store.resume_queue(installation.queue)
            await installation.ended(job_id)

        assert claims <= 10
        assert stage.started == ["x"]

    asyncio.run(scene())


def test_a_full_worker_does_not_look_for_what_is_overdue_again_and_again(
    store: Store, installation: Installation
) -> None:
    """It knows when the other job is due, since that was not so yet when it claimed; or else there is more time."""

    async def scene(delay_ms: int) -> bool:
        stage, watched = new_stage(), WatchedStore(store)
        holding, delayed = installation.enqueue("pass_gate"), installation.enqueue("nothing", delay_ms=delay_ms)
        async with working(watched.store, threads=1, dead_after_ms=1_000, worker_times=ONLY_WHEN_WOKEN):
            await until(lambda: stage.inside == 1, "the worker to be full")
            due = installation.job(delayed).spec.run_at or 0
            await until(lambda: store.now() > due, "the other job to be overdue")
            beats, waits = watched.calls.count("beat"), watched.waits
            await until(lambda: watched.calls.count("beat") >= beats + 4, "some beats")
            looks, is_delayed = watched.waits - waits, installation.job(delayed).state is JobState.DELAYED
            stage.gate.set()
            await installation.ended(holding, delayed)

        assert looks <= 3
        return is_delayed

    installation.define_python("pass_gate")
    installation.define_python("nothing")
    assert any(asyncio.run(scene(delay_ms)) for delay_ms in (500, 5_000, 50_000))
