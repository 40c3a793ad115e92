"""Any executor in a process of its own: what it does there is the same, and its death is its own."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from msgspec import structs

from rota.engine.executors.built_in.event import EventExecutor
from rota.engine.executors.executor import ExecutorOptions
from rota.engine.executors.interpreter.isolated import run_isolated
from rota.engine.executors.registry import ExecutorRegistry
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors import jobs
from tests.engine.executors.http.web import WebServer, answer
from tests.engine.executors.runs import (
    JOB_ID,
    LoggedRun,
    await_death,
    cancel,
    errors_of,
    make_run,
    results_of,
    run_until,
)
from tests.engine.working import install_plug_in

PLUG_IN = """
import asyncio, os
from rota.model.runs.outcome import failed, succeeded

class Odd:
    def check(self, job_type): pass
    async def close(self): raise RuntimeError("no")
    async def run(self, run):
        match run.spec.arguments["do"]:
            case "succeed":
                run.log("it runs", "warning")
                return succeeded({"pid": os.getpid()})
            case "raise": raise LookupError("not there")
            case "nonsense": return "fine"
            case "unfit": return succeeded({"set": {1, 2}})
            case "exit": os._exit(7)
            case "wait":
                run.partial_results = "half"
                run.survivors = run.spec.arguments.get("survivors", "")
                run.log(f"pid {os.getpid()}", "info")
                await asyncio.sleep(600)
"""


class Isolated:
    """`run_isolated`, in the shape of an executor."""

    def __init__(self, executors: ExecutorRegistry | None = None) -> None:
        self._executors = executors or ExecutorRegistry()

    def check(self, job_type: object) -> None:
        """Not asked here."""

    async def run(self, run: object) -> Outcome:
        assert isinstance(run, LoggedRun)
        return await run_isolated(run, self._executors)

    async def close(self) -> None:
        await self._executors.close()


def run_of(executor: str, metadata: dict[str, object] | None = None, **arguments: object) -> LoggedRun:
    run = make_run(metadata or {}, arguments)
    run.job_type = structs.replace(run.job_type, executor=executor)
    return run


def python_run(function: str, **arguments: object) -> LoggedRun:
    return run_of("python", {"function": f"{jobs.__name__}:{function}"}, **arguments)


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An executor of somebody else."""
    (tmp_path / "odd_module.py").write_text(PLUG_IN)
    install_plug_in(tmp_path, odd="odd_module:Odd")
    monkeypatch.syspath_prepend(str(tmp_path))


# -- it is the same --------------------------------------------------------------------------------------------------


def test_functions_of_both_kinds_give_their_value(runner: asyncio.Runner) -> None:
    for function in ("add", "add_in_thread"):
        outcome = runner.run(run_isolated(python_run(function, a=1, b=2), ExecutorRegistry()))
        assert outcome.results in (3, {"sum": 3, "is_main": False})
    assert runner.run(run_isolated(python_run("identify_async"), ExecutorRegistry())).results == [JOB_ID, 1]


def test_the_run_is_the_same_there_and_has_a_part_of_the_grace_so_that_it_ends_before_its_process(
    runner: asyncio.Runner,
) -> None:
    run = python_run("tell_run")
    run.attempt, run.fencing_number, run.stop_grace_s = 3, 41, 30

    assert runner.run(run_isolated(run, ExecutorRegistry())).results == [3, 41, 24.0]


def test_failures_are_told_as_in_the_node(runner: asyncio.Runner) -> None:
    failed = runner.run(run_isolated(python_run("fail"), ExecutorRegistry()))

    assert (failed.kind, errors_of(failed)["type"]) == (OutcomeKind.FAILED, "ValueError")
    assert 'raise ValueError("no such luck")' in errors_of(failed)["traceback"]
    refused = runner.run(run_isolated(python_run("no_such_function"), ExecutorRegistry()))
    assert refused.kind is OutcomeKind.REFUSED
    assert errors_of(refused)["type"] == "function"


def test_a_command_gives_its_result_and_its_log(runner: asyncio.Runner) -> None:
    run = run_of("bash", {"command": "echo $ROTA_JOB_ID; echo bad >&2; exit 3"})

    outcome = runner.run(run_isolated(run, ExecutorRegistry()))

    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.results == {"stdout": f"{JOB_ID}\n", "stderr": "bad\n", "exit_code": 3}
    assert sorted(run.lines) == [(JOB_ID, "info"), ("bad", "error")]


def test_all_that_python_code_says_is_in_the_log(runner: asyncio.Runner) -> None:
    run = python_run("speak")

    runner.run(run_isolated(run, ExecutorRegistry()))

    assert {("jobs.test: to logging", "info"), ("to stdout", "info"), ("to the run", "warning")} <= set(run.lines)


def test_the_options_of_the_node_hold_there_too(runner: asyncio.Runner) -> None:
    async def scenario() -> list[Outcome]:
        async with WebServer(lambda seen: answer(body=b"fine")) as server:
            lists = (("127.0.0.1",), ())
            registries = [ExecutorRegistry(options=ExecutorOptions(http_allow=allowed)) for allowed in lists]
            return [await run_isolated(run_of("http", {"url": server.url}), one) for one in registries]

    allowed, refused = runner.run(scenario())

    assert results_of(allowed)["body"] == "fine"
    assert errors_of(refused)["type"] == "target"


@pytest.mark.usefixtures("odd")
def test_an_executor_of_somebody_else_is_found(runner: asyncio.Runner) -> None:
    run = run_of("odd", do="succeed")

    outcome = runner.run(run_isolated(run, ExecutorRegistry()))

    assert results_of(outcome)["pid"] != os.getpid()
    assert ("it runs", "warning") in run.lines


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize(
    ("what", "kind", "type"),
    [
        ("raise", OutcomeKind.FAILED, "LookupError"),
        ("nonsense", OutcomeKind.FAILED, "outcome"),
        ("unfit", OutcomeKind.FAILED, "result"),
        ("exit", OutcomeKind.REFUSED, "poison"),
    ],
)
def test_whatever_an_executor_does_there_is_an_outcome(
    runner: asyncio.Runner, what: str, kind: OutcomeKind, type: str
) -> None:
    outcome = runner.run(run_isolated(run_of("odd", do=what), ExecutorRegistry()))

    assert (outcome.kind, errors_of(outcome)["type"]) == (kind, type)


def test_an_executor_that_is_not_there_is_refused(runner: asyncio.Runner) -> None:
    outcome = runner.run(run_isolated(run_of("nowhere"), ExecutorRegistry()))

    assert (outcome.kind, errors_of(outcome)["type"]) == (OutcomeKind.REFUSED, "definition")


def test_an_executor_with_objects_of_the_node_is_run_in_the_node(runner: asyncio.Runner) -> None:
    executors = ExecutorRegistry()
    executors.provide("event", EventExecutor())

    outcome = runner.run(run_isolated(run_of("event"), executors))

    assert errors_of(outcome)["message"] == "this process takes no events"


# -- its death is its own --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "arguments", "code"),
    [("die", {"code": 9}, 9), ("die_by_signal", {"number": int(signal.SIGKILL)}, -9)],
)
def test_a_job_that_kills_its_process_is_poison(
    runner: asyncio.Runner, function: str, arguments: dict[str, object], code: int
) -> None:
    outcome = runner.run(run_isolated(python_run(function, **arguments), ExecutorRegistry()))

    assert outcome.kind is OutcomeKind.REFUSED
    assert (errors_of(outcome)["type"], errors_of(outcome)["exit_code"]) == ("poison", code)
    assert ("signal 9" if code < 0 else "exit code 9") in errors_of(outcome)["message"]


def test_a_command_that_kills_its_parent_is_poison_and_goes_with_it(runner: asyncio.Runner, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    run = run_of("bash", {"command": f"sleep 600 & echo $$ $! >{pids}; kill -9 $PPID; sleep 600"})

    outcome = runner.run(run_isolated(run, ExecutorRegistry()))

    assert errors_of(outcome)["type"] == "poison"
    for pid in pids.read_text().split():
        await_death(int(pid))


def test_a_process_that_was_asked_to_stop_by_somebody_else_is_not_poison(runner: asyncio.Runner) -> None:
    outcome = runner.run(run_isolated(python_run("die_by_signal", number=int(signal.SIGTERM)), ExecutorRegistry()))

    assert (outcome.kind, errors_of(outcome)["type"]) == (OutcomeKind.FAILED, "process")


def test_a_process_that_never_came_to_the_job_is_not_poison(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", ["/nowhere"])

    outcome = runner.run(run_isolated(python_run("nothing"), ExecutorRegistry()))

    assert (outcome.kind, errors_of(outcome)["type"]) == (OutcomeKind.FAILED, "process")


# -- stops -----------------------------------------------------------------------------------------------------------


def test_a_cancelled_function_may_clean_up(runner: asyncio.Runner, tmp_path: Path) -> None:
    path = tmp_path / "clean"

    async def scenario() -> None:
        task, pid = await run_until(Isolated(), python_run("pid_then_sleep_async", path=str(path)), "pid")
        await cancel(task)
        await_death(int(pid))

    runner.run(scenario())

    assert path.read_text() == "cleaned up"


def test_a_cancelled_command_ends_with_its_group_and_shows_what_it_had(runner: asyncio.Runner) -> None:
    run = run_of("bash", {"command": "sleep 600 & echo pid $!; wait"})

    async def scenario() -> None:
        task, pid = await run_until(Isolated(), run, "pid")
        await cancel(task)
        await_death(int(pid))

    runner.run(scenario())

    assert isinstance(run.partial_results, dict)
    assert run.partial_results["stdout"].startswith("pid ")


def test_a_run_that_ends_well_although_it_is_stopped_has_succeeded(runner: asyncio.Runner) -> None:
    async def scenario() -> Outcome:
        task, _ = await run_until(Isolated(), python_run("ignore_one_cancellation"), "waiting")
        task.cancel()
        return await task

    assert runner.run(scenario()) == Outcome(OutcomeKind.SUCCEEDED, "finished all the same")


def test_a_run_that_fails_while_it_is_stopped_is_a_stopped_one(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        task, _ = await run_until(Isolated(), python_run("fail_when_stopped"), "waiting")
        await cancel(task)

    runner.run(scenario())


@pytest.mark.usefixtures("odd")
def test_a_cancelled_executor_of_somebody_else_shows_what_it_had(runner: asyncio.Runner) -> None:
    run = run_of("odd", do="wait")

    async def scenario() -> None:
        task, pid = await run_until(Isolated(), run, "pid")
        await cancel(task)
        await_death(int(pid))

    runner.run(scenario())

    assert run.partial_results == "half"
    assert (run.can_be_stopped, run.survivors) == (True, "")


@pytest.mark.usefixtures("odd")
def test_what_an_isolated_run_could_not_kill_is_told_to_the_node(runner: asyncio.Runner) -> None:
    run = run_of("odd", do="wait", survivors="12 (sudo)")

    async def scenario() -> None:
        task, _ = await run_until(Isolated(), run, "pid")
        await cancel(task)

    runner.run(scenario())

    assert (run.can_be_stopped, run.survivors) == (False, "12 (sudo)")


def test_a_thread_that_will_not_stop_goes_with_its_process(runner: asyncio.Runner, tmp_path: Path) -> None:
    async def scenario() -> None:
        task, pid = await run_until(Isolated(), python_run("pid_then_sleep", path=str(tmp_path / "f")), "pid")
        await cancel(task)
        await_death(int(pid))

    runner.run(scenario())
