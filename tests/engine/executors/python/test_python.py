"""Executor `python`: functions on the loop and in threads."""

import asyncio

import pytest

from rota.engine.executors.python.function import Function, find_function
from rota.engine.executors.python.python import PythonExecutor, current_run
from rota.errors import InvalidInput
from rota.model.runs.outcome import OutcomeKind
from tests.engine.executors.python.python_runs import JOBS, call, result_of, run_of
from tests.engine.executors.runs import JOB_ID, errors_of, job_type, make_run

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


def test_a_task_is_called_as_the_function_that_it_stands_for(runner: asyncio.Runner) -> None:
    function = find_function(f"{JOBS}:task_on_loop")

    assert isinstance(function, Function)
    assert function.is_async
    assert result_of(call(runner, "task_on_loop")) is True


@pytest.mark.parametrize("function", ["add", "add_in_thread"])
@pytest.mark.parametrize("arguments", [{}, {"a": 1, "c": 2}])
def test_arguments_that_do_not_fit_are_refused(
    runner: asyncio.Runner, function: str, arguments: dict[str, object]
) -> None:
    outcome = call(runner, function, **arguments)

    assert outcome.kind is OutcomeKind.REFUSED
    assert errors_of(outcome)["type"] == "arguments"


@pytest.mark.parametrize("process", [False, True])
def test_an_error_within_a_function_whose_decorator_adds_an_argument_is_its_own(
    runner: asyncio.Runner, process: bool
) -> None:
    run = make_run({"function": f"{JOBS}:fail_within", "process": process})

    outcome = runner.run(PythonExecutor().run(run))

    assert (outcome.kind, errors_of(outcome)["type"]) == (OutcomeKind.FAILED, "TypeError")
    assert "can only concatenate str" in errors_of(outcome)["message"]


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
    assert (errors["type"], errors["class"], errors["message"]) == ("ValueError", "builtins.ValueError", "no such luck")
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
