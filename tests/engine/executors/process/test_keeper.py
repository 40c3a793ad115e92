"""The keeper: groups end with the process that started them, and nothing else does."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rota.engine.executors.process.child import run_child, start_child
from rota.engine.executors.process.keeper import retire_keeper
from tests.engine.executors.hearing import Heard, bash
from tests.engine.executors.runs import await_death
from tests.processes import is_alive, keeper_of, keepers_of
from tests.servers import wait_until

ROOT = Path(__file__).parents[4]

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the tests look at foreign processes in /proc")


def left_behind(scenario: str) -> list[int]:
    """The children of a process that did this and was killed then."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.engine.executors.process.keeping_main", scenario],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=False,
        timeout=300,
    )
    assert process.returncode == -signal.SIGKILL
    return [int(line) for line in process.stdout.split()]


def test_every_group_of_a_killed_process_ends() -> None:
    pids = left_behind("many")

    assert len(pids) == 66
    for pid in pids:
        await_death(pid)


def test_a_child_that_was_started_at_the_last_moment_ends_too() -> None:
    (pid,) = left_behind("unnoted")

    await_death(pid)


def test_a_forked_copy_of_the_process_does_not_keep_the_groups_alive() -> None:
    child, copy = left_behind("forked")

    await_death(child)

    assert is_alive(copy)
    os.kill(copy, signal.SIGKILL)


def test_a_group_that_has_ended_is_not_killed_should_its_number_come_round() -> None:
    pid, keeper = left_behind("ended")

    await_death(keeper)

    assert is_alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_the_keeper_starts_with_the_first_child_and_goes_when_it_is_not_needed(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        retire_keeper()
        wait_until(lambda: not keepers_of(os.getpid()), "an earlier keeper to go")
        child = bash("sleep 600", Heard())
        pid = keeper_of(os.getpid())

        retire_keeper()
        other = bash("sleep 600", Heard())
        assert keeper_of(os.getpid()) == pid, "it was sent away while a group was alive"
        await other.stop(0)
        await child.stop(0)
        retire_keeper()

        wait_until(lambda: not keepers_of(os.getpid()), "the keeper to go")
        assert await run_child(bash("exit 3", Heard()), 1) == 3

    runner.run(scenario())


def test_children_that_were_given_up_or_never_started_do_not_hold_the_keeper(runner: asyncio.Runner) -> None:
    async def scenario() -> None:
        retire_keeper()
        bash("sleep 600", Heard()).abandon()
        with pytest.raises(FileNotFoundError):
            start_child(["/no/such/program"], environment={}, stdout=print, stderr=print)
        keeper_of(os.getpid())

        retire_keeper()

        wait_until(lambda: not keepers_of(os.getpid()), "the keeper to go")

    runner.run(scenario())


def test_a_keeper_that_somebody_killed_is_replaced_and_knows_the_groups_of_before() -> None:
    (pid,) = left_behind("without_keeper")

    await_death(pid)


def test_a_keeper_for_which_there_is_no_room_leaves_nothing_open_and_is_there_when_there_is() -> None:
    *errors, left_open, pid = left_behind("without_room")

    await_death(pid)

    assert (errors, left_open) == ([errno.EFBIG] * 3, 0)


def test_a_keeper_for_which_there_is_no_thread_leaves_no_dead_process_and_is_there_when_there_is_one() -> None:
    left_open, left_dead, pid = left_behind("without_thread")

    await_death(pid)

    assert (left_open, left_dead) == (0, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_keeper_holds_out_when_its_whole_control_group_is_asked_to_stop(
    runner: asyncio.Runner, number: signal.Signals
) -> None:
    async def scenario() -> None:
        child = bash("sleep 600", Heard())
        pid = keeper_of(os.getpid())
        wait_until(lambda: ignores(pid, number), "the keeper to be ready")

        os.kill(pid, number)

        assert await run_child(bash("true", Heard()), 1) == 0
        assert keepers_of(os.getpid()) == [pid]
        assert descriptors_of(pid) == {"0", "1", "2"}
        await child.stop(0)

    runner.run(scenario())


def ignores(pid: int, number: signal.Signals) -> bool:
    (ignored,) = [line.split()[1] for line in status_of(pid) if line.startswith("SigIgn")]
    return bool(int(ignored, 16) >> (number - 1) & 1)


def status_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/status").read_text().splitlines()


def descriptors_of(pid: int) -> set[str]:
    return {entry.name for entry in Path(f"/proc/{pid}/fd").iterdir()}
