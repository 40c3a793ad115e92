"""Events that arrive together share their round trips, and each sender hears what its own events did."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from rota.engine.events.event_batcher import EventBatcher
from rota.engine.events.events import EventAnswer, Events
from rota.errors import StoreUnavailable
from rota.model.events.event import Event
from rota.store import Store, open_store
from rota.testing import Faults
from tests.engine.events.installation import EventsInstallation, needs


@pytest.fixture
def installation(tmp_path_factory: pytest.TempPathFactory) -> EventsInstallation:
    store: Store = open_store(f"sqlite:///{tmp_path_factory.mktemp('batcher') / 'rota.db'}")
    return EventsInstallation(store)


def test_each_sender_hears_of_its_own_events_in_its_own_numbers(installation: EventsInstallation) -> None:
    for name in ("a", "b", "c"):
        installation.define_configuration(name, needs("FILE", name))

    async def post_all() -> list[EventAnswer]:
        batcher = EventBatcher(installation.events)
        wishes = [["x", "a"], ["b"], [], ["c", "a", "x"]]
        posts = [
            batcher.post([installation.event("FILE", resource, number) for resource in wish])
            for number, wish in enumerate(wishes, 1)
        ]
        answers = await asyncio.gather(*posts)
        await asyncio.to_thread(batcher.close)
        return answers

    answers = asyncio.run(post_all())

    told = [[(one.event, one.configuration) for one in answer.triggered] for answer in answers]
    assert told == [[(1, "a")], [(0, "b")], [], [(0, "c"), (1, "a")]]
    installation.store.close()


def test_a_store_that_fails_fails_those_who_wait_and_not_the_next(installation: EventsInstallation) -> None:
    installation.define_configuration("a", needs("FILE", "a"))

    async def post_twice() -> tuple[object, EventAnswer]:
        batcher = EventBatcher(installation.events)
        bad = installation.event("FILE", "a", 1)
        first = (await asyncio.gather(batcher.post([None]), return_exceptions=True))[0]  # type: ignore[list-item]
        second = await batcher.post([bad])
        await asyncio.to_thread(batcher.close)
        return first, second

    failed, fine = asyncio.run(post_twice())

    assert isinstance(failed, AttributeError)
    assert len(fine.triggered) == 1
    installation.store.close()


class Outage:
    """An installation behind a store that fails when it is told to; a call can be held up meanwhile."""

    def __init__(self, installation: EventsInstallation) -> None:
        self.faults = Faults(installation.store)
        self.installation = EventsInstallation(self.faults.store)
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()

    def hold(self) -> None:
        self.has_begun.set()
        assert self.may_go_on.wait(60)

    def be_away(self) -> None:
        raise StoreUnavailable("the store is away")


def test_a_store_that_is_away_is_told_to_all_who_went_together_and_the_next_go_through(
    installation: EventsInstallation,
) -> None:
    outage = Outage(installation)
    for name in ("a", "b", "c"):
        installation.define_configuration(name, needs("FILE", name, 0))
    events = {name: [installation.event("FILE", name, 1, eventId=name)] for name in ("a", "b", "c")}

    async def scene() -> tuple[list[EventAnswer | BaseException], list[EventAnswer]]:
        batcher = EventBatcher(outage.installation.events)
        outage.faults.before("match_events", outage.hold, outage.be_away)
        first = asyncio.create_task(batcher.post(events["a"]))
        await asyncio.to_thread(outage.has_begun.wait, 60)
        others = [asyncio.create_task(batcher.post(events[name])) for name in ("b", "c")]
        await asyncio.sleep(0)  # both are waiting now
        outage.may_go_on.set()
        answers = await asyncio.gather(first, *others, return_exceptions=True)
        again = [await batcher.post(events[name]) for name in ("a", "b", "c")]
        await asyncio.to_thread(batcher.close)
        return answers, again

    answers, again = asyncio.run(scene())

    assert [type(answer).__name__ for answer in answers] == ["EventAnswer", "StoreUnavailable", "StoreUnavailable"]
    assert [len(answer.triggered) for answer in again] == [0, 1, 1], "the first was taken, and its id is known"
    assert outage.faults.calls.count("match_events") == 2 + 3, "those who waited went together"
    installation.store.close()


def test_events_are_taken_in_the_order_of_their_senders_although_some_wait(installation: EventsInstallation) -> None:
    outage = Outage(installation)
    installation.define_configuration("a", needs("FILE", "a", 0))

    async def scene() -> list[EventAnswer]:
        batcher = EventBatcher(outage.installation.events)
        outage.faults.before("match_events", outage.hold)
        posts = [asyncio.create_task(batcher.post([installation.event("FILE", "a", 1)]))]
        await asyncio.to_thread(outage.has_begun.wait, 60)
        posts += [asyncio.create_task(batcher.post([installation.event("FILE", "a", at)])) for at in (2, 3, 4)]
        await asyncio.sleep(0)
        outage.may_go_on.set()
        answers = await asyncio.gather(*posts)
        await asyncio.to_thread(batcher.close)
        return answers

    answers = asyncio.run(scene())

    # In any other order an event would be older than the last execution, and make nothing.
    assert [[one.event for one in answer.triggered] for answer in answers] == [[0], [0], [0], [0]]
    installation.store.close()


def test_a_batch_has_no_more_than_five_hundred_events_unless_one_sender_has_more(
    installation: EventsInstallation,
) -> None:
    sizes: list[int] = []

    class Counting(Events):
        def post(self, events: Sequence[Event]) -> EventAnswer:
            sizes.append(len(events))
            return super().post(events)

    async def scene() -> None:
        batcher = EventBatcher(Counting(installation.store, installation.definitions, installation.clock))
        lists = [[installation.event("FILE", "x", 1)] * count for count in (300, 200, 1, 700, 1)]
        await asyncio.gather(*(batcher.post(events) for events in lists))
        await asyncio.to_thread(batcher.close)

    asyncio.run(scene())

    assert sizes == [500, 1, 700, 1]
    installation.store.close()


def test_a_sender_who_gave_up_does_not_take_the_answer_from_others(installation: EventsInstallation) -> None:
    outage = Outage(installation)
    for name in ("a", "b"):
        installation.define_configuration(name, needs("FILE", name, 0))

    async def scene() -> EventAnswer:
        batcher = EventBatcher(outage.installation.events)
        outage.faults.before("match_events", outage.hold)
        gone, stays = (asyncio.create_task(batcher.post([installation.event("FILE", name, 1)])) for name in ("a", "b"))
        await asyncio.to_thread(outage.has_begun.wait, 60)
        gone.cancel()
        await asyncio.sleep(0)
        outage.may_go_on.set()
        answer = await stays
        await asyncio.to_thread(batcher.close)
        return answer

    answer = asyncio.run(scene())

    assert [(one.event, one.configuration) for one in answer.triggered] == [(0, "b")]
    assert installation.configurations.find("a").state.triggered == 1, "what was handed in is taken all the same"
    installation.store.close()
