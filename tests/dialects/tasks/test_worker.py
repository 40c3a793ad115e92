"""Workers and schedulers as programs use them, on real stores, with real nodes."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest

from rota import Scheduler, Task, Worker, current_job
from rota.dialects.tasks import tasks
from rota.dialects.tasks import worker as worker_module
from rota.dialects.tasks.backends.delivery import Delivery
from rota.dialects.tasks.worker import Handler
from rota.errors import Conflict, InvalidInput
from rota.store import open_store
from tests.dialects.tasks.working import working
from tests.engine.executors.hearing import Descriptors
from tests.engine.working import wait_until
from tests.patience import DEADLINE_S

pytestmark = pytest.mark.stores("sqlite-file", "redis")  # two processes' worth of handles; the rest is no other code


@pytest.fixture
def scheduler(store_url: str) -> Iterator[Scheduler]:
    with Scheduler(store_url) as made:
        yield made


def test_a_handler_gets_each_task_once(store_url: str, scheduler: Scheduler) -> None:
    seen: list[tuple[str, object]] = []
    for number in range(20):
        scheduler.add_task(Task(id=f"t{number}", data={"number": number}))

    with working(Worker(store_url, lambda task: seen.append((task.id, task.data["number"])), concurrency=4)):
        wait_until(lambda: not scheduler.get_tasks(), "the tasks to be over")

    assert sorted(seen) == sorted((f"t{number}", number) for number in range(20))


def test_tasks_of_one_worker_are_in_order(store_url: str, scheduler: Scheduler) -> None:
    seen: list[str] = []
    for number in range(10):
        scheduler.add_task({"id": f"t{number}"}, delay=0)

    with working(Worker(store_url, lambda task: seen.append(task.id))):
        wait_until(lambda: len(seen) == 10, "the tasks to run")

    assert seen == [f"t{number}" for number in range(10)]


def test_an_async_handler_is_awaited_and_several_run_at_a_time(store_url: str, scheduler: Scheduler) -> None:
    together = asyncio.Event()
    waiting: list[str] = []

    async def meet(task: Task) -> None:
        waiting.append(task.id)
        if len(waiting) == 3:
            together.set()
        await together.wait()

    for id in "abc":
        scheduler.add_task({"id": id})
    with working(Worker(store_url, meet, concurrency=3)) as worker:
        wait_until(lambda: worker.runs == 3, "three runs at a time")


class Called:
    """A handler that is an object."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def __call__(self, task: Task) -> None:
        await asyncio.sleep(0)
        self.seen.append(task.id)

    def make(self, task: Task) -> Awaitable[None]:
        return self(task)


@pytest.mark.parametrize("choose", [lambda called: called, lambda called: called.make])
def test_whatever_can_be_awaited_is_awaited(
    store_url: str, scheduler: Scheduler, choose: Callable[[Called], Handler]
) -> None:
    called = Called()
    scheduler.add_task({"id": "a"}, delay=0)

    with working(Worker(store_url, choose(called))) as worker:
        wait_until(lambda: worker.runs, "the task to run")

    assert called.seen == ["a"]


def test_a_task_that_is_completed_leaves_no_schedule_behind(store_url: str, scheduler: Scheduler) -> None:
    scheduler.add_task({"id": "once"}, delay=0)
    scheduler.add_task({"id": "often", "schedule": 3_600_000}, delay=0)

    with working(Worker(store_url, print)) as worker, closing(open_store(store_url)) as store:
        wait_until(lambda: worker.runs == 2, "both to run")
        wait_until(lambda: len(store.list_schedules(limit=10).entries) == 1, "the completed one to be removed")

        names = [entry.schedule.name for entry in store.list_schedules(limit=10).entries]

    assert names == ["tasks/often"]


def test_an_error_of_the_handler_is_tried_again_and_told(store_url: str, scheduler: Scheduler) -> None:
    attempts: list[int] = []

    def stumble(task: Task) -> None:
        attempts.append(task.attempt)
        if task.attempt < 3:
            raise ValueError("not yet")

    scheduler.add_task({"id": "a"})
    with working(Worker(store_url, stumble)) as worker:
        wait_until(lambda: scheduler.get_tasks("completed"), "the task to succeed")

    assert attempts == [1, 2, 3]
    assert (worker.runs, worker.errors) == (1, 2)


def test_a_handler_knows_the_job_that_it_is(store_url: str, scheduler: Scheduler) -> None:
    seen: list[str] = []

    def look(task: Task) -> None:
        current_job().log("hello")
        print("printed")
        seen.append(current_job().id)

    added = scheduler.add_task({"id": "a"})
    with working(Worker(store_url, look)):
        wait_until(lambda: scheduler.get_tasks("completed"), "the task to succeed")

    assert seen == [added.job]
    assert seen == [task.job for task in scheduler.get_tasks("completed")]


def test_a_delay_right_behind_the_adding_comes_in_time_for_a_waiting_worker(
    store_url: str, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tasks.HOLD_MS == 100
    monkeypatch.setattr(tasks, "HOLD_MS", 600_000)  # the machine may be slow
    ran: list[str] = []
    with working(Worker(store_url, lambda task: ran.append(task.id))):
        scheduler.add_task({"id": "first"}, delay=0)
        wait_until(lambda: ran, "the worker to wait")
        scheduler.add_task({"id": "later"}).with_delay(3_600_000)
        scheduler.add_task({"id": "second"}, delay=0)
        wait_until(lambda: "second" in ran, "another task")

        assert ran == ["first", "second"]


def test_a_running_task_that_is_deleted_is_cancelled(store_url: str, scheduler: Scheduler) -> None:
    begun: list[str] = []
    ends: list[str] = []

    async def wait_for_ever(task: Task) -> None:
        begun.append(task.id)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append(task.id)
            raise

    scheduler.add_task({"id": "a", "schedule": 1_000})
    with working(Worker(store_url, wait_for_ever)) as worker:
        wait_until(lambda: begun, "the task to run")
        scheduler.delete_task("a")
        wait_until(lambda: ends, "the run to be cancelled")

    assert (worker.runs, worker.errors) == (0, 0)
    assert scheduler.get_tasks() == []


def test_a_run_may_end_when_the_worker_stops(store_url: str, scheduler: Scheduler) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work(_: Task) -> None:
        begun.set()
        assert go_on.wait(DEADLINE_S)

    scheduler.add_task({"id": "a"})
    with working(Worker(store_url, work)) as worker:
        assert begun.wait(DEADLINE_S)
        worker.stop()
        go_on.set()

    assert worker.runs == 1
    assert [task.id for task in scheduler.get_tasks("completed")] == ["a"]


def test_a_worker_can_be_part_of_a_program_with_a_loop(store_url: str, scheduler: Scheduler) -> None:
    async def main() -> list[str]:
        seen: list[str] = []

        async def handler(task: Task) -> None:
            seen.append(task.id)
            worker.stop()

        worker = Worker(store_url, handler)
        scheduler.add_task({"id": "a"})
        await asyncio.wait_for(worker.serve(), DEADLINE_S)
        return seen

    assert asyncio.run(main()) == ["a"]


def test_a_worker_that_stopped_can_be_run_again(store_url: str, scheduler: Scheduler) -> None:
    def handler(_: Task) -> None:
        worker.stop()

    worker = Worker(store_url, handler)
    for id in ("a", "b"):
        scheduler.add_task({"id": id})
        worker.run()

    assert worker.runs == 2


def test_a_worker_that_was_stopped_before_it_began_ends_at_once(store_url: str, scheduler: Scheduler) -> None:
    worker = Worker(store_url, print)
    scheduler.add_task({"id": "a"}, delay=0)

    worker.stop()
    asyncio.run(asyncio.wait_for(worker.serve(), DEADLINE_S))

    assert worker.runs == 0
    assert [task.id for task in scheduler.get_tasks("enqueued")] == ["a"]


class HeldThreads(ThreadPoolExecutor):
    """Threads that have begun and do nothing until they may."""

    def __init__(self) -> None:
        super().__init__()
        self.have_begun = threading.Event()
        self.may_go_on = threading.Event()

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        return super().submit(self._hold, call, *arguments, **named)

    def _hold(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        self.have_begun.set()
        self.may_go_on.wait(DEADLINE_S)
        return call(*arguments, **named)


async def turn_the_loop() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


@pytest.mark.stores("sqlite-file")
def test_a_worker_that_is_stopped_while_it_opens_its_store_leaves_nothing_open(store_url: str) -> None:
    worker, threads = Worker(store_url, print), HeldThreads()

    async def stop_while_it_opens() -> None:
        asyncio.get_running_loop().set_default_executor(threads)
        serving = asyncio.create_task(worker.serve())
        await turn_the_loop()
        threads.have_begun.wait(DEADLINE_S)
        worker.stop()
        await turn_the_loop()  # it hears that, while the thread still stands before its store
        threads.may_go_on.set()
        await asyncio.wait_for(serving, DEADLINE_S)

    asyncio.run(stop_while_it_opens())

    file = store_url.removeprefix("sqlite:///")
    assert [line for line in Descriptors().lines if file in line] == []


def test_those_that_are_alive_are_counted(store_url: str, scheduler: Scheduler) -> None:
    assert scheduler.count_alive() == {"schedulers": 0, "workers": 0}

    with working(Worker(store_url, print)), working(Worker(store_url, print)):
        wait_until(lambda: scheduler.count_alive() == {"schedulers": 2, "workers": 2}, "both to be counted")

    assert scheduler.count_alive() == {"schedulers": 0, "workers": 0}


def test_workers_of_other_tasks_are_not_counted(store_url: str, scheduler: Scheduler) -> None:
    with working(Worker(store_url, print, prefix="other:")):
        wait_until(lambda: scheduler.count_alive()["schedulers"] == 1, "it to be counted")

        assert scheduler.count_alive()["workers"] == 0


@pytest.mark.stores("sqlite-file")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_program_ends_by_a_signal_when_its_run_has_ended(
    store_url: str, scheduler: Scheduler, tmp_path: Path, number: signal.Signals
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import pathlib, sys, time\n"
        "from rota import Worker\n"
        "def handler(task):\n"
        "    pathlib.Path('begun').touch()\n"
        "    while not pathlib.Path('go').exists(): time.sleep(0.01)\n"
        "Worker(sys.argv[1], handler).run()\n"
        "print('over')\n"
    )
    scheduler.add_task({"id": "a"})
    child = subprocess.Popen([sys.executable, program, store_url], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    wait_until((tmp_path / "begun").exists, "the run to begin")

    os.kill(child.pid, number)
    (tmp_path / "go").touch()

    assert child.communicate(timeout=DEADLINE_S)[0] == "over\n"
    assert [task.id for task in scheduler.get_tasks("completed")] == ["a"]


STUBBORN = """
import asyncio, pathlib, sys, time
from rota import Worker
from rota.dialects.tasks import worker

async def swallow(task):
    pathlib.Path("begun").touch()
    while True:
        try: await asyncio.sleep(600)
        except asyncio.CancelledError: pass

async def block_loop(task):
    pathlib.Path("begun").touch()
    time.sleep(600)

def block_thread(task):
    pathlib.Path("begun").touch()
    time.sleep(600)

_, url, handler, grace_s = sys.argv
worker._GRACE_S = float(grace_s)
Worker(url, globals()[handler]).run()
"""


@contextmanager
def stubborn(folder: Path, url: str, handler: str, grace_s: float) -> Iterator["subprocess.Popen[bytes]"]:
    """A worker whose handler will not let it go."""
    child = subprocess.Popen([sys.executable, "-c", STUBBORN, url, handler, str(grace_s)], cwd=folder)
    try:
        wait_until((folder / "begun").exists, "the run to begin")
        yield child
    finally:
        child.kill()
        child.wait()


@pytest.mark.stores("sqlite-file")
@pytest.mark.parametrize("handler", ["swallow", "block_loop", "block_thread"])
def test_the_second_signal_ends_a_worker_whose_handler_holds_it(
    store_url: str, scheduler: Scheduler, tmp_path: Path, handler: str
) -> None:
    scheduler.add_task({"id": "a"})
    with stubborn(tmp_path, store_url, handler, grace_s=600) as child:
        child.send_signal(signal.SIGTERM)
        child.send_signal(signal.SIGINT)  # two of one kind may arrive as one

        child.wait(DEADLINE_S)

    assert [(task.id, task.attempt) for task in scheduler.get_tasks("enqueued")] == [("a", 1)]


@pytest.mark.stores("sqlite-file")
def test_one_signal_ends_a_worker_whose_handler_blocks_its_loop_when_the_grace_is_over(
    store_url: str, scheduler: Scheduler, tmp_path: Path
) -> None:
    scheduler.add_task({"id": "a"})
    with stubborn(tmp_path, store_url, "block_loop", grace_s=0) as child:
        child.send_signal(signal.SIGTERM)

        assert child.wait(DEADLINE_S) == 1


@pytest.mark.stores("sqlite-file")
def test_a_worker_that_is_interrupted_leaves_a_run_behind_that_does_not_end(
    store_url: str, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(worker_module, "_SLOTS_S", 0.1)

    async def main() -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def swallow(task: Task) -> None:
            begun.set()
            while not may_end.is_set():
                with suppress(asyncio.CancelledError):
                    await may_end.wait()

        worker = Worker(store_url, swallow)
        serving = asyncio.create_task(worker.serve())
        await asyncio.wait_for(begun.wait(), DEADLINE_S)
        worker.stop()
        worker._interrupt()
        await asyncio.wait([serving], timeout=DEADLINE_S)
        is_over = serving.done()
        may_end.set()
        await serving
        assert is_over

    scheduler.add_task({"id": "a"})
    asyncio.run(main())

    assert "runs that do not end are left behind" in caplog.messages
    assert [task.id for task in scheduler.get_tasks("enqueued")] == ["a"]


@pytest.mark.stores("sqlite-file")
def test_runs_of_another_backend_may_end_until_they_are_interrupted(store_url: str) -> None:
    async def main() -> None:
        begun, backend = asyncio.Event(), ListBackend()

        async def wait_for_ever(task: Task) -> None:
            begun.set()
            await asyncio.Event().wait()

        worker = Worker(backend, wait_for_ever)
        backend.add_task(Task(id="a"))
        serving = asyncio.create_task(worker.serve())
        await asyncio.wait_for(begun.wait(), DEADLINE_S)
        worker.stop()
        await asyncio.wait([serving], timeout=0.3)
        assert not serving.done()

        worker._interrupt()

        await asyncio.wait_for(serving, DEADLINE_S)

    asyncio.run(main())


@pytest.mark.stores("sqlite-file")
def test_what_is_no_handler_or_concurrency_is_refused(store_url: str) -> None:
    with pytest.raises(InvalidInput, match="handler: must be a function"):
        Worker(store_url, "handler")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="concurrency: must be from 1"):
        Worker(store_url, print, concurrency=0)


# A backend of one's own


class ListBackend:
    """As small as a backend can be."""

    def __init__(self, *faults: Exception) -> None:
        self.waiting: asyncio.Queue[Task] = asyncio.Queue()
        self.faults = list(faults)
        self.told: list[str] = []

    def add_task(self, task: Task) -> Task:
        self.waiting.put_nowait(task)
        return task

    async def wait_for_task(self) -> Task:
        if self.faults:
            raise self.faults.pop()
        return await self.waiting.get()

    async def commit(self, task: Task) -> None:
        self.told.append(f"{task.id} succeeded")

    async def handle_error(self, task: Task, error: Exception) -> None:
        self.told.append(f"{task.id} failed: {error}")


@pytest.mark.stores("sqlite-file")
def test_another_backend_can_be_written(store_url: str) -> None:
    async def main() -> list[str]:
        backend = ListBackend(ConnectionError("it is away"))
        scheduler = Scheduler(backend)

        async def handler(task: Task) -> None:
            if task.id == "bad":
                worker.stop()
                raise ValueError("no")

        worker = Worker(backend, handler)
        scheduler.add_task({"id": "good"})
        scheduler.add_task({"id": "bad"})
        await asyncio.wait_for(worker.serve(), DEADLINE_S)
        return backend.told

    assert asyncio.run(main()) == ["good succeeded", "bad failed: no"]


@pytest.mark.stores("sqlite-file")
def test_a_backend_that_fails_is_asked_again_after_longer_and_longer_pauses_until_it_answers(
    store_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert (worker_module._FIRST_PAUSE_S, worker_module._LONGEST_PAUSE_S) == (0.5, 30.0)
    monkeypatch.setattr(worker_module, "_FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(worker_module, "_LONGEST_PAUSE_S", 0.004)

    async def main() -> None:
        backend = ListBackend(*[ConnectionError("it is away")] * 4)

        async def handler(task: Task) -> None:
            backend.faults = [ConnectionError("it is away")] if task.id == "first" else []
            if task.id == "last":
                worker.stop()

        worker = Worker(backend, handler)
        for id in ("first", "last"):
            backend.add_task(Task(id=id))
        await asyncio.wait_for(worker.serve(), DEADLINE_S)

    asyncio.run(main())

    pauses = [vars(one)["again_in_s"] for one in caplog.records if "backend of tasks failed" in one.message]
    assert pauses == [0.001, 0.002, 0.004, 0.004, 0.001]


@pytest.mark.stores("sqlite-file")
def test_another_backend_is_asked_for_nothing_but_its_contract(store_url: str) -> None:
    with pytest.raises(Conflict, match="ask it directly"):
        Scheduler(ListBackend()).get_tasks()


@pytest.mark.stores("sqlite-file")
def test_a_task_that_was_cancelled_on_its_way_is_not_run(store_url: str) -> None:
    async def main() -> tuple[list[str], list[str]]:
        backend, seen = ListBackend(), []
        end: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        end.cancel()

        async def handler(task: Task) -> None:
            seen.append(task.id)
            worker.stop()

        worker = Worker(backend, handler)
        backend.add_task(Task(id="cancelled", delivery=Delivery(copy_context(), end)))
        backend.add_task(Task(id="next"))
        await asyncio.wait_for(worker.serve(), DEADLINE_S)
        return seen, backend.told

    assert asyncio.run(main()) == (["next"], ["next succeeded"])


class AwayBackend(ListBackend):
    """One that cannot be reached."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def wait_for_task(self) -> Task:
        self.asked.set()
        raise ConnectionError("it is away")


@pytest.mark.stores("sqlite-file")
def test_a_worker_whose_backend_is_away_ends_when_it_is_asked_to(store_url: str) -> None:
    async def handler(task: Task) -> None:
        raise AssertionError("there is no task")

    async def main() -> None:
        backend = AwayBackend()
        worker = Worker(backend, handler, concurrency=3)
        serving = asyncio.create_task(worker.serve())
        await asyncio.wait_for(backend.asked.wait(), DEADLINE_S)
        worker.stop()
        await asyncio.wait_for(serving, DEADLINE_S)

    asyncio.run(main())


def test_a_handler_that_is_cancelled_or_exits_has_failed_and_the_worker_goes_on(
    store_url: str, scheduler: Scheduler
) -> None:
    done = threading.Event()

    async def handler(task: Task) -> None:
        if task.id == "cancelled":
            raise asyncio.CancelledError
        if task.id == "exited":
            raise SystemExit(3)
        done.set()

    for id in ("cancelled", "exited", "good"):
        scheduler.add_task({"id": id, "maxTries": 1}, delay=0)
    with working(Worker(store_url, handler)) as worker:
        wait_until(done.is_set, "the task behind them")
        wait_until(lambda: len(scheduler.get_tasks("failed")) == 2, "both to have failed")

    assert (worker.runs, worker.errors) == (1, 2)
    assert {task.id: task.errors[0].message for task in scheduler.get_tasks("failed")} == {
        "cancelled": "RuntimeError: the handler was cancelled",
        "exited": "RuntimeError: the handler called sys.exit(3)",
    }


def test_a_plain_handler_that_exits_has_failed_and_the_worker_goes_on(store_url: str, scheduler: Scheduler) -> None:
    for id in ("exited", "good"):
        scheduler.add_task({"id": id, "maxTries": 1}, delay=0)

    with working(Worker(store_url, lambda task: sys.exit("enough") if task.id == "exited" else None)) as worker:
        wait_until(lambda: worker.runs, "the task behind it")
        wait_until(lambda: scheduler.get_tasks("failed"), "it to have failed")

    (failed,) = scheduler.get_tasks("failed")
    assert [error.message for error in failed.errors] == ["RuntimeError: the handler called sys.exit('enough')"]
