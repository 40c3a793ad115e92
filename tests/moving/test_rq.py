"""What RQ's programs say, one thing at a time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rota import InvalidInput
from rota.model.job import JobState
from rota.moving.rq import Callback, Job, JobStatus, Queue, Retry, SimpleWorker, Worker, get_current_job
from rota.moving.rq.decorators import job
from rota.moving.rq.exceptions import DuplicateJobError, NoSuchJobError
from rota.moving.rq.registry import FailedJobRegistry, FinishedJobRegistry
from tests.sdk.tasks.working import running_worker
from tests.servers import RedisServer, wait_until


@pytest.fixture
def queue(folder: Path) -> Iterator[Queue]:
    made = Queue(connection=f"sqlite:///{folder}/rota.db")
    yield made
    made.__rota_app__.close()


def work(queue: Queue) -> None:
    queue.__rota_app__.run_worker(burst=True, queue=queue.name)


def add(a: int, b: int = 1) -> int:
    return a + b


def who() -> str | None:
    found = get_current_job()
    return None if found is None else f"{found.get_status().value} {found.origin}"


def fail() -> None:
    raise LookupError("no")


def take(args: object = None, timeout: int = 0) -> object:
    return args


TOLD: list[object] = []


def note_success(job: Job, connection: object, result: object) -> None:
    TOLD.append((job.id, result))


def note_failure(job: Job, connection: object, kind: type, error: Exception, trace: object) -> None:
    TOLD.append((job.id, kind.__name__, str(error), trace is not None))


def break_it(job: Job, *others: object) -> None:
    raise OSError("no disk")


async def add_slowly(a: int) -> int:
    return a + 1


class Thing:
    @staticmethod
    def double(a: int) -> int:
        return 2 * a

    def method(self) -> None:
        """Nothing that a worker could find."""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_stopped": add}, "on_stopped: of enqueue is not carried by Rota; a configuration can wait"),
        ({"webhooks": []}, "webhooks: of enqueue is not carried by Rota; a configuration can wait"),
        ({"pipeline": 1}, "pipeline: of enqueue is not carried"),
        ({"on_success": 7}, "on_success: must be a function at the top of a module"),
        ({"depends_on": []}, "depends_on: must be jobs or their ids, at least one"),
        ({"depends_on": 7}, "depends_on: must be jobs or their ids, at least one, got 7"),
        ({"repeat": 3}, "repeat: of enqueue is not carried"),
        ({"retry": "often"}, "retry: must be a Retry"),
        ({"job_timeout": "soon"}, 'timeout: "soon" is not a duration'),
        ({"job_id": ""}, "job_id: must be text"),
        ({"colour": 1}, "arguments: .*unexpected keyword argument 'colour'"),
    ],
)
def test_an_option_that_is_not_carried_is_refused(queue: Queue, options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        queue.enqueue(add, 1, **options)

    assert len(queue) == 0


@pytest.mark.parametrize("function", ["nowhere.add", "tests.moving.test_rq.nothing", Thing().method, Thing, 17])
def test_what_a_worker_could_not_find_is_refused(queue: Queue, function: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^f: "):
        queue.enqueue(function)


@pytest.mark.parametrize(
    ("options", "field"), [({"is_async": False}, "is_async"), ({"serializer": 1}, "serializer"), ({"x": 1}, "x")]
)
def test_an_option_of_a_queue_that_is_not_carried_is_refused(folder: Path, options: Any, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        Queue(connection="sqlite:///rota.db", **options)


def test_a_job_tells_where_it_is(queue: Queue) -> None:
    job, late = queue.enqueue(add, 1, b=4), queue.enqueue_in(timedelta(hours=1), add, 1)

    assert (job.get_status(), late.get_status(), job.result) == (JobStatus.QUEUED, JobStatus.SCHEDULED, None)
    assert (job.is_queued, late.is_scheduled, queue.job_ids, len(queue)) == (True, True, [job.id], 1)
    late.cancel()
    work(queue)

    assert (job.get_status(), job.return_value(), late.get_status()) == ("finished", 5, "canceled")
    assert (job.func_name, job.kwargs, job.origin) == ("tests.moving.test_rq.add", {"a": 1, "b": 4}, "default")
    assert job.started_at is not None
    assert job.ended_at is not None


def test_a_failed_job_can_be_requeued_and_deleted(queue: Queue) -> None:
    job = queue.enqueue(fail)
    work(queue)
    assert (job.is_failed, "LookupError: no" in str(job.exc_info)) == (True, True)

    job.requeue()
    assert job.is_queued
    job.delete()

    with pytest.raises(NoSuchJobError):
        Job.fetch(job.id)
    assert queue.fetch_job(job.id) is None


def test_an_id_is_there_once_until_its_job_has_ended(queue: Queue) -> None:
    queue.enqueue(add, 1, job_id="monday")
    queue.enqueue(add, 5, job_id="monday")
    assert len(queue) == 1
    with pytest.raises(DuplicateJobError):
        queue.enqueue(add, 5, job_id="monday", unique=True)
    work(queue)
    assert Job.fetch("monday").return_value() == 2
    with pytest.raises(DuplicateJobError):
        queue.enqueue(add, 5, job_id="monday", unique=True)
    with pytest.raises(InvalidInput):
        queue.enqueue(add, 5, job_id="monday", job_timeout="often")
    assert Job.fetch("monday").return_value() == 2

    queue.enqueue(add, 5, job_id="monday")
    work(queue)

    assert Job.fetch("monday").return_value() == 6


def test_times_and_limits_of_a_job_are_carried(queue: Queue) -> None:
    plain, own = queue.enqueue(add, 1), queue.enqueue(add, 1, job_timeout=5, ttl=60, at_front=True)
    endless = queue.enqueue(add, 1, job_timeout=-1)
    at = queue.enqueue_at(datetime(2030, 1, 1, tzinfo=UTC), add, 1)

    specs = [one.handle.job.spec for one in (plain, own, endless, at)]
    assert [one.timeout_ms for one in specs] == [180_000, 5_000, None, 180_000]
    assert specs[1].expires_at == specs[1].enqueued_at + 60_000
    assert specs[3].run_at == 1_893_456_000_000
    assert queue.job_ids == [own.id, plain.id, endless.id]


@pytest.mark.parametrize(
    ("retry", "waits"),
    [
        (Retry(3), [0, 0, 0]),
        (Retry(max=3, interval=10), [10_000, 10_000, 10_000]),
    ],
)
def test_waits_between_tries_are_carried(retry: Retry, waits: list[int]) -> None:
    assert retry.policy.attempts == 4
    assert [retry.policy.delay_after(number, 0.5) for number in (1, 2, 3)] == waits


@pytest.mark.parametrize("interval", [-1, [10, -5], [], "often"])
def test_waits_that_cannot_be_meant_are_refused(interval: Any) -> None:
    with pytest.raises(InvalidInput):
        Retry(max=3, interval=interval)


def test_each_try_has_a_wait_of_its_own(queue: Queue) -> None:
    job = queue.enqueue(fail, retry=Retry(max=2, interval=[0, 3600]))

    with running_worker(queue.__rota_app__):
        wait_until(lambda: job.handle.job.attempts == 2 and job.is_scheduled, "the second try has failed")

    found = job.handle.job
    assert found.state is JobState.DELAYED
    assert [one.error for one in found.past] == ["LookupError: no"] * 2
    assert found.available_at - found.past[-1].ended_at >= 3_600_000


def test_arguments_that_have_the_names_of_options_go_in_explicitly(queue: Queue) -> None:
    explicit = queue.enqueue(take, args=("a",), kwargs={"timeout": 5})
    called = queue.enqueue_call(take, args=("b",), kwargs={"timeout": 5}, timeout=60)
    work(queue)

    assert (explicit.return_value(), called.return_value()) == ("a", "b")
    assert explicit.kwargs == called.kwargs | {"args": "a"}


def test_a_timeout_among_the_arguments_is_one_of_the_function(queue: Queue) -> None:
    enqueued = queue.enqueue(take, "a", timeout=5)

    assert enqueued.kwargs == {"args": "a", "timeout": 5}
    assert enqueued.handle.job.spec.timeout_ms == 180_000


def test_the_code_of_a_job_knows_its_job(queue: Queue) -> None:
    job = queue.enqueue(who)
    work(queue)

    assert (job.return_value(), get_current_job()) == ("started default", None)


def test_a_decorated_function_can_be_called_and_enqueued(queue: Queue) -> None:
    made = job(queue, timeout=5, retry=Retry(1))(add)
    enqueued = made.delay(1, b=2)
    work(queue)

    assert (made(1, b=2), enqueued.return_value()) == (3, 3)
    spec = enqueued.handle.job.spec
    assert (spec.timeout_ms, spec.retry and spec.retry.attempts) == (5_000, 2)


def test_a_connection_of_redis_py_names_the_store(folder: Path, redis_server: RedisServer) -> None:
    from redis import Redis

    redis_server.flush()
    with Redis.from_url(redis_server.url) as connection:
        queue = Queue("mails", connection=connection)
    enqueued = queue.enqueue(add, 1)
    work(queue)

    assert (enqueued.return_value(), enqueued.origin) == (2, "mails")
    assert queue.__rota_app__.url == redis_server.url
    queue.__rota_app__.close()


def test_what_is_to_be_called_after_a_job_is_called(queue: Queue) -> None:
    TOLD.clear()
    good = queue.enqueue(add, 1, on_success=note_success, on_failure=note_failure)
    work(queue)
    bad = queue.enqueue(fail, on_success=note_success, on_failure=Callback(note_failure), retry=Retry(1))
    work(queue)
    after = queue.enqueue(add_slowly, 1, on_success=Callback("tests.moving.test_rq.note_success"))
    work(queue)

    failure = (bad.id, "LookupError", "no", True)
    assert [(good.id, 2), failure, failure, (after.id, 2)] == TOLD
    assert (good.kwargs, bad.get_status(), after.result) == ({"a": 1}, "failed", 2)


def test_jobs_know_the_store_of_their_worker_although_the_program_has_another(queue: Queue, folder: Path) -> None:
    other = Queue(connection=f"sqlite:///{folder}/other.db")
    TOLD.clear()

    found = queue.enqueue(add, 1, on_success=note_success)
    after = queue.enqueue(who, depends_on=found)
    work(queue)

    assert [(found.id, 2)] == TOLD
    assert (found.get_status(), after.result) == (JobStatus.FINISHED, "started default")
    other.__rota_app__.close()


def test_a_job_fails_with_what_is_raised_by_who_is_told_of_its_end(queue: Queue) -> None:
    good, bad = queue.enqueue(add, 1, on_success=break_it), queue.enqueue(fail, on_failure=break_it)
    work(queue)

    for one in (good, bad):
        assert "OSError: no disk" in str(Job.fetch(one.id).exc_info)


def test_what_a_callback_says_of_its_time_is_refused() -> None:
    with pytest.raises(InvalidInput, match="timeout: of Callback is not carried"):
        Callback(add, timeout=5)


def test_a_job_has_the_meta_that_it_was_enqueued_with(queue: Queue) -> None:
    job = queue.enqueue(add, 1, meta={"for": "Ada"})
    work(queue)

    assert (job.meta, job.kwargs, job.result) == ({"for": "Ada"}, {"a": 1}, 2)
    with pytest.raises(InvalidInput, match=r"meta: is kept as it was enqueued; rota\.current_job\(\)\.progress"):
        job.save_meta()


def test_functions_of_classes_and_asynchronous_ones_are_found_by_their_names(queue: Queue) -> None:
    jobs = [queue.enqueue(Thing.double, 4), queue.enqueue(add_slowly, a=4)]
    work(queue)

    assert [job.result for job in jobs] == [8, 5]


def test_registries_list_what_became_of_jobs(queue: Queue) -> None:
    done, bad, late = queue.enqueue(add, 1), queue.enqueue(fail), queue.enqueue_in(timedelta(hours=1), add, 1)
    gone = queue.enqueue_in(timedelta(hours=1), add, 1)
    gone.cancel()

    with running_worker(queue.__rota_app__):
        wait_until(lambda: done.is_finished and bad.is_failed, "both have run")

    assert queue.finished_job_registry.get_job_ids() == [done.id]
    assert queue.failed_job_registry.get_job_ids(0, 0) == [bad.id]
    assert queue.scheduled_job_registry.get_job_ids() == [late.id]
    assert queue.canceled_job_registry.get_job_ids() == [gone.id]
    assert (len(queue.started_job_registry), queue.deferred_job_registry.count) == (0, 0)
    assert (bad in queue.failed_job_registry, done.id in queue.failed_job_registry) == (True, False)

    assert FailedJobRegistry(queue=queue).requeue(bad.id).is_queued
    assert len(FailedJobRegistry("default", connection=queue.__rota_app__.url)) == 0
    assert FinishedJobRegistry("nobody", connection=queue.__rota_app__.url).get_job_ids() == []


@pytest.mark.parametrize("kind", [Worker, SimpleWorker])
def test_a_worker_in_a_program_runs_the_jobs_of_its_queue(queue: Queue, kind: type[Worker]) -> None:
    job = queue.enqueue(add, 1)

    assert kind([queue]).work(burst=True, logging_level="WARNING")

    assert job.result == 2
    assert kind("default", connection=queue.__rota_app__.url).queues[0].name == "default"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda queue: Worker(["high", "low"]), "queues: must be one, got 2: a worker of Rota's serves one queue"),
        (lambda queue: Worker([queue], exception_handlers=[add]), "exception_handlers: of Worker is not carried"),
        (lambda queue: Worker([queue]).work(max_jobs=3), "max_jobs: of work is not carried by Rota; start rota worker"),
    ],
)
def test_what_a_worker_cannot_do_is_refused(queue: Queue, make: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{told}"):
        make(queue)
