"""A node among records that it cannot read does its work for all others."""

import asyncio
from collections.abc import Callable

import pytest

from rota.engine.definitions.file_types import FileTypes
from rota.model.events.configuration_request import read_configuration
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from rota.store.records.unreadable import UNREADABLE
from tests.contract.building import beat, claim, finish, succeed
from tests.contract.raw_records import change_records, with_unknown_fields
from tests.engine.liveness.watching import Watch
from tests.engine.working import until, working
from tests.installation import Installation

NOISE = b'{"id": '


def break_it(record: bytes) -> bytes:
    return NOISE


def errors_of(installation: Installation, job_id: str) -> object:
    errors = installation.job(job_id).errors
    assert isinstance(errors, dict)
    return errors["type"]


def test_a_worker_runs_the_neighbours_of_a_broken_job_which_fails(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        installation.define_command("true")
        jobs = [installation.enqueue("command") for _ in range(9)]
        bad = jobs.pop(4)
        change_records(store, "spec", bad, break_it, queue=installation.queue)

        async with working(store):
            ended = await installation.ended(*jobs, bad)

        assert [job.state for job in ended] == [JobState.SUCCEEDED] * 8 + [JobState.FAILED]
        assert errors_of(installation, bad) == UNREADABLE
        assert store.delete_jobs([bad]) == [True]

    asyncio.run(scene())


def test_a_job_whose_job_type_is_broken_fails_and_says_so_until_it_is_defined_anew(store: Store) -> None:
    async def scene() -> None:
        installation = Installation(store)
        installation.define_command("true")
        uuid = installation.definitions.job_type("command").uuid
        before = installation.enqueue("command")
        change_records(store, "job type", uuid, break_it)

        async with working(store):
            await installation.ended(before)
        assert errors_of(installation, before) == UNREADABLE
        other = Installation(store)
        other.definitions.create_job_type(other_type(other), replace=True)
        after = other.enqueue("command")
        async with working(store):
            (job,) = await installation.ended(after)

        assert job.state is JobState.SUCCEEDED

    asyncio.run(scene())


def other_type(installation: Installation) -> JobType:
    uuid = new_id(installation.clock.now())
    return JobType(uuid=uuid, name="command", executor="bash", metadata={"command": "true"})


@pytest.mark.parametrize("change", [break_it, with_unknown_fields], ids=["broken", "unknown fields"])
def test_a_node_whose_own_records_change_goes_on(
    store: Store, installation: Installation, change: Callable[[bytes], bytes]
) -> None:
    async def scene() -> None:
        installation.define_command("true")

        async with working(store, dead_after_ms=400) as node:
            change_records(store, "node type", installation.queue, change)
            change_records(store, "node", node.uuid, change)
            installation.define("another", "log")  # everybody reads the definitions anew
            first = installation.enqueue("command")
            await installation.ended(first)
            beaten = node_record(store, node.uuid).last_ping
            await until(lambda: node_record(store, node.uuid).last_ping > beaten, "another beat")
            await until(lambda: node.health() is None, "the node to be well")

        assert installation.job(first).state is JobState.SUCCEEDED

    asyncio.run(scene())


def node_record(store: Store, uuid: str) -> Node:
    return next(one for one in store.list_nodes(since=0) if one.uuid == uuid)


def test_a_watchdog_takes_back_a_dead_nodes_broken_job_and_the_others(store: Store, installation: Installation) -> None:
    installation.define_command("true")
    jobs = [installation.enqueue("command") for _ in range(3)]
    now = installation.clock.now()
    assert len(claim(store, installation.queue, now=now)) == 3
    beat(store, Node(uuid="gone", node_type=installation.queue, last_ping=now))
    change_records(store, "spec", jobs[1], break_it, queue=installation.queue)
    change_records(store, "node", "gone", break_it)

    Watch(store).watch_it_die(times=11)

    assert installation.counts() == {JobState.QUEUED: 3}
    assert store.list_nodes(since=0) == []


def test_a_scheduler_fires_the_neighbours_of_a_broken_schedule(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        installation.define("quiet", "log")
        schedules = installation.engine.schedules
        every = ScheduleRequest(job_type="quiet", interval=100)
        good, bad = (schedules.create(every).schedule for _ in range(2))
        change_records(store, "schedule", bad.uuid, break_it, queue=installation.queue)

        async with working(store):
            await until(lambda: len(store.list_ticks(good.uuid, limit=5)) >= 2, "the other schedule to fire twice")

        assert store.list_ticks(bad.uuid, limit=5) == []

    asyncio.run(scene())


def test_events_are_judged_beside_a_broken_configuration_and_a_broken_event(
    store: Store, installation: Installation
) -> None:
    installation.define("report", "log")
    configurations = installation.engine.configurations
    wish = {"dependencies": [{"type": "JOB", "resourceId": "report", "lifeDuration": 60}]}
    good, bad = (configurations.create(read_configuration({"name": name, **wish})) for name in ("good", "bad"))
    installation.definitions.refresh()
    for is_first in (True, False):
        installation.enqueue("report")
        (claimed,) = claim(store, installation.queue, now=installation.clock.now())
        finish(store, succeed(claimed, installation.clock.now()))
        if is_first:
            change_records(store, "event", installation.queue, break_it, queue=installation.queue)
    change_records(store, "configuration", bad.configuration.uuid, break_it, queue=installation.queue)

    outbox = installation.engine.outbox
    outbox.run_once(installation.clock.now())

    assert store.read_outbox(installation.queue, limit=9) == []
    assert len(store.list_evaluations(good.configuration.uuid, limit=9)) == 1


def test_an_installation_with_unknown_fields_everywhere_works_like_any(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        installation.define_command("echo hello")
        schedules = installation.engine.schedules
        schedule = schedules.create(ScheduleRequest(job_type="command", interval=100)).schedule
        configurations = installation.engine.configurations
        wish = {"name": "after", "dependencies": [{"type": "JOB", "resourceId": "command", "lifeDuration": 60}]}
        waiting = configurations.create(read_configuration(wish)).configuration
        job_id = installation.enqueue("command")
        grown = {
            "node type": installation.queue,
            "job type": installation.definitions.job_type("command").uuid,
            "spec": job_id,
            "schedule": schedule.uuid,
            "schedule state": schedule.uuid,
            "configuration": waiting.uuid,
            "configuration state": waiting.uuid,
        }
        for kind, key in grown.items():
            change_records(store, kind, key, with_unknown_fields, queue=installation.queue)

        async with working(store):
            (job,) = await installation.ended(job_id)
            await until(lambda: len(store.list_ticks(schedule.uuid, limit=5)) >= 2, "two ticks")
            await until(lambda: bool(store.list_evaluations(waiting.uuid, limit=5)), "the end of a job to be judged")

        assert job.state is JobState.SUCCEEDED
        assert installation.messages(job_id) == ["hello"]
        assert store.unreadable_records() == []

    asyncio.run(scene())


def test_a_file_may_define_anew_what_is_broken(store: Store) -> None:
    installation = Installation(store)
    FileTypes(installation.definitions).apply([NodeType(uuid="n", name="slow")], [])
    change_records(store, "node type", "n", break_it)

    FileTypes(Installation(store).definitions).apply([NodeType(uuid="n", name="slow", thread_count=2)], [])

    assert next(one for one in store.list_node_types() if one.name == "slow").thread_count == 2
    assert store.list_jobs(JobQuery(), limit=1).jobs == []
