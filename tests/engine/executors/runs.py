"""Runs to give to an executor, with a log that can be awaited."""

import asyncio
import os
import select
from collections.abc import Callable
from typing import Any

from rota.engine.executors.executor import Executor, Run
from rota.model.job import JobSpec
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome

JOB_ID = "01890a5d-ac96-774b-bcce-b302099a8057"


def job_type(executor: str, metadata: dict[str, object]) -> JobType:
    return JobType(uuid="01890a5d-ac96-774b-bcce-b302099a8058", name="report", executor=executor, metadata=metadata)


class LoggedRun(Run):
    """A run that keeps its log; `said` awaits a line."""

    __slots__ = ("_listeners", "lines")

    def __init__(
        self, metadata: dict[str, object], arguments: dict[str, object], *, attempt: int, grace_s: float
    ) -> None:
        spec = JobSpec(id=JOB_ID, job_type="t", queue="q", enqueued_at=1, arguments=arguments)
        super().__init__(spec, job_type("any", metadata), attempt, self._keep, grace_s)
        self.lines: list[tuple[str, str]] = []
        self._listeners: list[Callable[[str], object]] = []

    def messages(self, level: str | None = None) -> list[str]:
        return [message for message, its_level in self.lines if level in (None, its_level)]

    async def said(self, start: str) -> str:
        """The rest of the first line that starts so, as soon as it is there."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[str] = loop.create_future()

        def listen(message: str) -> None:
            if message.startswith(start) and not heard.done():
                heard.set_result(message[len(start) :].strip())

        for message in self.messages():
            listen(message)
        self._listeners.append(lambda message: loop.call_soon_threadsafe(listen, message))
        return await heard

    def _keep(self, message: str, level: str) -> None:
        self.lines.append((message, level))
        for listener in self._listeners:
            listener(message)


def make_run(
    metadata: dict[str, object], arguments: dict[str, object] | None = None, *, attempt: int = 1, grace_s: float = 300
) -> LoggedRun:
    return LoggedRun(metadata, arguments or {}, attempt=attempt, grace_s=grace_s)


async def run_until(executor: Executor, run: LoggedRun, start: str) -> "tuple[asyncio.Task[Outcome], str]":
    """Start a run and await a line of its log; the running task and the rest of the line."""
    task = asyncio.create_task(executor.run(run))
    said = asyncio.create_task(run.said(start))
    await asyncio.wait([task, said], return_when=asyncio.FIRST_COMPLETED)
    if not said.done():
        said.cancel()
        raise AssertionError(f"the run ended with {task.result()} and said only {run.lines}")
    return task, said.result()


async def cancel(task: "asyncio.Task[Outcome]") -> None:
    """Cancel a run as a worker would, and await its end; anything but a cancelled run is an error."""
    task.cancel()
    try:
        outcome = await task
    except asyncio.CancelledError:
        return
    raise AssertionError(f"the run was not cancelled but ended with {outcome}")


def results_of(outcome: Outcome) -> dict[str, object]:
    assert isinstance(outcome.results, dict)
    return outcome.results


def errors_of(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome.errors, dict), outcome
    return outcome.errors


def await_death(pid: int) -> None:
    """Wait until a process that is not our child has ended; fails if it lives on."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        assert poll.poll(300_000), f"process {pid} is still alive"
    finally:
        os.close(pidfd)
