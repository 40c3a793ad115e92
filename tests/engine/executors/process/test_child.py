"""A child process: started, and heard."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rota.engine.executors.process import spawn as spawning
from rota.engine.executors.process.child import run_child, start_child
from rota.engine.executors.process.exit_watch import ThreadWatch
from rota.engine.executors.process.spawn import find_program
from tests.engine.executors.hearing import Heard, bash, start


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


def test_a_child_inherits_nothing_that_a_library_opened_later(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spawning, "_may_come", False)

    async def scenario() -> None:
        heard = Heard()
        await run_child(bash("true", heard), 1)
        spawning.expect_foreign_descriptors()
        ends = os.pipe()
        for end in ends:
            os.set_inheritable(end, True)

        await run_child(bash("for fd in /dev/fd/*; do test -e $fd && echo ${fd##*/}; done", heard), 1)
        for end in ends:
            os.close(end)

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


def test_an_empty_folder_in_a_search_path_is_the_present_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for every shell."""
    (tmp_path / "tool").touch(0o700)
    monkeypatch.chdir(tmp_path)

    for path in ("", "/nowhere:", ":/nowhere"):
        assert find_program("tool", path) == "./tool"


def test_a_missing_program_and_one_that_is_not_executable_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")
    (tmp_path / "folder").mkdir()

    with pytest.raises(PermissionError):
        find_program("plain", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        find_program("folder", str(tmp_path))
    assert find_program("./plain", "") == "./plain"


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
