"""Events that were taken, as people are told of them: in order, and no more than the latest."""

from contextlib import closing

from rota.model.events.evaluation import Verdict
from rota.model.events.event import Event
from rota.model.events.record import EventRecord, Meaning
from rota.model.ids import numbered_id
from rota.store import Store

NOW = 1_760_000_000_000


def record(number: int, by: str = "shop") -> EventRecord:
    event = Event(id=f"e{number}", type="FILE", resource="/in/é \u2028<b>", time=1, received_at=NOW, by=by)
    meaning = Meaning("uuid", "ready", Verdict.TRIGGERED, "job")
    return EventRecord(id=numbered_id(NOW, "event", number), event=event, matched=30, meanings=(meaning,))


def test_events_are_read_from_the_latest_on_page_by_page(store: Store) -> None:
    records = [record(number) for number in range(5)]
    store.record_events(records[:2])
    store.record_events(records[2:])

    assert store.list_events(limit=10) == records[::-1]
    assert store.list_events(limit=2) == [records[4], records[3]]
    assert store.list_events(limit=2, before=records[3].id) == [records[2], records[1]]
    assert store.list_events(limit=2, before=records[0].id) == []


def test_none_was_taken_yet(store: Store) -> None:
    store.record_events([])

    assert store.list_events(limit=10) == []


def test_a_repeated_record_changes_nothing(store: Store) -> None:
    store.record_events([record(1)])
    store.record_events([record(1, by="another"), record(2)])

    assert store.list_events(limit=10) == [record(2), record(1)]


def test_the_oldest_are_forgotten_beyond_a_number(store: Store) -> None:
    for number in range(7):
        store.record_events([record(number)], keep=3)

    assert store.list_events(limit=10) == [record(6), record(5), record(4)]
    store.record_events([record(number) for number in range(7, 12)], keep=2)
    assert store.list_events(limit=10) == [record(11), record(10)]


def test_others_see_them(store: Store) -> None:
    store.record_events([record(1)])

    with closing(store.reopen()) as other:
        assert other.list_events(limit=1) == [record(1)]
