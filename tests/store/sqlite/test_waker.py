"""The waker of a SQLite store, and the files of its process."""

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rota.store import Store, open_store
from rota.store.contract.queues import Waker
from rota.store.sqlite.nouns.queues.waker import LONGEST_POLL_S, POLL_S
from tests.contract.building import enqueue, new_node, new_queue, spec


def test_a_nudge_that_comes_after_the_end_is_written_into_no_other_file(tmp_path: Path) -> None:
    with ExitStack() as closing:
        store = open_store(f"sqlite:///{tmp_path}/rota.db")
        closing.callback(store.close)
        waker = store.waker(new_queue(), new_node())
        waker.close()
        others = [tmp_path / f"other {number}" for number in range(10)]
        for other in others:  # one of them gets the number that the waker's pipe had
            closing.callback(os.close, os.open(other, os.O_RDWR | os.O_CREAT))

        waker.nudge()

        assert [other.read_bytes() for other in others] == [b""] * len(others)


class Sleeps:
    """Time that passes only while somebody sleeps in the kernel, on a system that watches no files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._passed_ns = 0
        self.all_s: list[float] = []
        self.then: Callable[[], object] = list
        """What happens during the next sleep."""
        wall_ns, uptime_ns = time.time_ns(), 50_000_000_000
        monkeypatch.setattr(time, "time_ns", lambda: wall_ns + self._passed_ns)
        monkeypatch.setattr("rota.clock._uptime_ns", lambda: uptime_ns + self._passed_ns)
        monkeypatch.setattr(select, "poll", lambda: self)
        monkeypatch.setattr(sys, "platform", "a system without inotify")

    def register(self, descriptor: int, events: int) -> None:
        """As `select.poll` has it."""

    def poll(self, ms: float) -> list[tuple[int, int]]:
        """Sleep, and hear nothing."""
        self.all_s.append(round(ms / 1000, 6))
        self._passed_ns += round(ms * 1_000_000)
        happens, self.then = self.then, list
        happens()
        return []


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> Sleeps:
    return Sleeps(monkeypatch)


@pytest.fixture
def stores(tmp_path: Path, sleeps: Sleeps) -> Iterator[tuple[Store, Store]]:
    """Two of one file, as two processes have it."""
    with ExitStack() as closing:
        opened = [open_store(f"sqlite:///{tmp_path}/rota.db") for _ in range(2)]
        for store in opened:
            closing.callback(store.close)
        yield opened[0], opened[1]


def sleep_long(waker: Waker, sleeps: Sleeps) -> list[float]:
    """The last sleeps of a long wait in which nothing happens."""
    assert waker.wait(60, wants_jobs=True) == []
    return sleeps.all_s[-100:-1]


def next_sleep(waker: Waker, sleeps: Sleeps) -> float:
    before = len(sleeps.all_s)
    assert waker.wait(1, wants_jobs=True) == []
    return sleeps.all_s[before]


def test_where_the_kernel_tells_nothing_an_idle_waker_looks_more_and_more_seldom(
    stores: tuple[Store, Store], sleeps: Sleeps
) -> None:
    waker = stores[0].waker(new_queue(), new_node())

    last = sleep_long(waker, sleeps)

    assert sleeps.all_s[0] == POLL_S
    assert set(last) == {LONGEST_POLL_S}
    assert len(sleeps.all_s) < 60 / LONGEST_POLL_S + 200
    waker.close()


def test_a_job_of_another_process_is_found_at_the_next_look_and_more_are_looked_for_quickly(
    stores: tuple[Store, Store], sleeps: Sleeps
) -> None:
    (store, other), queue = stores, new_queue()
    waker = store.waker(queue, new_node())
    sleep_long(waker, sleeps)
    before = len(sleeps.all_s)

    sleeps.then = lambda: enqueue(other, spec(queue))
    waker.wait(60, wants_jobs=True)

    assert sleeps.all_s[before:] == [LONGEST_POLL_S]
    other.pause_queue(queue)
    assert next_sleep(waker, sleeps) == POLL_S
    waker.close()


def test_after_what_its_own_process_does_it_looks_quickly(stores: tuple[Store, Store], sleeps: Sleeps) -> None:
    store, queue = stores[0], new_queue()
    waker = store.waker(queue, new_node())
    sleep_long(waker, sleeps)

    enqueue(store, spec(new_queue()))

    assert next_sleep(waker, sleeps) == POLL_S
    waker.close()
