"""A process with children that kills itself and tells the ids of those that it leaves behind:

python -m tests.engine.executors.process.keeping_main SCENARIO
"""

import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from rota.engine.executors.process.keeper import CHILD_NAME, KeptGroup, keep_group
from rota.engine.executors.process.spawn import spawn
from tests.processes import children_of, keeper_of, keepers_of
from tests.servers import wait_until
from tests.shortage import no_threads


def start_sleep(group: KeptGroup) -> int:
    """Start a child that prints nothing and lasts."""
    nothing = os.open(os.devnull, os.O_RDWR)
    environment = {"PATH": os.environ["PATH"], CHILD_NAME: group.name}
    pid = spawn(["sleep", "600"], environment=environment, stdin=None, stdout=nothing, stderr=nothing)
    os.close(nothing)
    return pid


def start_kept() -> tuple[KeptGroup, int]:
    group = keep_group()
    pid = start_sleep(group)
    group.started(pid)
    return group, pid


def many() -> None:
    """More groups than the table has entries at first; every third has ended in the proper order."""
    for number in range(100):
        group, pid = start_kept()
        if number % 3:
            tell(pid)
        else:
            os.killpg(pid, signal.SIGKILL)
            group.ended()
            os.waitpid(pid, 0)


def unnoted() -> None:
    """The end comes between the start of a child and the note of its number."""
    tell(start_sleep(keep_group()))


def forked() -> None:
    """A copy of the process lives on, with all that it inherited."""
    _, pid = start_kept()
    tell(pid)
    if copy := os.fork():
        tell(copy)
        return
    for fd in (0, 1, 2):
        with suppress(OSError):
            os.close(fd)
    signal.pause()


def ended() -> None:
    """A group that was taken out of the table is nobody's business any more."""
    group, pid = start_kept()
    group.ended()
    tell(pid)
    tell(keeper_of(os.getpid()))


def without_keeper() -> None:
    """Somebody kills the keeper while there is a group."""
    _, pid = start_kept()
    keeper = keeper_of(os.getpid())
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: keepers_of(os.getpid()) not in ([], [keeper]), "another keeper")
    tell(pid)


def without_room() -> None:
    """There is no room for the table at first."""
    before, limits = open_files(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    for _ in range(3):
        try:
            keep_group()
        except OSError as error:
            tell(error.errno or 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    tell(open_files() - before)
    tell(start_kept()[1])


def without_thread() -> None:
    """There is no thread at first that could wait for the keeper."""
    before = open_files()
    with no_threads():
        for _ in range(3):
            with suppress(RuntimeError):
                keep_group()
    tell(open_files() - before)
    tell(len(children_of(os.getpid())))
    tell(start_kept()[1])


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def tell(*pids: int) -> None:
    print(*pids, flush=True)


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody survives this")


if __name__ == "__main__":
    scenarios = (many, unnoted, forked, ended, without_keeper, without_room, without_thread)
    {scenario.__name__: scenario for scenario in scenarios}[sys.argv[1]]()
    die()
