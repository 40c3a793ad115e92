"""Copies: a queue as of one moment, read from any store and restored in any other.

The other side is a SQLite store in memory, so that every kind of store is read once and written once.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest
from msgspec import structs

from rota.model.job import Job, JobState
from rota.model.rate import Rate, rate_key
from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.model.topics.topic import TopicRecord
from rota.store import Store, open_store
from rota.store.contract.copies import QueueCopy
from rota.store.contract.jobs import JobQuery
from rota.store.contract.queues import STATS_STEP_MS, Stats
from rota.store.contract.topics import TopicEntry
from tests.contract.building import (
    LATER,
    NOW,
    claim,
    claim_one,
    counts,
    ended_job,
    enqueue,
    fail_and_retry,
    find,
    finish,
    given,
    listed,
    log_batch,
    messages_of,
    new_queue,
    spec,
    succeed,
)
from tests.contract.events import configuring
from tests.contract.schedules import scheduling
from tests.servers import RedisServer, raw_command

KINDS = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


@pytest.fixture
def other() -> Iterator[Store]:
    with closing(open_store("sqlite://:memory:")) as store:
        yield store


def restore(source: Store, target: Store, queue: str, *minutes: Stats) -> QueueCopy:
    copy = source.copy_queue(queue)
    target.restore_jobs(queue, [*copy.jobs, *(job for job in source.find_jobs(copy.ended) if job)])
    target.restore_queue(copy, minutes)
    return copy


def without_rounding(job: Job) -> Job:
    """When an ended job became ready is kept by some stores in steps of a rank."""
    return structs.replace(job, available_at=0) if job.state.is_final else job


@pytest.mark.parametrize("writes", [False, True], ids=["read", "written"])
def test_every_waiting_and_ended_job_is_the_same_elsewhere(store: Store, other: Store, writes: bool) -> None:
    source, target = (other, store) if writes else (store, other)
    queue = new_queue()
    ended = [ended_job(source, queue, state) for state in KINDS]
    retried = enqueue(source, spec(queue, lock_key="door", unique_key="one", series=("sales",)))
    finish(source, fail_and_retry(claim_one(source, queue)))
    blocked = enqueue(source, spec(queue, lock_key="wall"), spec(queue, lock_key="wall", priority=3))
    delayed = enqueue(source, spec(queue, run_at=NOW + 777), spec(queue, run_at=NOW + 555, priority=9))
    queued = enqueue(source, spec(queue), spec(queue, priority=5, arguments={"n": 1}), spec(queue, priority=-5))
    ids = [*ended, *retried, *blocked, *delayed, *queued]

    restore(source, target, queue)

    for job_id in ids:
        assert without_rounding(find(target, job_id)) == without_rounding(find(source, job_id))
    live = JobQuery(queue=queue, states=frozenset({JobState.QUEUED, JobState.DELAYED}))
    assert listed(target, live) == listed(source, live)
    assert counts(target, queue) == counts(source, queue)
    assert target.read_totals(queue) == source.read_totals(queue)
    assert [job.id for job in target.list_series(queue, "sales", limit=9)] == retried
    assert target.enqueue_jobs([spec(queue, unique_key="one")], now=NOW)[0].job_id == retried[0]
    assert given(target, queue, now=LATER) == given(source, queue, now=LATER)


@pytest.mark.parametrize("writes", [False, True], ids=["read", "written"])
def test_jobs_that_wait_for_their_rate_wait_elsewhere_too(store: Store, other: Store, writes: bool) -> None:
    source, target = (other, store) if writes else (store, other)
    queue, key = new_queue(), rate_key(Rate(1, LATER - NOW), "k", {})
    _, *waiting = enqueue(source, *(spec(queue, rate_key=key) for _ in range(3)))
    finish(source, succeed(claim_one(source, queue)))
    assert given(source, queue) == []

    restore(source, target, queue)

    assert counts(target, queue) == counts(source, queue) == {JobState.SUCCEEDED: 1, JobState.QUEUED: 2}
    assert [given(target, queue), given(target, queue), given(target, queue, now=LATER)] == [
        waiting[:1],
        [],
        waiting[1:],
    ]


def test_what_a_node_has_is_told_as_it_is_and_cannot_be_restored(store: Store, other: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue, lock_key="door"))
    (waiting,) = enqueue(store, spec(queue, lock_key="door"))
    claim(store, queue)

    copy = store.copy_queue(queue)

    assert {job.id: job.state for job in copy.jobs} == {job_id: JobState.RUNNING, waiting: JobState.QUEUED}
    with pytest.raises(ValueError, match="in the hands of a node"):
        other.restore_jobs(queue, copy.jobs)
    with pytest.raises(ValueError, match="in the hands of a node"):
        store.restore_jobs(queue, copy.jobs)


def test_a_job_that_is_known_stays_as_it_is(store: Store) -> None:
    queue = new_queue()
    job_id = ended_job(store, queue, JobState.SUCCEEDED)
    job = find(store, job_id)

    store.restore_jobs(queue, [structs.replace(job, results="another")])

    assert find(store, job_id) == job
    assert counts(store, queue) == {JobState.SUCCEEDED: 1}


def test_lines_are_restored_once_at_their_places(store: Store) -> None:
    queue = new_queue()
    job_id = ended_job(store, queue, JobState.SUCCEEDED)
    lines = [LogEntry(time=NOW, message=str(n)) for n in range(5)]

    store.restore_logs(queue, job_id, lines[:3], after=0)
    store.restore_logs(queue, job_id, lines[1:3], after=1)
    store.restore_logs(queue, job_id, lines[2:], after=2)

    assert messages_of(store, job_id) == list("01234")


def test_how_far_a_job_had_come_is_restored(store: Store) -> None:
    queue = new_queue()
    job_id = ended_job(store, queue, JobState.SUCCEEDED)
    progress = Progress(done=3, total=9, time=NOW)

    store.restore_logs(queue, job_id, [], after=0, progress=progress)

    assert store.read_progress(queue, [job_id]) == {job_id: progress}
    assert messages_of(store, job_id) == []


@pytest.mark.parametrize("writes", [False, True], ids=["read", "written"])
def test_records_of_a_topic_keep_their_offsets(store: Store, other: Store, writes: bool) -> None:
    source, target = (other, store) if writes else (store, other)
    records = [TopicRecord(id=str(n), time=NOW + n, key=None, value=f"v{n}") for n in range(5)]
    source.append_topic("sales", records)
    source.trim_topics(["sales"], older_than=NOW + 2, keep=9, limit=9)
    page = source.read_topic("sales", offset=0, limit=9)
    assert page is not None

    target.restore_topic(page.topic, page.rows)
    target.restore_topic(page.topic, page.rows)

    assert page.topic == TopicEntry("sales", 2, 5)
    assert target.read_topic("sales", offset=0, limit=9) == page
    assert target.append_topic("sales", [TopicRecord(id="new", time=NOW, key=None, value="v")]) == [5]


@pytest.mark.parametrize("writes", [False, True], ids=["read", "written"])
def test_a_queue_keeps_its_counts_its_pause_its_fence_and_its_outbox(store: Store, other: Store, writes: bool) -> None:
    source, target = (other, store) if writes else (store, other)
    queue = configuring.make_queue(source)
    configuring.await_ends(source)
    enqueue(source, spec(queue, job_type=configuring.JOB_TYPE, lock_key="door"))
    claimed = claim_one(source, queue)
    finish(source, succeed(claimed))
    source.pause_queue(queue)

    this_minute = target.now() // STATS_STEP_MS * STATS_STEP_MS
    minutes = [Stats(minute=this_minute - STATS_STEP_MS, enqueued=7), Stats(minute=this_minute, enqueued=3, failed=2)]

    copy = restore(source, target, queue, *minutes)
    restore(source, target, queue, *minutes)

    assert copy.fence == claimed.fence > 0
    assert target.copy_queue(queue).fence == copy.fence
    assert copy.is_paused
    assert target.read_outbox(queue, limit=10) == source.read_outbox(queue, limit=10) != []
    assert target.read_stats(queue, since=0, until=this_minute + 1) == minutes
    assert target.read_totals(queue) == Stats(enqueued=1, succeeded=1)
    assert target.trim_history(queue, ended_before=LATER, keep=0, limit=10) == 1
    assert counts(target, queue) == {}


def test_the_outbox_in_a_copy_is_in_the_order_of_the_ends(store: Store) -> None:
    queue = configuring.make_queue(store)
    configuring.await_ends(store)
    enqueue(store, *(spec(queue, job_type=configuring.JOB_TYPE) for _ in range(5)))
    claims = claim(store, queue)
    for after, number in enumerate((3, 0, 4, 1, 2)):
        finish(store, succeed(claims[number], NOW + after), now=NOW + after)

    told = store.copy_queue(queue).outbox

    assert [one.time for one in told] == sorted(one.time for one in told)
    assert told == store.read_outbox(queue, limit=10)
    assert len(told) == 5


def test_a_fencing_number_does_not_go_back_when_a_copy_comes(store: Store, other: Store) -> None:
    queue = new_queue()
    fences = []
    for one, now in ((other, NOW), (store, LATER)):
        enqueue(one, spec(queue, lock_key="door"))
        claimed = claim_one(one, queue, now=now)
        finish(one, succeed(claimed))
        fences.append(claimed.fence)

    restore(other, store, queue)

    assert store.copy_queue(queue).fence == max(fences) == fences[1] > fences[0]


@pytest.mark.stores("redis")  # there it is a server that forgets them
def test_minutes_that_were_restored_are_forgotten_like_any(store: Store, redis_server: RedisServer) -> None:
    queue, now = new_queue(), store.now()
    empty = store.copy_queue(queue)

    store.restore_queue(empty, [Stats(minute=now - now % STATS_STEP_MS, enqueued=7)])

    hour = f"rota:{{{queue}}}:stats:{now // 3_600_000}"
    assert int(raw_command(redis_server.port, "TTL", hour)) > 48 * 3_600


def test_schedules_and_configurations_of_the_queue_are_in_its_copy(store: Store) -> None:
    queue = new_queue()
    schedule = scheduling.put(store, scheduling.schedule(queue))
    configuration = configuring.put(store, configuring.configuration(queue))
    scheduling.put(store, scheduling.schedule(new_queue()))

    copy = store.copy_queue(queue)

    assert copy.schedules == [(schedule.schedule, schedule.state)]
    assert [(one.configuration, one.state) for one in copy.configurations] == [
        (configuration.configuration, configuration.state)
    ]


def test_a_log_of_a_job_that_returned_is_told_too(store: Store, other: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    store.append_logs([log_batch(claimed, "first try")])
    finish(store, fail_and_retry(claimed))

    restore(store, other, queue)
    other.restore_logs(queue, job_id, store.read_logs(job_id).entries, after=0)

    assert messages_of(other, job_id) == ["first try"]
