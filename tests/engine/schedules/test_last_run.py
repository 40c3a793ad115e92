"""When the last run of a schedule ended that counts from there."""

import pytest

from rota.engine.schedules.last_run import last_ended
from rota.model.job import JobState
from rota.model.schedules.schedule import Overlap, Schedule, ScheduleState
from rota.model.triggers.interval import Anchor
from rota.model.triggers.trigger import IntervalTrigger
from rota.store import Store
from rota.store.contract.schedules import ScheduleEntry
from tests.contract.building import NOW, ended_job, new_queue

pytestmark = pytest.mark.stores("sqlite-memory", "redis")


def entry(queue: str, *jobs: str, live: tuple[str, ...] = (), anchor: Anchor = Anchor.ENDED) -> ScheduleEntry:
    """A schedule whose last jobs were these."""
    times = IntervalTrigger(every_ms=1_000, anchor=anchor)
    schedule = Schedule(uuid="s", name="s", trigger=times, queue=queue, job_type="t", overlap=Overlap.ALLOW)
    return ScheduleEntry(schedule, ScheduleState(last_scheduled_at=NOW, jobs=jobs), live_jobs=live)


def test_of_several_jobs_the_last_one_that_was_made_counts(store: Store) -> None:
    queue = new_queue()
    first = ended_job(store, queue, JobState.SUCCEEDED, now=NOW + 1)
    last = ended_job(store, queue, JobState.SUCCEEDED, now=NOW + 2)

    assert last_ended(store, entry(queue, first, last)) == NOW + 2


def test_while_any_of_its_jobs_is_alive_no_end_is_known(store: Store) -> None:
    queue = new_queue()
    ended = ended_job(store, queue, JobState.SUCCEEDED, now=NOW + 1)

    assert last_ended(store, entry(queue, "another", ended, live=("another",))) is None


def test_a_job_that_was_left_behind_in_another_queue_is_found_there(store: Store) -> None:
    ended = ended_job(store, new_queue(), JobState.SUCCEEDED, now=NOW + 1)

    assert last_ended(store, entry(new_queue(), ended)) == NOW + 1


def test_where_nothing_counts_from_it_no_end_is_asked_for(store: Store) -> None:
    queue = new_queue()
    ended = ended_job(store, queue, JobState.SUCCEEDED, now=NOW + 1)

    assert last_ended(store, entry(queue, ended, anchor=Anchor.SCHEDULED)) is None
