"""A listing while others change what it lists. On Redis only: SQLite reads a page in one step."""

import pytest

from rota.model.job import JobSpec
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from rota.store.redis.keys import QueueKeys
from rota.store.redis.store import RedisStore

QUEUE = "1bd2bf95-868a-4212-8a0a-82c7f442848e"


@pytest.mark.stores("redis")
def test_jobs_that_vanish_within_a_page_hide_none_behind_it(store: Store) -> None:
    assert isinstance(store, RedisStore)
    ids = [f"00000000-0000-7000-8000-{number:012}" for number in range(30)]
    store.enqueue_jobs([JobSpec(id=one, job_type="t", queue=QUEUE, enqueued_at=1) for one in ids], now=1)
    # What a reader sees that read the index before somebody deleted the jobs.
    store.access().ask("hdel", QueueKeys(QUEUE).jobs, *ids[3:8])

    found: list[str] = []
    cursor: str | None = None
    while True:
        page = store.list_jobs(JobQuery(queue=QUEUE), limit=10, cursor=cursor)
        found += [job.id for job in page.jobs]
        cursor = page.cursor
        if cursor is None:
            break

    assert found == ids[:3] + ids[8:]
