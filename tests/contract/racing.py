"""Many threads, or many processes, that do the same thing at the same time."""

import multiprocessing
import queue
import threading
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import TypeVar

from rota.store import Store, open_store
from rota.store.sqlite.database import database
from tests.patience import DEADLINE_S as PATIENCE_S

DEADLINE_S = 600.0
"""Only a guard: a race that takes so long has come to a stand."""

T = TypeVar("T")


def in_threads(act: Callable[[int], T], count: int) -> list[T]:
    """Call `act(0)` to `act(count - 1)` at once in as many threads; returns what each returned, in order."""
    barrier = threading.Barrier(count)
    results: dict[int, T] = {}
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            barrier.wait(DEADLINE_S)
            results[number] = act(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    if errors:
        raise errors[0]
    assert len(results) == count, "a thread did not come to an end"
    return [results[number] for number in range(count)]


def error_of(act: Callable[[], object], *, free: Callable[[], object] = lambda: None) -> BaseException | None:
    """What a call raises that must come to an end by itself; None if it raises nothing. It has a thread of its own, so
    that one which hangs is noticed; `free` then takes away what it waits for, so that nothing is closed under it."""
    ends: list[BaseException | None] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:
            ends.append(error)
        else:
            ends.append(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    ended_by_itself = bool(ends)
    free()
    if not ended_by_itself:
        thread.join(PATIENCE_S)
        raise AssertionError("the call does not come to an end by itself")
    return ends[0]


def in_processes(act: Callable[..., T], arguments: Sequence[tuple[object, ...]], *, url: str) -> list[T]:
    """Call `act(store, *arguments)` at once in one process per item, each with its own handle on the store at `url`.

    `act` and its arguments are sent to a fresh interpreter, so `act` is a function of a module.
    """
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(arguments))
    answers: Queue[tuple[int, bool, T]] = context.Queue()
    processes = [
        context.Process(target=_run, args=(number, act, each, url, barrier, answers), daemon=True)
        for number, each in enumerate(arguments)
    ]
    for process in processes:
        process.start()
    try:
        return _collect(answers, len(arguments))
    finally:
        for process in processes:
            process.join(10)
            process.kill()


def _collect(answers: "Queue[tuple[int, bool, T]]", count: int) -> list[T]:
    results: dict[int, T] = {}
    while len(results) < count:
        try:
            number, is_fine, result = answers.get(timeout=DEADLINE_S)
        except queue.Empty:
            raise AssertionError("a process did not come to an end") from None
        assert is_fine, f"a process failed:\n{result}"
        results[number] = result
    return [results[number] for number in range(count)]


def _run(
    number: int,
    act: Callable[..., object],
    arguments: tuple[object, ...],
    url: str,
    barrier: Barrier,
    answers: "Queue[tuple[int, bool, object]]",
) -> None:
    """What one process does: open the store, wait for the others, act, answer."""
    database._BUSY_TIMEOUT_MS = int(DEADLINE_S * 1000)  # another one may be held up while it writes
    try:
        store: Store = open_store(url)
        barrier.wait(DEADLINE_S)
        answers.put((number, True, act(store, *arguments)))
        store.close()
    except BaseException:
        barrier.abort()
        answers.put((number, False, traceback.format_exc()))
