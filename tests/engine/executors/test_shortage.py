"""An executor whose process has run out of something says so, and does not blame the job."""

import asyncio
import errno
import importlib.util
import sys
from pathlib import Path

import pytest
from msgspec import structs

from rota.engine.executors.bash.bash import BashExecutor
from rota.engine.executors.executor import Executor
from rota.engine.executors.http.http import HttpExecutor
from rota.engine.executors.interpreter.isolated import run_isolated
from rota.engine.executors.python.python import PythonExecutor
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.executors.shortage import raise_if_short
from rota.engine.executors.sidekiq.sidekiq import SidekiqExecutor
from rota.errors import NodeStrained
from rota.model.runs.outcome import OutcomeKind
from tests.engine.executors.hearing import Descriptors
from tests.engine.executors.http.web import WebServer, answer
from tests.engine.executors.python.python_runs import JOBS
from tests.engine.executors.runs import LoggedRun, make_run
from tests.shortage import no_descriptors, no_threads


async def run_strained(executor: Executor, run: LoggedRun, what: str) -> None:
    """Run without descriptors, which must fail for that reason and leave nothing open; then with them."""
    before = Descriptors()
    with no_descriptors(), pytest.raises(NodeStrained) as raised:
        await executor.run(run)

    assert raised.value.what == what
    before.await_no_more()


@pytest.mark.parametrize(
    ("executor", "metadata"),
    [
        (BashExecutor(), {"command": ["true"], "environment": {"A": "file:/etc/hostname"}}),
        (HttpExecutor(), {"url": "http://127.0.0.1:1/", "headers": {"Authorization": "file:/etc/hostname"}}),
        (SidekiqExecutor(), {"class": "A", "redis": "file:/etc/hostname"}),
    ],
)
def test_a_secret_cannot_be_read_without_descriptors(
    runner: asyncio.Runner, executor: Executor, metadata: dict[str, object]
) -> None:
    runner.run(run_strained(executor, make_run(metadata), "file descriptors"))


COMMANDS: list[tuple[type[BashExecutor] | type[PythonExecutor], dict[str, object]]] = [
    (BashExecutor, {"command": ["true"]}),
    (BashExecutor, {"command": ["true"], "cwd": "/"}),
    (PythonExecutor, {"function": f"{JOBS}:nothing", "process": True}),
]


@pytest.mark.parametrize(("make", "metadata"), COMMANDS)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_process_cannot_be_started_without_descriptors(
    runner: asyncio.Runner,
    make: type[BashExecutor] | type[PythonExecutor],
    metadata: dict[str, object],
    is_first: bool,
) -> None:
    async def scenario() -> None:
        executor = make()
        if not is_first:
            await executor.run(make_run(metadata))

        await run_strained(executor, make_run(metadata), "file descriptors")

        assert (await executor.run(make_run(metadata))).kind is OutcomeKind.SUCCEEDED
        await executor.close()

    runner.run(scenario())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_request_cannot_be_sent_without_a_descriptor(runner: asyncio.Runner, host: str) -> None:
    async def scenario() -> None:
        async with WebServer(lambda seen: answer()) as server:
            metadata: dict[str, object] = {"url": server.url.replace("127.0.0.1", host)}
            executor = HttpExecutor(["127.0.0.0/8", "::1"])

            await run_strained(executor, make_run(metadata), "file descriptors")

            assert (await executor.run(make_run(metadata))).kind is OutcomeKind.SUCCEEDED
            await executor.close()

    runner.run(scenario())


@pytest.mark.parametrize("is_imported", [False, True])
def test_a_sidekiq_job_cannot_be_pushed_without_a_descriptor(
    runner: asyncio.Runner, is_imported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("redis")
    if not is_imported:
        monkeypatch.delitem(sys.modules, "rota.engine.executors.sidekiq.redis", raising=False)

    async def scenario() -> None:
        executor = SidekiqExecutor()
        run = make_run({"class": "Report", "redis": "redis://127.0.0.1:1/0"})
        if is_imported:
            assert (await executor.run(run)).kind is OutcomeKind.FAILED, "nobody listens there"

        await run_strained(executor, run, "file descriptors")
        await executor.close()

    runner.run(scenario())


def test_a_module_cannot_be_imported_without_descriptors(
    runner: asyncio.Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "module_of_a_strained_node.py").write_text("def work(): return 5\n")
    monkeypatch.delitem(sys.modules, "module_of_a_strained_node", raising=False)

    async def scenario() -> None:
        executor = PythonExecutor()
        run = make_run({"function": "module_of_a_strained_node:work"})

        await run_strained(executor, run, "file descriptors")

        assert (await executor.run(run)).results == 5
        await executor.close()

    runner.run(scenario())


def test_a_compiled_module_cannot_be_loaded_without_descriptors(
    runner: asyncio.Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What loads it says so in words only."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "compiled_for_a_strained_node.so").write_bytes(b"")
    assert importlib.util.find_spec("compiled_for_a_strained_node"), "now its folder is known, and is not read again"

    async def scenario() -> None:
        executor = PythonExecutor()
        run = make_run({"function": "compiled_for_a_strained_node:work"})

        await run_strained(executor, run, "file descriptors")

        assert "file too short" in str((await executor.run(run)).errors)
        await executor.close()

    runner.run(scenario())


@pytest.mark.parametrize("way", ["in a process of its own", "isolated"])
def test_what_a_process_of_a_run_lacks_is_told_by_the_node(runner: asyncio.Runner, way: str) -> None:
    function: dict[str, object] = {"function": f"{__package__}.python.importing_too_much:job"}
    if way == "isolated":
        run = make_run(function)
        run.job_type = structs.replace(run.job_type, executor="python")
        attempt = run_isolated(run, ExecutorRegistry())
    else:
        attempt = PythonExecutor().run(make_run({**function, "process": True}))

    with pytest.raises(NodeStrained, match="file descriptors"):
        runner.run(attempt)


def test_an_executor_cannot_be_imported_without_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "rota.engine.executors.built_in.log", raising=False)
    executors = ExecutorRegistry()

    with no_descriptors(), pytest.raises(NodeStrained):
        executors.get("log")

    executors.get("log")


def test_a_function_cannot_be_called_without_a_thread(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        executor = PythonExecutor()
        run = make_run({"function": f"{JOBS}:add_in_thread"}, {"a": 1})

        with no_threads(), pytest.raises(NodeStrained, match="out of threads"):
            await executor.run(run)

        assert (await executor.run(run)).kind is OutcomeKind.SUCCEEDED
        await executor.close()

    runner.run(scenario())


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (OSError(errno.EMFILE, "x"), "file descriptors"),
        (OSError(errno.ENFILE, "x"), "file descriptors of the whole system"),
        (OSError(errno.ENOMEM, "x"), "memory"),
        (BlockingIOError(errno.EAGAIN, "x"), "processes"),
        (MemoryError(), "memory"),
        (RuntimeError("can't start new thread"), "threads"),
    ],
)
def test_what_a_process_lacks_is_named(error: BaseException, what: str) -> None:
    with pytest.raises(NodeStrained) as raised:
        raise_if_short(error, of_processes=True)

    assert raised.value.what == what


@pytest.mark.parametrize(
    "error", [FileNotFoundError(errno.ENOENT, "x"), OSError(errno.E2BIG, "x"), RuntimeError("x"), OSError("x")]
)
def test_what_is_wrong_with_a_job_is_no_shortage(error: BaseException) -> None:
    raise_if_short(error, of_processes=True)


def test_to_try_again_means_a_shortage_only_where_processes_are_started() -> None:
    raise_if_short(BlockingIOError(errno.EAGAIN, "x"))
