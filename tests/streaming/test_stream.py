"""The thread of an instance, as far as it needs no brokers."""

from contextlib import suppress
from threading import Event
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from rota.clock import ManualClock
from rota.errors import StoreUnavailable
from rota.streaming.brokers.complaints import Complaints
from rota.streaming.brokers.refusals import Failures
from rota.streaming.brokers.transactions import ProducerBroken, RoundAborted
from rota.streaming.brokers.troubles import Troubles
from rota.streaming.options import StreamOptions
from rota.streaming.partition import Partition
from rota.streaming.records.position import Position
from rota.streaming.scheduler import KafkaScheduler
from rota.streaming.stream import Stream
from rota.streaming.turns import Turn, Turns
from tests.servers import wait_until
from tests.streaming.kafka import living_clients
from tests.streaming.test_partition import NOW, entry, partition_with

NOBODY = "127.0.0.1:1"
OPTIONS = StreamOptions(brokers=(NOBODY,))


def test_a_scheduler_that_was_only_made_has_no_connections() -> None:
    before = living_clients()

    _made = KafkaScheduler(OPTIONS, ManualClock())

    assert living_clients() <= before


def test_a_partition_that_is_restored_before_the_consumer_can_read_it_serves_later() -> None:
    stream = Stream(OPTIONS, ManualClock())
    consumer = Consumer(OPTIONS.client({"group.id": "test", "log_level": 0}))
    consumer.assign([TopicPartition(OPTIONS.input_topic, 0)])
    restored = (Partition(0, Position(5)), Turn(0.0))
    stream._turns._turns[0] = restored[1]
    stream._turns.put_back(*restored)

    stream._adopt(consumer)

    assert stream.partitions == {}
    assert stream._turns.take_restored() == [restored]
    consumer.close()


def test_a_restore_that_does_not_end_is_a_trouble_after_a_minute() -> None:
    clock = ManualClock()
    stream = Stream(OPTIONS, clock)
    stream._troubles.tell(None)
    stream._turns._turns |= {3: Turn(clock.monotonic()), 1: Turn(clock.monotonic())}

    clock.advance(59_999)
    stream._troubles.tell(None)
    before = stream.trouble
    clock.advance(1)
    then = stream.trouble
    stream.partitions |= {one: Partition(one, Position(0)) for one in (1, 3)}

    assert (before, then, stream.trouble) == (None, "partitions [1, 3] are being restored for 60 s", None)


def test_a_group_that_does_not_answer_is_a_trouble_after_a_minute() -> None:
    clock = ManualClock()
    stream = Stream(OPTIONS, clock)
    consumer = Asking(OPTIONS.client({"group.id": "test", "log_level": 0}))

    stream._subscribe(consumer)
    at_first = troubles_of(stream, clock)
    consumer.given(consumer, [])
    with_none = troubles_of(stream, clock)
    consumer.taken(consumer, [])
    afterwards = troubles_of(stream, clock)

    silence = "the group has not shared out its partitions for 60 s"
    assert (at_first, with_none, afterwards) == ([None, silence], [None, None], [None, silence])
    consumer.close()


def patience_with_brokers(stream: Stream, clock: ManualClock) -> int:
    """For how many seconds a transaction waits for brokers that answer others."""
    for seconds in range(1_000):
        if not stream._may_wait("no answer"):
            return seconds
        clock.advance(1_000)
    raise AssertionError("it waits for ever")


def test_brokers_that_answer_others_are_asked_by_another_client_after_two_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rota.streaming.brokers.topics._TIMEOUT_S", 0.01)
    clock = ManualClock()
    stream = Stream(OPTIONS, clock)

    first = patience_with_brokers(stream, clock)
    with pytest.raises(KafkaException):  # another client is there, and is not answered either
        stream._live()
    second = patience_with_brokers(stream, clock)
    stream._troubles.tell(None)
    third = patience_with_brokers(stream, clock)

    assert (first, second, third) == (120, 120, 120)


def test_brokers_that_are_away_are_waited_for_however_long_that_is() -> None:
    clock = ManualClock()
    stream = Stream(OPTIONS, clock)
    stream._troubles._watch.trouble = "the brokers do not answer"

    for _ in range(1_000):
        clock.advance(1_000)
        assert stream._may_wait("no answer")
    stream._troubles._watch.trouble = None

    assert patience_with_brokers(stream, clock) == 120


def patience_of(turns: Turns, clock: ManualClock) -> int:
    """After how many seconds the client that asks counts as stuck."""
    for seconds in range(1, 1_000):
        clock.advance(1_000)
        try:
            turns.check_group(is_excused=False)
        except StoreUnavailable:
            return seconds
    raise AssertionError("it never does")


def test_a_client_that_the_group_does_not_answer_is_stuck_and_the_next_is_left_twice_as_long() -> None:
    clock = ManualClock()
    turns = Turns(OPTIONS, clock, Event())
    told = []

    for _ in range(5):
        turns.ask()
        told.append(patience_of(turns, clock))
    turns.begin([])
    turns.ask()
    afterwards = patience_of(turns, clock)

    session_s = 8
    assert told == [session_s + 30, 2 * (session_s + 30), 4 * (session_s + 30), 8 * (session_s + 30), session_s + 330]
    assert afterwards == session_s + 30


def test_a_client_that_still_has_partitions_is_left_for_as_long_as_a_member_can_hang() -> None:
    clock = ManualClock()
    turns = Turns(OPTIONS, clock, Event())
    turns._turns[0] = Turn(clock.monotonic())

    turns.ask()

    assert patience_of(turns, clock) == 8 + 330


def test_brokers_that_are_away_or_refuse_an_instance_excuse_the_group() -> None:
    clock = ManualClock()
    turns = Turns(OPTIONS, clock, Event())
    turns.ask()

    for _ in range(1_000):
        clock.advance(1_000)
        turns.check_group(is_excused=True)

    assert patience_of(turns, clock) == 8 + 30


def test_what_a_former_client_still_tells_changes_nothing() -> None:
    stream = Stream(OPTIONS, ManualClock())
    former, present = (Asking(OPTIONS.client({"group.id": "test", "log_level": 0})) for _ in range(2))
    stream._subscribe(former)
    stream._part_with(former)
    stream._subscribe(present)
    turn = Turn(0.0)
    stream._turns._turns[0] = turn

    former.given(former, [TopicPartition(OPTIONS.input_topic, 1)])
    with suppress(RuntimeError, KafkaException):  # it is closed
        former.taken(former, [TopicPartition(OPTIONS.input_topic, 0)])

    assert stream._turns._turns == {0: turn}
    stream._part_with(present)


class Asking(Consumer):
    """Keeps what it is to call when the group has answered."""

    def subscribe(self, topics: list[str], *args: Any, **calls: Any) -> None:
        self.given, self.taken = calls["on_assign"], calls["on_revoke"]
        super().subscribe(topics, *args, **calls)


def troubles_of(stream: Stream, clock: ManualClock) -> list[str | None]:
    """After a bit less than a minute, and after one."""
    told = []
    for ms in (59_999, 1):
        clock.advance(ms)
        stream._troubles.tell(None)
        told.append(stream.trouble)
    return told


def test_a_stream_that_says_nothing_for_a_minute_has_stood_still() -> None:
    clock = ManualClock()
    troubles = Troubles(OPTIONS, clock)
    seen = [troubles.current]

    troubles.tell(None)
    for ms in (59_999, 1):
        clock.advance(ms)
        seen.append(troubles.current)
    troubles.tell(None)

    still = "it has stood still for 60 s; start this instance anew"
    assert [*seen, troubles.current] == ["it has not reached the brokers yet", None, still, None]


def test_of_several_troubles_the_one_that_explains_the_most_is_told() -> None:
    troubles = Troubles(OPTIONS, ManualClock())
    troubles.tell(None)
    seen = [troubles.current]

    troubles._watch.trouble = "away"
    seen.append(troubles.current)
    troubles.tell("broken")
    seen.append(troubles.current)
    troubles.complaints.add(KafkaError(KafkaError._AUTHENTICATION), "who are you?")
    seen.append(troubles.current)

    assert seen == [None, "away", "broken", "the brokers refuse this instance: who are you?"]


@pytest.mark.parametrize(
    ("code", "is_kept_out"),
    [
        (KafkaError._AUTHENTICATION, True),
        (KafkaError._SSL, True),
        (KafkaError.SASL_AUTHENTICATION_FAILED, True),
        (KafkaError.UNSUPPORTED_SASL_MECHANISM, True),
        (KafkaError._ALL_BROKERS_DOWN, False),
        (KafkaError._TRANSPORT, False),
    ],
)
def test_brokers_that_do_not_let_a_client_in_are_complained_of_and_those_that_are_away_are_not(
    code: int, is_kept_out: bool
) -> None:
    complaints = Complaints(ManualClock())

    complaints.take(KafkaError(code))

    assert (complaints.current is not None) is is_kept_out


def test_a_complaint_lasts_for_a_minute_or_until_the_brokers_answer(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    complaints = Complaints(clock)
    complaints.take(KafkaError(KafkaError._SSL))
    clock.advance(59_000)
    complaints.take(KafkaError(KafkaError._SSL))  # as librdkafka says again and again

    clock.advance(59_000)
    lasts = complaints.current is not None
    clock.advance(1_000)
    assert (lasts, complaints.current) == (True, None)
    assert caplog.messages == ["the brokers refuse this instance"], "it is logged once"

    complaints.take(KafkaError(KafkaError._SSL))
    complaints.end()
    assert complaints.current is None


def test_a_stream_waits_until_the_next_task_is_due_and_no_longer_than_a_restored_partition_may() -> None:
    stream = Stream(OPTIONS, ManualClock(NOW))
    waits = [stream._wait_s()]
    stream._turns._turns[0] = Turn(0.0)
    waits.append(stream._wait_s())
    for start in (NOW + 60_000, NOW + 7, NOW - 50):
        stream.partitions[0] = partition_with({b"k": entry(None, start=start), b"l": entry(None, start=NOW + 70_000)})
        waits.append(stream._wait_s())

    assert waits == [0.1, 0.02, 0.1, 0.007, 0]


def test_a_transaction_waits_for_brokers_that_are_away_unless_the_stream_is_to_stop() -> None:
    stream = Stream(OPTIONS, ManualClock())

    waits = [stream._may_wait("timed out")]
    trouble = stream.trouble
    stream._stopping.set()
    waits.append(stream._may_wait("timed out"))

    assert (waits, trouble) == ([True, False], "the brokers do not answer: timed out")


@pytest.mark.parametrize(
    ("code", "trouble"),
    [
        (KafkaError.REBALANCE_IN_PROGRESS, None),
        (KafkaError._MSG_TIMED_OUT, "a transaction was aborted: Local: Message timed out"),
    ],
)
def test_an_aborted_transaction_is_a_trouble_unless_the_group_shares_out_its_partitions(
    code: int, trouble: str | None
) -> None:
    stream = Stream(OPTIONS, ManualClock())
    stream._troubles.tell(None)

    stream._wait_after(RoundAborted(KafkaError(code), Failures()))

    assert stream.trouble == trouble


class Failing(Stream):
    """Its lives end by errors, one after the other, and the last one as it is asked to."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__(OPTIONS, ManualClock())
        self.troubles: list[str | None] = []
        self._errors = [*errors]

    def _live(self) -> None:
        self.troubles.append(self.trouble)
        if self._errors:
            raise self._errors.pop(0)
        self._stopping.set()


def test_a_stream_begins_anew_after_any_error_and_tells_of_it_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.streaming.stream._AFTER_ERROR_S", 0.001)
    stream = Failing(
        KafkaException(KafkaError(KafkaError._TRANSPORT)), ProducerBroken("fenced"), StoreUnavailable("no"), KeyError(5)
    )

    stream._run()

    first, away, *others = stream.troubles
    assert (first, others) == ("it has not reached the brokers yet", ["fenced", "no", "a fault: 5"])
    assert "_TRANSPORT" in str(away)


def test_the_end_of_a_partition_counts_when_the_commands_before_it_are_carried_out_and_while_it_is_here() -> None:
    stream = Stream(OPTIONS, ManualClock())
    stream.partitions = {number: Partition(number, Position(5)) for number in (0, 1)}
    stream._turns._turns = dict.fromkeys((0, 1), Turn(0.0))

    stream._ends = {0: 9, 1: 3, 7: 99}
    stream._reach_ends()
    assert [one.reached for one in stream.partitions.values()] == [9, 5]
    stream._ends = {0: 12, 1: 12}
    stream._lose([0])
    stream._reach_ends()

    assert {number: one.reached for number, one in stream.partitions.items()} == {1: 12}
    assert stream._turns.numbers == [1]
    assert stream._ends == {}


def test_what_was_restored_for_a_former_turn_does_not_serve() -> None:
    """Others may have had the partition meanwhile, and sent some of its tasks."""
    stream = Stream(OPTIONS, ManualClock())
    former, present = Turn(0.0), Turn(1.0)
    stream._turns._turns = {1: present}

    for number, turn in ((0, former), (1, former), (1, present)):
        stream._turns.put_back(Partition(number, Position(number)), turn)

    assert [turn for _, turn in stream._turns.take_restored()] == [present]


@pytest.mark.parametrize(
    "error", [KafkaException(KafkaError(KafkaError._TRANSPORT)), StoreUnavailable("no"), KeyError(5)]
)
def test_a_restore_that_failed_is_tried_until_it_succeeds(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition that nobody restores would never fire again."""
    errors = [error, error]

    def restore(_options: object, numbers: list[int], _is_wanted: object) -> list[Partition]:
        if errors:
            raise errors.pop()
        return [Partition(number, Position(number)) for number in numbers]

    monkeypatch.setattr("rota.streaming.turns.restore_partitions", restore)
    monkeypatch.setattr("rota.streaming.turns._AGAIN_S", 0.001)
    monkeypatch.setattr("rota.streaming.turns._AFTER_FAULT_S", 0.001)
    turns = Turns(OPTIONS, ManualClock(), Event())
    restored: list[int] = []

    def are_restored() -> bool:
        restored.extend(one.number for one, _ in turns.take_restored())
        return len(restored) == 2

    turns.begin([3, 1])

    wait_until(are_restored, "both partitions")
    assert (restored, turns.numbers) == ([3, 1], [3, 1])
