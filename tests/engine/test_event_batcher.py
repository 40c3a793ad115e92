"""Events that arrive together share their round trips, and each sender hears what its own events did."""

import asyncio

import pytest

from rota.engine.dependencies import EventAnswer
from rota.engine.event_batcher import EventBatcher
from rota.store import Store, open_store
from tests.events.posting import Desk, needs


@pytest.fixture
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    store: Store = open_store(f"sqlite:///{tmp_path_factory.mktemp('batcher') / 'rota.db'}")
    return Desk(store)


def test_each_sender_hears_of_its_own_events_in_its_own_numbers(desk: Desk) -> None:
    for name in ("a", "b", "c"):
        desk.define(name, needs("FILE", name))

    async def post_all() -> list[EventAnswer]:
        batcher = EventBatcher(desk.events)
        wishes = [["x", "a"], ["b"], [], ["c", "a", "x"]]
        posts = [
            batcher.post([desk.event("FILE", resource, number) for resource in wish])
            for number, wish in enumerate(wishes, 1)
        ]
        answers = await asyncio.gather(*posts)
        await asyncio.to_thread(batcher.close)
        return answers

    answers = asyncio.run(post_all())

    told = [[(one.event, one.configuration) for one in answer.triggered] for answer in answers]
    assert told == [[(1, "a")], [(0, "b")], [], [(0, "c"), (1, "a")]]
    desk.store.close()


def test_a_store_that_fails_fails_those_who_wait_and_not_the_next(desk: Desk) -> None:
    desk.define("a", needs("FILE", "a"))

    async def post_twice() -> tuple[object, EventAnswer]:
        batcher = EventBatcher(desk.events)
        bad = desk.event("FILE", "a", 1)
        first = (await asyncio.gather(batcher.post([None]), return_exceptions=True))[0]  # type: ignore[list-item]
        second = await batcher.post([bad])
        await asyncio.to_thread(batcher.close)
        return first, second

    failed, fine = asyncio.run(post_twice())

    assert isinstance(failed, AttributeError)
    assert len(fine.triggered) == 1
    desk.store.close()
