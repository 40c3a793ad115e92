"""Calls in threads: short ones share a thread, long ones hold up nobody."""

import asyncio
import threading
import weakref
from functools import partial

import pytest

from rota.engine.executors.threads import LONG_MEMORY, Threads
from rota.errors import NodeStrained
from tests.engine.working import until
from tests.patience import DEADLINE_S
from tests.shortage import no_threads


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


NEVER_S = 3_600
"""Nobody looks for calls that wait: what is not handed to a thread at once is never made."""


def test_after_a_call_for_which_there_was_no_thread_others_are_made() -> None:
    async def scenario() -> None:
        threads = Threads(look_s=NEVER_S)
        with no_threads(), pytest.raises(NodeStrained):
            await threads.call(lambda: 1)
        assert (threads.busy_count, threads.thread_count) == (0, 0)

        assert await asyncio.wait_for(threads.call(lambda: 1), DEADLINE_S) == 1
        threads.close()

    asyncio.run(scenario())


def test_after_a_call_that_was_given_up_and_has_ended_others_are_made() -> None:
    async def scenario() -> None:
        threads, begun, go = Threads(look_s=NEVER_S), threading.Event(), threading.Event()
        held: list[threading.Thread] = []

        def work() -> None:
            held.append(threading.current_thread())
            begun.set()
            go.wait()

        given_up = asyncio.create_task(threads.call(work))
        await asyncio.to_thread(begun.wait)
        given_up.cancel()
        await asyncio.wait({given_up})
        go.set()
        await asyncio.to_thread(held[0].join)

        assert await asyncio.wait_for(threads.call(lambda: 1), DEADLINE_S) == 1
        threads.close()

    asyncio.run(scenario())


class Value:
    """What a call returns."""


def test_an_idle_thread_does_not_keep_what_its_last_call_returned() -> None:
    async def scenario() -> None:
        threads = Threads()
        returned = weakref.ref(await threads.call(Value))

        await until(lambda: returned() is None, "the thread to let it go")

        assert threads.thread_count == 1
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
