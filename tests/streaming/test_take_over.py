"""Instances that come, go, die and stall while tasks are due: each instant is there once, and none is missing."""

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from tempfile import TemporaryFile
from threading import Event, Thread

from confluent_kafka import KafkaError, KafkaException

from rota.clock import SystemClock
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until
from tests.streaming.kafka import PARTITIONS, Kafka, Reader, Task, task_of

_NAMES = [f"load-{number}" for number in range(40)]
_EVERY_MS = 100


class Process:
    """An instance in a process of its own."""

    def __init__(self, kafka: Kafka) -> None:
        options = kafka.options
        self._log = TemporaryFile("w+")  # noqa: SIM115 - it is closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.streaming.instance_main", kafka.bootstrap, options.input_topic],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self._serves = Event()
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as said:
            for line in said:
                if line == "serves\n":
                    self._serves.set()

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.send(signal.SIGKILL)
        self._process.wait()
        self._listener.join(LONG_DEADLINE_S)
        self._log.close()

    def wait_for_partitions(self) -> None:
        """It says so when it serves some."""
        assert self._serves.wait(LONG_DEADLINE_S), f"an instance got no partition:\n{self._said()}"

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read()[-5_000:]

    def send(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            os.kill(self._process.pid, number)


def define_load(kafka: Kafka) -> None:
    for name in _NAMES:
        kafka.produce(kafka.command(name, frequency={"timeUnit": "MILLISECONDS", "time": _EVERY_MS}))


def test_another_instance_takes_over_and_no_instant_is_lost_or_repeated(kafka: Kafka) -> None:
    first = kafka.started()
    define_load(kafka)
    kafka.tasks(200)

    second = kafka.start()
    wait_until(lambda: len(second.stream.partitions) == PARTITIONS // 2, "its share")
    assert len(first.stream.partitions) <= PARTITIONS // 2
    first.close()
    wait_until(lambda: len(second.stream.partitions) == PARTITIONS, "all partitions")

    assert_each_instant_once(kafka)


def test_instances_that_are_killed_or_stall_lose_and_repeat_nothing(kafka: Kafka) -> None:
    with ExitStack() as opened:
        killed, stalled, last = (opened.enter_context(Process(kafka)) for _ in range(3))
        for process in (killed, stalled, last):
            process.wait_for_partitions()
        define_load(kafka)
        kafka.tasks(200)

        killed.send(signal.SIGKILL)
        stalled.send(signal.SIGSTOP)
        wait_for_all_names(kafka)
        # It is a zombie now: others have its partitions, and it does not know yet.
        stalled.send(signal.SIGCONT)
        wait_for_all_names(kafka)

        assert_each_instant_once(kafka)


def test_instances_that_come_and_go_again_and_again_lose_and_repeat_nothing(kafka: Kafka) -> None:
    """`ROTA_TEST_REBALANCES=100` for a long run."""
    lasting = kafka.started()
    define_load(kafka)
    kafka.tasks(200)

    for _ in range(int(os.environ.get("ROTA_TEST_REBALANCES", "2")) // 2):
        other = kafka.start()
        wait_until(lambda one=other: bool(one.stream.partitions), "its share")  # type: ignore[misc]
        other.close()
        wait_until(lambda: len(lasting.stream.partitions) == PARTITIONS, "all again")

    wait_for_all_names(kafka)
    assert_each_instant_once(kafka)


def is_group_deleted(kafka: Kafka) -> bool:
    group = kafka.options.group
    try:
        kafka.admin.delete_consumer_groups([group])[group].result()
    except KafkaException as error:
        return bool(error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND)
    return True


def test_a_group_that_was_deleted_replays_no_command_and_loses_no_instant(kafka: Kafka) -> None:
    first = kafka.started()
    define_load(kafka)
    first.apply(kafka.command("once", start=1_700_000_000_000))
    first.apply(kafka.command("gone", frequency={"timeUnit": "DAYS", "time": 1}))
    kafka.change(first, kafka.command("gone", action="DELETE"))
    kafka.tasks(200)
    kafka.await_found(first, "once", 0)
    first.close()
    wait_until(lambda: is_group_deleted(kafka), "the group to be left, and gone")

    second = kafka.started()
    wait_for_all_names(kafka)

    assert (kafka.found(second, "gone"), kafka.found(second, "once")) == ([], [])
    assert kafka.changelog(kafka.options.dead_letter_topic) == {}
    tasks = read_tasks(kafka)
    assert [task.definition.name for task in tasks].count("once") == 1
    assert_none_is_missing(tasks)


def test_commands_of_a_topic_that_was_made_again_count_from_its_beginning(kafka: Kafka) -> None:
    first = kafka.started()
    for number in range(20):
        first.apply(kafka.command(f"n-{number}", frequency={"timeUnit": "DAYS", "time": 1}))
    assert len(kafka.found(first, "n-19")) == 1
    first.close()
    kafka.remove_topic(kafka.options.input_topic)
    wait_until(
        lambda: kafka.options.input_topic not in kafka.admin.list_topics(timeout=LONG_DEADLINE_S).topics,
        "the topic to go",
    )

    second = kafka.started()
    second.apply(kafka.command("later", frequency={"timeUnit": "DAYS", "time": 1}))

    assert len(kafka.found(second, "later")) == 1
    assert len(kafka.found(second, "n-19")) == 1


def wait_for_all_names(kafka: Kafka) -> None:
    """Until each definition fires at instants that lie ahead now: somebody has every partition."""
    now = SystemClock().now()
    missing, looked_at = {*_NAMES}, 0
    with Reader(kafka.bootstrap, kafka.due) as reader:

        def all_go_on() -> bool:
            nonlocal looked_at
            tasks = [task_of(message) for message in reader.read(0)[looked_at:]]
            looked_at += len(tasks)
            missing.difference_update(one.definition.name for one in tasks if (one.definition.start or 0) > now)
            return not missing

        wait_until(all_go_on, "every definition to fire again")


def read_tasks(kafka: Kafka) -> list[Task]:
    """As a plain consumer sees them."""
    with Reader(kafka.bootstrap, kafka.due) as reader:
        return [task_of(message) for message in reader.read_all()]


def assert_each_instant_once(kafka: Kafka) -> None:
    """For each definition all instants from its first to its last, each once."""
    tasks = read_tasks(kafka)
    counts = Counter(task.id for task in tasks)
    assert {name: count for name, count in counts.items() if count > 1} == {}
    assert_none_is_missing(tasks)


def assert_none_is_missing(tasks: list[Task]) -> None:
    for name in _NAMES:
        instants = sorted({task.definition.start or 0 for task in tasks if task.definition.name == name})
        assert instants == list(range(instants[0], instants[-1] + 1, _EVERY_MS))


def test_of_more_instances_than_partitions_none_waits_for_an_answer_of_the_group(kafka: Kafka) -> None:
    """Also who gives partitions away, and who gets none, is told so; otherwise it would be said not to be well."""
    instances = [kafka.started(), *(kafka.start() for _ in range(PARTITIONS))]

    def are_shared_out() -> bool:
        return sorted(len(one.stream.partitions) for one in instances) == [0, *[1] * PARTITIONS]

    wait_until(are_shared_out, "each to have at most one")
    wait_until(lambda: all(one.stream._turns._asked_at is None for one in instances), "the answers")
