"""Python functions that the jobs of these tests call, and executors as a third party might write them.

Jobs run in the test's own process and loop, so a test can watch them here and let them pass a gate.
"""

import asyncio
import os
import threading
from contextlib import suppress

from rota.engine.executors.executor import Run
from rota.engine.executors.python.python import current_run
from rota.errors import StoreUnavailable
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome, OutcomeKind, succeeded
from rota.sdk.tasks.current_job import current_job


class Stage:
    """What the jobs of one test did."""

    def __init__(self) -> None:
        self.started: list[str] = []
        """What `note` was given, or else ids of jobs, in the order of their starts."""
        self.ended: list[str] = []
        self.inside = 0
        self.most_inside = 0
        """The most jobs that ran at the same time."""
        self.gate = asyncio.Event()
        self.release = threading.Event()
        """For those that hold a thread."""

    def enter(self, note: str) -> None:
        self.started.append(note)
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)

    def leave(self, note: str) -> None:
        self.inside -= 1
        self.ended.append(note)


stage = Stage()


def new_stage() -> Stage:
    """Forget what jobs of other tests did."""
    global stage
    stage = Stage()
    return stage


async def nothing() -> None:
    """Does nothing, quickly."""


async def note(text: str) -> str:
    """Leaves a note and returns it."""
    stage.enter(text)
    stage.leave(text)
    return text


async def pass_gate(text: str = "") -> None:
    """Runs until the gate is open."""
    name = text or current_run().spec.id
    stage.enter(name)
    try:
        await stage.gate.wait()
    finally:
        stage.leave(name)


async def nap() -> None:
    """Takes longer than what is claimed ahead."""
    stage.started.append(current_run().spec.id)
    await asyncio.sleep(0.05)


async def step_aside() -> None:
    """Lets the loop do something else once."""
    await asyncio.sleep(0)


async def take_a_moment(text: str) -> None:
    """Gives the loop some chances to let another job run at the same time."""
    stage.enter(text)
    for _ in range(5):
        await asyncio.sleep(0.001)
    stage.leave(text)


def block(seconds: float) -> None:
    """Holds its thread for so long, or until it is released."""
    stage.started.append("block")
    stage.release.wait(seconds)


def wait_for_release() -> None:
    """Holds its thread until it is released."""
    stage.enter("thread")
    stage.release.wait()
    stage.leave("thread")


async def block_the_loop(seconds: float) -> None:
    """Holds the event loop, as a coroutine must not."""
    block(seconds)


async def swallow_cancellation() -> None:
    """Goes on whatever it is asked, until the gate is open."""
    stage.enter("stubborn")
    while not stage.gate.is_set():
        with suppress(asyncio.CancelledError):
            await stage.gate.wait()
    stage.leave("stubborn")


async def tell_fencing_number() -> int:
    return current_run().fencing_number


async def tell_process() -> int:
    """The process in which it runs."""
    return os.getpid()


async def fail() -> None:
    stage.started.append(current_run().spec.id)
    raise ValueError("as always")


async def fail_until(attempt: int) -> int:
    """Fails before the given attempt."""
    stage.started.append(f"attempt {current_run().attempt}")
    if current_run().attempt < attempt:
        raise ValueError("not yet")
    return current_run().attempt


async def survive_being_stopped() -> str:
    """Catches its own cancellation and ends well all the same."""
    stage.started.append("survivor")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return "ended well"
    raise AssertionError


async def break_when_stopped() -> None:
    """Answers a request to stop with an error of its own."""
    stage.started.append("breaker")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        raise OSError("the connection was closed") from None


async def raise_cancelled() -> None:
    """As code does that awaits something which another part of it has cancelled."""
    raise asyncio.CancelledError


async def cancel_itself() -> None:
    """Cancels the task that it runs in, and waits until it feels it."""
    _own_task().cancel()
    await asyncio.Event().wait()


async def cancel_itself_and_end() -> None:
    """Cancels the task that it runs in, and ends before it feels it."""
    _own_task().cancel()
    _own_task().cancel()


async def cancel_its_slot_later() -> None:
    """Leaves something behind that cancels the task when the slot has nothing to do."""
    asyncio.get_running_loop().call_later(0.05, _cancel_and_note, _own_task())


def _own_task() -> "asyncio.Task[object]":
    task = asyncio.current_task()
    assert task is not None
    return task


def _cancel_and_note(task: "asyncio.Task[object]") -> None:
    task.cancel()
    stage.ended.append("cancelled")


async def raise_generator_exit() -> None:
    raise GeneratorExit("as a generator that is closed")


async def raise_keyboard_interrupt() -> None:
    raise KeyboardInterrupt("as Ctrl-C does")


async def count_cancellations() -> int:
    """How many requests to cancel its task is said to have, before anybody made one."""
    return _own_task().cancelling()


def count_aloud(lines: int) -> None:
    for number in range(lines):
        current_run().log(f"line {number}", "info")


async def speak_and_wait(lines: int) -> None:
    """Writes lines and runs on until the gate is open."""
    count_aloud(lines)
    stage.enter(current_run().spec.id)
    await stage.gate.wait()
    stage.leave(current_run().spec.id)


class MarkedText(str):
    """Text of a class of its own, as templates of web frameworks give it: asked for its text, it gives itself."""

    __slots__ = ()

    def __str__(self) -> str:
        return self


class ArrayNumber(float):
    """A number of a class of its own, as libraries for arrays give it."""

    __slots__ = ()


async def speak_in_other_classes() -> None:
    job = current_job()
    job.log(MarkedText("a marked line"), MarkedText("warning"))
    job.progress(ArrayNumber(0.5), ArrayNumber(2.0), MarkedText("a quarter"))


async def fail_in_other_classes() -> None:
    raise ValueError(MarkedText("a marked reason"))


class _ThirdParty:
    """An executor that keeps the contract's shape."""

    def check(self, job_type: JobType) -> None:
        """Takes any job type."""

    async def run(self, run: Run) -> Outcome:
        return succeeded()

    async def close(self) -> None:
        """Nothing to give up."""


class ReturnsNothing(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        return None  # type: ignore[return-value]


class ReturnsUnknownKind(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        return Outcome("splendid")  # type: ignore[arg-type]


class ReturnsNan(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        return succeeded({"ratio": float("nan")})


class ReturnsOddWait(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        return Outcome(OutcomeKind.FAILED, None, "no", "soon")  # type: ignore[arg-type]


class ReturnsTooMuch(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        return succeeded("x" * 2_000_000)


class ReturnsAnObject(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        return succeeded(object())


class LeavesAnObject(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        run.partial_results = {"left": object()}
        await asyncio.Event().wait()
        raise AssertionError


class LeavesProcesses(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        run.can_be_stopped, run.survivors = False, "12 (sudo)"
        await asyncio.Event().wait()
        raise AssertionError


class ReturnsSurrogates(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        return Outcome(OutcomeKind.FAILED, None, {"message": "\ud800"})


class RaisesError(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        raise ValueError("out of order")


class RaisesSurrogates(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        raise ValueError("\ud800")


class _Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class RaisesUnspeakable(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        raise _Unspeakable


class RaisesAtLength(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        raise ValueError("x" * 5_000_000)


class RaisesCancelled(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        raise asyncio.CancelledError


class RaisesExit(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        raise SystemExit(3)


class _Unheard(BaseException):
    """No kind of error that anybody expects."""


class RaisesBase(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        raise _Unheard("beyond all errors")


class RaisesInterrupt(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        raise KeyboardInterrupt("as Ctrl-C does")


class RaisesGeneratorExit(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        raise GeneratorExit("as a generator that is closed")


class _Silenced(Exception):
    def __str__(self) -> str:
        raise KeyboardInterrupt


class RaisesSilenced(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        raise _Silenced


class CancelsItself(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        await cancel_itself()
        return succeeded()


class RaisesStoreError(_ThirdParty):
    """One that uses a store of its own, which is away."""

    async def run(self, run: Run) -> Outcome:
        raise StoreUnavailable("another store is away")


class LogsRubbish(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        run.log("a lone \ud800 surrogate", "info")
        run.log("x" * 1_000_000, "no such level")
        return succeeded()


class LogsAFlood(_ThirdParty):
    async def run(self, run: Run) -> Outcome:
        for _ in range(2_000):
            run.log("x" * 10_000, "info")
        return succeeded()
