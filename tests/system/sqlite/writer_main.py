"""Hands in jobs as fast as it can until it is killed: `python -m tests.system.sqlite.writer_main URL FILE`.

The id of every job that the store has accepted is written to the file, after the store's answer and not before.
"""

import os
import sys

from rota.clock import SystemClock
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.store import open_store

BATCH = 7


def main(url: str, path: str) -> None:
    store = open_store(url)
    intake = Engine(store, SystemClock()).intake
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        admissions = intake.enqueue([JobRequest(job_type="note") for _ in range(BATCH)])
        os.write(file, "".join(f"{one.job_id}\n" for one in admissions).encode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
