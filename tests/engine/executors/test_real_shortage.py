"""What a real process makes of a run for which it has no memory, no process or no thread: it blames itself. What a
module, or a limit of the job type, makes short is the job's own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.calling import environment
from tests.engine.executors.python.python_runs import JOBS
from tests.patience import LONG_DEADLINE_S

NOTHING: dict[str, object] = {"function": f"{JOBS}:nothing"}
IN_THREAD: dict[str, object] = {"function": "time:time"}
WANTING = {
    "much": "held = bytearray(128 * 1024 * 1024)",
    "far_too_much": "held = bytearray(1 << 50)",
    "ever_more": "held = []\nwhile True: held.append(bytearray(1024 * 1024))",
    "many_files": "held = [open('/dev/null') for _ in range(1000)]",
}
"""Modules, by what they want when they are imported."""


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    for name, code in WANTING.items():
        (tmp_path / f"wanting_{name}.py").write_text(f"{code}\ndef job(): pass\n")
    return tmp_path


def importing(wanted: str, **metadata: object) -> dict[str, object]:
    return {"function": f"wanting_{wanted}:job", **metadata}


def told(folder: Path, limit: str, executor: str, *metadata: dict[str, object]) -> str:
    """What a process with such a limit says of a run."""
    words = [limit, executor, *map(json.dumps, metadata)]
    variables = environment()
    ended = subprocess.run(
        [sys.executable, "-m", "tests.engine.executors.strained_main", *words],
        capture_output=True,
        text=True,
        env={**variables, "PYTHONPATH": f"{variables['PYTHONPATH']}:{Path.cwd()}:{folder}"},
        timeout=LONG_DEADLINE_S,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()[-1]


def test_a_module_cannot_be_imported_without_memory(modules: Path) -> None:
    assert told(modules, "memory=64", "python", importing("much"), IN_THREAD) == "short of memory"
    assert told(modules, "memory=1024", "python", importing("much"), IN_THREAD) == "succeeded: None"


@pytest.mark.parametrize("wanted", ["far_too_much", "ever_more"])
def test_a_module_that_wants_more_memory_than_any_may_have_is_to_blame(modules: Path, wanted: str) -> None:
    """Its job would go back for ever, and its node would claim ever less."""
    assert "MemoryError" in told(modules, "memory=1024", "python", importing(wanted), IN_THREAD)


@pytest.mark.parametrize(
    ("wanted", "limits", "error"),
    [("much", {"memory_mb": 150}, "MemoryError"), ("many_files", {"open_files": 50}, "Too many open files")],
)
def test_a_limit_of_the_job_type_is_no_shortage_of_the_node(
    modules: Path, wanted: str, limits: dict[str, int], error: str
) -> None:
    said = told(modules, "memory=4096", "python", importing(wanted, process=True, limits=limits))

    assert said.startswith("failed: ")
    assert error in said


@pytest.mark.parametrize(
    ("executor", "metadata"), [("bash", {"command": ["true"]}), ("python", {**NOTHING, "process": True})]
)
def test_a_process_cannot_be_started_where_there_may_be_no_more_of_them(
    modules: Path, executor: str, metadata: dict[str, object]
) -> None:
    assert told(modules, "processes", executor, metadata, metadata) == "short of processes"


@pytest.mark.parametrize("limit", ["processes", "memory=32"])
def test_a_function_cannot_be_called_where_there_may_be_no_more_threads(modules: Path, limit: str) -> None:
    """A thread counts as a process, and has a stack in memory."""
    in_thread: dict[str, object] = {"function": f"{JOBS}:add_in_thread"}

    assert told(modules, limit, "python", in_thread, {**NOTHING, "process": True}) == "short of threads"
