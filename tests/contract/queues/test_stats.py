"""What happens in a queue is counted, by minute and in all, in the step in which it happens."""

import pytest

from rota.model.job import JobState
from rota.store import Store
from rota.store.contract.queues import STATS_KEPT_MS, STATS_STEP_MS, Stats
from tests.contract.building import (
    claim,
    claim_one,
    ended_job,
    enqueue,
    fail_and_retry,
    finish,
    interrupt,
    new_node,
    new_queue,
    spec,
    succeed,
    token_of,
)
from tests.servers import RedisServer, raw_command


def this_minute(store: Store) -> int:
    """Old minutes are forgotten, so counting is tried at the present of the store."""
    now = store.now()
    return now - now % STATS_STEP_MS


def read(store: Store, queue: str, now: int) -> list[Stats]:
    return store.read_stats(queue, since=now - STATS_STEP_MS * 10, until=now + STATS_STEP_MS * 10)


def test_a_queue_where_nothing_happened_has_no_minutes_and_totals_of_nothing(store: Store) -> None:
    queue = new_queue()

    assert read(store, queue, this_minute(store)) == []
    assert store.read_totals(queue) == Stats()


def test_jobs_are_counted_when_they_come_and_when_they_end(store: Store) -> None:
    queue, now = new_queue(), this_minute(store)
    for state, number in ((JobState.SUCCEEDED, 3), (JobState.FAILED, 2), (JobState.CANCELLED, 1)):
        for _ in range(number):
            ended_job(store, queue, state, now=now + 1)
    enqueue(store, *[spec(queue, now=now) for _ in range(4)], now=now)

    assert read(store, queue, now) == [Stats(minute=now, enqueued=10, succeeded=3, failed=2, cancelled=1)]
    assert store.read_totals(queue) == Stats(enqueued=10, succeeded=3, failed=2, cancelled=1)


def test_each_minute_counts_for_itself(store: Store) -> None:
    queue, now = new_queue(), this_minute(store)
    for step in (0, 1, 1, 2):
        ended_job(store, queue, JobState.SUCCEEDED, now=now + step * STATS_STEP_MS + 59_999)

    assert [(one.minute, one.succeeded) for one in read(store, queue, now)] == [
        (now, 1),
        (now + STATS_STEP_MS, 2),
        (now + 2 * STATS_STEP_MS, 1),
    ]
    middle = store.read_stats(queue, since=now + STATS_STEP_MS, until=now + 2 * STATS_STEP_MS)
    assert [one.succeeded for one in middle] == [2]
    assert store.read_totals(queue).succeeded == 4


def test_minutes_across_hours_come_in_order(store: Store) -> None:
    queue, now = new_queue(), this_minute(store)
    hours = [now - hour * 3_600_000 for hour in (5, 2, 1, 0)]
    for moment in hours:
        enqueue(store, spec(queue, now=moment), now=moment)

    found = store.read_stats(queue, since=hours[0], until=now + 1)

    assert [one.minute for one in found] == hours


def test_a_job_that_is_not_accepted_is_not_counted(store: Store) -> None:
    queue, now = new_queue(), this_minute(store)
    first = spec(queue, now=now, unique_key="k")
    enqueue(store, first, spec(queue, now=now, unique_key="k"), now=now)
    enqueue(store, first, now=now)

    assert store.read_totals(queue) == Stats(enqueued=1)


def test_a_settlement_that_is_repeated_or_refused_counts_once(store: Store) -> None:
    queue, now = new_queue(), this_minute(store)
    enqueue(store, spec(queue, now=now), now=now)
    done = succeed(claim_one(store, queue, now=now), now)

    finish(store, done, now=now)
    finish(store, done, now=now)

    assert store.read_totals(queue) == Stats(enqueued=1, succeeded=1)


def test_attempts_that_are_not_the_last_are_not_counted(store: Store) -> None:
    queue, now = new_queue(), this_minute(store)
    enqueue(store, spec(queue, now=now), spec(queue, now=now), now=now)
    first, second = claim(store, queue, now=now)

    finish(store, fail_and_retry(first, now), interrupt(second, now), now=now)

    assert store.read_totals(queue) == Stats(enqueued=2)


def test_a_returning_job_that_was_to_be_cancelled_counts_as_cancelled(store: Store) -> None:
    queue, now = new_queue(), this_minute(store)
    enqueue(store, spec(queue, now=now), now=now)
    held = claim_one(store, queue, now=now)
    store.cancel_jobs([held.spec.id], now=now)

    finish(store, interrupt(held, now), now=now)

    assert store.read_totals(queue) == Stats(enqueued=1, cancelled=1)


def test_a_lost_claim_that_was_to_be_cancelled_counts_as_cancelled(store: Store) -> None:
    queue, node, now = new_queue(), new_node(), this_minute(store)
    enqueue(store, spec(queue, now=now), spec(queue, now=now), now=now)
    first, _second = claim(store, queue, node=node, now=now)
    store.cancel_jobs([first.spec.id], now=now)

    store.recover_claims(queue, node, {}, floor=0, now=now)

    assert store.read_totals(queue) == Stats(enqueued=2, cancelled=1)


def test_finishing_and_claiming_together_counts_too(store: Store) -> None:
    queue, node, now = new_queue(), new_node(), this_minute(store)
    enqueue(store, spec(queue, now=now), now=now)
    held = claim_one(store, queue, node=node, now=now)

    store.finish_and_claim_jobs(queue, [succeed(held, now)], token=token_of(node), limit=1, now=now)

    assert store.read_totals(queue) == Stats(enqueued=1, succeeded=1)


def test_a_queue_counts_only_what_happens_in_it(store: Store) -> None:
    first, second, now = new_queue(), new_queue(), this_minute(store)
    enqueue(store, spec(first, now=now), spec(second, now=now), spec(second, now=now), now=now)

    assert [store.read_totals(queue).enqueued for queue in (first, second)] == [1, 2]


# In Redis minutes are forgotten by the server itself, by its own clock.
def test_minutes_that_are_long_past_are_forgotten_but_not_the_totals(store: Store) -> None:
    queue, now = new_queue(), this_minute(store)
    long_ago = now - STATS_KEPT_MS - 2 * 3_600_000
    enqueue(store, spec(queue, now=long_ago), now=long_ago)
    enqueue(store, spec(queue, now=now), now=now)

    assert [one.minute for one in store.read_stats(queue, since=0, until=now + 1)] == [now]
    assert store.read_totals(queue) == Stats(enqueued=2)


@pytest.mark.stores("redis")
def test_minutes_expire_an_hour_after_the_two_days_for_which_they_are_kept(
    store: Store, redis_server: RedisServer
) -> None:
    queue, now = new_queue(), this_minute(store)
    ended_job(store, queue, JobState.SUCCEEDED, now=now)
    hour = f"rota:{{{queue}}}:stats:{now // 3_600_000}"

    expiry_s = int(raw_command(redis_server.port, "TTL", hour))

    two_days_and_an_hour_s = 49 * 3_600
    assert two_days_and_an_hour_s - 60 < expiry_s <= two_days_and_an_hour_s
    assert raw_command(redis_server.port, "TTL", f"rota:{{{queue}}}:totals") == "-1"


@pytest.mark.stores("redis")
@pytest.mark.parametrize("way", ["enqueued", "finished", "cancelled", "recovered"])
def test_every_count_of_a_minute_expires(store: Store, redis_server: RedisServer, way: str) -> None:
    queue, node, now = new_queue(), new_node(), this_minute(store)
    hour = f"rota:{{{queue}}}:stats:{now // 3_600_000}"
    (job_id,) = enqueue(store, spec(queue, now=now), now=now)
    if way != "enqueued":
        raw_command(redis_server.port, "DEL", hour)
    if way == "cancelled":
        store.cancel_jobs([job_id], now=now)
    if way == "finished":
        finish(store, succeed(claim_one(store, queue, now=now), now), now=now)
    if way == "recovered":
        claim_one(store, queue, node=node, now=now)
        store.cancel_jobs([job_id], now=now)
        store.recover_claims(queue, node, {}, floor=0, now=now)

    assert int(raw_command(redis_server.port, "TTL", hour)) > 48 * 3_600


def test_a_minute_is_kept_for_two_days(store: Store) -> None:
    queue, now = new_queue(), this_minute(store)
    two_days_ms = 48 * 3_600_000
    for moment in (now - two_days_ms - 60_000, now - two_days_ms, now):
        enqueue(store, spec(queue, now=moment), now=moment)

    kept = [one.minute for one in store.read_stats(queue, since=0, until=now + 1)]

    # Redis forgets whole hours; nobody forgets sooner.
    assert kept[-2:] == [now - two_days_ms, now]


@pytest.mark.stores("sqlite-file", "sqlite-memory")
def test_older_minutes_are_gone_from_sqlite_with_the_next_one(store: Store) -> None:
    queue, other, now = new_queue(), new_queue(), this_minute(store)
    old = now - 48 * 3_600_000 - 60_000
    enqueue(store, spec(queue, now=old), now=old)
    enqueue(store, spec(other, now=old), now=old)

    enqueue(store, spec(queue, now=now), now=now)

    assert [one.minute for one in store.read_stats(queue, since=0, until=now + 1)] == [now]
    assert [one.minute for one in store.read_stats(other, since=0, until=now + 1)] == [old]
