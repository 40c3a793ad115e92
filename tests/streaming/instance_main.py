"""An instance of the light scheduler as a process that tests kill and stop. Says `serves` when it has partitions, and
on its standard error what it does."""

import logging
import sys
from threading import Event

from msgspec import structs

from rota.clock import SystemClock
from rota.streaming.scheduler import KafkaScheduler
from tests.streaming.kafka import Kafka


def main(bootstrap: str, input_topic: str) -> None:
    log = logging.StreamHandler()
    log.setFormatter(logging.Formatter("%(asctime)s %(message)s %(error)s", defaults={"error": ""}))
    logging.basicConfig(level=logging.INFO, handlers=[log])
    options = structs.replace(Kafka(bootstrap).options, input_topic=input_topic)
    instance = KafkaScheduler(options, SystemClock())
    instance.start()
    with instance.stream.moved:
        instance.stream.moved.wait_for(lambda: bool(instance.stream.partitions))
    print("serves", flush=True)
    Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
