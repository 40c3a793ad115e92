"""Hands in one job per line that it reads, and says so: `python -m tests.system.sqlite.enqueuer_main URL QUEUE`."""

import sys

from rota.store import open_store
from tests.contract.building import enqueue, spec


def main(url: str, queue: str) -> None:
    store = open_store(url)
    print("ready", flush=True)
    for _ in sys.stdin:
        (job_id,) = enqueue(store, spec(queue))
        print(job_id, flush=True)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
