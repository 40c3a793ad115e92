"""Timers and cursors of one partition, without brokers."""

from rota.model.topics.light.definition import read_definition
from rota.streaming.partition import BEGINNING, Cursor, Fire, Partition, read_cursor
from rota.streaming.records.entry import Entry, entry_of

NOW = 1_700_000_000_000


def entry(every_ms: int | None, start: int = NOW) -> Entry:
    frequency = every_ms and {"timeUnit": "MILLISECONDS", "time": every_ms}
    return entry_of(
        read_definition({"host": "h", "name": "n", "topic": "due", "frequency": frequency or None, "start": start})
    )


def partition_with(entries: dict[bytes, Entry], cursor: Cursor = BEGINNING, *, since: int = NOW) -> Partition:
    """As it is after a take-over."""
    partition = Partition(0, offset=0, cursor=cursor)
    partition.definitions = {key: partition.restored(key, one, since) for key, one in entries.items()}
    partition.start()
    return partition


def fired(fires: list[Fire]) -> list[tuple[int, bytes]]:
    return [(fire.instant - NOW, fire.key) for fire in fires]


def test_what_is_due_comes_by_instant_and_key_each_once() -> None:
    partition = partition_with({b"b": entry(100), b"a": entry(100), b"c": entry(150)})

    first = fired(list(partition.take_due(NOW + 200, 100)))
    second = fired(list(partition.take_due(NOW + 200, 100)))

    assert first == [(0, b"a"), (0, b"b"), (0, b"c"), (100, b"a"), (100, b"b"), (150, b"c"), (200, b"a"), (200, b"b")]
    assert second == []
    assert partition.next_due == NOW + 300


def test_whoever_takes_over_in_the_middle_of_an_instant_goes_on_there() -> None:
    entries = {b"a": 100, b"b": 100, b"c": 100}
    all_of_it = partition_with({key: entry(every) for key, every in entries.items()})
    sent = list(all_of_it.take_due(NOW + 100, 2))
    cursor = Cursor(sent[-1].instant, sent[-1].key)

    heir = partition_with({key: entry(every) for key, every in entries.items()}, read_cursor(cursor.to_text()))

    rest = fired(list(heir.take_due(NOW + 100, 100)))
    assert fired(sent) + rest == [(0, b"a"), (0, b"b"), (0, b"c"), (100, b"a"), (100, b"b"), (100, b"c")]


def test_what_was_not_sent_is_due_again() -> None:
    partition = partition_with({b"a": entry(100), b"b": entry(None)})
    first = list(partition.take_due(NOW + 200, 100))

    partition.take_back(first)
    second = list(partition.take_due(NOW + 200, 100))

    assert fired(second) == fired(first) == [(0, b"a"), (0, b"b"), (100, b"a"), (200, b"a")]
    assert list(partition.take_due(NOW + 200, 100)) == []


def test_a_changed_definition_leaves_no_timer_that_counts() -> None:
    partition = partition_with({b"a": entry(100)})
    partition.put(b"a", entry(1_000))

    assert fired(list(partition.take_due(NOW + 900, 100))) == [(0, b"a")]

    partition.remove(b"a")
    assert list(partition.take_due(NOW + 5_000, 100)) == []


def test_a_definition_that_changes_often_does_not_fill_the_memory_with_timers() -> None:
    partition = partition_with({})

    for offset in range(10_000):
        partition.put(b"a", entry(1_000, start=NOW + offset))

    assert len(partition._timers) < 2_000
    assert fired(list(partition.take_due(NOW + 9_999, 100))) == [(9_999, b"a")]


def test_a_definition_begins_to_count_when_it_came_into_force() -> None:
    partition = partition_with({b"a": entry(100, start=NOW - 1_000_000)}, since=NOW + 50)

    assert fired(list(partition.take_due(NOW + 200, 100))) == [(100, b"a"), (200, b"a")]


def test_an_instant_that_was_sent_is_not_sent_again_for_a_new_definition() -> None:
    partition = partition_with({}, Cursor(NOW + 500, b"z"))

    # The clock of this machine is behind that of the one which sent them.
    assert partition.first_fire(entry(100), NOW + 300, partition.cursor) == NOW + 600


def test_a_definition_that_is_changed_as_it_fires_does_not_fire_at_that_instant_again() -> None:
    partition = partition_with({b"a": entry(100)})
    (sent,) = partition.take_due(NOW, 100)

    assert partition.first_fire(entry(100), NOW, Cursor(sent.instant, sent.key)) == NOW + 100


def test_what_is_more_than_a_minute_late_is_passed_over() -> None:
    partition = partition_with({b"a": entry(10_000), b"once": entry(None)})
    now = NOW + 600_000

    late = [at for at, key in fired(list(partition.take_due(now, 100))) if key == b"a"]

    assert late == list(range(540_000, 600_001, 10_000))


def test_a_task_that_is_sent_once_is_never_too_late_and_needs_no_cursor() -> None:
    partition = partition_with({b"a": entry(None)}, Cursor(NOW + 10**9, b"z"))

    assert fired(list(partition.take_due(NOW + 10**9, 100))) == [(0, b"a")]


def test_a_cursor_that_nobody_here_wrote_counts_as_none() -> None:
    assert read_cursor(None) == read_cursor("") == read_cursor("anything") == BEGINNING
    assert read_cursor(Cursor(5, b"\x00\xff:").to_text()) == Cursor(5, b"\x00\xff:")
