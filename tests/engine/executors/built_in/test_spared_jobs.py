"""Jobs that only write to the store: trouble of the store, or of the node, is not theirs."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import structs

from rota.engine.executors.built_in.event import EventExecutor
from rota.engine.executors.built_in.topic import TopicExecutor
from rota.engine.executors.executor import Executor
from rota.engine.topics.light.executor import LightExecutor
from rota.engine.topics.topics import Topics
from rota.errors import NodeStrained, StoreError, StoreFull, StoreRefused, StoreUnavailable
from rota.model.job import Cause, JobState
from rota.model.runs.outcome import OutcomeKind
from rota.store import Store, open_store
from rota.testing import Faults
from tests.engine.events.installation import EventsInstallation, needs
from tests.engine.executors.runs import LoggedRun, make_run
from tests.engine.working import until, working
from tests.installation import Installation
from tests.servers import RedisServer, raw_command
from tests.shortage import no_threads

Make = Callable[[EventsInstallation], tuple[Executor, LoggedRun, str]]


def topic_job(seen: EventsInstallation) -> tuple[Executor, LoggedRun, str]:
    return TopicExecutor(Topics(seen.store), seen.clock), make_run({"topic": "t"}, {"a": 1}), "append_topic"


def due_task(seen: EventsInstallation) -> tuple[Executor, LoggedRun, str]:
    return (
        LightExecutor(seen.engine),
        make_run({}, {"host": "h", "name": "n", "topic": "t", "start": 1}),
        "append_topic",
    )


def sent_once(seen: EventsInstallation) -> tuple[Executor, LoggedRun, str]:
    """Its schedule is to be removed, which comes behind the record."""
    executor, run, _ = due_task(seen)
    run.spec = structs.replace(run.spec, cause=Cause("schedule", seen.new_id(), 1))
    return executor, run, "find_schedules"


def emission(seen: EventsInstallation) -> tuple[Executor, LoggedRun, str]:
    run = make_run({}, {"type": "TIME_BASED", "resourceId": "clock"})
    return EventExecutor(seen.events, seen.clock), run, "apply_verdicts"


ALL = pytest.mark.parametrize("make", [topic_job, due_task, sent_once, emission])


@pytest.fixture
def faults(tmp_path: Path) -> Iterator[Faults]:
    store = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    yield Faults(store)
    store.close()


@pytest.fixture
def seen(faults: Faults) -> EventsInstallation:
    """On a store with faults. A configuration waits for the event that is emitted."""
    installation = EventsInstallation(faults.store)
    installation.define_configuration("c", needs("TIME_BASED", "clock", 0))
    return installation


def failing(error: StoreError) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


async def run_then_again(executor: Executor, run: LoggedRun, error: type[BaseException]) -> None:
    """The first attempt is not to blame, and the one after it succeeds."""
    with pytest.raises(error):
        await executor.run(run)
    outcome = await executor.run(run)
    await executor.close()
    assert outcome.kind is OutcomeKind.SUCCEEDED


def written(store: Store) -> tuple[int, int]:
    """Records of the topic, and jobs that the event made."""
    page = store.read_topic("t", offset=0, limit=9)
    (waiting,) = (store.count_jobs(one.uuid)[JobState.QUEUED] for one in store.list_node_types())
    return len(page.rows) if page else 0, waiting


@ALL
@pytest.mark.parametrize("error", [StoreUnavailable("it is away"), StoreFull("no room")])
def test_a_store_that_takes_nothing_strains_the_node(
    runner: asyncio.Runner, faults: Faults, seen: EventsInstallation, make: Make, error: StoreError
) -> None:
    executor, run, call = make(seen)
    faults.before(call, failing(error))

    with pytest.raises(NodeStrained, match=f"the store does not take what a job writes: {error}"):
        runner.run(executor.run(run))


@ALL
def test_what_was_written_although_nobody_heard_of_it_is_written_once(
    runner: asyncio.Runner, faults: Faults, seen: EventsInstallation, make: Make
) -> None:
    executor, run, call = make(seen)
    faults.after(call, failing(StoreUnavailable("the answer is lost")))

    runner.run(run_then_again(executor, run, NodeStrained))

    assert sum(written(faults.real)) == 1


@ALL
def test_what_the_store_refuses_is_the_fault_of_the_job(
    runner: asyncio.Runner, faults: Faults, seen: EventsInstallation, make: Make
) -> None:
    executor, run, call = make(seen)
    faults.before(call, failing(StoreRefused("never")))

    runner.run(run_then_again(executor, run, StoreRefused))


@ALL
def test_a_process_that_may_have_no_more_threads_is_strained(
    runner: asyncio.Runner, seen: EventsInstallation, make: Make
) -> None:
    executor, run, _ = make(seen)

    with no_threads(), pytest.raises(NodeStrained, match="out of threads"):
        runner.run(executor.run(run))

    assert runner.run(executor.run(run)).kind is OutcomeKind.SUCCEEDED


class Brokers:
    """A publisher that adds a record again each time, as Kafka does, and is away."""

    counts_once = False

    def publish(self, topic: str, records: object) -> list[int]:
        raise StoreUnavailable("the brokers do not answer")


def test_a_record_that_could_be_there_twice_is_published_as_often_as_the_retry_policy_says(
    runner: asyncio.Runner, seen: EventsInstallation
) -> None:
    with pytest.raises(StoreUnavailable):
        runner.run(TopicExecutor(Brokers(), seen.clock).run(make_run({"topic": "t"})))


def test_jobs_that_find_no_room_in_the_store_go_back_until_there_is_some() -> None:
    async def scene(server: RedisServer, store: Store) -> None:
        installation = Installation(store)
        installation.define("order", "topic", {"topic": "t"})
        store.pause_queue(installation.queue)
        job_ids = [installation.enqueue("order") for _ in range(20)]
        async with working(store, threads=4) as node:
            raw_command(server.port, "CONFIG", "SET", "maxmemory", 1)
            store.resume_queue(installation.queue)
            await until(lambda: "claiming fewer jobs: the store does not take" in str(node.health()), "the strain")
            raw_command(server.port, "CONFIG", "SET", "maxmemory", 0)

            jobs = await installation.ended(*job_ids)

        assert {(job.state, job.attempts) for job in jobs} == {(JobState.SUCCEEDED, 1)}
        page = store.read_topic("t", offset=0, limit=99)
        assert page is not None
        assert sorted(row.record.id for row in page.rows) == sorted(job_ids)

    with RedisServer() as server:
        store = open_store(server.url)
        asyncio.run(scene(server, store))
        store.close()
