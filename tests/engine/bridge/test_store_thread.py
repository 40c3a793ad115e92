"""The bridge from asyncio to the stores: calls are made in order, and every one is answered."""

import asyncio
import threading
from collections.abc import Coroutine

import pytest

from rota.engine.bridge.store_thread import StoreThread
from rota.errors import StoreUnavailable
from tests.patience import DEADLINE_S


@pytest.fixture(autouse=True)
def much_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for comes, however long the machine takes."""
    monkeypatch.setattr("rota.engine.bridge.store_thread.LONGEST_END_S", 2 * DEADLINE_S)


def fail() -> None:
    raise StoreUnavailable("away")


def run(scene: Coroutine[object, object, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, DEADLINE_S))


def test_an_answer_comes_back_from_another_thread() -> None:
    async def scene() -> None:
        thread = StoreThread("calls")

        assert await thread.call(lambda: threading.current_thread().name) == "calls"
        thread.close()

    run(scene())


def test_an_error_is_raised_to_the_caller_and_the_next_call_is_made() -> None:
    async def scene() -> None:
        thread = StoreThread("calls")

        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="away"):
                await thread.call(fail)
        assert await thread.call(lambda: 7) == 7
        thread.close()

    run(scene())


def test_an_error_for_which_nobody_waits_ends_nothing() -> None:
    async def scene() -> None:
        thread = StoreThread("calls")

        thread.post(fail)

        assert await thread.call(lambda: 7) == 7
        thread.close()

    run(scene())


def test_calls_are_made_one_after_another_in_order() -> None:
    async def scene() -> None:
        thread, made = StoreThread("calls"), list[int]()

        for number in range(50):
            thread.post(lambda number=number: made.append(number))  # type: ignore[misc]
        await thread.call(lambda: None)

        assert made == list(range(50))
        thread.close()

    run(scene())


def test_closing_waits_for_the_calls_that_were_handed_in() -> None:
    async def scene() -> None:
        thread, made, gate = StoreThread("calls"), list[int](), threading.Event()
        thread.post(lambda: gate.wait(DEADLINE_S))
        for number in range(50):
            thread.post(lambda number=number: made.append(number))  # type: ignore[misc]
        threading.Timer(0.05, gate.set).start()

        thread.close()

        assert made == list(range(50))

    run(scene())


def test_a_call_whose_caller_gave_up_is_made_all_the_same() -> None:
    async def scene() -> None:
        thread, made, gate = StoreThread("calls"), list[str](), threading.Event()

        def note() -> None:
            gate.wait(DEADLINE_S)
            made.append("first")

        waiting = asyncio.create_task(thread.call(note))
        await asyncio.sleep(0)

        waiting.cancel()
        gate.set()

        assert await thread.call(lambda: 7) == 7
        assert made == ["first"]
        assert waiting.cancelled()
        thread.close()

    run(scene())


def test_an_answer_that_comes_after_the_loop_has_ended_is_nobodys_trouble() -> None:
    thread, gate = StoreThread("calls"), threading.Event()

    async def scene() -> None:
        asyncio.create_task(thread.call(lambda: gate.wait(DEADLINE_S)))  # noqa: RUF006 - it ends with the loop
        await asyncio.sleep(0)

    asyncio.run(scene())
    gate.set()
    made: list[int] = []
    thread.post(lambda: made.append(1))

    thread.close()
    assert made == [1]


def test_the_loop_goes_on_while_a_thread_comes_to_its_end() -> None:
    async def scene() -> None:
        thread, made, loop = StoreThread("calls"), list[bool](), asyncio.get_running_loop()
        loop_answers = threading.Event()

        def ask_loop() -> None:
            loop.call_soon_threadsafe(loop_answers.set)
            made.append(loop_answers.wait(DEADLINE_S))

        thread.post(ask_loop)
        await thread.end()

        assert made == [True]

    run(scene())


def test_a_thread_whose_call_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.engine.bridge.store_thread.LONGEST_END_S", 0.01)

    async def scene() -> None:
        thread, gate, made = StoreThread("calls"), threading.Event(), threading.Event()
        thread.post(lambda: gate.wait(DEADLINE_S))
        thread.post(made.set)

        await thread.end()

        assert not made.is_set()
        gate.set()
        assert made.wait(DEADLINE_S)

    run(scene())
