"""`rota topic`."""

from pathlib import Path

import msgspec
import pytest

from rota.model.topics.topic import TopicRecord
from rota.store import open_store
from tests.cli.calling import RotaProcess, done, rota
from tests.servers import wait_until

pytestmark = pytest.mark.usefixtures("place")

NOW = 1_760_000_000_000


def publish(folder: Path, topic: str, *numbers: int) -> None:
    store = open_store(f"sqlite:///{folder / 'rota.db'}")
    store.append_topic(topic, [TopicRecord(id=str(n), value={"n": n}, time=NOW + n) for n in numbers])
    store.close()


@pytest.fixture
def filled(folder: Path) -> Path:
    publish(folder, "reports", *range(12))
    publish(folder, "odd", 1)
    return folder


def offsets(text: str) -> list[int]:
    return [int(line.split()[0]) for line in text.splitlines()]


def test_topics_are_listed(filled: Path) -> None:
    assert [line.split() for line in done("topic", "list").stdout.splitlines()[1:]] == [
        ["odd", "1", "0", "1"],
        ["reports", "12", "0", "12"],
    ]
    assert done("topic", "list", "--json").json[1] == {"name": "reports", "first_offset": 0, "next_offset": 12}


def test_the_last_records_are_shown(filled: Path) -> None:
    assert offsets(done("topic", "tail", "reports").stdout) == list(range(2, 12))
    assert offsets(done("topic", "tail", "reports", "-n", "3").stdout) == [9, 10, 11]
    assert offsets(done("topic", "tail", "reports", "--from", "10").stdout) == [10, 11]
    assert done("topic", "tail", "reports", "-n", "1").stdout.endswith('{"n":11}\n')


def test_with_json_there_is_one_document_per_line(filled: Path) -> None:
    lines = done("topic", "tail", "reports", "--from", "0", "--json").stdout.splitlines()

    assert len(lines) == 12
    expected = {"offset": 0, "timestamp": NOW, "key": None, "value": {"n": 0}, "headers": {}}
    assert msgspec.json.decode(lines[0]) == expected


def test_a_topic_that_is_not_there_is_named(filled: Path) -> None:
    answer = rota("topic", "tail", "nothing")

    assert answer.exit_code == 3
    assert "no topic 'nothing'" in answer.stderr


def test_a_topic_is_followed_also_before_it_is_there(filled: Path) -> None:
    with RotaProcess(["topic", "tail", "new", "-f", "--json"], filled) as process:
        publish(filled, "new", 1, 2)
        wait_until(lambda: len(process.stdout) == 2, "two records")
        publish(filled, "new", 3)
        wait_until(lambda: len(process.stdout) == 3, "a third record")

        values = [msgspec.json.decode(line)["value"]["n"] for line in process.stdout]
        process.process.terminate()

    assert values == [1, 2, 3]
