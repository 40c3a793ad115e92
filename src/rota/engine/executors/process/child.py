"""One child process and its group, from start to the last trace of it.

asyncio's own subprocess is not used: its `wait` lasts until the pipes close, so a background grandchild would hold a
slot for ever, and under uvloop a start costs a millisecond. Here the end of the *process* ends the run: what it wrote
is read, its group is killed, it is reaped, and nothing stays open. A grandchild that makes a session of its own
leaves the group and escapes; only the operating system's means (a control group, a container) hold such a one. What
may not be killed, such as `sudo`, which is another user's, is not waited for once the group is killed; it is named. If
this process is killed itself, its keeper ends the group.
"""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence

from rota.engine.executors.process.environment import RESULT_FD
from rota.engine.executors.process.exit_watch import ExitWatch, reap, reap_in_background, watch_exit
from rota.engine.executors.process.keeper import CHILD_NAME, KeptGroup, keep_group
from rota.engine.executors.process.pipe import Pipe, Sink, open_pipes
from rota.engine.executors.process.process_group import (
    has_living_member,
    may_kill,
    signal_group,
    unkillable_members,
)
from rota.engine.executors.process.spawn import spawn
from rota.engine.executors.shortage import raise_if_short

DRAIN_S = 0.2
"""How long output is still read after the process ended while a background grandchild holds the pipe open."""
GROUP_POLL_S = 0.02
"""How often a stopped group without its leader is looked at; nothing tells when the last member ends."""
REMIND_S = 1.0
"""How often a process that is to end is reminded of it, if it can be."""


class Child:
    """A running process group. Made by `start_child`, awaited by `run_child`."""

    __slots__ = (
        "_group",
        "_has_exited",
        "_is_over",
        "_kill_at",
        "_loop",
        "_pipes",
        "_reaping",
        "_timer",
        "_waiter",
        "_watch",
        "exit_code",
        "pid",
        "reminder",
        "survivors",
        "was_signalled",
    )

    def __init__(self, pid: int, pipes: list[Pipe], group: KeptGroup) -> None:
        self.pid = pid
        self.exit_code: int | None = None
        """Minus the signal's number when a signal ended it. None while it runs."""
        self.survivors: tuple[str, ...] = ()
        """What a stop could not kill and left behind: numbers and names."""
        self.reminder = 0
        """A signal that does nothing but interrupt what the process waits for. Python runs a handler only between two
        steps: one that was called for just before a long wait runs when the next signal comes."""
        self.was_signalled = False
        """Whether somebody else than the loop sent it a signal while it ran: its exit code is not its own."""
        self._loop = asyncio.get_running_loop()
        self._pipes = pipes
        self._group = group
        self._has_exited = False
        self._is_over = False
        self._reaping = threading.Lock()
        """Held while it is reaped, and while another thread sends a signal: until then its number is nobody else's."""
        self._kill_at: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._watch: ExitWatch | None = None
        try:
            self._watch = watch_exit(pid, self._loop, self._on_exit)
            for pipe in pipes:
                pipe.listen(self._loop, self._on_pipe_end)
        except BaseException:
            self.abandon()
            raise

    async def wait(self) -> int:
        """Await the end of the process, its output and its group; its exit code. One waiter at a time."""
        await self._wait_until_over()
        assert self.exit_code is not None
        return self.exit_code

    async def stop(self, grace_s: float) -> int | None:
        """Ask the whole group to end, kill what is left of it after the grace, await the end; the exit code, or None of
        a process that may not be killed and runs on."""
        if self._is_over:
            return self.exit_code
        self._kill_at = self._loop.time() + grace_s
        signal_group(self.pid, signal.SIGTERM)
        kill_timer = self._loop.call_later(grace_s, self._kill)
        if self._has_exited:
            self._await_group()
        elif self.reminder:
            self._loop.call_later(REMIND_S, self._remind)
        try:
            await self._wait_until_over()
        finally:
            kill_timer.cancel()
        return self.exit_code

    def _remind(self) -> None:
        """The process itself, and not its group: what it has started knows nothing of reminders."""
        if not self.has_ended():
            os.kill(self.pid, self.reminder)
            self._loop.call_later(REMIND_S, self._remind)

    def signal(self, number: int) -> None:
        """Send a signal to the whole group, from any thread, as long as its leader is not reaped."""
        with self._reaping:
            if not self._is_over and self.exit_code is None:
                self.was_signalled = self.was_signalled or not self.has_ended()
                signal_group(self.pid, number)

    async def _wait_until_over(self) -> None:
        if not self._is_over:
            self._waiter = self._loop.create_future()
            await self._waiter

    def has_ended(self) -> bool:
        """Whether the process itself has ended, also if the loop has not been told yet."""
        if self._has_exited or self._is_over:
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True  # somebody else has reaped it

    def abandon(self) -> None:
        """Kill the group and let go of everything now, without waiting. Does nothing when all is over."""
        if self._is_over:
            return
        self._is_over = True
        self._close_watch()
        self._release(drain=False)
        signal_group(self.pid, signal.SIGKILL)
        self._group.ended()
        if self.exit_code is None:
            self.exit_code = -signal.SIGKILL
            self._reap_in_background()

    def _on_exit(self) -> None:
        self._has_exited = True
        self._close_watch()
        if self._kill_at is not None:
            self._await_group()
            return
        for pipe in tuple(self._pipes):
            pipe.drain()
        if self._pipes and not self._is_over:
            self._timer = self._loop.call_later(DRAIN_S, self._end)
        else:
            self._end()

    def _on_pipe_end(self, pipe: Pipe) -> None:
        self._pipes.remove(pipe)
        if self._has_exited and not self._pipes and self._kill_at is None:
            self._end()

    def _await_group(self) -> None:
        """The leader has ended on request; its group has what is left of the grace.

        The leader's number stays taken as long as the group has members, also after it is reaped, and cannot come round
        again between two looks at it. While a pipe is open somebody lives, so nobody needs to look for a living member.
        """
        if self._is_over:
            return
        self._cancel_timer()
        self._reap()
        assert self._kill_at is not None
        is_late = self._loop.time() >= self._kill_at
        if is_late or not (self._pipes or has_living_member(self.pid)):
            self.survivors = unkillable_members(self.pid) if is_late else ()
            self._end()
        else:
            self._timer = self._loop.call_later(GROUP_POLL_S, self._await_group)

    def _end(self) -> None:
        """The process has ended and has been heard: sweep its group, reap it, wake the waiter."""
        if self._is_over:
            return
        self._is_over = True
        self._release(drain=True)
        # Swept before it is reaped: until then the group's number cannot belong to anybody else.
        signal_group(self.pid, signal.SIGKILL)
        self._group.ended()
        self._reap()
        self._wake_waiter()

    def _kill(self) -> None:
        """The grace is over. Where the process itself may not be killed, nobody knows when it ends."""
        if self._is_over:
            return
        signal_group(self.pid, signal.SIGKILL)
        if not may_kill(self.pid) and not self.has_ended():
            self._leave_behind()

    def _leave_behind(self) -> None:
        """Let go of a process that runs on. It is reaped whenever it ends."""
        self._is_over = True
        self.survivors = unkillable_members(self.pid) or (str(self.pid),)
        self._close_watch()
        self._release(drain=True)
        self._group.ended()
        self._reap_in_background()
        self._wake_waiter()

    def _wake_waiter(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _release(self, *, drain: bool) -> None:
        self._cancel_timer()
        for pipe in tuple(self._pipes):
            if drain:
                pipe.drain_whole()
            pipe.close()
        self._pipes.clear()

    def _close_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _reap(self) -> None:
        if self.exit_code is None:
            with self._reaping:
                self.exit_code = self._watch.reap() if self._watch is not None else reap(self.pid)

    def _reap_in_background(self) -> None:
        with self._reaping:
            reap_in_background(self.pid)


def start_child(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdout: Sink,
    stderr: Sink,
    result: Sink | None = None,
    stdin: int | None = None,
    cwd: str | None = None,
) -> Child:
    """Start a program in a group of its own; `OSError` says why it cannot be started, `NodeStrained` what this process
    lacks for it.

    Each chunk it writes goes to a sink, on the loop. With `result` it also has a pipe under the number in
    ROTA_RESULT_FD. `stdin` is a descriptor to read from, by default nothing.
    """
    try:
        return _start(
            argv, environment, [stdout, stderr] if result is None else [stdout, stderr, result], stdin=stdin, cwd=cwd
        )
    except (OSError, RuntimeError, MemoryError) as error:
        raise_if_short(error, of_processes=True)
        raise


def _start(
    argv: Sequence[str], environment: Mapping[str, str], sinks: list[Sink], *, stdin: int | None, cwd: str | None
) -> Child:
    """The third sink, if there is one, is for the result."""
    group = keep_group()
    variables = {**environment, CHILD_NAME: group.name}
    pipes: list[Pipe] = []
    try:
        pipes += open_pipes(sinks)
        extra = pipes[2].write_end if len(pipes) > 2 else None
        if extra is not None:
            variables[RESULT_FD] = str(extra)
        pid = spawn(
            argv,
            environment=variables,
            stdin=stdin,
            stdout=pipes[0].write_end,
            stderr=pipes[1].write_end,
            extra=extra,
            cwd=cwd,
        )
    except BaseException:
        group.ended()
        for pipe in pipes:
            pipe.close()
        raise
    group.started(pid)
    for pipe in pipes:
        pipe.close_write_end()
    return Child(pid, pipes, group)


async def run_child(child: Child, stop_grace_s: float | Callable[[], float]) -> int:
    """Await a child's end; its exit code. Cancelled, it stops the group within the grace and re-raises; ended by a
    signal that another thread sent (`Child.signal`), it raises the same.

    Cancelled once more, or torn down with the loop, it kills the group at once. Nothing is left behind in any case.
    """
    try:
        exit_code = await child.wait()
    except asyncio.CancelledError:
        if not child.has_ended():
            # Asked for only now: why a run is stopped decides how long it may take.
            await child.stop(stop_grace_s() if callable(stop_grace_s) else stop_grace_s)
            raise
        # It came to its end before anybody asked it to stop; only this process was late to hear of it.
        exit_code = await child.wait()
    finally:
        child.abandon()
    if child.was_signalled:
        raise asyncio.CancelledError
    return exit_code
