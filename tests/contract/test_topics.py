"""Topics: records in order, each once, read from an offset, forgotten at the old end."""

import pytest

from rota.errors import Conflict
from rota.model.topics.topic import TopicRecord
from rota.store import Store
from rota.store.contract.topics import TopicEntry, TopicRow
from tests.conftest import OpenStore
from tests.contract.racing import in_threads
from tests.contract.raw_records import change_records

NOW = 1_760_000_000_000


def record(number: int, *, time: int = NOW, **more: object) -> TopicRecord:
    return TopicRecord(id=f"h/n/{number}", value={"n": number, "text": "é \n \x00"}, time=time, **more)  # type: ignore[arg-type]


def records(*numbers: int, time: int = NOW) -> list[TopicRecord]:
    return [record(number, time=time) for number in numbers]


def read(store: Store, topic: str = "t", *, offset: int = 0, limit: int = 100) -> list[TopicRow]:
    page = store.read_topic(topic, offset=offset, limit=limit)
    assert page is not None
    return page.rows


def test_records_are_read_in_the_order_of_their_appending(store: Store) -> None:
    assert store.append_topic("t", records(1, 2)) == [0, 1]
    assert store.append_topic("t", records(3)) == [2]

    assert read(store) == [TopicRow(place, record(place + 1)) for place in range(3)]


def test_a_record_is_given_back_as_it_was(store: Store) -> None:
    given = record(1, key={"host": "h"}, headers={"message-id": "h/n/1"})

    store.append_topic("t", [given])

    assert read(store) == [TopicRow(0, given)]


def test_a_record_is_there_once_however_often_it_is_appended(store: Store) -> None:
    store.append_topic("t", records(1, 2))

    again = TopicRecord(id=record(1).id, value="another", time=NOW + 1)
    assert store.append_topic("t", [again, record(3), record(3), record(2)]) == [0, 2, 2, 1]

    assert read(store) == [TopicRow(place, record(place + 1)) for place in range(3)]


def test_an_id_belongs_to_its_topic(store: Store) -> None:
    store.append_topic("a", records(1))
    store.append_topic("b", records(1))

    assert read(store, "a") == read(store, "b") == [TopicRow(0, record(1))]


@pytest.mark.parametrize(
    ("offset", "limit", "places", "following"),
    [(0, 2, [0, 1], 2), (3, 10, [3, 4], 5), (5, 10, [], 5), (99, 10, [], 5), (1, 1, [1], 2)],
)
def test_a_page_says_where_to_read_on(store: Store, offset: int, limit: int, places: list[int], following: int) -> None:
    store.append_topic("t", records(*range(5)))

    page = store.read_topic("t", offset=offset, limit=limit)

    assert page is not None
    assert [row.offset for row in page.rows] == places
    assert page.following == following
    assert page.topic == TopicEntry("t", 0, 5)


def test_many_records_at_once(store: Store) -> None:
    assert store.append_topic("t", records(*range(1_000))) == list(range(1_000))

    assert [row.record for row in read(store, limit=2_000)] == records(*range(1_000))


def test_a_page_of_long_records_is_short(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{type(store).__module__.rpartition('.')[0]}.nouns.topics.MAX_PAGE_BYTES", 250)
    store.append_topic("t", [TopicRecord(id=str(n), value="x" * 100, time=NOW) for n in range(5)])

    page = store.read_topic("t", offset=1, limit=100)

    assert page is not None
    assert [row.offset for row in page.rows] == [1, 2]
    assert page.following == 3


def test_a_record_that_cannot_be_read_is_left_out(store: Store) -> None:
    store.append_topic("t", records(*range(3)))

    change_records(store, "topic record", "t", lambda raw: raw.replace(b'"h/n/1"', b"1"))

    assert [row.offset for row in read(store)] == [0, 2]
    assert [one.kind for one in store.unreadable_records()] == ["records of topic"]


def test_nothing_was_published_yet(store: Store) -> None:
    assert store.read_topic("t", offset=0, limit=10) is None
    assert store.list_topics(limit=10) == []
    assert store.trim_topics(["t"], older_than=NOW, keep=0, limit=10) == 0
    assert store.list_topics(limit=10) == []


def test_topics_are_listed_by_name(store: Store) -> None:
    for name in ("b", "a.1", "c"):
        store.append_topic(name, records(1))

    assert [one.name for one in store.list_topics(limit=2)] == ["a.1", "b"]
    assert store.list_topics(limit=2, after="b") == [TopicEntry("c", 0, 1)]


def test_old_records_are_forgotten(store: Store) -> None:
    store.append_topic("t", [*records(1, 2, 3, time=NOW - 1), *records(4, 5)])

    assert store.trim_topics(["t"], older_than=NOW, keep=100, limit=2) == 2
    assert store.trim_topics(["t"], older_than=NOW, keep=100, limit=2) == 1
    assert store.trim_topics(["t"], older_than=NOW, keep=100, limit=2) == 0

    assert read(store) == [TopicRow(3, record(4)), TopicRow(4, record(5))]
    assert store.list_topics(limit=1) == [TopicEntry("t", 3, 5)]


def test_a_reader_who_was_left_behind_goes_on_with_the_oldest_record(store: Store) -> None:
    store.append_topic("t", records(*range(6)))
    store.trim_topics(["t"], older_than=0, keep=2, limit=100)

    page = store.read_topic("t", offset=1, limit=1)

    assert page is not None
    assert ([row.offset for row in page.rows], page.following) == ([4], 5)


def test_records_go_away_only_at_the_old_end(store: Store) -> None:
    """The clock of a publisher may be behind that of the one before."""
    store.append_topic("t", [*records(1), *records(2, time=NOW - 1)])

    assert store.trim_topics(["t"], older_than=NOW, keep=100, limit=100) == 0
    assert [row.offset for row in read(store)] == [0, 1]

    assert store.trim_topics(["t"], older_than=NOW, keep=1, limit=100) == 2, "the first is too many, the second too old"
    assert store.list_topics(limit=1) == [TopicEntry("t", 2, 2)]


def test_the_latest_are_kept_when_there_are_too_many(store: Store) -> None:
    store.append_topic("t", records(*range(5)))
    store.append_topic("u", records(*range(3)))

    assert store.trim_topics(["t", "u"], older_than=0, keep=2, limit=100) == 4

    assert [row.offset for row in read(store)] == [3, 4]
    assert [row.offset for row in read(store, "u")] == [1, 2]


def test_no_offset_is_given_twice(store: Store) -> None:
    store.append_topic("t", records(1, 2))
    store.trim_topics(["t"], older_than=NOW + 1, keep=100, limit=100)

    assert store.list_topics(limit=1) == [TopicEntry("t", 2, 2)]
    page = store.read_topic("t", offset=0, limit=10)
    assert page is not None
    assert (page.rows, page.following) == ([], 2)
    assert store.append_topic("t", records(1)) == [2]


def test_there_are_not_more_topics_than_may_be(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{type(store).__module__.rpartition('.')[0]}.nouns.topics.MAX_TOPICS", 2)
    for name in ("a", "b"):
        store.append_topic(name, records(1))

    with pytest.raises(Conflict, match="'c' cannot be made"):
        store.append_topic("c", records(1))

    assert store.append_topic("a", records(2)) == [1]
    assert [one.name for one in store.list_topics(limit=10)] == ["a", "b"]


def test_a_copy_makes_no_more_topics_than_may_be(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{type(store).__module__.rpartition('.')[0]}.nouns.topics.MAX_TOPICS", 1)
    store.append_topic("a", records(1))

    with pytest.raises(Conflict, match="'b' cannot be made"):
        store.restore_topic(TopicEntry("b", 0, 1), [TopicRow(0, record(1))])

    assert store.read_topic("b", offset=0, limit=1) is None
    store.restore_topic(TopicEntry("a", 0, 2), [TopicRow(1, record(2))])
    assert read(store, "a") == [TopicRow(0, record(1)), TopicRow(1, record(2))]


def test_a_record_that_is_there_stays_where_it_is_when_a_copy_comes(store: Store) -> None:
    store.append_topic("t", records(1))

    store.restore_topic(TopicEntry("t", 0, 3), [TopicRow(1, record(1)), TopicRow(2, record(2))])

    assert read(store) == [TopicRow(0, record(1)), TopicRow(2, record(2))]
    assert store.append_topic("t", records(1, 2, 3)) == [0, 2, 3]


def test_who_appends_at_the_same_time_gets_other_offsets(store: Store, open_again: OpenStore) -> None:
    handles = [store, open_again(), open_again()]

    def append(number: int) -> list[int]:
        return [
            place
            for one in range(20)
            for place in handles[number].append_topic("t", [record(number * 100 + one), record(1_000 + one)])
        ]

    places = in_threads(append, 3)

    assert sorted({place for some in places for place in some}) == list(range(80))
    assert sorted(int(row.record.id.split("/")[2]) for row in read(store)) == sorted(
        [*range(20), *range(100, 120), *range(200, 220), *range(1_000, 1_020)]
    )


def test_records_outlast_the_handle(store: Store, open_again: OpenStore) -> None:
    store.append_topic("t", records(1))

    assert read(open_again()) == [TopicRow(0, record(1))]
