"""A function becomes a task: it stays what it was, and a worker can run it."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest

from rota import InvalidInput, RetryPolicy, Rota
from rota.model.job import JobState
from tests.sdk.tasks import functions
from tests.sdk.tasks.working import running_worker
from tests.servers import wait_until

ON_EACH_KIND = pytest.mark.stores("sqlite-file", "redis")
"""What an app does beyond calling the engine is the same on every store; one of each kind shows it."""


def test_a_task_is_enqueued_run_by_a_worker_and_gives_its_result(app: Rota) -> None:
    add, report = app.task(functions.add), app.task(functions.report)

    sum_, monday = add.enqueue(2, b=3), report.enqueue(day="monday")
    app.run_worker(burst=True)

    assert sum_.get(timeout=60) == 5
    assert monday.result == {
        "day": "monday",
        "id": monday.id,
        "task": "tests.sdk.tasks.functions.report",
        "attempt": 1,
        "arguments": {"day": "monday"},
    }
    assert [(line.message, line.level) for line in monday.logs()] == [("report of monday", "warning")]


@ON_EACH_KIND
def test_a_task_can_still_be_called(app: Rota) -> None:
    add, report = app.task(functions.add), app.task(functions.report)

    assert add(1) == 2
    assert add.__name__ == "add"
    coroutine = report("monday")
    assert asyncio.iscoroutine(coroutine)
    coroutine.close()


@ON_EACH_KIND
def test_tasks_of_one_function_are_tasks_of_their_own(app: Rota) -> None:
    add = app.task(functions.add)
    again = app.task(name="again", priority=5)(add)
    doubled = app.task(name="doubled")(functions.doubled(functions.add))

    handles = [add.enqueue(1), again.enqueue(2), doubled.enqueue(3)]
    app.run_worker(burst=True)

    assert [add.name, again.name, doubled.name] == ["tests.sdk.tasks.functions.add", "again", "doubled"]
    assert again.__rota_function__ is functions.add
    assert [one.job.spec.priority for one in handles] == [0, 5, 0]
    assert [one.result for one in handles] == [2, 3, 8]
    assert (add(1), again(1), doubled(1)) == (2, 2, 4)


@ON_EACH_KIND
def test_attributes_of_a_function_are_not_those_of_its_task(app: Rota) -> None:
    task = app.task(functions.named)

    assert task.name == "tests.sdk.tasks.functions.named"
    assert task.__dict__["unit"] == "km"


@ON_EACH_KIND
def test_jobs_can_be_enqueued_in_several_ways(app: Rota) -> None:
    add = app.task(functions.add)

    handles = [
        add.delay(1),
        asyncio.run(add.aenqueue(2)),
        add.options(priority=5).enqueue(3),
        *add.map([(4,), {"a": 5}]),
    ]
    app.run_worker(burst=True)

    assert [handle.result for handle in handles] == [2, 3, 4, 5, 6]
    assert asyncio.run(handles[0].aget(timeout=60)) == 2


@ON_EACH_KIND
def test_options_of_a_call_reach_its_job(app: Rota) -> None:
    add = app.task(functions.add)
    at = datetime(2090, 1, 1, tzinfo=UTC)

    spec = (
        add.options(priority=7, run_at=at, unique_key="k", timeout=timedelta(seconds=2), retries=2).enqueue(1).job.spec
    )
    later = add.options(delay="5m").enqueue(1)

    assert (spec.priority, spec.unique_key, spec.timeout_ms) == (7, "k", 2_000)
    assert spec.run_at == round(at.timestamp() * 1000)
    assert spec.retry == RetryPolicy(attempts=3)
    assert later.status is JobState.DELAYED
    assert (later.job.spec.run_at or 0) - later.job.spec.enqueued_at == 300_000


@ON_EACH_KIND
def test_a_live_job_with_the_unique_key_counts_instead_of_a_new_one(app: Rota) -> None:
    once = app.task(functions.add).options(unique_key="once")

    first, second = once.enqueue(1), once.enqueue(2)

    assert (first.is_new, second.is_new) == (True, False)
    assert first.id == second.id


@ON_EACH_KIND
def test_the_priority_of_a_task_decides_who_runs_first(app: Rota) -> None:
    low = app.task(functions.note)
    high = app.task(name="urgent", priority=10)(functions.note)
    functions.seen.clear()

    low.map([(1,), (2,)])
    high.enqueue(3)
    app.run_worker(burst=True, threads=1)

    assert functions.seen == [3, 1, 2]


def test_the_priority_of_a_call_goes_before_that_of_its_task(app: Rota) -> None:
    urgent = app.task(name="urgent", priority=10)(functions.note)

    jobs = [urgent.enqueue(1).job, urgent.options(priority=3).enqueue(1).job, urgent.options(priority=0).enqueue(1).job]

    assert [job.spec.priority for job in jobs] == [10, 3, 0]


@ON_EACH_KIND
def test_a_failing_task_is_tried_again(app: Rota) -> None:
    task = app.task(retries=RetryPolicy(attempts=3, delay_ms=1))(functions.succeed_at)

    handle = task.enqueue(3)
    app.run_worker(burst=True)

    assert handle.result == 3
    assert handle.job.attempts == 3


@ON_EACH_KIND
def test_a_task_with_a_process_runs_in_one(app: Rota) -> None:
    report = app.task(process=True)(functions.report)

    handle = report.enqueue()
    app.run_worker(burst=True)

    assert handle.result["id"] == handle.id
    assert [line.message for line in handle.logs()] == ["report of today"]


@ON_EACH_KIND
def test_arguments_by_any_name_are_carried(app: Rota) -> None:
    handle = app.task(functions.settings).enqueue(colour="red", size=3)
    app.run_worker(burst=True)

    assert handle.result == {"colour": "red", "size": 3}


@ON_EACH_KIND
def test_a_function_in_a_thread_can_see_that_it_is_to_stop(app: Rota) -> None:
    handle = app.task(functions.work_until_stopped).enqueue()
    worker = threading.Thread(target=app.run_worker)
    worker.start()
    wait_until(lambda: [line.message for line in handle.logs()] == ["begun"], "the job to begin")

    assert handle.cancel()
    wait_until(functions.stopped.is_set, "the function to end")
    wait_until(lambda: handle.status is JobState.CANCELLED, "the job to be cancelled")
    app.stop_worker()
    worker.join(60)

    assert not worker.is_alive()


@ON_EACH_KIND
def test_a_task_may_enqueue_another(app: Rota) -> None:
    add = app.task(functions.add)
    outer = app.task(name="outer")(functions.enqueue_others)
    functions.others[:] = [add]

    handle = outer.enqueue(41)
    app.run_worker(burst=True)

    assert [app.handle(id).result for id in handle.result] == [42]


# -- what is refused where it is written, and stored nowhere -------------------------------------------------------


@ON_EACH_KIND
@pytest.mark.parametrize(
    ("args", "kwargs", "reason"),
    [
        ((), {}, "missing a required argument: 'a'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1,), {"c": 1}, "got an unexpected keyword argument 'c'"),
        ((1,), {"a": 1}, "multiple values for argument 'a'"),
    ],
)
def test_arguments_that_do_not_fit_the_signature_fail_at_enqueue(
    app: Rota, args: tuple[int, ...], kwargs: dict[str, int], reason: str
) -> None:
    add = app.task(name="add")(functions.add)
    add.enqueue(1)

    with pytest.raises(InvalidInput, match=f"arguments: add.*: {reason}"):
        add.enqueue(*args, **kwargs)

    assert count_jobs(app) == 1


@ON_EACH_KIND
@pytest.mark.parametrize(
    ("value", "place"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), "arguments.items"),
        ([1, {"at": {2, 3}}], r"arguments.items\[1\].at"),
        ({"x": float("nan")}, "arguments.items.x"),
        ({"x": 1 << 70}, "arguments.items.x"),
    ],
)
def test_values_that_json_cannot_carry_are_refused_with_their_path(app: Rota, value: object, place: str) -> None:
    task = app.task(functions.settings)
    task.enqueue(items=1)

    with pytest.raises(InvalidInput, match=f"^{place}: "):
        task.enqueue(items=value)

    assert count_jobs(app) == 1


@ON_EACH_KIND
@pytest.mark.parametrize(
    ("bad", "place"),
    [
        ((), r"calls\[1\].arguments"),
        ({"a": {1}}, r"calls\[1\].arguments.a"),
        (7, r"calls\[1\]"),
    ],
)
def test_of_many_calls_none_is_made_if_one_is_bad(app: Rota, bad: tuple[object, ...], place: str) -> None:
    add = app.task(functions.add)
    add.enqueue(1)

    with pytest.raises(InvalidInput, match=f"^{place}: "):
        add.map([(1,), bad])

    assert count_jobs(app) == 1


def count_jobs(app: Rota) -> int:
    engine = app.engine
    return sum(engine.store.count_jobs(engine.definitions.node_type("default").uuid).values())


@ON_EACH_KIND
def test_a_task_starts_no_more_often_than_its_rate_says(app: Rota) -> None:
    double = app.task(rate="1/s")(functions.add)
    handles = [double.enqueue(number) for number in range(3)]

    with running_worker(app):
        assert [handle.get(timeout=60) for handle in handles] == [1, 2, 3]

    first, *_, last = (handle.job for handle in handles)
    # The first was taken after it was enqueued, the last two seconds later; clocks may differ a little.
    assert (last.started_at or 0) - first.spec.enqueued_at >= 1_900


@ON_EACH_KIND
def test_a_rate_can_be_for_each_value_of_an_argument(app: Rota) -> None:
    add = app.task(rate="1/h", rate_key="{a}")(functions.add)
    first, second, other = add.enqueue(1), add.enqueue(1, b=5), add.enqueue(2)

    with running_worker(app):
        assert [first.get(timeout=60), other.get(timeout=60)] == [2, 3]

    assert second.status == "queued"
