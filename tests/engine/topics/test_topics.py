"""Publishing: together in one round trip, each for itself; and reading to the end."""

import asyncio
import threading
from collections.abc import Iterator
from itertools import islice
from types import SimpleNamespace

import pytest

from rota.engine.topics.following import follow, read_to_end
from rota.engine.topics.publish_batcher import PublishBatcher
from rota.engine.topics.topics import MAX_RECORD_BYTES, Topics, named_record
from rota.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from rota.model.topics.topic import TopicRecord
from rota.store import Store, open_store
from rota.testing import Faults
from tests.patience import DEADLINE_S

NOW = 1_700_000_000_000


@pytest.fixture
def memory() -> Iterator[Store]:
    store = open_store("sqlite://:memory:")
    yield store
    store.close()


def record(number: int) -> TopicRecord:
    return named_record(str(number), key=None, value=number, now=NOW)


def published(store: Store, *items: tuple[str, TopicRecord]) -> list[object]:
    """What becomes of records that are handed in at once."""

    async def scene() -> list[object]:
        batcher = PublishBatcher(Topics(store))
        try:
            return list(await asyncio.gather(*[batcher.publish(*item) for item in items], return_exceptions=True))
        finally:
            batcher.close()

    return asyncio.run(scene())


def test_records_that_are_published_together_share_a_round_trip(memory: Store) -> None:
    faults = Faults(memory)

    offsets = published(faults.store, *[("a" if number % 2 else "b", record(number)) for number in range(10)])

    assert offsets == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert faults.calls.count("append_topic") == 2


def test_a_record_that_is_refused_harms_no_other(memory: Store) -> None:
    long = named_record("9", key=None, value="x" * MAX_RECORD_BYTES, now=NOW)

    first, second, third = published(memory, ("t", record(1)), ("t", long), ("t", record(2)))

    assert (first, third) == (0, 1)
    assert isinstance(second, InvalidInput)


def test_a_topic_that_cannot_be_made_harms_no_other(memory: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.store.sqlite.nouns.topics.MAX_TOPICS", 1)

    first, second = published(memory, ("a", record(1)), ("b", record(1)))

    assert first == 0
    assert isinstance(second, Conflict)


@pytest.mark.parametrize("is_away", [False, True])
def test_whoever_gives_up_while_its_record_is_published_takes_no_answer_from_others(
    memory: Store, is_away: bool
) -> None:
    under_way, go, faults = threading.Event(), threading.Event(), Faults(memory)

    def hang() -> None:
        under_way.set()
        go.wait(DEADLINE_S)
        if is_away:
            raise KeyError("no error that anybody expects")

    async def scene() -> list[object]:
        faults.before("append_topic", hang)
        batcher = PublishBatcher(Topics(faults.store))
        gives_up, stays = (asyncio.create_task(batcher.publish("t", record(number))) for number in range(2))
        await asyncio.to_thread(under_way.wait, DEADLINE_S)
        gives_up.cancel()
        await asyncio.wait({gives_up})
        later = asyncio.create_task(batcher.publish("t", record(2)))
        go.set()
        try:
            return list(await asyncio.wait_for(asyncio.gather(stays, later, return_exceptions=True), DEADLINE_S))
        finally:
            batcher.close()

    first, second = asyncio.run(scene())

    if is_away:
        assert isinstance(first, KeyError)
        assert second == 0
    else:
        assert (first, second) == (1, 2)


def test_a_store_that_is_away_is_told_to_all(memory: Store) -> None:
    faults = Faults(memory)
    faults.cut_off()

    fates = published(faults.store, ("a", record(1)), ("b", record(1)))

    assert [type(fate) for fate in fates] == [StoreUnavailable] * 2


@pytest.mark.parametrize("topic", ["", "a b", "..", "é", "x" * 250])
def test_what_is_no_topic_is_refused(memory: Store, topic: str) -> None:
    with pytest.raises(InvalidInput):
        Topics(memory).publish(topic, [record(1)])


@pytest.mark.parametrize(("offset", "expected"), [(0, [0, 1, 2]), (2, [2]), (-2, [1, 2]), (-9, [0, 1, 2]), (5, [])])
def test_a_topic_is_read_to_its_end(
    memory: Store, monkeypatch: pytest.MonkeyPatch, offset: int, expected: list[int]
) -> None:
    monkeypatch.setattr("rota.engine.topics.following._PAGE", 2)
    topics = Topics(memory)
    topics.publish("t", [record(number) for number in range(3)])

    assert [row.offset for row in read_to_end(topics, "t", offset)] == expected


def test_a_topic_that_is_not_there_is_not_found(memory: Store) -> None:
    with pytest.raises(NotFound, match="'t'"):
        Topics(memory).read("t", offset=0, limit=1)


def test_what_is_published_while_a_topic_is_read_to_its_end_is_not_awaited(
    memory: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.engine.topics.following._PAGE", 2)
    topics = Topics(memory)
    topics.publish("t", [record(number) for number in range(3)])
    found = []

    for row in read_to_end(topics, "t", 0):
        found.append(row.offset)
        topics.publish("t", [record(100 + row.offset)])

    assert found == [0, 1, 2]


@pytest.mark.parametrize("offset", [0, -1, 7])
def test_a_topic_that_is_not_there_yet_is_followed_from_its_first_record(
    memory: Store, monkeypatch: pytest.MonkeyPatch, offset: int
) -> None:
    topics, pauses = Topics(memory), []

    def publish_meanwhile(seconds: float) -> None:
        pauses.append(seconds)
        topics.publish("t", [record(len(pauses))])

    monkeypatch.setattr("rota.engine.topics.following.time", SimpleNamespace(sleep=publish_meanwhile))

    rows = list(islice(follow(topics, "t", offset), 3))

    assert [(row.offset, row.record.value) for row in rows] == [(0, 1), (1, 2), (2, 3)]


def test_whoever_follows_a_quiet_topic_asks_less_often_and_then_at_once_again(
    memory: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics, pauses = Topics(memory), []
    topics.publish("t", [record(0)])

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) in (10, 12):
            topics.publish("t", [record(len(pauses))])

    monkeypatch.setattr("rota.engine.topics.following.time", SimpleNamespace(sleep=pause))

    list(islice(follow(topics, "t", 0), 3))

    assert pauses[:10] == sorted(pauses[:10])
    assert [pauses[0], max(pauses), pauses[10]] == pytest.approx([0.03, 0.5, 0.03])


@pytest.mark.parametrize(("offset", "limit", "expected"), [(-3, 2, [2, 3]), (-1, 9, [4]), (0, 1, [0]), (-99, 1, [0])])
def test_a_page_counts_from_the_end_and_is_as_long_as_was_asked(
    memory: Store, offset: int, limit: int, expected: list[int]
) -> None:
    topics = Topics(memory)
    topics.publish("t", [record(number) for number in range(5)])

    assert [row.offset for row in topics.read("t", offset=offset, limit=limit).rows] == expected
