"""Executor `topic`: a job's arguments become a record, once, however often it is tried."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.clock import ManualClock
from rota.engine.executors.built_in.topic import TopicExecutor
from rota.engine.topics.topics import MAX_RECORD_BYTES, Topics
from rota.errors import InvalidInput
from rota.model.runs.outcome import Outcome, OutcomeKind
from rota.model.topics.topic import TopicRecord
from rota.store import Store, open_store
from rota.store.contract.topics import TopicRow
from tests.engine.executors.runs import JOB_ID, errors_of, job_type, make_run
from tests.engine.working import working
from tests.installation import Installation

NOW = 1_700_000_000_000


@pytest.fixture
def on_disk(tmp_path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    yield store
    store.close()


def run(
    runner: asyncio.Runner, store: Store, metadata: dict[str, object], arguments: dict[str, object] | None = None
) -> Outcome:
    executor = TopicExecutor(Topics(store), ManualClock(NOW))
    return runner.run(executor.run(make_run(metadata, arguments)))


def test_the_arguments_are_the_record(runner: asyncio.Runner, on_disk: Store) -> None:
    outcome = run(runner, on_disk, {"topic": "orders", "key": "customer"}, {"customer": 7, "items": ["a"]})

    assert outcome == Outcome(OutcomeKind.SUCCEEDED, {"topic": "orders", "offset": 0})
    page = on_disk.read_topic("orders", offset=0, limit=9)
    assert page is not None
    assert page.rows == [
        TopicRow(
            0,
            TopicRecord(
                id=JOB_ID, key=7, value={"customer": 7, "items": ["a"]}, headers={"message-id": JOB_ID}, time=NOW
            ),
        )
    ]


def test_a_job_that_is_tried_again_publishes_once(runner: asyncio.Runner, on_disk: Store) -> None:
    outcomes = [run(runner, on_disk, {"topic": "orders"}) for _ in range(3)]

    assert {outcome.results["offset"] for outcome in outcomes} == {0}  # type: ignore[index]
    page = on_disk.read_topic("orders", offset=0, limit=9)
    assert page is not None
    assert len(page.rows) == 1
    assert page.rows[0].record.key is None


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({}, "metadata.topic"),
        ({"topic": "a b"}, "metadata.topic"),
        ({"topic": "a", "key": 5}, "metadata.key"),
        ({"topic": "a", "kee": "b"}, "metadata.kee"),
    ],
)
def test_a_job_type_that_cannot_be_meant_is_refused(metadata: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        TopicExecutor().check(job_type("topic", metadata))

    assert caught.value.field == field


def test_a_record_that_is_too_long_is_refused(runner: asyncio.Runner, on_disk: Store) -> None:
    outcome = run(runner, on_disk, {"topic": "orders"}, {"text": "x" * MAX_RECORD_BYTES})

    assert outcome.kind is OutcomeKind.REFUSED
    assert str(MAX_RECORD_BYTES) in errors_of(outcome)["message"]
    assert on_disk.list_topics(limit=9) == []


def test_a_process_without_a_node_publishes_nothing(runner: asyncio.Runner) -> None:
    outcome = runner.run(TopicExecutor().run(make_run({"topic": "orders"})))

    assert outcome.kind is OutcomeKind.REFUSED


def test_a_node_publishes(installation: Installation) -> None:
    async def scene() -> str:
        async with working(installation.store):
            (job,) = await installation.ended(installation.enqueue("publish", {"n": 1}))
        return job.id

    installation.define("publish", "topic", {"topic": "orders"})

    job_id = asyncio.run(scene())

    page = installation.store.read_topic("orders", offset=0, limit=9)
    assert page is not None
    assert [(row.record.id, row.record.value) for row in page.rows] == [(job_id, {"n": 1})]
