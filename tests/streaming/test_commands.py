"""Commands on their topic become definitions in the changelogs, and definitions become due tasks."""

import gc
import os
from collections import Counter
from uuid import uuid4

import pytest
from confluent_kafka import Message, Producer

from rota.engine.topics.light.scheduler import DefinitionQuery
from rota.errors import InvalidInput, NotFound, StoreUnavailable
from rota.model.topics.light.definition import Action, TaskKey
from rota.model.triggers.interval import TimeUnit
from rota.streaming.records.codec import decode_definition, encode_definition, encode_key
from rota.streaming.records.keys import partition_of
from rota.streaming.round import REASON
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until
from tests.streaming.kafka import PARTITIONS, Kafka, header_of, living_clients

OFTEN = {"timeUnit": "MILLISECONDS", "time": 50}
EVERY_HOUR = {"timeUnit": "HOURS", "time": 1}


def reason_of(message: Message) -> str:
    return header_of(message, REASON)


@pytest.mark.mock_will_do
def test_a_definition_that_another_program_produces_fires_at_its_instants_each_once(kafka: Kafka) -> None:
    kafka.started()
    start = 1_700_000_000_000

    kafka.produce(kafka.command("report", frequency=OFTEN, start=start + 7, data={"city": "Paris"}))
    tasks = kafka.tasks(20)

    instants = sorted(task.definition.start or 0 for task in tasks)
    assert instants == list(range(instants[0], instants[-1] + 1, 50))
    assert {instant % 50 for instant in instants} == {7}
    for task in tasks:
        assert task.id == f"networknt.com/report/{task.definition.start}"
        assert (task.definition.topic, task.definition.data) == (kafka.due, {"city": "Paris"})
        assert task.message.key() == encode_key(task.definition.key)


@pytest.mark.mock_will_do
def test_a_command_is_kept_in_the_changelog_of_its_unit_and_moves_to_another_in_one_step(kafka: Kafka) -> None:
    instance = kafka.started()
    seconds, hours = kafka.options.changelog(TimeUnit.SECONDS), kafka.options.changelog(TimeUnit.HOURS)
    first = kafka.command("move", frequency={"timeUnit": "SECONDS", "time": 3600})
    key = encode_key(first.key)

    instance.apply(first)
    (found,) = kafka.found(instance, "move")
    assert decode_definition(kafka.changelog(seconds)[key] or b"") == found
    kafka.change(instance, kafka.command("move", action="UPDATE", frequency=EVERY_HOUR))
    (moved,) = kafka.found(instance, "move")

    assert moved.unit is TimeUnit.HOURS
    assert kafka.changelog(seconds)[key] is None
    assert decode_definition(kafka.changelog(hours)[key] or b"") == moved
    kafka.change(instance, kafka.command("move", action="DELETE"))
    assert kafka.found(instance, "move") == []
    assert kafka.changelog(hours)[key] is None


def test_a_scheduler_that_was_closed_has_no_connections_left_although_nobody_collects_garbage(kafka: Kafka) -> None:
    """Each has threads of its own, which look for the brokers for as long as it lives."""
    before = living_clients()
    gc.disable()
    try:
        instance = kafka.started()
        kafka.change(instance, kafka.command("one", frequency=EVERY_HOUR))
        kafka.found(instance, "one")
        assert living_clients() - before

        instance.close()

        wait_until(lambda: living_clients() <= before, "what looks at the brokers, or fences, to end as well")
    finally:
        gc.enable()


@pytest.mark.mock_will_do
def test_a_record_without_a_value_deletes_the_definition_of_its_key(kafka: Kafka) -> None:
    instance = kafka.started()
    command = kafka.command("gone", frequency=EVERY_HOUR)
    instance.apply(command)

    kafka.produce_raw(encode_key(command.key), None)

    kafka.await_found(instance, "gone", 0)


@pytest.mark.mock_will_do
def test_a_definition_that_is_changed_again_and_again_fires_at_each_instant_once(kafka: Kafka) -> None:
    instance = kafka.started()
    each_ms = {"timeUnit": "MILLISECONDS", "time": 1}
    instance.apply(kafka.command("busy", frequency=each_ms, start=1_700_000_000_000))

    for number in range(20):
        change = kafka.command(
            "busy", action="UPDATE", frequency=each_ms, start=1_700_000_000_000, data={"n": f"{number}"}
        )
        kafka.change(instance, change)
        kafka.found(instance, "busy")

    ids = Counter(task.id for task in kafka.tasks(1_000))
    assert set(ids.values()) == {1}


@pytest.mark.mock_will_do
@pytest.mark.parametrize("own", ["{0}", "{0}-dead-letter", "{0}-hours-changelog"])
def test_the_schedulers_own_topics_are_no_target(kafka: Kafka, own: str) -> None:
    instance = kafka.started()
    topic = own.format(kafka.options.input_topic)

    with pytest.raises(InvalidInput, match="own"):
        instance.apply(kafka.command("loop", topic=topic))
    kafka.produce(kafka.command("loop", topic=topic))

    (letter,) = kafka.dead_letters(1)
    assert "own" in reason_of(letter)
    assert kafka.found(instance, "loop") == []


@pytest.mark.mock_will_do
def test_a_task_without_a_frequency_is_sent_once_and_is_gone(kafka: Kafka) -> None:
    instance = kafka.started()

    instance.apply(kafka.command("once", start=1_700_000_000_000))
    (task,) = kafka.tasks(1)

    assert task.id == "networknt.com/once/1700000000000"
    kafka.await_found(instance, "once", 0)
    assert kafka.changelog(kafka.options.changelog(None))[encode_key(task.definition.key)] is None


@pytest.mark.mock_will_do
def test_commands_in_the_wrong_partition_with_other_keys_or_in_frames_work_alike(kafka: Kafka) -> None:
    instance = kafka.started()

    for partition in range(PARTITIONS):
        value = encode_definition(kafka.command(f"any-{partition}", frequency=EVERY_HOUR))
        kafka.produce_raw(b"some other key", b"\0\0\0\0\x05" + value, partition)

    for partition in range(PARTITIONS):
        kafka.await_found(instance, f"any-{partition}", 1)


def test_a_command_in_the_wrong_partition_that_is_larger_than_what_it_says_stops_nobody(kafka: Kafka) -> None:
    """The brokers took it, and nobody could send it on."""
    instance = kafka.started()
    commands = [kafka.command("large", frequency=EVERY_HOUR, data=data) for data in ({}, {"k": "v" * 1_000})]
    bare, one = map(encode_definition, commands)
    again_and_again = bare[:-1] + one[len(bare) - 1 : -1] * 1_005 + bare[-1:]
    assert decode_definition(again_and_again) == commands[1]
    elsewhere = (partition_of(encode_key(commands[1].key), PARTITIONS) + 1) % PARTITIONS

    other = Producer({"bootstrap.servers": kafka.bootstrap, "message.max.bytes": 2_000_000})
    other.produce(kafka.options.input_topic, again_and_again, encode_key(commands[1].key), partition=elsewhere)
    assert other.flush(LONG_DEADLINE_S) == 0

    kafka.await_found(instance, "large", 1)


@pytest.mark.mock_will_do
def test_broken_records_go_to_the_dead_letters_with_the_reason_and_stop_nobody(kafka: Kafka) -> None:
    instance = kafka.started()
    nothing = kafka.command("nothing", action="UPDATE", frequency=EVERY_HOUR)

    kafka.produce_raw(b"k", b"rubbish", 0)
    kafka.produce_raw(None, None, 1)
    kafka.produce(nothing)
    kafka.produce(kafka.command("well", frequency=EVERY_HOUR))
    letters = kafka.dead_letters(3)

    reasons = sorted(reason_of(letter) for letter in letters)
    assert [reason.partition(":")[0] for reason in reasons] == ["UPDATE", "record", "value"]
    assert (b"k", b"rubbish") in {(letter.key(), letter.value()) for letter in letters}
    kafka.await_found(instance, "well", 1)


def test_a_topic_that_takes_nothing_does_not_stop_the_others(kafka: Kafka) -> None:
    instance = kafka.started()
    # Kafka keeps this name to itself: nobody may make or write it.
    instance.apply(kafka.command("forbidden", topic="__cluster_metadata", frequency=OFTEN))

    instance.apply(kafka.command("allowed", frequency=OFTEN))

    assert len(kafka.tasks(5)) >= 5
    assert "__cluster_metadata did not take it" in reason_of(kafka.dead_letters(1)[0])


def test_a_task_that_is_too_large_for_its_topic_does_not_stop_the_others_there(kafka: Kafka) -> None:
    kafka.make_topic(kafka.due, {"max.message.bytes": "600"})
    instance = kafka.started()
    instance.apply(kafka.command("large", frequency=OFTEN, data={"n": "".join(map(str, range(2_000)))}))

    instance.apply(kafka.command("small", frequency=OFTEN))

    assert {task.definition.name for task in kafka.tasks(5)} == {"small"}
    (letter, *_) = kafka.dead_letters(1)
    assert (letter.key(), "too large" in reason_of(letter)) == (encode_key(TaskKey("networknt.com", "large")), True)


@pytest.mark.mock_will_do
def test_a_broken_record_of_any_size_is_buried(kafka: Kafka) -> None:
    instance = kafka.started()

    kafka.produce_raw(b"k", os.urandom(999_000), 0)
    kafka.produce(kafka.command("well", frequency=EVERY_HOUR))

    assert len(kafka.dead_letters(1)[0].value() or b"") == 900_000
    kafka.await_found(instance, "well", 1)


def test_a_topic_that_somebody_removes_is_made_again(kafka: Kafka) -> None:
    instance = kafka.started()
    instance.apply(kafka.command("often", frequency=OFTEN))
    (first, *_) = kafka.tasks(1)

    kafka.remove_topic(kafka.due)

    def begins_anew() -> bool:
        return min(task.definition.start or 0 for task in kafka.tasks(5)) > (first.definition.start or 0)

    wait_until(begins_anew, "a topic without the first tasks")


@pytest.mark.mock_will_do
def test_update_and_delete_of_nothing_are_refused_and_produce_nothing(kafka: Kafka) -> None:
    instance = kafka.started()

    for action in (Action.UPDATE, Action.DELETE):
        with pytest.raises(NotFound, match=r"no task definition 'networknt\.com nobody'"):
            instance.apply(kafka.command("nobody", action=action, frequency=EVERY_HOUR))

    assert kafka.changelog(kafka.options.input_topic) == {}


@pytest.mark.mock_will_do
def test_a_command_is_found_as_soon_as_it_was_applied(kafka: Kafka) -> None:
    instance = kafka.started()

    for number in range(20):
        instance.apply(kafka.command(f"n-{number}", frequency=EVERY_HOUR))
        assert len(instance.find(DefinitionQuery("networknt.com", f"n-{number}")).definitions) == 1
    pages, cursor = [], None
    while True:
        page = instance.find(DefinitionQuery(limit=3, cursor=cursor))
        pages += page.definitions
        cursor = page.cursor
        if cursor is None:
            break

    assert Counter(one.name for one in pages) == Counter(f"n-{number}" for number in range(20))
    hours = instance.find(DefinitionQuery("networknt.com", "n-1", TimeUnit.HOURS)).definitions
    days = instance.find(DefinitionQuery("networknt.com", "n-1", TimeUnit.DAYS)).definitions
    assert (len(hours), len(days)) == (1, 0)


@pytest.mark.mock_will_do
def test_a_command_behind_an_open_transaction_is_waited_for(kafka: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = kafka.started()
    first, second = (kafka.command(name, frequency=EVERY_HOUR) for name in ("first", "second"))
    other = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "transactional.id": f"other-{uuid4()}",
            "transaction.timeout.ms": 600_000,
        }
    )
    other.init_transactions(LONG_DEADLINE_S)
    other.begin_transaction()
    home = partition_of(encode_key(second.key), PARTITIONS)
    other.produce(kafka.options.input_topic, encode_definition(first), encode_key(first.key), partition=home)
    assert other.flush(LONG_DEADLINE_S) == 0

    instance.apply(second)

    with monkeypatch.context() as patch:
        patch.setattr("rota.streaming.scheduler._FIND_S", 2.0)
        with pytest.raises(StoreUnavailable):
            instance.find(DefinitionQuery("networknt.com", "second"))
    other.commit_transaction(LONG_DEADLINE_S)
    assert [len(kafka.found(instance, name)) for name in ("second", "first")] == [1, 1]


def test_a_record_in_a_changelog_that_is_no_definition_stops_nobody(kafka: Kafka) -> None:
    first = kafka.started()
    first.apply(kafka.command("well", frequency=EVERY_HOUR))
    first.close()
    for partition in range(PARTITIONS):
        kafka.produce_raw(b"k", b"rubbish", partition, topic=kafka.options.changelog(TimeUnit.HOURS))

    second = kafka.started()

    assert [one.name for one in kafka.found(second, "well")] == ["well"]
    assert sum(len(one.definitions) for one in second.stream.partitions.values()) == 1


@pytest.mark.mock_will_do
def test_an_instance_that_starts_again_has_every_definition_and_goes_on_where_it_was(kafka: Kafka) -> None:
    first = kafka.started()
    for number in range(50):
        first.apply(kafka.command(f"n-{number}", frequency=EVERY_HOUR))
    kafka.change(first, kafka.command("n-7", action="UPDATE", frequency={"timeUnit": "DAYS", "time": 2}))
    kafka.change(first, kafka.command("n-8", action="DELETE"))
    first.apply(kafka.command("often", frequency=OFTEN, start=0))
    kafka.tasks(10)
    first.close()

    second = kafka.started()
    tasks = kafka.tasks(60)

    assert {one.unit for one in kafka.found(second, "n-7")} == {TimeUnit.DAYS}
    assert kafka.found(second, "n-8") == []
    assert sum(len(one.definitions) for one in second.stream.partitions.values()) == 50
    instants = [task.definition.start or 0 for task in tasks if task.definition.name == "often"]
    assert instants == list(range(instants[0], instants[0] + 50 * len(instants), 50))
