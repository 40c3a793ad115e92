"""Commits of other processes to a SQLite file: a waiting node hears of each, whenever the kernel reports the write.

The waits get a time far longer than the test may take, so that no regular check can hide a lost wake-up.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rota.store.sqlite.store import SqliteStore
from tests.contract.building import given, new_node, new_queue
from tests.contract.queues.waiting import LONG_S, Waiting, waker_of
from tests.servers import wait_until
from tests.system.crew import ROOT
from tests.system.sqlite.syncs import Syncs

ROUNDS = 300
VAIN_LOOKS = 5


class LookedAt(SqliteStore):
    """Counts how often a waker has looked for jobs."""

    looks = 0

    def _ready_in_s(self, queue: str, now: int) -> float | None:
        ready_in_s = super()._ready_in_s(queue, now)
        self.looks += 1
        return ready_in_s


@pytest.fixture
def url(tmp_path: Path) -> str:
    # With FULL there is a sync between the write, which the kernel reports, and the moment from which others see it.
    return f"sqlite:///{tmp_path}/rota.db?synchronous=FULL"


@pytest.fixture
def store(url: str) -> Iterator[LookedAt]:
    opened = LookedAt.open(url)
    yield opened
    opened.close()


class Enqueuer:
    """Another process that hands in a job whenever it is asked to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.hear()

    def ask(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("one\n")
        self._process.stdin.flush()

    def hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def await_stop(self) -> None:
        """Wait until it is stopped, and not ended."""
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def go_on(self) -> None:
        self._process.send_signal(signal.SIGCONT)


@contextmanager
def enqueuer(url: str, queue: str, environment: dict[str, str] | None = None) -> Iterator[Enqueuer]:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.system.sqlite.enqueuer_main", url, queue],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths, **(environment or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield Enqueuer(process)
        finally:
            process.kill()


def test_every_commit_of_another_process_is_heard(store: LookedAt, url: str) -> None:
    queue = new_queue()
    taken: list[str] = []

    def work() -> None:
        while len(taken) < ROUNDS:
            other.ask()
            while not (job_ids := given(store, queue)):
                waker.wait(LONG_S, wants_jobs=True)
            taken.extend(job_ids)

    with waker_of(store, queue) as waker, enqueuer(url, queue) as other:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        accepted = [other.hear() for _ in range(ROUNDS)]
        thread.join()

    assert taken == accepted


def test_a_commit_is_heard_whose_writer_was_stopped_before_others_could_see_it(
    store: LookedAt, url: str, tmp_path: Path
) -> None:
    queue, syncs = new_queue(), Syncs(tmp_path)
    with waker_of(store, queue, new_node()) as waker, enqueuer(url, queue, syncs.environment) as other:
        waiting = Waiting(waker, wants_jobs=True).asleep()
        syncs.stop_at_next()
        other.ask()
        other.await_stop()
        looks = store.looks
        # A waiter that settles too soon has done so by then, and looks no more.
        wait_until(lambda: store.looks > looks + VAIN_LOOKS, "the waiter to look in vain, again and again")
        assert not waiting.ended.is_set()

        other.go_on()

        assert waiting.ends()
        assert given(store, queue) == [other.hear()]
