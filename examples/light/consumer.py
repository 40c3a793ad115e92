"""Reads a topic of Rota and does the work, wherever that is. Nothing but Python is needed.

    python consumer.py reports                  # asks http://127.0.0.1:23071 with the key dev_key
    ROTA_URL=https://rota.example.org ROTA_API_KEY=... python consumer.py reports

How far it has come is in the file `reports.offset`. It is written when a task is done, so a task that a crash cut short
comes again; its message id is the same then. `--once` ends at the end of the topic instead of waiting for more.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

URL = os.environ.get("ROTA_URL", "http://127.0.0.1:23071")
KEY = os.environ.get("ROTA_API_KEY", "dev_key")
PAUSE_S = 0.5


def execute(task: dict[str, Any], message_id: str) -> None:
    """Your work. `start` is the instant for which the task was due."""
    late_ms = round(time.time() * 1000) - task["start"]
    shown = f"{task['host']} {task['name']} {task['data'] or {}}"
    print(shown, f"message {message_id}, {late_ms} ms after its time" if "-v" in sys.argv else "", flush=True)


def read(topic: str, offset: int) -> dict[str, Any]:
    """A page of the topic; an empty one while there is no such topic yet."""
    request = urllib.request.Request(
        f"{URL}/api/topics/{topic}?offset={offset}", headers={"Authorization": f"Bearer {KEY}"}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            page: dict[str, Any] = json.load(answer)
            return page
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return {"records": [], "following": offset}


def consume(topic: str, *, once: bool) -> None:
    place = Path(f"{topic}.offset")
    offset = int(place.read_text()) if place.exists() else 0
    while True:
        page = read(topic, offset)
        for record in page["records"]:
            execute(record["value"], record["headers"]["message-id"])
            place.write_text(str(record["offset"] + 1))
        offset = page["following"]
        if not page["records"]:
            if once:
                return
            time.sleep(PAUSE_S)


if __name__ == "__main__":
    consume(sys.argv[1], once="--once" in sys.argv)
