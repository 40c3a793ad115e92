"""Watching a job from outside: one that is yet to be made."""

import pytest

from rota.clock import SystemClock
from rota.engine.jobs.watch import WaitedTooLong, Watch
from rota.errors import NotFound
from rota.store import Store
from tests.contract.building import enqueue, new_queue, spec


def test_a_job_that_is_made_while_it_is_asked_whether_it_may_come_is_found(store: Store) -> None:
    job = spec(new_queue())

    def may_come() -> bool:
        enqueue(store, job)
        return False

    Watch(store, job.id, SystemClock()).until_made(may_come=may_come)


def test_a_job_that_cannot_come_any_more_is_not_waited_for(store: Store) -> None:
    with pytest.raises(NotFound):
        Watch(store, spec(new_queue()).id, SystemClock()).until_made(may_come=lambda: False)


def test_a_job_that_may_come_is_waited_for_until_the_time_is_over(store: Store) -> None:
    with pytest.raises(WaitedTooLong):
        Watch(store, spec(new_queue()).id, SystemClock(), timeout_s=0.0).until_made()
