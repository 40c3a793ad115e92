"""Calls in threads: short ones share a thread, long ones hold up nobody."""

import asyncio
import threading
from functools import partial

import pytest

from rota.engine.executors.threads import LONG_MEMORY, Threads


def test_short_calls_that_come_together_share_a_thread() -> None:
    async def scenario() -> None:
        threads = Threads(look_s=600)  # however slowly a thread begins, no call is taken for a long one

        found = await asyncio.gather(*(threads.call(threading.get_ident) for _ in range(50)))

        assert len(set(found)) == threads.thread_count == 1
        assert threads.busy_count == 0
        threads.close()

    asyncio.run(scenario())


def test_a_call_behind_a_long_one_is_made_all_the_same() -> None:
    async def scenario() -> None:
        threads, go = Threads(), threading.Event()
        blocked = [asyncio.create_task(threads.call(go.wait)) for _ in range(3)]

        assert await asyncio.gather(*(threads.call(partial(int, "7")) for _ in range(20))) == [7] * 20

        go.set()
        assert await asyncio.gather(*blocked) == [True] * 3
        assert threads.busy_count == 0
        threads.close()

    asyncio.run(scenario())


def test_calls_that_wait_for_each_other_all_run_at_the_same_time() -> None:
    async def scenario() -> None:
        threads, meeting = Threads(), threading.Barrier(16)

        await asyncio.gather(*(threads.call(meeting.wait) for _ in range(16)))

        assert threads.thread_count == 16
        threads.close()

    asyncio.run(scenario())


def test_after_a_long_call_there_are_short_ones_again() -> None:
    async def scenario() -> None:
        threads, meeting = Threads(), threading.Barrier(4)
        await asyncio.gather(*(threads.call(meeting.wait) for _ in range(4)))

        # A machine that is slow at the moment makes any call look long, and then this takes a while.
        found: set[int] = set()
        while len(found) != 1:
            for _ in range(LONG_MEMORY):
                await threads.call(threading.get_ident)
            found = set(await asyncio.gather(*(threads.call(threading.get_ident) for _ in range(50))))
        threads.close()

    asyncio.run(scenario())


def test_a_call_that_is_given_up_before_it_began_is_never_made() -> None:
    async def scenario() -> None:
        threads, go, made = Threads(), threading.Event(), threading.Event()
        first = asyncio.create_task(threads.call(go.wait))
        second = asyncio.create_task(threads.call(made.set))
        await asyncio.sleep(0)

        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        go.set()
        await first

        assert await threads.call(lambda: 1) == 1
        assert not made.is_set()
        assert (threads.busy_count, threads.thread_count) == (0, 1)
        threads.close()

    asyncio.run(scenario())


def test_a_thread_whose_call_was_given_up_is_not_counted_and_others_go_on() -> None:
    async def scenario() -> None:
        threads, begun, go = Threads(), threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            go.wait()

        given_up = asyncio.create_task(threads.call(work))
        await asyncio.to_thread(begun.wait)
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up

        assert (threads.busy_count, threads.thread_count) == (0, 0)
        assert await asyncio.gather(*(threads.call(lambda: 1) for _ in range(5))) == [1] * 5
        go.set()
        threads.close()

    asyncio.run(scenario())


def test_an_error_is_that_of_the_call() -> None:
    async def scenario() -> None:
        threads = Threads()

        with pytest.raises(ZeroDivisionError):
            await threads.call(lambda: 1 // 0)

        assert await threads.call(lambda: 1) == 1
        threads.close()

    asyncio.run(scenario())
