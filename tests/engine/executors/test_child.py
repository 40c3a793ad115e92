"""A child process: started, heard, stopped, and gone without a trace."""

import asyncio
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rota.engine.executors.child import Child, run_child, start_child
from rota.engine.executors.exit_watch import ThreadWatch
from rota.engine.executors.spawn import find_program

from .runs import await_death

needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the test awaits foreign processes by pidfd")


class Heard:
    """What a child wrote."""

    def __init__(self) -> None:
        self.out = b""
        self.err = b""
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def on_out(self, chunk: bytes) -> None:
        self.out += chunk
        for line in chunk.splitlines():
            self._lines.put_nowait(line)

    def on_err(self, chunk: bytes) -> None:
        self.err += chunk

    async def line(self) -> str:
        return (await self._lines.get()).decode()


def start(argv: Sequence[str], heard: Heard, cwd: str | None = None) -> Child:
    return start_child(argv, environment=dict(os.environ), stdout=heard.on_out, stderr=heard.on_err, cwd=cwd)


def bash(script: str, heard: Heard) -> Child:
    return start(["bash", "-c", script], heard)


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_both_streams_and_the_exit_code_are_heard(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()

        code = await run_child(bash("echo out; echo err >&2; exit 3", heard), 1)

        assert (code, heard.out, heard.err) == (3, b"out\n", b"err\n")

    runner.run(scenario())


def test_a_child_gets_no_input_and_no_foreign_descriptor(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()
        read_end, write_end = os.pipe()

        await run_child(bash("cat; for fd in /dev/fd/*; do test -e $fd && echo ${fd##*/}; done", heard), 1)
        os.close(read_end)
        os.close(write_end)

        assert heard.out.split() == [b"0", b"1", b"2"]

    runner.run(scenario())


def test_a_child_leads_its_own_session_and_has_default_signals(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()
        script = (
            "import os, signal; print(os.getpid() == os.getsid(0), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)"
        )

        await run_child(start([sys.executable, "-c", script], heard), 1)
        await run_child(bash("(while true; do echo x; done) | head -n 1; echo ${PIPESTATUS[0]}", heard), 1)

        assert heard.out.split() == [b"True", b"True", b"x", b"141"]

    runner.run(scenario())


def test_a_signal_that_ends_a_child_is_a_negative_exit_code(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        assert await run_child(bash("kill -USR1 $$", Heard()), 1) == -signal.SIGUSR1

    runner.run(scenario())


def test_a_child_can_start_in_another_folder(runner: asyncio.Runner, tmp_path: Path) -> None:
    folder = str(tmp_path.resolve())

    async def scenario() -> None:
        heard = Heard()

        code = await run_child(start(["pwd", "-P"], heard, cwd=folder), 1)

        assert (code, heard.out.decode().strip()) == (0, folder)

    runner.run(scenario())


@needs_pidfd
def test_a_background_grandchild_that_holds_the_pipe_neither_holds_the_run_nor_survives_it(
    runner: asyncio.Runner,
) -> None:
    async def scenario() -> None:
        heard = Heard()

        code = await asyncio.wait_for(run_child(bash("sleep 600 & echo $!; exit 7", heard), 1), 60)

        assert code == 7
        await_death(int(heard.out))

    runner.run(scenario())


@needs_pidfd
def test_a_grandchild_of_a_double_fork_is_killed_with_the_group(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()
        script = "((trap '' TERM HUP; sleep 600 >/dev/null 2>&1 & echo $!) &) ; wait"

        child = bash(script + "; read x < <(sleep 600)", heard)
        grandchild = int(await heard.line())
        await child.stop(0)

        await_death(grandchild)

    runner.run(scenario())


def test_a_stopped_child_may_end_in_its_own_way(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()
        child = bash("trap 'echo bye; exit 5' TERM; echo ready; while true; do sleep 0.01; done", heard)
        await heard.line()

        code = await child.stop(60)

        assert (code, heard.out) == (5, b"ready\nbye\n")

    runner.run(scenario())


def test_the_group_of_a_stopped_child_has_the_grace_too_when_its_leader_ends_first(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()
        member = "trap 'sleep 0.5; echo cleaned; exit' TERM; echo ready; while true; do sleep 0.01; done"
        child = bash(f"({member}) & wait", heard)
        await heard.line()

        code = await child.stop(60)

        assert (code, heard.out) == (-signal.SIGTERM, b"ready\ncleaned\n")

    runner.run(scenario())


@needs_pidfd
def test_a_child_that_ignores_the_request_is_killed_after_the_grace(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()
        child = bash("trap '' TERM; sleep 600 & echo $!; wait; wait", heard)
        grandchild = int(await heard.line())

        code = await asyncio.wait_for(child.stop(0.05), 60)

        assert code == -signal.SIGKILL
        await_death(grandchild)

    runner.run(scenario())


def test_what_was_written_before_the_end_is_heard_even_if_the_pipe_stays_open(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()

        await run_child(bash("sleep 600 & head -c 60000 /dev/zero", heard), 1)

        assert len(heard.out) == 60000

    runner.run(scenario())


def test_a_program_is_looked_up_in_the_path_of_its_own_environment(runner: asyncio.Runner, tmp_path: Path) -> None:
    tool = tmp_path / "rota-test-tool"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)

    async def scenario() -> None:
        heard = Heard()
        environment = {"PATH": f"/nowhere:{tmp_path}"}

        await run_child(start_child([tool.name], environment=environment, stdout=heard.on_out, stderr=heard.on_err), 1)

        assert heard.out == b"found\n"

    runner.run(scenario())


def test_a_missing_program_and_one_that_is_not_executable_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")
    (tmp_path / "folder").mkdir()

    with pytest.raises(PermissionError):
        find_program("plain", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        find_program("folder", str(tmp_path))
    assert find_program("./plain", "") == "./plain"


def test_two_hundred_runs_leave_no_zombie_and_no_descriptor(runner: asyncio.Runner) -> None:
    async def scenario() -> list[int]:
        pids: list[int] = []

        async def run_one(number: int) -> None:
            heard = Heard()
            if number % 10 == 0:
                with pytest.raises(OSError, match="No such file"):
                    start(["/no/such/program"], heard)
                return
            child = start(["echo", "x"], heard, cwd="/" if number % 7 == 0 else None)
            pids.append(child.pid)
            assert await run_child(child, 1) == 0
            assert heard.out == b"x\n"

        await run_one(1)
        before = open_descriptors()
        for first in range(0, 200, 8):
            await asyncio.gather(*(run_one(number) for number in range(first, first + 8)))
        assert open_descriptors() == before
        return pids

    for pid in runner.run(scenario()):
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


@pytest.mark.parametrize("cancellations", [1, 2, 3])
def test_cancelled_at_any_point_a_run_leaves_nothing(runner: asyncio.Runner, cancellations: int) -> None:
    async def scenario() -> list[int]:
        chance = random.Random(cancellations)
        pids: list[int] = []

        async def run_one(script: str) -> None:
            child = bash(script, Heard())
            pids.append(child.pid)
            await run_child(child, chance.choice([0, 0.01]))

        await asyncio.gather(run_one("true"), return_exceptions=True)
        before = open_descriptors()
        for _ in range(25):
            task = asyncio.create_task(
                run_one(chance.choice(["trap '' TERM; sleep 600", "echo x", "sleep 600 & sleep 600"]))
            )
            for _ in range(cancellations):
                await _turns(chance.randrange(6), chance.choice([0, 0.002]))
                task.cancel()
            await asyncio.wait([task])
        assert open_descriptors() == before
        return pids

    for pid in runner.run(scenario()):
        _assert_is_reaped(pid)


async def _turns(count: int, pause_s: float) -> None:
    """Let the loop turn so many times; where a run stands by then is different each time, which is the point."""
    for _ in range(count):
        await asyncio.sleep(pause_s)


def _assert_is_reaped(pid: int) -> None:
    """After a second cancellation a thread collects the child; it ends as soon as the child does."""
    for thread in threading.enumerate():
        if thread.name == f"rota-reap-{pid}":
            thread.join()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_a_loop_that_is_closed_under_a_run_leaves_no_process() -> None:
    pids: list[int] = []

    async def scenario() -> None:
        async def run_one() -> None:
            child = bash("trap '' TERM; sleep 600", Heard())
            pids.append(child.pid)
            await run_child(child, 0)

        tasks = [asyncio.create_task(run_one()) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in tasks)

    asyncio.run(scenario())

    for pid in pids:
        _assert_is_reaped(pid)


def test_a_waiting_thread_tells_the_end_where_there_is_no_descriptor_for_it(runner: asyncio.Runner) -> None:
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 9"], os.environ)

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        watch = ThreadWatch(pid, loop, ended.set)
        await ended.wait()
        watch.close()

        assert watch.reap() == 9

    runner.run(scenario())


def test_children_are_watched_by_threads_where_pidfd_is_missing(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)

    async def scenario() -> None:
        heard = Heard()

        assert await run_child(bash("echo hello; exit 4", heard), 1) == 4
        assert heard.out == b"hello\n"
        child = bash("trap '' TERM; echo ready; sleep 600", heard)
        await heard.line()
        await heard.line()
        assert await child.stop(0.01) == -signal.SIGKILL

    runner.run(scenario())


def test_a_flood_from_one_child_does_not_keep_the_loop_from_another(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        flood = start(["cat", "/dev/zero"], _Ignored())

        for _ in range(3):
            assert await run_child(start(["true"], Heard()), 1) == 0
        await flood.stop(0)

    runner.run(scenario())


class _Ignored(Heard):
    on_out: Callable[[bytes], None] = staticmethod(lambda chunk: None)  # type: ignore[assignment]
