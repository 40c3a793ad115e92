"""Timers and cursors of one partition, without brokers."""

from rota.model.topics.light.definition import read_definition
from rota.streaming.partition import Fire, Partition, first_fire_of
from rota.streaming.records.entry import Entry, entry_of
from rota.streaming.records.position import (
    BEGINNING,
    Cursor,
    Position,
    encode_position,
    read_cursor,
    read_position,
)

NOW = 1_700_000_000_000


def entry(every_ms: int | None, start: int = NOW, topic: str = "due") -> Entry:
    frequency = every_ms and {"timeUnit": "MILLISECONDS", "time": every_ms}
    return entry_of(
        read_definition({"host": "h", "name": "n", "topic": topic, "frequency": frequency or None, "start": start})
    )


def partition_with(entries: dict[bytes, Entry], cursor: Cursor = BEGINNING, *, since: int = NOW) -> Partition:
    """As it is after a take-over."""
    return taken_over(entries, Position(0, cursor), since=since)


def taken_over(entries: dict[bytes, Entry], position: Position, *, since: int = NOW) -> Partition:
    partition = Partition(0, position)
    partition.definitions = entries
    for one in entries.values():
        one.next = since
    partition.start()
    return partition


def send(partition: Partition, now: int, most: int = 100, aside: frozenset[str] = frozenset()) -> list[Fire]:
    """What one round sends, and the brokers have it then."""
    fires = list(partition.take_due(now, most, aside))
    partition.advance(partition.position_after(fires, 0), {})
    return fires


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


class Heard(Partition):
    """Keeps which definitions there were whenever it told how far it is."""

    def __init__(self, number: int, position: Position) -> None:
        self.definitions: dict[bytes, Entry] = {}
        self.told: set[tuple[object, frozenset[bytes]]] = set()
        super().__init__(number, position)

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "reached":
            self.told.add((value, frozenset(self.definitions)))


def test_a_command_that_it_has_reached_is_carried_out() -> None:
    partition = Heard(0, Position(0, BEGINNING))
    partition.put(b"old", entry(10))

    partition.advance(Position(2, BEGINNING), {b"new": entry(10), b"old": None})

    assert partition.told == {(0, frozenset()), (2, frozenset({b"new"}))}


def test_a_definition_begins_to_count_when_it_came_into_force() -> None:
    partition = partition_with({b"a": entry(100, start=NOW - 1_000_000)}, since=NOW + 50)

    assert fired(list(partition.take_due(NOW + 200, 100))) == [(100, b"a"), (200, b"a")]


def test_a_new_definition_fires_from_the_time_on_since_which_it_is_in_force() -> None:
    assert first_fire_of(entry(100), NOW) == NOW
    assert first_fire_of(entry(100), NOW + 1) == NOW + 100


def test_what_is_more_than_ten_minutes_late_is_passed_over_but_for_the_latest() -> None:
    hour = 3_600_000
    partition = partition_with({b"often": entry(60_000), b"daily": entry(24 * hour), b"once": entry(None)})

    late = fired(list(partition.take_due(NOW + hour, 100)))

    assert [at for at, key in late if key == b"often"] == list(range(hour - 600_000, hour + 1, 60_000))
    assert [at for at, key in late if key == b"daily"] == [0]


STUCK = frozenset({"stuck"})


def test_tasks_for_a_topic_that_is_set_aside_wait_and_the_others_go_on() -> None:
    partition = partition_with({b"a": entry(100), b"b": entry(100, topic="stuck")})

    others = fired(send(partition, NOW + 200, aside=STUCK)) + fired(send(partition, NOW + 300, aside=STUCK))
    assert partition.position.behind == {"stuck": BEGINNING}
    waited = fired(send(partition, NOW + 300))

    assert others == [(0, b"a"), (100, b"a"), (200, b"a"), (300, b"a")]
    assert waited == [(0, b"b"), (100, b"b"), (200, b"b"), (300, b"b")]
    assert partition.position == Position(0, Cursor(NOW + 300, b"b"))


def test_whoever_takes_over_while_a_topic_is_behind_neither_loses_nor_repeats_its_tasks() -> None:
    def entries() -> dict[bytes, Entry]:
        return {b"a": entry(100), b"b": entry(100, topic="stuck"), b"c": entry(100, topic="stuck")}

    first = partition_with(entries())
    sent = fired(send(first, NOW + 100))
    sent += fired(send(first, NOW + 300, aside=STUCK))
    heir = taken_over(entries(), read_position(encode_position(first.position)) or Position(0))
    sent += fired(send(heir, NOW + 400, most=1))  # the topic has not caught up after these
    assert "stuck" in heir.position.behind
    last = taken_over(entries(), heir.position)
    sent += fired(send(last, NOW + 400))

    assert sorted(sent) == [(at, key) for at in range(0, 401, 100) for key in (b"a", b"b", b"c")]
    assert last.position.behind == {}


def test_a_topic_that_is_behind_goes_on_where_it_began_to_wait_however_many_rounds_that_takes() -> None:
    """The others have gone on meanwhile: whoever takes over has to look for its tasks from there."""
    partition = partition_with({b"a": entry(100), b"b": entry(100, topic="stuck"), b"c": entry(100, topic="stuck")})
    send(partition, NOW)
    began = partition.position.cursor

    send(partition, NOW + 100, aside=STUCK)
    partition.put(b"d", entry(100, start=NOW + 100, topic="stuck"))
    send(partition, NOW + 300, aside=STUCK)

    assert partition.position.behind == {"stuck": began}


def test_a_topic_that_is_set_aside_again_while_it_catches_up_goes_on_where_it_was_then() -> None:
    partition = partition_with({b"a": entry(100), b"b": entry(100, topic="stuck")})
    send(partition, NOW)
    send(partition, NOW + 300, aside=STUCK)

    caught_up = fired(send(partition, NOW + 300, most=1))
    send(partition, NOW + 400, aside=STUCK)

    assert caught_up == [(100, b"b")]
    assert partition.position.behind == {"stuck": Cursor(NOW + 100, b"b")}


def test_an_old_task_that_is_sent_once_does_not_take_back_a_topic_that_is_behind() -> None:
    entries = {b"b": entry(100, topic="stuck"), b"o": entry(None, topic="stuck")}
    behind = {"stuck": Cursor(NOW + 200, b"b")}
    partition = taken_over(entries, Position(0, Cursor(NOW + 500, b"z"), behind))

    assert fired(send(partition, NOW + 400, most=1)) == [(0, b"o")]
    assert partition.position.behind == behind


def test_a_partition_never_goes_back_behind_what_it_has_reached() -> None:
    """Where its topic ends is told beside the commands, and may be known before the last of them is settled."""
    partition = partition_with({})
    partition.reached = 9

    partition.advance(Position(5, BEGINNING), {})

    assert (partition.position.offset, partition.reached) == (5, 9)


def test_rounds_that_are_aborted_again_and_again_leave_no_heap_of_timers() -> None:
    partition = partition_with({b"a": entry(1)})

    for _ in range(5_000):
        partition.take_back(list(partition.take_due(NOW + 5, 100)))

    assert len(partition._timers) < 2_000
    assert fired(list(partition.take_due(NOW + 5, 100))) == [(at, b"a") for at in range(6)]


def test_a_position_that_nobody_here_wrote_counts_as_none() -> None:
    assert read_position(None) is read_position(b"rubbish") is read_position(b"{}") is None


def test_a_task_that_is_sent_once_is_never_too_late_and_needs_no_cursor() -> None:
    partition = partition_with({b"a": entry(None)}, Cursor(NOW + 10**9, b"z"))

    assert fired(list(partition.take_due(NOW + 10**9, 100))) == [(0, b"a")]


def test_a_cursor_that_nobody_here_wrote_counts_as_none() -> None:
    assert read_cursor(None) == read_cursor("") == read_cursor("anything") == BEGINNING
    assert read_cursor(Cursor(5, b"\x00\xff:").to_text()) == Cursor(5, b"\x00\xff:")
