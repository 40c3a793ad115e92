"""Watches HTTP services, each described by an entity such as services.json has: how often to look, how long an answer
may take, and after how many bad ones in a row to raise an alert.

    python watch_services.py services.json [STORE_URL]
"""

import json
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

from rota import Scheduler, Task, Worker

failures: Counter[str] = Counter()
slow: Counter[str] = Counter()


def watch(service: dict) -> dict:
    """The task of a service: its id is the service's, and so is its period."""
    return {"id": service["id"], "data": service, "expire": service["interval"], "reschedule": True}


def probe(task: Task) -> None:
    """Look once. What is wrong with the service is an alert, not an error of this program."""
    service = task.data
    name, began = service["endpoint"], time.monotonic()
    try:
        urllib.request.urlopen(name, timeout=service["timeoutAfter"] / 1000).close()
    except OSError as error:
        failures[name] += 1
        if failures[name] == service["errorAlterThreshold"]:
            alert(f"{name} does not answer: {error}")
        return
    if failures.pop(name, 0) >= service["errorAlterThreshold"]:
        alert(f"{name} answers again")
    took_ms = (time.monotonic() - began) * 1000
    slow[name] = slow[name] + 1 if took_ms > service["latencyLimit"] else 0
    if slow[name] == service["responseAlertThreshold"]:
        alert(f"{name} is slow: more than {service['latencyLimit']} ms")


def alert(text: str) -> None:
    print(text, file=sys.__stdout__, flush=True)


def main(services: str, url: str = "sqlite:///rota.db") -> None:
    scheduler = Scheduler(url)
    for service in json.loads(Path(services).read_text()):
        if service["active"]:
            scheduler.add_task(watch(service))
        else:
            scheduler.delete_task(service["id"])
    Worker(url, probe, concurrency=16).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
