"""Tasks of Django on Rota: what the contract of `django.tasks` promises to those who enqueue them."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("django.tasks", reason="django.tasks came with Django 6, which needs Python 3.12")

from django.tasks import TaskResultStatus, task_backends
from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist, TaskResultMismatch
from django.tasks.signals import task_enqueued, task_finished, task_started
from django.test import override_settings

from rota import RetryPolicy
from rota.errors import InvalidInput
from rota.model.job import JobState
from rota.sdk.django import RotaBackend
from rota.sdk.django.installation import app_of_store
from tests.sdk.django import functions
from tests.sdk.django.conftest import MakeBackend

pytestmark = pytest.mark.stores("sqlite-file")  # what differs between stores is not seen from here
ONCE_MORE = RetryPolicy(attempts=2, delay_ms=0)


def run_all(backend: RotaBackend, queue: str = "default") -> None:
    backend.app.rota.run_worker(burst=True, queue=queue)


@pytest.mark.stores("sqlite-file", "redis")
def test_a_task_runs_on_a_worker_and_its_result_is_found(backend: RotaBackend) -> None:
    enqueued = functions.add.enqueue(2, b=3)
    assert (enqueued.status, enqueued.attempts, enqueued.is_finished) == (TaskResultStatus.READY, 0, False)

    run_all(backend)

    found = functions.add.get_result(enqueued.id)
    assert (found.status, found.return_value, found.args, found.kwargs) == ("SUCCESSFUL", 5, [2], {"b": 3})
    assert (found.attempts, found.errors, found.backend) == (1, [], "default")
    assert found.started_at <= found.finished_at
    assert found.enqueued_at.tzinfo is not None
    assert found.last_attempted_at == found.started_at
    enqueued.refresh()
    assert enqueued.return_value == 5
    assert found.task == functions.add


def test_asynchronous_programs_enqueue_and_ask_too(backend: RotaBackend) -> None:
    async def enqueue() -> Any:
        return await functions.greet.aenqueue("Ada")

    enqueued = asyncio.run(enqueue())
    run_all(backend)

    asyncio.run(enqueued.arefresh())
    assert enqueued.return_value == "hello Ada"
    assert asyncio.run(functions.greet.aget_result(enqueued.id)).status == TaskResultStatus.SUCCESSFUL


@pytest.mark.parametrize("task", ["fail", "fail_slowly"])
def test_an_exception_is_found_with_its_class_and_its_traceback(backend: RotaBackend, task: str) -> None:
    result = getattr(functions, task).enqueue("none left")
    run_all(backend)

    result.refresh()
    (error,) = result.errors
    assert (result.status, result.is_finished, result.attempts) == ("FAILED", True, 1)
    assert error.exception_class is functions.OutOfStock
    assert "raise OutOfStock(word)" in error.traceback
    assert "none left" in error.traceback
    with pytest.raises(ValueError, match="failed"):
        _ = result.return_value


def test_a_context_counts_the_attempts_and_names_the_workers(make_backend: MakeBackend) -> None:
    backend = make_backend(retries=ONCE_MORE)
    result = functions.try_twice.enqueue("x")

    run_all(backend)

    result.refresh()
    assert result.return_value == ["x", 2, result.id, "RUNNING", result.worker_ids]
    assert (result.attempts, len(set(result.worker_ids)), all(result.worker_ids)) == (2, 1, True)
    assert [error.traceback for error in result.errors] == ["ValueError: the first time"]
    assert result.started_at <= result.last_attempted_at <= result.finished_at


def test_higher_priorities_run_first(backend: RotaBackend) -> None:
    begun: list[list[Any]] = []

    def note(task_result: Any, **_: object) -> None:
        begun.append(task_result.args)

    for priority in (-100, 0, 100):
        functions.echo.using(priority=priority).enqueue(priority)
    task_started.connect(note)
    try:
        backend.app.rota.run_worker(burst=True, threads=1)
    finally:
        task_started.disconnect(note)

    assert begun == [[100], [0], [-100]]


def test_a_task_that_is_for_later_waits(backend: RotaBackend) -> None:
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)

    result = functions.add.using(run_after=later).enqueue(1)

    found = functions.add.get_result(result.id)
    assert (found.status, found.started_at, found.task.run_after) == (TaskResultStatus.READY, None, later)
    assert backend.app.rota.handle(result.id).status is JobState.DELAYED


@pytest.mark.usefixtures("zone_is_given_back")
def test_times_have_no_zone_if_the_project_has_none(backend: RotaBackend) -> None:
    with override_settings(USE_TZ=False, TIME_ZONE="Asia/Tokyo"):
        later = datetime(2100, 1, 1, 9)  # noqa: DTZ001  that is what it is about
        result = functions.add.using(run_after=later).enqueue(1)

        found = functions.add.get_result(result.id)

    assert found.task.run_after == later
    assert found.enqueued_at.tzinfo is None
    run_at = backend.app.rota.handle(result.id).job.spec.run_at
    assert run_at == datetime(2100, 1, 1, tzinfo=UTC).timestamp() * 1000


def test_each_queue_has_workers_of_its_own(make_backend: MakeBackend) -> None:
    backend = make_backend(queues=["default", "mail"])
    there, here = functions.add.using(queue_name="mail").enqueue(1), functions.add.enqueue(1)

    run_all(backend, "mail")

    there.refresh()
    here.refresh()
    assert (there.status, here.status) == (TaskResultStatus.SUCCESSFUL, TaskResultStatus.READY)
    assert functions.add.get_result(there.id).task.queue_name == "mail"
    with pytest.raises(InvalidTask, match="Queue 'nobody'"):
        functions.add.using(queue_name="nobody")


@pytest.mark.parametrize(
    ("args", "kwargs", "path"),
    [
        ((1, {"of": [object()]}), {}, r"args\[1\]\.of\[0\] is <object"),
        ((), {"day": datetime(2020, 1, 1, tzinfo=UTC)}, r"kwargs\.day is datetime"),
        ((b"\xff",), {}, r"args\[0\] is b'"),
    ],
)
def test_what_json_cannot_carry_is_refused_with_its_path(
    backend: RotaBackend, args: tuple[Any, ...], kwargs: dict[str, Any], path: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=path):
        functions.echo.enqueue(*args, **kwargs)


def test_a_number_that_json_cannot_carry_is_refused_with_its_path(backend: RotaBackend) -> None:
    with pytest.raises(InvalidInput, match=r"arguments\.args\[0\]"):
        functions.echo.enqueue(float("nan"))


def test_arguments_and_results_are_carried_as_django_carries_them(backend: RotaBackend) -> None:
    result = functions.echo.enqueue((1, b"two"), three={"four": (5,)})
    assert (result.args, result.kwargs) == ([[1, "two"]], {"three": {"four": [5]}})

    run_all(backend)

    result.refresh()
    assert result.return_value == [[[1, "two"]], {"three": {"four": [5]}}]


def test_arguments_that_do_not_fit_are_refused_when_they_are_enqueued(backend: RotaBackend) -> None:
    with pytest.raises(TypeError, match=r"functions\.add\(a: int, b: int = 1\).*missing a required argument: 'a'"):
        functions.add.enqueue(b=1)
    with pytest.raises(TypeError, match="too many"):
        functions.try_twice.enqueue("x", "y")


def test_a_result_that_json_cannot_carry_fails_the_task(backend: RotaBackend) -> None:
    result = functions.return_an_object.enqueue()
    run_all(backend)

    result.refresh()
    assert result.errors[0].exception_class is TypeError
    assert "the return value is <object" in result.errors[0].traceback


def test_a_cancelled_job_is_a_failed_task(backend: RotaBackend) -> None:
    result = functions.add.enqueue(1)
    backend.app.rota.handle(result.id).cancel()

    result.refresh()

    assert (result.status, result.attempts, result.started_at) == (TaskResultStatus.FAILED, 0, None)
    assert [error.traceback for error in result.errors] == ["cancelled on request"]
    assert issubclass(result.errors[0].exception_class, Exception)


def test_only_results_of_the_backend_and_of_the_task_are_found(backend: RotaBackend) -> None:
    result = functions.add.enqueue(1)

    with pytest.raises(TaskResultMismatch):
        functions.greet.get_result(result.id)
    with pytest.raises(TaskResultDoesNotExist, match="'other'"):
        task_backends["other"].get_result(result.id)
    for unknown in ("nothing", "01890000-0000-7000-8000-000000000000"):
        with pytest.raises(TaskResultDoesNotExist, match=unknown):
            backend.get_result(unknown)


def test_a_job_that_is_no_task_of_djangos_has_no_result(backend: RotaBackend) -> None:
    mine = backend.app.rota.task(name="plain")(functions.no_task).enqueue()

    with pytest.raises(TaskResultDoesNotExist, match="no job of the backend"):
        backend.get_result(mine.id)


def test_a_task_that_is_gone_from_the_code_fails_and_says_so(make_backend: MakeBackend) -> None:
    backend = make_backend()
    path = f"{functions.__name__}.no_task"
    job_type = backend.app.job_type_of(path, functions.no_task)
    handle = job_type.options(retries=5).enqueue(args=[], kwargs={}, backend="default")

    run_all(backend)

    job = handle.job
    assert (job.state, job.attempts) == (JobState.FAILED, 1)
    assert "decorate it with @task" in job.errors["message"]
    with pytest.raises(TaskResultDoesNotExist, match="is not a task"):
        backend.get_result(handle.id)


def test_signals_tell_of_the_beginning_and_of_the_end_of_a_task(make_backend: MakeBackend) -> None:
    backend = make_backend(retries=ONCE_MORE)
    told: list[tuple[str, str, int]] = []

    def note(signal: Any, sender: type, task_result: Any, **_: object) -> None:
        assert sender is RotaBackend
        told.append((names[signal], str(task_result.status), len(task_result.errors)))

    names = {task_enqueued: "enqueued", task_started: "started", task_finished: "finished"}
    for signal in names:
        signal.connect(note)
    try:
        functions.fail.enqueue("once")
        run_all(backend)
    finally:
        for signal in names:
            signal.disconnect(note)

    assert told == [
        ("enqueued", "READY", 0),
        ("started", "RUNNING", 0),
        ("started", "RUNNING", 1),
        ("finished", "FAILED", 2),
    ]


def test_a_task_that_gives_up_is_finished_although_it_had_attempts_left(make_backend: MakeBackend) -> None:
    backend = make_backend(retries=ONCE_MORE)
    result = functions.give_up.enqueue()

    run_all(backend)

    result.refresh()
    assert (result.status, result.attempts) == (TaskResultStatus.FAILED, 1)


def test_database_connections_are_closed_as_after_a_request(backend: RotaBackend) -> None:
    functions.used_connections.clear()
    result = functions.ask_database.enqueue()

    run_all(backend)

    result.refresh()
    assert result.return_value == 42
    assert [one.connection for one in functions.used_connections] == [None]


@pytest.mark.parametrize(
    ("queues", "options", "told"),
    [
        ([], {"stroe": "x"}, "stroe: is not an option; did you mean 'store'?"),
        ([], {"store": "amqp://host"}, "store: 'amqp://host' has no known scheme"),
        ([], {"store": 7}, "store: must be text"),
        ([], {"retries": "often"}, "retries: must be a number"),
        ([], {"timeout": "soon"}, "timeout:"),
        ([], {"outbox": "nowhere"}, "outbox: must be one of the DATABASES ['default'], got 'nowhere'"),
        (["-mail"], {}, "QUEUES: '-mail' is not a name"),
    ],
)
def test_wrong_settings_are_found_by_the_system_checks(
    make_backend: MakeBackend, queues: list[str], options: dict[str, object], told: str
) -> None:
    backend = make_backend(queues=queues, **options)

    (error,) = backend.check()

    assert error.id == "rota.E001"
    assert error.msg.startswith(f"TASKS['default']: {told}")


def test_good_settings_have_nothing_to_be_told(make_backend: MakeBackend) -> None:
    assert make_backend(retries=3, timeout="5m").check() == []


def test_all_threads_share_the_app_of_their_store(backend: RotaBackend) -> None:
    async def other() -> Any:
        return await asyncio.to_thread(lambda: task_backends["default"])

    elsewhere = asyncio.run(other())

    assert elsewhere is not backend
    assert elsewhere.app is backend.app is app_of_store(backend.options["store"])
