"""A child process: stopped, or done, and gone without a trace."""

import asyncio
import os
import random
import signal
import threading
from pathlib import Path

import pytest

from rota.engine.executors.process.child import run_child, start_child
from tests.engine.executors.foreign import AS_ANOTHER, await_exec, needs_root, no_right_to_kill
from tests.engine.executors.hearing import Descriptors, Heard, bash, start
from tests.engine.executors.runs import await_death
from tests.patience import DEADLINE_S
from tests.shortage import no_descriptors

needs_pidfd = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the test awaits foreign processes by pidfd")


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


def test_a_child_that_ended_before_it_was_stopped_has_not_been_stopped(runner: asyncio.Runner, tmp_path: Path) -> None:
    """As when this process was suspended and hears of both at once."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    async def scenario() -> None:
        child = bash(f"read < {gate}; exit 3", Heard())
        running = asyncio.create_task(run_child(child, 60))
        await asyncio.sleep(0)
        gate.write_text("\n")
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - the loop stands still

        running.cancel()

        assert await running == 3

    runner.run(scenario())


def test_a_child_that_was_ended_from_another_thread_has_no_outcome_of_its_own(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()
        child = bash("trap 'exit 0' TERM; echo ready; sleep 600 & wait", heard)
        running = asyncio.create_task(run_child(child, 60))
        await heard.line()

        await asyncio.to_thread(child.signal, signal.SIGTERM)

        with pytest.raises(asyncio.CancelledError):
            await running
        assert child.exit_code == 0

    runner.run(scenario())


def test_a_signal_from_another_thread_that_comes_after_the_end_changes_nothing(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        child = bash("exit 3", Heard())
        running = asyncio.create_task(run_child(child, 60))
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 - the loop stands still

        child.signal(signal.SIGTERM)

        assert await running == 3

    runner.run(scenario())


def test_no_signal_is_sent_to_the_number_of_a_child_that_is_reaped(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        child = bash("exit 0", Heard())
        await run_child(child, 60)
        sent: list[tuple[int, int]] = []
        monkeypatch.setattr(os, "killpg", lambda *call: sent.append(call))

        child.signal(signal.SIGKILL)

        assert sent == []

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
def test_a_stop_comes_to_its_end_while_there_are_no_descriptors(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        member = "trap '' TERM; echo $BASHPID; exec sleep 600 >/dev/null 2>&1"
        for grace_s in (0.5, 5.0, DEADLINE_S / 10):  # in which the machine may keep it from going on its own
            heard = Heard()
            child = bash(f"trap 'exit 5' TERM; ({member}) & while true; do wait; done", heard)
            grandchild = int(await heard.line())

            with no_descriptors():
                code = await asyncio.wait_for(child.stop(grace_s), DEADLINE_S)

            await_death(grandchild)
            if code == 5:
                break
        assert code == 5

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


@needs_root
def test_a_process_that_may_not_be_killed_is_named_and_not_waited_for(runner: asyncio.Runner) -> None:
    async def scenario() -> int:
        heard = Heard()
        await run_child(start(["true"], Heard()), 1)  # which has a keeper from then on
        before = Descriptors()
        child = start([*AS_ANOTHER, "sh", "-c", "echo ready; exec sleep 600"], heard)
        await heard.line()
        await_exec(child.pid, "sleep")

        with no_right_to_kill():
            code = await asyncio.wait_for(child.stop(0.05), DEADLINE_S)

        assert (code, child.survivors) == (None, (f"{child.pid} (sleep)",))
        before.await_no_more()
        return child.pid

    pid = runner.run(scenario())
    os.kill(pid, signal.SIGKILL)
    _assert_is_reaped(pid)


@needs_root
def test_a_member_of_a_group_that_may_not_be_killed_is_named_after_the_grace(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()
        foreign = f"{' '.join(AS_ANOTHER)} sh -c 'echo $$; exec sleep 600 >/dev/null 2>&1'"
        child = bash(f"{foreign} & sleep 600 >/dev/null 2>&1 & wait", heard)
        grandchild = int(await heard.line())
        await_exec(grandchild, "sleep")

        with no_right_to_kill():
            code = await asyncio.wait_for(child.stop(0.05), DEADLINE_S)

        assert (code, child.survivors) == (-signal.SIGTERM, (f"{grandchild} (sleep)",))
        os.kill(grandchild, signal.SIGKILL)
        await_death(grandchild)

    runner.run(scenario())


@needs_root
def test_a_process_that_may_not_be_killed_but_ends_within_the_grace_has_its_exit_code(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        heard = Heard()
        gate_read, gate_write = os.pipe()
        child = start_child(
            [*AS_ANOTHER, "sh", "-c", "echo ready; read _; exit 7"],
            environment=dict(os.environ),
            stdout=heard.on_out,
            stderr=heard.on_err,
            stdin=gate_read,
        )
        os.close(gate_read)
        await heard.line()

        with no_right_to_kill():
            stopping = asyncio.create_task(child.stop(DEADLINE_S))
            await asyncio.sleep(0)
            os.close(gate_write)

            assert (await stopping, child.survivors) == (7, ())

    runner.run(scenario())


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
        before = Descriptors()
        for first in range(0, 200, 8):
            await asyncio.gather(*(run_one(number) for number in range(first, first + 8)))
        before.await_no_more()
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
        before = Descriptors()
        for _ in range(25):
            task = asyncio.create_task(
                run_one(chance.choice(["trap '' TERM; sleep 600", "echo x", "sleep 600 & sleep 600"]))
            )
            for _ in range(cancellations):
                await _turns(chance.randrange(6), chance.choice([0, 0.002]))
                task.cancel()
            await asyncio.wait([task])
        before.await_no_more()
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
