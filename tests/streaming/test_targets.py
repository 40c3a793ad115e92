"""Topics that are gone, or refuse a task: the others go on, and what was refused is accounted for."""

from rota.clock import SystemClock
from rota.model.topics.light.definition import TaskKey
from rota.streaming.records.codec import encode_key
from tests.servers import wait_until
from tests.streaming.kafka import Kafka, Reader, task_of

OFTEN = {"timeUnit": "MILLISECONDS", "time": 50}


def test_a_dead_letter_topic_that_is_removed_is_made_again(kafka: Kafka) -> None:
    instance = kafka.started()
    kafka.remove_topic(kafka.options.dead_letter_topic)

    kafka.produce_raw(b"k", b"rubbish", 0)
    instance.apply(kafka.command("well", frequency=OFTEN))

    assert len(kafka.tasks(5)) >= 5
    assert kafka.dead_letters(1)[0].value() == b"rubbish"


def test_one_large_task_does_not_make_its_neighbours_dead_letters(kafka: Kafka) -> None:
    kafka.make_topic(kafka.due, {"max.message.bytes": "900"}, partitions=1)
    instance = kafka.started()
    start = SystemClock().now() + 1_000
    names = [f"small-{number}" for number in range(20)]
    for name in names:
        instance.apply(kafka.command(name, frequency=OFTEN, start=start))
    large = kafka.command("large", frequency=OFTEN, start=start, data={"n": "".join(map(str, range(2_000)))})
    instance.apply(large)

    with Reader(kafka.bootstrap, kafka.due) as reader:
        wait_until(
            lambda: {task_of(one).definition.name for one in reader.read(0)} == {*names},
            "the small ones",
        )
    letters = kafka.dead_letters(1)
    assert {letter.key() for letter in letters} == {encode_key(TaskKey("networknt.com", "large"))}
