"""The light scheduler on Kafka: for how long nothing is sent when an instance is killed.

    python -m benchmarks.kafka_take_over --rounds 3

A broker of its own is started, and three instances as processes; 40 definitions fire every 100 ms. One instance is
killed with -9. The gap is the longest time between two tasks of one definition, by the times at which they were sent.
"""

import argparse
import json
import os
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path

from tests.broker import KafkaBroker
from tests.streaming.kafka import Kafka, Reader, task_of
from tests.streaming.test_take_over import Process, assert_each_instant_once, define_load, wait_for_all_names

_BEFORE_S = 3.0
"""Tasks are sent for so long before the kill, so that the heart of the killed one is at any place of its beat."""


def main() -> None:
    arguments = _parser().parse_args()
    home = arguments.kafka or subprocess.check_output(["scripts/ensure-kafka"], text=True).strip()
    with KafkaBroker(Path(home)) as broker:
        found = [measure(broker.bootstrap) for _ in range(arguments.rounds)]
    print(json.dumps({"load": os.getloadavg()[0], "session_timeout_s": 6.0, "gaps s": found}, indent=2))


def measure(bootstrap: str) -> float:
    with Kafka(bootstrap) as kafka, Process(kafka) as killed, Process(kafka) as second, Process(kafka) as third:
        for one in (killed, second, third):
            one.wait_for_partitions()
        define_load(kafka)
        wait_for_all_names(kafka)
        time.sleep(_BEFORE_S)
        killed.send(signal.SIGKILL)
        wait_for_all_names(kafka)
        assert_each_instant_once(kafka)
        return _longest_gap(kafka)


def _longest_gap(kafka: Kafka) -> float:
    sent: dict[str, list[int]] = {}
    with Reader(kafka.bootstrap, kafka.due) as reader:
        for message in reader.read_all():
            sent.setdefault(task_of(message).definition.name, []).append(message.timestamp()[1])
    return max(later - earlier for times in sent.values() for earlier, later in pairwise(sorted(times))) / 1000


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kafka_take_over", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kafka", help="the folder of a Kafka; default: that of scripts/ensure-kafka")
    return parser


if __name__ == "__main__":
    main()
