"""What jobs and queues of RQ's tell and are told, one thing at a time."""

import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rota import InvalidInput
from rota.moving.rq import Job, JobStatus, Queue, Retry, Worker, get_current_job
from rota.moving.rq.decorators import job
from rota.moving.rq.dependencies import gate_of
from rota.testing import Installation
from tests.contract.building import claim_one
from tests.moving.test_rq import add, fail, queue, work
from tests.servers import wait_until

__all__ = ["queue"]

TOLD: list[object] = []


@pytest.fixture
def installation(queue: Queue) -> Iterator[Installation]:
    """Whose time stands still, for the jobs of `queue`."""
    with Installation() as made:
        made.use(queue.__rota_app__)
        yield made


@pytest.fixture
def machine_in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


async def fail_slowly() -> None:
    raise LookupError("no")


def note(job: Job, connection: object, *results: object) -> None:
    TOLD.append((job.id, connection, results[0]))


def find_itself(connection: str) -> object:
    found = get_current_job(connection=connection)
    return None if found is None else found.kwargs


def claim(job: Job) -> None:
    spec = job.handle.job.spec
    claim_one(job._app.rota.engine.store, spec.queue, now=spec.enqueued_at)


def flags(job: Job) -> list[str]:
    names = ("queued", "started", "finished", "failed", "scheduled", "deferred", "canceled")
    return [name for name in names if getattr(job, f"is_{name}")]


def test_a_job_is_in_one_state_at_a_time(queue: Queue) -> None:
    made = [queue.enqueue(add, 1), queue.enqueue_in(timedelta(hours=1), add, 1)]
    made.append(queue.enqueue(add, 1, depends_on=made[1]))
    assert [flags(one) for one in made] == [["queued"], ["scheduled"], ["deferred"]]

    claim(made[0])
    made[1].cancel()

    assert [flags(one) for one in made] == [["started"], ["canceled"], ["deferred"]]


def test_a_job_tells_of_its_last_look_until_it_looks_again(queue: Queue) -> None:
    looked = queue.enqueue(add, 1)
    assert (looked.get_status(), looked.started_at, looked.ended_at) == (JobStatus.QUEUED, None, None)
    Job.fetch(looked.id).cancel()

    assert looked.get_status(refresh=False) is JobStatus.QUEUED
    looked.refresh()

    assert looked.get_status(refresh=False) is JobStatus.CANCELED
    assert looked.return_value() is None


def test_what_a_failed_job_returned_is_nothing(queue: Queue) -> None:
    failed = queue.enqueue(fail)
    work(queue)

    assert (failed.return_value(refresh=True), failed.result, failed.args) == (None, None, ())


def test_a_job_is_fetched_from_the_store_that_is_named(queue: Queue, folder: Path) -> None:
    url = str(queue.__rota_app__.url)
    other = Queue(connection=f"sqlite:///{folder}/other.db")
    here, there = queue.enqueue(add, 1, job_id="a"), other.enqueue(add, 2, job_id="a")

    assert Job.fetch("a", connection=url).kwargs == here.kwargs
    assert Job.fetch("a").kwargs == there.kwargs  # of the one that was met last
    found = queue.enqueue(find_itself, url)
    work(queue)
    assert found.return_value() == {"connection": url}
    other.__rota_app__.close()


def test_a_queue_counts_what_waits_for_a_worker(queue: Queue) -> None:
    other = Queue("mails", connection=queue.__rota_app__.url)
    assert (other.count, other.is_empty(), other.job_ids) == (0, True, [])

    waiting = other.enqueue(add, 1)
    other.enqueue_in(timedelta(hours=1), add, 1)

    assert (other.count, other.is_empty(), other.job_ids) == (1, False, [waiting.id])
    assert (queue.count, queue.is_empty(), queue.job_ids) == (0, True, [])


def test_registries_give_a_part_of_what_they_have_the_newest_first(queue: Queue) -> None:
    made = [queue.enqueue_in(timedelta(hours=number), add, 1).id for number in (1, 2, 3)]
    registry = queue.scheduled_job_registry
    found = registry.get_job_ids()

    assert (sorted(found), registry.count) == (sorted(made), 3)
    assert (registry.get_job_ids(1), registry.get_job_ids(0, 1)) == (found[1:], found[:2])
    assert registry.get_job_ids(1, 1) == found[1:2]


def test_a_gate_is_in_the_registry_of_what_waits_and_in_no_other(queue: Queue) -> None:
    first = queue.enqueue_in(timedelta(hours=1), add, 1)
    second = queue.enqueue(add, 2, depends_on=first)

    assert (queue.deferred_job_registry.get_job_ids(), queue.deferred_job_registry.count) == ([second.id], 1)
    assert queue.scheduled_job_registry.get_job_ids() == [first.id]


@pytest.mark.parametrize(
    ("of_queue", "of_call", "timeout_ms"),
    [
        (None, {}, 180_000),
        (600, {}, 600_000),
        ("5m", {}, 300_000),
        (600, {"job_timeout": 5}, 5_000),
        (600, {"job_timeout": None}, 600_000),
        (-1, {}, None),
    ],
)
def test_the_time_that_a_job_has_is_that_of_its_call_or_else_of_its_queue(
    queue: Queue, of_queue: Any, of_call: dict[str, Any], timeout_ms: int | None
) -> None:
    own = Queue("own", connection=queue.__rota_app__.url, default_timeout=of_queue)

    assert own.enqueue(add, 1, **of_call).handle.job.spec.timeout_ms == timeout_ms


def test_a_time_without_a_zone_is_in_that_of_the_machine(queue: Queue, machine_in_tokyo: None) -> None:
    made = queue.enqueue_at(datetime(2030, 1, 1, 9), add, 1)  # noqa: DTZ001

    assert made.handle.job.spec.run_at == 1_893_456_000_000


@pytest.mark.parametrize(("retry", "attempts"), [(3, 4), (Retry(max=2), 3)])
def test_a_number_of_retries_is_one_more_try(queue: Queue, retry: Any, attempts: int) -> None:
    policy = queue.enqueue(add, 1, retry=retry).handle.job.spec.retry

    assert policy is not None
    assert (policy.attempts, policy.delay_ms) == (attempts, 0)


@pytest.mark.parametrize(
    ("options", "field"),
    [({"max": 0}, "max"), ({"max": 1, "enqueue_at_front": True}, "enqueue_at_front"), ({"max": "3"}, "max")],
)
def test_retries_that_are_not_carried_are_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        Retry(**options)


def test_true_is_no_number_of_retries(queue: Queue) -> None:
    with pytest.raises(InvalidInput, match=r"^retry: must be a Retry of rota.moving.rq, got True"):
        queue.enqueue(add, 1, retry=True)


@pytest.mark.parametrize("function", [fail, fail_slowly])
def test_each_failure_is_told_and_the_last_wait_stays(queue: Queue, installation: Installation, function: Any) -> None:
    TOLD.clear()
    failing = queue.enqueue(function, on_failure=note, retry=Retry(max=4, interval=[5, 60]))

    ended = installation.advance(5 + 60 + 60, raises=False)
    waits = failing.handle.job.available_at - installation.clock.now()

    assert ([one.id for one in ended], failing.handle.job.attempts, waits) == ([], 4, 60_000)
    assert [(failing.id, queue.__rota_app__.url, LookupError)] * 4 == TOLD


def test_a_gate_looks_after_a_twentieth_of_its_wait(queue: Queue, installation: Installation) -> None:
    first = queue.enqueue_in(timedelta(days=30), add, 1)
    gate = queue.__rota_app__.handle(gate_of(queue.enqueue(add, 2, depends_on=first).id))

    waits, pauses = [], []
    for wait in ("1ms", "10m", "1d"):
        installation.advance(wait)
        looked_at = gate.job.past[-1].ended_at
        waits.append(looked_at - gate.job.spec.enqueued_at)
        pauses.append(gate.job.available_at - looked_at)

    assert waits[1] > 500_000
    assert pauses == [100, waits[1] // 20, 3_600_000]


def test_a_job_begins_when_the_one_before_it_has_ended(queue: Queue, installation: Installation) -> None:
    first = queue.enqueue_in(timedelta(minutes=1), add, 1)
    second = queue.enqueue(add, 2, depends_on=first)

    early = installation.advance("59s")
    late = installation.advance("10s")

    assert (early, first.id in [one.id for one in late], second.return_value(refresh=True)) == ([], True, 3)


def test_a_decorator_names_its_queue_and_a_call_its_own_options(queue: Queue) -> None:
    made = job("mails", connection=queue.__rota_app__.url, timeout=5, ttl=60)(add)
    specs = [one.handle.job.spec for one in (made.delay(1), made.delay(1, job_timeout=7))]

    assert [(one.timeout_ms, (one.expires_at or 0) - one.enqueued_at) for one in specs] == [
        (5_000, 60_000),
        (7_000, 60_000),
    ]
    assert made.delay(1).origin == "mails"


def test_a_worker_in_a_program_goes_on_when_nothing_is_left(queue: Queue) -> None:
    """One in a burst ends, and so fires no schedules."""
    store = queue.__rota_app__.engine.store
    worker = threading.Thread(target=Worker([queue]).work)
    worker.start()
    try:
        wait_until(lambda: bool(store.list_nodes(since=0)) or not worker.is_alive(), "the worker has begun")
        roles = [sorted(node.roles) for node in store.list_nodes(since=0)]
    finally:
        queue.__rota_app__.stop_worker()
        worker.join()
    assert roles == [["scheduler", "worker"]]
