"""Executor `python`: functions on the loop and in threads."""

import asyncio
import contextlib
import gc
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from rota.engine.executors.job_context import context_for, copy_logging_to_jobs, drive
from rota.engine.executors.python import PythonExecutor, current_run
from rota.errors import InvalidInput
from rota.model.outcome import Outcome, OutcomeKind

from . import jobs
from .runs import JOB_ID, LoggedRun, cancel, errors_of, job_type, make_run, run_until

JOBS = jobs.__name__


def run_of(function: str, **arguments: object) -> LoggedRun:
    return make_run({"function": f"{JOBS}:{function}"}, arguments)


def call(runner: asyncio.Runner, function: str, **arguments: object) -> Outcome:
    executor = PythonExecutor()
    try:
        return runner.run(executor.run(run_of(function, **arguments)))
    finally:
        runner.run(executor.close())


def result_of(outcome: Outcome) -> Any:
    assert outcome.kind is OutcomeKind.SUCCEEDED, outcome
    return outcome.results


@pytest.fixture
def gate() -> Iterator[None]:
    """Threads that wait at the gate go on at the end of the test."""
    jobs.gate.clear()
    yield
    jobs.gate.set()


# -- calling ---------------------------------------------------------------------------------------------------------


def test_an_async_function_is_awaited_with_the_arguments_as_keywords(runner: asyncio.Runner) -> None:
    assert result_of(call(runner, "add", a=1, b=2)) == 3
    assert result_of(call(runner, "nothing")) is None


def test_a_plain_function_runs_in_a_thread(runner: asyncio.Runner) -> None:
    assert result_of(call(runner, "add_in_thread", a=1)) == {"sum": 11, "is_main": False}


def test_a_function_may_be_a_member_a_callable_or_decorated(runner: asyncio.Runner) -> None:
    assert result_of(call(runner, "Sums.add", a=1, b=2)) == 3
    assert result_of(call(runner, "async_callable", a=7)) == 7
    assert result_of(call(runner, "decorated")) == JOB_ID


@pytest.mark.parametrize("function", ["add", "add_in_thread"])
@pytest.mark.parametrize("arguments", [{}, {"a": 1, "c": 2}])
def test_arguments_that_do_not_fit_are_refused(
    runner: asyncio.Runner, function: str, arguments: dict[str, object]
) -> None:
    outcome = call(runner, function, **arguments)

    assert outcome.kind is OutcomeKind.REFUSED
    assert errors_of(outcome)["type"] == "arguments"


def test_a_run_can_be_asked_for_by_its_code(runner: asyncio.Runner) -> None:
    for function in ("identify", "identify_async"):
        run = run_of(function)

        outcome = runner.run(PythonExecutor().run(run))

        assert result_of(outcome) == [JOB_ID, 1]
        assert run.lines == [("I am here", "warning")]


def test_outside_a_job_there_is_no_current_run() -> None:
    with pytest.raises(RuntimeError, match="no job is running"):
        current_run()


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("point", {"x": 1, "when": "2024-02-29"}),
        ("uuid", "00000000-0000-0000-0000-000000000001"),
        ("keys", {"1": "one"}),
    ],
)
def test_a_value_is_kept_as_json(runner: asyncio.Runner, kind: str, result: object) -> None:
    assert result_of(call(runner, "give", kind=kind)) == result


@pytest.mark.parametrize("kind", ["nan", "object", "big", "surrogate", "loop"])
def test_a_value_that_json_cannot_carry_fails_the_job(runner: asyncio.Runner, kind: str) -> None:
    outcome = call(runner, "give", kind=kind)

    assert outcome.kind is OutcomeKind.FAILED
    assert errors_of(outcome)["type"] == "result"


# -- failing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["fail", "fail_async"])
def test_an_exception_is_told_with_its_traceback_from_the_jobs_own_code_on(
    runner: asyncio.Runner, function: str
) -> None:
    outcome = call(runner, function)

    errors = errors_of(outcome)
    assert outcome.kind is OutcomeKind.FAILED
    assert (errors["type"], errors["message"]) == ("ValueError", "no such luck")
    assert 'raise ValueError("no such luck")' in errors["traceback"]
    assert "rota/engine/executors" not in errors["traceback"].replace("tests/engine/executors", "")


@pytest.mark.parametrize("function", ["fail_with", "fail_async_with"])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("exit", "SystemExit"),
        ("cancelled", "CancelledError"),
        ("huge", "ValueError"),
        ("surrogate", "ValueError"),
        ("recursion", "RecursionError"),
        ("unprintable", "_UnprintableError"),
    ],
)
def test_whatever_a_function_raises_fails_the_job_and_nothing_else(
    runner: asyncio.Runner, function: str, kind: str, name: str
) -> None:
    outcome = call(runner, function, kind=kind)

    assert outcome.kind is OutcomeKind.FAILED
    assert errors_of(outcome)["type"] == name
    assert sum(len(text.encode()) for text in errors_of(outcome).values()) < 100_000


def test_a_stop_iteration_fails_the_job(runner: asyncio.Runner) -> None:
    assert errors_of(call(runner, "fail_with", kind="stop"))["type"] == "StopIteration"
    assert errors_of(call(runner, "fail_async_with", kind="stop"))["type"] == "RuntimeError"


def test_awaiting_something_cancelled_fails_the_job_and_does_not_stop_the_worker(runner: asyncio.Runner) -> None:
    assert errors_of(call(runner, "await_cancelled_future"))["type"] == "CancelledError"


# -- finding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("no_such_module_anywhere:f", "no_such_module_anywhere"),
        (f"{JOBS}.inner:f", f"{JOBS}.inner"),
        (f"{JOBS}:identfy", "did you mean 'identify'"),
        (f"{JOBS}:Sums.substract", "'Sums' has no 'substract'"),
        (f"{JOBS}:not_a_function", "cannot be called"),
        (f"{__package__}.importing_nothing:f", "no_such_module_anywhere"),
        ("not a name", "package.module:function"),
    ],
)
def test_a_function_that_cannot_be_found_is_refused(runner: asyncio.Runner, function: str, said: str) -> None:
    outcome = runner.run(PythonExecutor().run(make_run({"function": function})))

    assert outcome.kind is OutcomeKind.REFUSED
    assert errors_of(outcome)["type"] == "function"
    assert said in errors_of(outcome)["message"]


def test_a_module_that_fails_while_it_is_imported_fails_the_job_with_its_traceback(runner: asyncio.Runner) -> None:
    outcome = runner.run(PythonExecutor().run(make_run({"function": f"{__package__}.broken_job:f"})))

    assert outcome.kind is OutcomeKind.FAILED
    assert errors_of(outcome)["message"] == "no connection at import"


@pytest.mark.parametrize("function", ["a:b", "a.b:c", "a.b:C.d", "_a:_b"])
def test_a_job_type_is_checked_without_importing_its_function(function: str) -> None:
    PythonExecutor().check(job_type("python", {"function": function, "process": True}))


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({}, "metadata.function"),
        ({"function": 5}, "metadata.function"),
        ({"function": "a.b"}, "metadata.function"),
        ({"function": "a:b:c"}, "metadata.function"),
        ({"function": ":b"}, "metadata.function"),
        ({"function": "a:"}, "metadata.function"),
        ({"function": "a..b:c"}, "metadata.function"),
        ({"function": "a:b()"}, "metadata.function"),
        ({"function": "a:b", "process": 1}, "metadata.process"),
        ({"function": "a:b", "proces": True}, "metadata.proces"),
    ],
)
def test_a_job_type_is_refused_by_the_field_that_is_wrong(metadata: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        PythonExecutor().check(job_type("python", metadata))

    assert caught.value.field == field


# -- contexts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", ["set_and_see", "set_and_see_in_thread"])
def test_what_one_job_sets_in_a_context_variable_the_next_does_not_see(runner: asyncio.Runner, function: str) -> None:
    async def one_slot() -> list[Any]:
        executor = PythonExecutor()
        return [result_of(await executor.run(run_of(function, value=value))) for value in ("first", "second")]

    first, second = runner.run(one_slot())

    assert first == ["nothing", *["first"] * (len(first) - 1)]
    assert second == ["nothing", *["second"] * (len(second) - 1)]


def test_timeouts_and_task_groups_work_inside_an_async_job(runner: asyncio.Runner) -> None:
    assert result_of(call(runner, "with_inner_timeout")) == "timed out inside"
    assert result_of(call(runner, "with_task_group")) == [10, 11, 12]
    assert errors_of(call(runner, "failing_task_group"))["type"] == "ExceptionGroup"


def test_a_cancelled_async_job_cleans_up_in_its_own_context(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        run = run_of("wait_for_ever")

        task, _ = await run_until(PythonExecutor(), run, "waiting")
        await cancel(task)

        assert run.messages() == ["waiting", "cleaned up"]

    runner.run(scenario())


def test_an_async_job_that_swallows_its_cancellation_still_has_an_outcome(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        task, _ = await run_until(PythonExecutor(), run_of("ignore_one_cancellation"), "waiting")
        task.cancel()

        assert result_of(await task) == "finished all the same"

    runner.run(scenario())


def test_closing_a_driven_coroutine_closes_the_one_inside() -> None:
    steps: list[str] = []

    async def inner() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            steps.append("closed")

    async def outer() -> None:
        await drive(inner(), context_for(make_run({})))

    coroutine = outer()
    coroutine.send(None)
    coroutine.close()

    assert steps == ["closed"]


def test_an_exception_thrown_into_a_driven_coroutine_can_be_answered() -> None:
    async def inner() -> str:
        try:
            await asyncio.sleep(0)
        except KeyError:
            await asyncio.sleep(0)
        return "answered"

    async def outer() -> object:
        return await drive(inner(), context_for(make_run({})))

    coroutine = outer()
    coroutine.send(None)
    coroutine.throw(KeyError("x"))

    with pytest.raises(StopIteration) as end:
        coroutine.send(None)
    assert end.value.value == "answered"


# -- threads ---------------------------------------------------------------------------------------------------------


def test_a_thousand_calls_at_once_all_come_back(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        executor = PythonExecutor()

        outcomes = await asyncio.gather(*(executor.run(run_of("Sums.add", a=n, b=1)) for n in range(1000)))
        await executor.close()

        assert [outcome.results for outcome in outcomes] == list(range(1, 1001))

    runner.run(scenario())


def test_calls_one_after_the_other_share_a_thread(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        executor = PythonExecutor()

        for _ in range(50):
            await executor.run(run_of("Sums.add", a=1, b=1))

        assert executor._threads.thread_count == 1
        assert executor._threads.busy_count == 0
        await executor.close()

    runner.run(scenario())


def test_a_cancelled_thread_is_given_up_at_once_and_no_longer_counted(runner: asyncio.Runner, gate: None) -> None:
    async def scenario() -> None:
        executor = PythonExecutor()
        runs = [run_of("wait_at_gate") for _ in range(5)]

        for run in runs:
            task, _ = await run_until(executor, run, "waiting")
            await cancel(task)

        assert executor._threads.busy_count == executor._threads.thread_count == 0
        assert result_of(await executor.run(run_of("Sums.add", a=1, b=1))) == 2
        assert executor._threads.thread_count == 1
        await executor.close()

    runner.run(scenario())


def test_counts_stay_right_when_calls_are_cancelled_at_any_moment(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        executor = PythonExecutor()
        await executor.run(run_of("Sums.add", a=1, b=1))

        for turns in range(100):
            tasks = [asyncio.create_task(executor.run(run_of("Sums.add", a=1, b=1))) for _ in range(4)]
            for _ in range(turns % 7):
                await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.wait(tasks)
            assert all(task.cancelled() or task.result().results == 2 for task in tasks)

        last = await asyncio.gather(*(executor.run(run_of("Sums.add", a=1, b=1)) for _ in range(8)))
        assert [outcome.results for outcome in last] == [2] * 8
        assert executor._threads.busy_count == 0
        assert 1 <= executor._threads.thread_count <= 8
        await executor.close()

    runner.run(scenario())


def test_a_late_thread_does_no_harm_to_a_closed_loop(gate: None) -> None:
    executor = PythonExecutor()

    async def scenario() -> None:
        task, _ = await run_until(executor, run_of("wait_at_gate"), "waiting")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(task, 0)
        await executor.close()

    asyncio.run(scenario())
    jobs.gate.set()
    gc.collect()


# -- logging ---------------------------------------------------------------------------------------------------------


def test_what_a_job_says_through_logging_is_in_its_log(runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "level", logging.INFO)
    run = run_of("use_logging")

    runner.run(PythonExecutor().run(run))

    said = [("jobs.test: an info", "info"), ("jobs.test: a warning", "warning"), ("jobs.test: an error", "error")]
    assert run.lines == said


def test_logging_outside_of_jobs_goes_where_it_went_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])

    copy_logging_to_jobs()
    copy_logging_to_jobs()
    logging.getLogger("outside").warning("still seen")

    assert len(logging.root.handlers) == 1
    assert capsys.readouterr().err == "still seen\n"
