"""A score that has a part behind the point, as a program of an earlier version could write it, stops nobody."""

import pytest

from rota.model.job import JobState
from rota.store import Store
from rota.store.redis.keys import QueueKeys
from rota.store.redis.store import RedisStore
from tests.contract.building import NOW, claim_one, enqueue, find, new_node, new_queue, spec, token_of


@pytest.mark.stores("redis")
def test_a_delayed_job_whose_time_is_no_whole_number_is_read_and_given(store: Store) -> None:
    assert isinstance(store, RedisStore)
    queue = new_queue()
    job = spec(queue, run_at=NOW + 1_000)
    enqueue(store, job)
    store.access().ask("zadd", QueueKeys(queue).delayed, {job.id: NOW + 1_000.5})

    answer = store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=NOW)

    assert (answer.claims, answer.next_due) == ([], NOW + 1_001)
    assert (find(store, job.id).state, find(store, job.id).available_at) == (JobState.DELAYED, NOW + 1_001)
    assert claim_one(store, queue, now=NOW + 1_001).spec.id == job.id
