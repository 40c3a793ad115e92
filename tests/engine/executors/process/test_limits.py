"""What a command may use, by its job type; each limit is tried on a real process."""

import asyncio
import os
import shutil
import sys

import pytest

from rota.engine.executors.bash.bash import BashExecutor
from rota.engine.executors.process.limits import NONE, limited, read_limits
from rota.engine.executors.python.python import PythonExecutor
from rota.errors import InvalidInput
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors import jobs
from tests.engine.executors.bash.bash_runs import run_bash, stdout_of
from tests.engine.executors.runs import errors_of, make_run, results_of

ALLOCATE = [sys.executable, "-c", "x = bytearray(2_000_000_000); print(len(x))"]
needs_setpriv = pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv takes the rights away")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts commands as another user")
needs_no_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may run commands as anybody")


def run(runner: asyncio.Runner, command: object, **limits: object) -> Outcome:
    return run_bash(runner, {"command": command, "limits": limits})


def test_a_command_has_no_more_memory_than_it_may(runner: asyncio.Runner) -> None:
    outcome = run(runner, ALLOCATE, memory_mb=500)

    assert outcome.kind is OutcomeKind.FAILED
    assert "MemoryError" in str(results_of(outcome)["stderr"])


def test_a_command_is_ended_when_its_processor_time_is_used_up(runner: asyncio.Runner) -> None:
    outcome = run(runner, "while :; do :; done", cpu_s=1)

    assert outcome.kind is OutcomeKind.FAILED
    assert results_of(outcome)["exit_code"] in (-9, -24)


def test_a_command_opens_no_more_files_than_it_may(runner: asyncio.Runner) -> None:
    assert stdout_of(run(runner, "ulimit -n; ulimit -Hn", open_files=77)) == "77\n77\n"


def test_a_command_writes_no_larger_files_than_it_may(runner: asyncio.Runner, tmp_path: object) -> None:
    outcome = run(runner, f"head -c 3000000 /dev/zero > {tmp_path}/large; stat -c %s {tmp_path}/large", file_size_mb=1)

    assert results_of(outcome)["stdout"] == f"{1024 * 1024}\n"


@needs_setpriv
def test_a_command_cannot_gain_rights(runner: asyncio.Runner) -> None:
    assert "NoNewPrivs:\t1" in stdout_of(run(runner, "cat /proc/self/status", no_new_privileges=True, open_files=99))
    assert "NoNewPrivs:\t0" in stdout_of(run(runner, "cat /proc/self/status"))


@needs_root
@needs_setpriv
def test_a_command_runs_as_the_user_that_its_job_type_names(runner: asyncio.Runner) -> None:
    assert stdout_of(run(runner, "id -un; id -Gn", user="nobody", cpu_s=60)) == "nobody\nnogroup\n"


@needs_no_root
def test_a_node_that_may_not_change_the_user_refuses(runner: asyncio.Runner) -> None:
    outcome = run(runner, "id", user="root")

    assert outcome.kind is OutcomeKind.REFUSED
    assert "this node may not run commands as 'root'" in errors_of(outcome)["message"]


def test_a_user_that_is_not_there_is_refused(runner: asyncio.Runner) -> None:
    outcome = run(runner, "id", user="nobody-of-this-name")

    assert outcome.kind is OutcomeKind.REFUSED


def test_words_stay_words_behind_a_limit(runner: asyncio.Runner) -> None:
    metadata: dict[str, object] = {"command": ["printf", "[%s]"], "limits": {"open_files": 99}}

    assert stdout_of(run_bash(runner, metadata, {"command": ["$(id)", "; id", "a b"]})) == "[$(id)][; id][a b]"


def test_a_python_process_has_its_limits(runner: asyncio.Runner) -> None:
    metadata: dict[str, object] = {"function": f"{jobs.__name__}:open_files_limit", "process": True}

    outcome = runner.run(PythonExecutor().run(make_run({**metadata, "limits": {"open_files": 88}})))

    assert outcome.results == [88, 88]


@pytest.mark.parametrize(
    "limits",
    [7, {"memory": 5}, {"memory_mb": 0}, {"cpu_s": "1; id"}, {"user": ""}, {"user": 5}, {"no_new_privileges": 1}],
)
def test_limits_that_make_no_sense_are_refused(limits: object) -> None:
    with pytest.raises(InvalidInput):
        BashExecutor().check(make_run({"command": "true", "limits": limits}).job_type)


def test_a_function_in_the_node_has_no_limits_of_its_own() -> None:
    with pytest.raises(InvalidInput, match="needs process: true"):
        PythonExecutor().check(make_run({"function": "a:b", "limits": {"cpu_s": 1}}).job_type)


def test_without_limits_nothing_is_put_before_a_command() -> None:
    assert limited(["ls"], read_limits({})) == limited(["ls"], NONE) == ["ls"]
