"""The light scheduler on Kafka: how long a restore takes and what it costs, and how late due tasks are.

    python -m benchmarks.kafka --definitions 1000000 --due 10000 --seconds 30

A broker of its own is started (scripts/ensure-kafka finds its jars). The definitions are written to the changelogs,
as an instance would have done; then an instance is started as a process and restores them. A consumer in another
process reads what is committed, and takes the time when it has a task: that less the nominal instant is its lateness.
"""

import argparse
import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain, cycle, islice, repeat
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from benchmarks.machine import tree_cpu_s
from rota.clock import SystemClock
from rota.model.topics.light.definition import TaskDefinition, TaskFrequency
from rota.model.triggers.interval import TimeUnit
from rota.streaming.brokers.topics import Topics
from rota.streaming.options import StreamOptions
from rota.streaming.records.codec import encode_definition, encode_key
from rota.streaming.records.entry import read_entry
from rota.streaming.records.keys import partition_of
from rota.streaming.scheduler import KafkaScheduler
from tests.broker import KafkaBroker

DUE_TOPIC = "due-tasks"
_DAY_MS = 24 * 3600 * 1000
_WARM_UP_S = 10


def main() -> None:
    arguments = _parser().parse_args()
    home = arguments.kafka or subprocess.check_output(["scripts/ensure-kafka"], text=True).strip()
    with KafkaBroker(Path(home)) as broker:
        options = StreamOptions(brokers=(broker.bootstrap,), replication=1, session_timeout_s=30.0)
        begin = time.time() + arguments.lead
        _announce(arguments.lead, arguments.seconds)
        fill(options, arguments.definitions, arguments.due, round(begin * 1000))
        print(json.dumps(measure(options, broker.pid, begin + _WARM_UP_S, arguments.seconds), indent=2))


def _announce(lead: int, seconds: int) -> None:
    steps = f"{lead} s for the filling and the restore (--lead), {_WARM_UP_S} s to warm up, {seconds} s of measuring"
    print(f"{steps}: the figures come in {lead + _WARM_UP_S + seconds} s", file=sys.stderr)


def fill(options: StreamOptions, count: int, due_per_s: int, begin: int) -> None:
    """Write the definitions to the changelogs."""
    admin = AdminClient(options.client())
    partitions = Topics(options, admin).prepare()
    Topics(options, admin).ensure([DUE_TOPIC])
    producer = Producer(options.client({"queue.buffering.max.messages": 1_000_000, "compression.type": "lz4"}))
    for definition in definitions(count, due_per_s, begin):
        key = encode_key(definition.key)
        topic = options.changelog(definition.unit)
        while True:
            try:
                producer.produce(topic, encode_definition(definition), key, partition_of(key, partitions))
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush()


def definitions(count: int, due_per_s: int, begin: int) -> Iterator[TaskDefinition]:
    """A third of what is due comes from each of three units; days and hours lie ahead. All starts are spread evenly."""
    share = due_per_s // 3
    every = chain(
        repeat(TaskFrequency(TimeUnit.MILLISECONDS, 4_000), 4 * share),
        repeat(TaskFrequency(TimeUnit.SECONDS, 4), 4 * share),
        repeat(TaskFrequency(TimeUnit.MINUTES, 1), 60 * (due_per_s - 2 * share)),
        cycle([TaskFrequency(TimeUnit.HOURS, 24), TaskFrequency(TimeUnit.DAYS, 1)]),
    )
    chance = random.Random(7)
    for number, frequency in enumerate(islice(every, count)):
        ahead = _DAY_MS // 2 if frequency.period_ms == _DAY_MS else 0
        yield TaskDefinition(
            host="networknt.com",
            name=f"task-{number}",
            topic=DUE_TOPIC,
            frequency=frequency,
            start=begin + ahead + chance.randrange(frequency.period_ms // 2 if ahead else frequency.period_ms),
            data={"n": str(number)},
        )


def measure(options: StreamOptions, broker: int, begin: float, seconds: int) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    told: multiprocessing.Queue[Any] = context.Queue()
    instance = context.Process(target=_instance, args=(options, begin, told), daemon=True)
    consumer = context.Process(target=_consumer, args=(options, begin, seconds, told), daemon=True)
    before = os.getloadavg()[0]
    instance.start()
    restored = told.get()
    consumer.start()
    time.sleep(max(0.0, begin - time.time()))
    broker_cpu_s = tree_cpu_s(broker)
    lateness = told.get()
    lateness["broker's cores while firing"] = round((tree_cpu_s(broker) - broker_cpu_s) / (time.time() - begin), 2)
    instance.terminate()
    cpu = told.get()
    instance.join()  # before its broker goes, or it would wait for it
    return {"load before": before, "load after": os.getloadavg()[0], **restored, **lateness, **cpu}


def _instance(options: StreamOptions, begin: float, told: Any) -> None:
    import signal
    from threading import Event

    begun, ended = time.monotonic(), Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    instance = KafkaScheduler(options, SystemClock())
    instance.start()
    stream = instance.stream
    with stream.moved:
        stream.moved.wait_for(lambda: len(stream.partitions) == stream.partition_count > 0)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    told.put(
        {
            "definitions": sum(len(one.definitions) for one in stream.partitions.values()),
            "restore s": round(time.monotonic() - begun, 1),
            "restore CPU s": round(usage.ru_utime + usage.ru_stime, 1),
            "peak MiB": usage.ru_maxrss // 1024,
        }
    )
    ended.wait(max(0.0, begin - time.time()))
    before = resource.getrusage(resource.RUSAGE_SELF)
    ended.wait()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = usage.ru_utime + usage.ru_stime - before.ru_utime - before.ru_stime
    told.put({"cores while firing": round(cpu_s / (time.time() - begin), 2), "MiB": usage.ru_maxrss // 1024})
    instance.close()


def _consumer(options: StreamOptions, begin: float, seconds: int, told: Any) -> None:
    consumer = Consumer(
        options.client({"group.id": "measuring", "fetch.wait.max.ms": 10, "auto.offset.reset": "latest"})
    )
    consumer.subscribe([DUE_TOPIC])
    late: list[int] = []
    if time.time() > begin:
        raise SystemExit("the restore took longer than the lead; give more with --lead")
    while time.time() < begin + seconds:
        message = consumer.poll(1.0)
        messages = [message, *consumer.consume(10_000, 0)] if message is not None else []
        now = time.time_ns() // 1_000_000
        if time.time() >= begin:
            late += [now - read_entry(one.value() or b"").start for one in messages if one.error() is None]
    late.sort()
    consumer.close()
    told.put(
        {
            "due per second": round(len(late) / seconds),
            "late ms, median": late[len(late) // 2],
            "late ms, p99": late[len(late) * 99 // 100],
            "late ms, most": late[-1],
        }
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kafka", description=__doc__)
    parser.add_argument("--definitions", type=int, default=1_000_000)
    parser.add_argument("--due", type=int, default=10_000, help="due tasks per second")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument(
        "--lead", type=int, default=240, help="seconds for the filling and the restore, until tasks are due"
    )
    parser.add_argument("--kafka", help="the folder of a Kafka; default: that of scripts/ensure-kafka")
    return parser


if __name__ == "__main__":
    sys.exit(main())
