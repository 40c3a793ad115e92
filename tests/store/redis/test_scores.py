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


@pytest.mark.stores("redis")
def test_a_job_that_waited_in_a_buffer_goes_back_to_its_exact_place(store: Store) -> None:
    assert isinstance(store, RedisStore)
    queue, node = new_queue(), new_node()
    (job,) = enqueue(store, spec(queue))
    ready = QueueKeys(queue).ready
    rank = store.access().ask("zscore", ready, job) + 0.5
    store.access().ask("zadd", ready, {job: rank})
    claims = store.claim_jobs(queue, token=token_of(node), limit=1, now=NOW, begin=0).claims
    store.begin_jobs(queue, claims, now=NOW)

    assert store.recover_claims(queue, node, {}, floor=0, now=NOW) == 1

    assert store.access().ask("zscore", ready, job) == rank
