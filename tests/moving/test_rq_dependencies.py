"""Jobs of RQ's that wait for others."""

import itertools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rota.engine.jobs.intake import JobRequest
from rota.model.job import JobState
from rota.moving.rq import Job, JobStatus, Queue, get_current_job
from rota.moving.rq.apps import app_met_last
from rota.moving.rq.dependencies import gate_of, may_begin
from rota.moving.rq.exceptions import DuplicateJobError, NoSuchJobError
from rota.moving.rq.job import Dependency
from rota.sdk.outbox.relay import enqueue_requests
from tests.contract.building import claim_all, finish, succeed
from tests.moving.test_rq import add, fail, queue, work
from tests.sdk.tasks.working import running_worker
from tests.servers import wait_until

__all__ = ["queue"]


def run_until(job: Job, status: JobStatus, queue: Queue) -> None:
    with running_worker(queue.__rota_app__):
        wait_until(lambda: job.get_status() is status, f"the job is {status}")


def test_a_job_waits_for_another(queue: Queue) -> None:
    first = queue.enqueue(add, 1)
    second = queue.enqueue(add, 2, b=3, depends_on=first)
    assert (second.get_status(), second.is_deferred, second.return_value()) == (JobStatus.DEFERRED, True, None)
    assert (second.func_name, second.kwargs, second.dependency_ids) == (first.func_name, {"a": 2, "b": 3}, [first.id])
    assert queue.deferred_job_registry.get_job_ids() == [second.id]

    run_until(second, JobStatus.FINISHED, queue)

    assert (first.result, second.result) == (2, 5)
    assert second.dependency is not None
    assert second.dependency.id == first.id
    assert first.handle.job.ended_at <= second.handle.job.spec.enqueued_at  # type: ignore[operator]
    assert second.id in queue.finished_job_registry
    assert queue.deferred_job_registry.count == 0


def test_a_job_waits_for_several_and_others_for_it(queue: Queue) -> None:
    names = [queue.enqueue(add, number, job_id=f"page {number}").id for number in range(3)]
    middle = queue.enqueue(add, 10, depends_on=names, job_id="middle")
    last = queue.enqueue(add, 20, depends_on=[middle, "page 0"])

    run_until(last, JobStatus.FINISHED, queue)

    assert (Job.fetch("middle").result, last.result) == (11, 21)
    assert Job.fetch("middle").ended_at <= last.enqueued_at  # type: ignore[operator]


def test_a_job_waits_for_one_of_which_only_the_id_is_known(queue: Queue) -> None:
    first = queue.enqueue(add, 1, job_id="the first")

    seconds = [queue.enqueue(add, 2, depends_on=one) for one in (first.id, Dependency(first.id))]

    assert [one.get_status() for one in seconds] == [JobStatus.DEFERRED] * 2
    assert [one.dependency_ids for one in seconds] == [[str(first.handle.id)]] * 2


def test_a_job_whose_others_have_ended_waits_for_nobody(queue: Queue) -> None:
    first = queue.enqueue(add, 1)
    work(queue)

    second = queue.enqueue(add, 2, depends_on=[first])

    assert second.get_status() is JobStatus.QUEUED
    assert second.dependency_ids == [first.id]


def total() -> int:
    job = get_current_job()
    assert job is not None
    return sum(one.return_value() for one in job.fetch_dependencies())


@pytest.mark.parametrize("have_ended", [True, False])
def test_a_job_finds_the_results_of_those_that_it_depends_on(queue: Queue, have_ended: bool) -> None:
    first, second = queue.enqueue(add, 1), queue.enqueue(add, 2)
    if have_ended:
        work(queue)

    last = queue.enqueue(total, depends_on=[first, second])

    run_until(last, JobStatus.FINISHED, queue)
    assert last.result == 5


def read(path: str) -> str:
    return Path(path).read_text()


def test_a_job_waits_for_one_that_failed_until_that_has_succeeded(queue: Queue, tmp_path: Path) -> None:
    file = tmp_path / "file"
    first = queue.enqueue(read, str(file))
    second = queue.enqueue(add, 2, depends_on=first)
    gate = queue.__rota_app__.handle(gate_of(second.id))
    with running_worker(queue.__rota_app__):
        wait_until(lambda: first.is_failed, "the first has failed")
        looks = gate.job.attempts
        wait_until(lambda: gate.job.attempts > looks + 1 or not second.is_deferred, "the gate has seen that")
        assert second.is_deferred

        file.write_text("here")
        first.requeue()

        wait_until(lambda: second.is_finished, "the second has run")


def test_with_allow_failure_it_begins_whatever_became_of_them(queue: Queue) -> None:
    first = queue.enqueue(fail)
    second = queue.enqueue(add, 2, depends_on=Dependency([first], allow_failure=True, enqueue_at_front=True))

    run_until(second, JobStatus.FINISHED, queue)

    assert (first.get_status(), second.result, second.handle.job.spec.priority) == (JobStatus.FAILED, 3, 1)


def test_a_job_that_waits_can_be_cancelled(queue: Queue) -> None:
    second = queue.enqueue(add, 2, depends_on=queue.enqueue(fail))
    second.cancel()
    assert second.get_status() is JobStatus.CANCELED

    second.delete()

    with pytest.raises(NoSuchJobError):
        Job.fetch(second.id)


def test_a_job_whose_other_was_deleted_has_failed(queue: Queue) -> None:
    first = queue.enqueue(add, 1)
    second = queue.enqueue(add, 2, depends_on=first)
    first.delete()

    work(queue)

    assert second.get_status() is JobStatus.FAILED
    assert "it was deleted, or history has forgotten it" in str(second.exc_info)


def test_what_was_asked_of_a_job_holds_after_its_wait(queue: Queue) -> None:
    first = queue.enqueue(add, 1)
    second = queue.enqueue(add, 2, depends_on=first, job_timeout=7, job_id="second", meta={"for": "Ada"})

    run_until(second, JobStatus.FINISHED, queue)

    assert (second.handle.job.spec.timeout_ms, second.meta, second.id) == (7_000, {"for": "Ada"}, "second")
    assert queue.__rota_app__.handle(gate_of(second.handle.id)).status is JobState.SUCCEEDED


def test_an_id_is_there_once_also_while_its_job_waits_and_free_once_it_has_ended(queue: Queue) -> None:
    first = queue.enqueue(add, 1)
    queue.enqueue(add, 2, depends_on=first, job_id="monday")
    for waits_for in ({}, {"depends_on": first}):
        assert queue.enqueue(add, 3, job_id="monday", **waits_for).kwargs == {"a": 2}
        with pytest.raises(DuplicateJobError):
            queue.enqueue(add, 3, job_id="monday", unique=True, **waits_for)
    run_until(Job.fetch("monday"), JobStatus.FINISHED, queue)
    assert Job.fetch("monday").result == 3

    again = queue.enqueue(add, 4, depends_on=queue.enqueue(add, 1), job_id="monday")

    assert again.is_deferred
    run_until(again, JobStatus.FINISHED, queue)
    assert again.return_value(refresh=True) == 5


def test_a_job_that_waited_and_was_deleted_is_gone(queue: Queue) -> None:
    first = queue.enqueue(add, 1)
    second = queue.enqueue(add, 2, depends_on=first)
    run_until(second, JobStatus.FINISHED, queue)

    second.delete()

    assert queue.fetch_job(second.id) is None
    with pytest.raises(NoSuchJobError):
        second.get_status()


def test_a_job_that_its_gate_makes_while_it_is_looked_for_is_waited_for(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look for the job and the one for its gate."""
    store, now = queue.__rota_app__.engine.store, queue.__rota_app__.engine.clock.now()
    middle = queue.enqueue(add, 2, depends_on=queue.enqueue(add, 1))
    find_jobs, looks = store.find_jobs, itertools.count()

    def find_late(*args: Any, **options: Any) -> Any:
        if next(looks) == 1:
            (job,) = find_jobs([gate_of(middle.id)])
            assert job is not None
            gate = next(one for one in claim_all(store, job.spec.queue, now=now) if one.spec.id == job.id)
            enqueue_requests(queue.__rota_app__, [msgspec.convert(gate.spec.arguments["request"], JobRequest)])
            finish(store, succeed(gate, now), now=now)
        return find_jobs(*args, **options)

    monkeypatch.setattr(store, "find_jobs", find_late)

    assert not may_begin(app_met_last(), [middle.id], although_failed=False)
    assert next(looks) > 2
    assert middle.get_status() is JobStatus.QUEUED


def test_a_job_that_is_nowhere_cannot_be_waited_for(queue: Queue) -> None:
    with pytest.raises(NoSuchJobError, match="depends_on: no job"):
        queue.enqueue(add, 2, depends_on="nobody")
