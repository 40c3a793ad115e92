"""The listener: waits for news on behalf of a worker, and never in vain."""

import asyncio
import threading
import time
from queue import SimpleQueue

import pytest

from rota.engine.worker import listener as module
from rota.engine.worker.listener import Listener
from rota.errors import StoreUnavailable
from rota.store.contract.queues import Cancellation
from tests.engine.working import until


class StubbornWaker:
    """A store's waker that gives what a test puts in: cancellations, or an error."""

    def __init__(self) -> None:
        self.asked: list[bool] = []
        """What each wait was for."""
        self.answers: SimpleQueue[list[Cancellation] | StoreUnavailable] = SimpleQueue()
        self.is_closed = False

    def wait(self, timeout_s: float, *, wants_jobs: bool) -> list[Cancellation]:
        self.asked.append(wants_jobs)
        answer = self.answers.get()
        if isinstance(answer, StoreUnavailable):
            raise answer
        return answer

    def nudge(self) -> None:
        self.answers.put([])

    def close(self) -> None:
        self.is_closed = True
        self.answers.put([])


class BrokenWaker(StubbornWaker):
    """A store that is away: every wait fails at once."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_at: list[float] = []

    def wait(self, timeout_s: float, *, wants_jobs: bool) -> list[Cancellation]:
        self.asked.append(wants_jobs)
        self.asked_at.append(time.monotonic())
        raise StoreUnavailable("nobody there")


def listener_threads() -> int:
    return sum(thread.name == "rota-listener" for thread in threading.enumerate())


def test_cancellations_are_reported_while_the_worker_wants_no_jobs() -> None:
    async def scene() -> None:
        waker, heard = StubbornWaker(), list[list[Cancellation]]()
        listener = Listener(waker, on_news=heard.append)
        listener.start()

        news = [Cancellation("a job", "node/1")]
        waker.answers.put(news)
        await until(lambda: heard == [news], "the news")

        assert waker.asked[0] is False
        listener.stop()

    asyncio.run(scene())


def test_after_a_report_the_next_order_is_obeyed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FOR_ORDERS_S", 3600)

    async def scene() -> None:
        waker, heard = StubbornWaker(), list[list[Cancellation]]()
        listener = Listener(waker, on_news=heard.append)
        listener.listen(wants_jobs=True, timeout_s=1.0)
        listener.start()
        waker.answers.put([])
        await until(lambda: heard == [[]], "the news")

        listener.listen(wants_jobs=True, timeout_s=1.0)

        await until(lambda: waker.asked == [True, True], "the next wait")
        listener.stop()

    asyncio.run(scene())


def test_a_worker_that_wants_jobs_is_told_of_every_end_of_a_wait() -> None:
    async def scene() -> None:
        waker, heard = StubbornWaker(), list[list[Cancellation]]()
        listener = Listener(waker, on_news=heard.append)
        assert listener.listen(wants_jobs=True, timeout_s=1.0) is False
        listener.start()

        waker.answers.put([])
        await until(lambda: heard == [[]], "the news")

        assert waker.asked[0] is True
        listener.stop()

    asyncio.run(scene())


def test_a_wait_for_less_is_broken_off_when_the_worker_wants_jobs() -> None:
    async def scene() -> None:
        waker, heard = StubbornWaker(), list[list[Cancellation]]()
        listener = Listener(waker, on_news=heard.append)
        listener.start()
        await until(lambda: waker.asked == [False], "a wait for cancellations")

        assert listener.listen(wants_jobs=True, timeout_s=1.0) is True
        listener.nudge()

        await until(lambda: waker.asked == [False, True], "a wait for jobs")
        assert heard == []
        listener.stop()

    asyncio.run(scene())


def test_a_store_that_is_away_is_not_asked_all_the_time_even_if_the_worker_wants_jobs() -> None:
    async def scene() -> None:
        waker = BrokenWaker()
        listener = Listener(waker, on_news=lambda news: None)
        listener.listen(wants_jobs=True, timeout_s=1.0)
        listener.start()

        await until(lambda: len(waker.asked_at) >= 2, "a second try")

        assert waker.asked_at[1] - waker.asked_at[0] >= 0.9
        listener.stop()

    asyncio.run(scene())


def test_stopping_ends_the_wait_and_the_thread() -> None:
    async def scene() -> None:
        waker = StubbornWaker()
        listener = Listener(waker, on_news=lambda news: None)
        listener.start()
        await until(lambda: listener_threads() == 1 and bool(waker.asked), "the wait")

        listener.stop()

        await until(lambda: listener_threads() == 0, "the thread to end")
        assert waker.is_closed

    asyncio.run(scene())
