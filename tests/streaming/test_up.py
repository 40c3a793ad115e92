"""`rota up --kafka`: no Redis, no file, and any instance answers for all."""

import hmac
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from rota.model.topics.light.definition import TaskKey
from rota.streaming.records.codec import encode_key
from rota.streaming.records.keys import partition_of
from tests.cli.calling import RotaProcess
from tests.patience import LONG_DEADLINE_S
from tests.servers import wait_until
from tests.streaming.kafka import PARTITIONS, Kafka, Reader, task_of
from tests.system.up import Up

ROOT = Path(__file__).parents[2]
KEY = "only-for-this-test-0123456789abcdef"


class Two(NamedTuple):
    """Two instances that share the partitions."""

    kafka: Kafka
    folder: Path
    ups: list[Up]


@pytest.fixture(scope="module")
def two(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    """For all tests that leave them alive."""
    with Kafka(bootstrap) as kafka, ExitStack() as opened:
        yield started(kafka, tmp_path_factory.mktemp("two"), opened)


def started(kafka: Kafka, folder: Path, opened: ExitStack) -> Two:
    ups = [Up(opened.enter_context(start(kafka, folder)), key=KEY) for _ in range(2)]
    wait_until(lambda: all(map(has_half, ups)), "both to have their share")
    return Two(kafka, folder, ups)


def start(kafka: Kafka, folder: Path) -> RotaProcess:
    return RotaProcess(
        ["up", "--kafka", kafka.bootstrap, "--port", "0", "--json"],
        folder,
        ROTA_API_KEY=KEY,
        ROTA_KAFKA_INPUT_TOPIC=kafka.options.input_topic,
        ROTA_KAFKA_PARTITIONS=str(PARTITIONS),
        ROTA_KAFKA_SESSION_TIMEOUT_S="30",
    )


def has_half(up: Up) -> bool:
    answers = [up.ask(f"/api/schedulers/partitions/{number}")[0] for number in range(PARTITIONS)]
    return answers.count(200) == PARTITIONS // 2


def patient_answer(up: Up, path: str, body: Mapping[str, object] | None = None) -> tuple[int, str]:
    """As a client does: one that is told to come again does so."""
    answers: list[tuple[int, str]] = []

    def is_answered() -> bool:
        answers.append(up.ask(path, None if body is None else msgspec.json.encode(body)))
        return answers[-1][0] != 503

    wait_until(is_answered, f"an answer of {path}")
    return answers[-1]


def names_of(answer: str) -> list[str]:
    return [one["name"] for one in msgspec.json.decode(answer)]


def test_any_instance_answers_and_nothing_is_left_on_the_disk(two: Two) -> None:
    kafka, folder, ups = two
    places = {partition_of(encode_key(TaskKey("networknt.com", f"n-{number}")), PARTITIONS) for number in range(12)}
    assert places == set(range(PARTITIONS)), "the names below are to be in all partitions"

    for number in range(12):
        body = {
            "host": "networknt.com",
            "name": f"n-{number}",
            "topic": kafka.due,
            "frequency": {"timeUnit": "SECONDS", "time": 1},
        }
        assert patient_answer(ups[number % 2], "/schedulers", body)[0] == 200
        for up in ups:
            status, text = patient_answer(up, f"/schedulers?host=networknt.com&name=n-{number}&unit=SECONDS")
            assert (status, names_of(text)) == (200, [f"n-{number}"])

    names = {f"n-{number}" for number in range(12)}
    with Reader(kafka.bootstrap, kafka.due) as reader:

        def seen() -> set[str]:
            return {task_of(one).definition.name for one in reader.read(0)}

        wait_until(lambda: seen() >= names, "a task of each")
        assert seen() == names
    assert list(folder.iterdir()) == []
    assert patient_answer(ups[0], "/health") == (200, "ok")


def test_what_was_defined_by_rest_is_consumed_by_a_program_that_knows_only_the_schemas(two: Two) -> None:
    topic = f"{two.kafka.due}-reports"
    body = {
        "host": "networknt.com",
        "name": "report",
        "topic": topic,
        "frequency": {"timeUnit": "MILLISECONDS", "time": 500},
        "start": 1_700_000_000_123,
        "data": {"city": "Paris"},
    }
    assert patient_answer(two.ups[0], "/schedulers", body)[0] == 200
    with Reader(two.kafka.bootstrap, topic) as reader:
        reader.read(1)

    folder = ROOT / "src/rota/model/topics/light/avro"
    words = [ROOT / "examples/light/kafka_consumer.py", two.kafka.bootstrap, topic, folder, "--count", "4"]
    ended = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, timeout=LONG_DEADLINE_S)

    assert ended.returncode == 0, ended.stderr
    lines = [line.split(maxsplit=3) for line in ended.stdout.splitlines()]
    first = int(lines[0][2])
    assert first % 500 == 123
    assert lines == [
        [f"networknt.com/report/{instant}", "report", str(instant), "{'city': 'Paris'}"]
        for instant in range(first, first + 2_000, 500)
    ]


def test_the_key_with_which_instances_ask_each_other_is_good_for_nothing_else(two: Two) -> None:
    """It goes to whoever the group says has a partition, and that may be anybody who can join the group."""
    peer_key = hmac.new(KEY.encode(), b"rota light scheduler", "sha256").hexdigest()
    peers = [Up(up.process, key=peer_key) for up in two.ups]

    wait_until(
        lambda: {peer.ask("/api/schedulers/partitions/0")[0] for peer in peers} == {200, 503},
        "the answer of the one that has it",
    )
    for path in ("/api", "/api/jobs", "/schedulers?host=a&name=b&unit=DAYS", "/api/schedules"):
        assert peers[0].ask(path)[0] == 401


def test_update_and_delete_of_nothing_are_not_found_and_leave_nothing_on_the_topic(two: Two) -> None:
    for action in ("UPDATE", "DELETE"):
        body = {"host": "networknt.com", "name": "nobody", "topic": two.kafka.due, "action": action}
        status, text = patient_answer(two.ups[0], "/schedulers", body)
        assert (status, msgspec.json.decode(text)["code"]) == (404, "ERR11637")

    with Reader(two.kafka.bootstrap, two.kafka.options.input_topic) as reader:
        keys = {message.key() for message in reader.read_all()}
    assert encode_key(TaskKey("networknt.com", "nobody")) not in keys


def test_what_is_refused_is_named_and_leaves_nothing_on_the_topic(two: Two) -> None:
    good = {"host": "networknt.com", "name": "refused", "topic": two.kafka.due}
    every = {"timeUnit": "SECONDS", "time": 1}
    bad: list[tuple[str, dict[str, object]]] = [
        ("host", {"host": None}),
        ("name", {"name": ""}),
        ("topic", {"topic": None}),
        ("topic", {"topic": two.kafka.options.input_topic}),
        ("frequency.timeUnit", {"frequency": {**every, "timeUnit": "WEEKS"}}),
        ("frequency.time", {"frequency": {**every, "time": 0}}),
        ("action", {"action": "UPSERT"}),
        ("data.n", {"data": {"n": 5}}),
    ]

    for field, change in bad:
        status, text = two.ups[0].ask("/schedulers", msgspec.json.encode({**good, "frequency": every, **change}))
        told = msgspec.json.decode(text)
        assert (status, told["statusCode"], told["code"]) == (400, 400, "ERR11000")
        assert told["description"].startswith(f"{field}:")

    with Reader(two.kafka.bootstrap, two.kafka.options.input_topic) as reader:
        assert not any(b"refused" in (message.key() or b"") for message in reader.read_all())


def test_while_the_owner_of_a_key_is_dead_the_answer_is_try_again_and_then_its_heir_answers(
    kafka: Kafka, tmp_path: Path
) -> None:
    with ExitStack() as opened:
        check_take_over(kafka, started(kafka, tmp_path, opened).ups)


def check_take_over(kafka: Kafka, two: list[Up]) -> None:
    names = [f"n-{number}" for number in range(12)]
    for name in names:
        body = {"host": "networknt.com", "name": name, "topic": kafka.due, "frequency": {"timeUnit": "DAYS", "time": 1}}
        assert patient_answer(two[0], "/schedulers", body)[0] == 200

    two[1].process.process.kill()
    seen = []
    for name in names:

        def is_found(name: str = name) -> bool:
            status, text = two[0].ask(f"/schedulers?host=networknt.com&name={name}&unit=DAYS")
            seen.append((status, names_of(text) if status == 200 else msgspec.json.decode(text)["statusCode"]))
            return status == 200

        wait_until(is_found, f"an answer about {name}")

    assert [found for status, found in seen if status == 200] == [[name] for name in names]
    assert {status for status, _ in seen} == {200, 503}


def test_a_job_publishes_to_the_brokers(kafka: Kafka, tmp_path: Path) -> None:
    (tmp_path / "rota.yaml").write_text(
        f"job_types: [{{name: tell, executor: topic, metadata: {{topic: {kafka.due}, key: city}}, "
        "retries: {attempts: 10}}]"
    )
    with start(kafka, tmp_path) as process:
        up = Up(process, key=KEY)
        status, text = up.ask("/api/jobs", b'{"job_type_uuid": "tell", "arguments": {"city": "Paris"}}')
        assert status == 200, text

        with Reader(kafka.bootstrap, kafka.due) as reader:
            (message, *_) = reader.read(1)

    assert (message.key(), message.value()) == (b'"Paris"', b'{"city":"Paris"}')
