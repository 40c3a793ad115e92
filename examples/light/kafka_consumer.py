"""Reads due tasks of the light scheduler from Kafka and does the work. It needs confluent-kafka and fastavro, and
nothing of Rota but its schemas: the folder `rota/model/topics/light/avro` of the package, or of the repository, below
`src`.

    python kafka_consumer.py kafka1:9092 reports path/to/avro

Offsets are committed when a task is done, so a task that a crash cut short comes again; its message id is the same
then. `--count 5` ends after so many tasks.
"""

import argparse
import io
import json
from pathlib import Path
from typing import Any

import fastavro
from confluent_kafka import Consumer

SCHEMAS = ("FrequencyTimeUnit", "TaskDefinitionAction", "TaskFrequency", "TaskDefinition")
"""A schema may name types of those before it."""


def execute(task: dict[str, Any], message_id: str) -> None:
    """Your work. `start` is the instant for which the task was due."""
    print(message_id, task["name"], task["start"], task["data"] or {}, flush=True)


def load_schema(folder: Path) -> Any:
    named: dict[str, Any] = {}
    parsed = [fastavro.parse_schema(json.loads((folder / f"{one}.avsc").read_text()), named) for one in SCHEMAS]
    return parsed[-1]


def consume(brokers: str, topic: str, schema: Any, count: int) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": f"{topic}-workers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            # The default of librdkafka; of other clients it must be asked for.
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    while count:
        message = consumer.poll(1.0)
        if message is None or message.error() is not None:
            continue
        headers = dict(message.headers())
        execute(fastavro.schemaless_reader(io.BytesIO(message.value()), schema, None), headers["message-id"].decode())
        consumer.commit(message, asynchronous=False)
        count -= 1
    consumer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("brokers")
    parser.add_argument("topic")
    parser.add_argument("schemas", type=Path)
    parser.add_argument("--count", type=int, default=-1)
    given = parser.parse_args()
    consume(given.brokers, given.topic, load_schema(given.schemas), given.count)
