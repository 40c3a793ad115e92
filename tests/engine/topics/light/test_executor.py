"""Executor `light`: what one attempt does, beside what is told in test_in_store.py."""

import asyncio

import pytest
from msgspec import structs

from rota.engine.topics.light.executor import LightExecutor
from rota.errors import InvalidInput
from rota.model.job import Cause
from rota.model.runs.outcome import OutcomeKind
from rota.store import Store
from tests.engine.executors.runs import job_type, make_run
from tests.engine.schedules.installation import MINUTE, START
from tests.engine.topics.light.installation import LightInstallation

pytestmark = pytest.mark.stores("sqlite-memory")


def test_a_job_type_has_no_metadata() -> None:
    with pytest.raises(InvalidInput, match="metadata"):
        LightExecutor().check(job_type("light", {"topic": "t"}))


def test_a_process_without_a_node_publishes_nothing() -> None:
    outcome = asyncio.run(LightExecutor().run(make_run({}, {"host": "h", "name": "n", "topic": "t"})))

    assert outcome.kind is OutcomeKind.REFUSED


def test_arguments_that_are_no_definition_are_refused(store: Store) -> None:
    light = LightInstallation(store)

    outcome = asyncio.run(LightExecutor(light.engine).run(make_run({}, {"host": "h"})))

    assert outcome.kind is OutcomeKind.REFUSED
    assert store.list_topics(limit=9) == []


def test_a_late_job_of_a_task_that_is_sent_once_leaves_a_schedule_that_goes_on(store: Store) -> None:
    light = LightInstallation(store)
    light.apply(start=START + 10 * MINUTE)
    (entry,) = store.list_schedules(limit=9).entries
    run = make_run({}, {"host": "h", "name": "n", "topic": "t"})
    run.spec = structs.replace(run.spec, cause=Cause("schedule", entry.schedule.uuid, START))

    outcome = asyncio.run(LightExecutor(light.engine).run(run))

    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert light.definition() is not None


def test_a_task_that_somebody_runs_by_hand_bears_the_time_of_that(store: Store) -> None:
    light = LightInstallation(store)
    light.apply(frequency={"timeUnit": "DAYS", "time": 1}, start=START + 10 * MINUTE)
    (entry,) = store.list_schedules(limit=9).entries

    light.schedules.run_now(entry.schedule.uuid)
    light.work()

    assert light.instants() == [START]
