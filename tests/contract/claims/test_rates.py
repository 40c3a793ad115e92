"""Rates: so many jobs with a rate key start within a period in their queue, the others wait in order."""

from collections.abc import Callable

import msgspec
import pytest
from msgspec import structs

from rota.model.job import Claim, JobSpec, JobState
from rota.model.rate import Rate, rate_key
from rota.model.runs.settlement import Settlement, cancelled_before_run
from rota.store import Store
from rota.store.contract.claims import MAX_SCANNED
from rota.store.contract.jobs import JobQuery, Wait
from rota.store.records.codec import encode
from rota.store.redis.keys import QueueKeys
from rota.store.redis.store import RedisStore
from rota.store.sqlite.store import SqliteStore
from tests.contract.building import (
    NOW,
    claim,
    claim_one,
    counts,
    die,
    enqueue,
    fail_and_retry,
    finish,
    given,
    listed,
    new_node,
    new_queue,
    reclaim,
    spec,
    state_of,
    states_of,
    succeed,
    token_of,
)

SECOND = 1_000
MINUTE = 60_000
LATER = NOW + MINUTE + SECOND
DAY = 24 * 60 * MINUTE
TWO_A_MINUTE = rate_key(Rate(2, MINUTE), "k", {})
TWO_A_DAY = rate_key(Rate(2, DAY), "k", {})


def limited(queue: str, key: str = TWO_A_MINUTE, **fields: object) -> JobSpec:
    return spec(queue, rate_key=key, **fields)  # type: ignore[arg-type]


def next_due(store: Store, queue: str, *, now: int = NOW) -> int | None:
    """What a claim that wants one job says of the time to come; there is nothing to be had."""
    answer = store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=now)
    assert answer.claims == []
    return answer.next_due


def test_no_more_jobs_of_a_key_start_within_the_period_than_its_rate_says(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *(limited(queue) for _ in range(5)))

    assert given(store, queue) == ids[:2]
    assert given(store, queue, now=NOW + MINUTE - 1) == []
    assert given(store, queue, now=NOW + MINUTE) == ids[2:4]
    assert given(store, queue, now=NOW + 2 * MINUTE) == ids[4:]


def test_the_period_goes_with_the_time(store: Store) -> None:
    """There is no stretch of a period in which more start, whereever it begins."""
    queue, half = new_queue(), MINUTE // 2
    ids = enqueue(store, *(limited(queue) for _ in range(5)))

    assert given(store, queue, limit=1) == ids[:1]
    assert given(store, queue, limit=1, now=NOW + half) == ids[1:2]
    assert given(store, queue, now=NOW + MINUTE) == ids[2:3]
    assert given(store, queue, now=NOW + MINUTE + half - 1) == []
    assert given(store, queue, now=NOW + MINUTE + half) == ids[3:4]


def test_callers_that_are_late_start_no_more_than_the_rate_says(store: Store) -> None:
    queue, key = new_queue(), rate_key(Rate(2, 1_000), "k", {})
    started: list[str] = []

    for now in (NOW, NOW - 1_500, NOW + 1, NOW - 1_499):
        enqueue(store, *(limited(queue, key) for _ in range(3)))
        started += given(store, queue, now=now)

    assert len(started) == 2
    assert len(given(store, queue, now=NOW + 1_000)) == 2


def test_a_start_of_a_late_caller_counts_from_when_it_was(store: Store) -> None:
    queue, before = new_queue(), store.now()
    enqueue(store, *(limited(queue) for _ in range(3)))

    answer = store.claim_jobs(queue, token=token_of(new_node()), limit=3, now=before - 5_000)

    assert len(answer.claims) == 2
    assert answer.next_due is not None
    assert answer.next_due >= before + MINUTE


def test_a_caller_that_is_ahead_starts_no_more_than_the_rate_says_by_the_clock_of_the_store(store: Store) -> None:
    queue, clock = new_queue(), store.now()
    ids = enqueue(store, *(limited(queue, TWO_A_DAY) for _ in range(5)), now=clock)

    assert given(store, queue, now=clock) == ids[:2]
    assert given(store, queue, now=clock + DAY) == []
    assert given(store, queue, now=clock + 2 * DAY) == []


def test_a_caller_that_is_ahead_has_no_starts_forgotten_that_count(store: Store) -> None:
    queue, clock = new_queue(), store.now()
    enqueue(store, *(limited(queue, TWO_A_DAY) for _ in range(2)), now=clock)
    assert len(given(store, queue, now=clock)) == 2

    assert store.forget_rates(queue, now=clock + 2 * DAY, limit=9) == 0

    enqueue(store, limited(queue, TWO_A_DAY), now=clock)
    assert given(store, queue, now=clock) == []


def test_a_start_of_a_caller_that_is_ahead_counts_from_when_it_was(store: Store) -> None:
    queue, clock = new_queue(), store.now()
    enqueue(store, *(limited(queue, TWO_A_DAY) for _ in range(3)), now=clock)

    answer = store.claim_jobs(queue, token=token_of(new_node()), limit=3, now=clock + DAY)

    assert len(answer.claims) == 2
    assert answer.next_due is not None
    assert clock + DAY <= answer.next_due <= store.now() + DAY


def test_a_rate_of_many_is_kept_too(store: Store) -> None:
    queue, key = new_queue(), rate_key(Rate(200, MINUTE), "k", {})
    ids = enqueue(store, *(limited(queue, key) for _ in range(500)))

    first = [one for part in range(4) for one in given(store, queue, limit=50, now=NOW + part * 1_000)]
    assert first == ids[:200]
    assert given(store, queue, limit=500, now=NOW + MINUTE - 1) == []
    later = [one for part in range(6) for one in given(store, queue, limit=500, now=NOW + MINUTE + part * 1_000)]
    assert later == ids[200:400], "each is free again at most a 64th of the period late"


def test_other_keys_and_jobs_without_one_are_not_concerned(store: Store) -> None:
    queue, other = new_queue(), rate_key(Rate(2, MINUTE), "other", {})
    enqueue(store, *(limited(queue) for _ in range(3)))
    assert len(given(store, queue)) == 2

    ids = enqueue(store, limited(queue), limited(queue, other), spec(queue), limited(new_queue()))

    assert given(store, queue) == ids[1:3]


def test_the_same_key_in_another_queue_counts_apart(store: Store) -> None:
    first, second = new_queue(), new_queue()
    enqueue(store, *(limited(queue) for queue in (first, second) for _ in range(3)))

    assert len(given(store, first)) == 2
    assert len(given(store, second)) == 2


def test_what_a_rate_allows_again_is_for_the_jobs_of_its_own_queue(store: Store) -> None:
    """Whichever of them waited first."""
    queues = [new_queue() for _ in range(3)]
    ids = {queue: enqueue(store, *(limited(queue) for _ in range(4))) for queue in queues}
    assert [given(store, queue) for queue in queues] == [ids[queue][:2] for queue in queues]

    for queue in (queues[1], queues[2], queues[0]):
        assert given(store, queue, now=NOW + MINUTE) == ids[queue][2:]
        assert next_due(store, queue, now=NOW + MINUTE) is None, "nobody waits in this queue"


def test_a_queue_names_no_time_at_which_jobs_of_another_may_start(store: Store) -> None:
    queue, other = new_queue(), new_queue()
    enqueue(store, *(limited(queue) for _ in range(3)))
    claim(store, queue)

    assert next_due(store, queue) == NOW + MINUTE
    assert next_due(store, other) is None


def test_limited_jobs_come_back_by_rank(store: Store) -> None:
    queue = new_queue()
    enqueue(store, limited(queue), limited(queue))
    claim(store, queue)
    late, early = enqueue(store, limited(queue, priority=-1), limited(queue))
    assert claim(store, queue) == []
    (urgent,) = enqueue(store, limited(queue, priority=5))

    assert given(store, queue, limit=2, now=NOW + MINUTE) == [urgent, early]
    assert given(store, queue, now=NOW + 2 * MINUTE) == [late]


def test_what_is_given_says_when_the_next_may_start(store: Store) -> None:
    queue = new_queue()
    enqueue(store, *(limited(queue) for _ in range(3)))

    answer = store.claim_jobs(queue, token=token_of(new_node()), limit=3, now=NOW)

    assert (len(answer.claims), answer.next_due) == (2, NOW + MINUTE)
    assert next_due(store, queue, now=NOW + 1) == NOW + MINUTE
    assert given(store, queue, now=NOW + MINUTE) != []
    assert next_due(store, queue, now=NOW + MINUTE) is None, "nobody waits any more"


def test_a_delayed_job_that_is_due_earlier_is_told_instead(store: Store) -> None:
    queue = new_queue()
    enqueue(store, *(limited(queue) for _ in range(3)), spec(queue, run_at=NOW + 1_000))
    assert len(given(store, queue)) == 2

    assert next_due(store, queue) == NOW + 1_000


def test_many_limited_jobs_hold_up_others_for_some_claims_at_most(store: Store) -> None:
    queue, many = new_queue(), 2_500
    enqueue(store, limited(queue), limited(queue))
    claim(store, queue)
    enqueue(store, *(limited(queue) for _ in range(many)))
    (free,) = enqueue(store, spec(queue))

    claims = -(-many // MAX_SCANNED) + 1
    found = [one for _ in range(claims) for one in given(store, queue, limit=1)]

    assert found == [free]
    assert counts(store, queue) == {JobState.QUEUED: many, JobState.RUNNING: 3}
    (another,) = enqueue(store, spec(queue))
    assert given(store, queue, limit=1) == [another], "what waits is not looked at again"


def test_a_claim_that_only_set_jobs_aside_says_that_there_may_be_more(store: Store) -> None:
    queue = new_queue()
    enqueue(store, limited(queue), limited(queue))
    claim(store, queue)
    enqueue(store, *(limited(queue) for _ in range(MAX_SCANNED)), spec(queue))

    answer = store.claim_jobs(queue, token=token_of(new_node()), limit=1, now=NOW)

    assert (answer.claims, answer.next_due) == ([], NOW)


@pytest.mark.parametrize("back", [die, fail_and_retry])
def test_a_start_counts_whatever_becomes_of_it(store: Store, back: object) -> None:
    queue = new_queue()
    (job,) = enqueue(store, limited(queue, rate_key(Rate(1, MINUTE), "k", {})))
    claimed = claim_one(store, queue)
    if back is die:
        reclaim(store, die(claimed, now=NOW + 2_000), now=NOW + 2_000)
    else:
        finish(store, fail_and_retry(claimed))

    assert given(store, queue, now=NOW + 5_000) == []
    assert state_of(store, job) is JobState.QUEUED
    assert given(store, queue, now=NOW + MINUTE) == [job]


def test_an_answer_that_was_lost_takes_no_more_than_its_starts(store: Store) -> None:
    queue, node = new_queue(), new_node()
    ids = enqueue(store, *(limited(queue) for _ in range(3)))
    claim(store, queue, node=node)

    store.recover_claims(queue, node, {}, floor=1 << 60, now=NOW + 1)

    assert given(store, queue, now=NOW + 1) == []
    assert given(store, queue, now=NOW + MINUTE) == ids[:2]


def test_a_limited_job_can_be_cancelled(store: Store) -> None:
    queue = new_queue()
    *_, third, fourth = enqueue(store, *(limited(queue) for _ in range(4)))
    claim(store, queue)

    store.cancel_jobs([third], now=NOW)

    assert states_of(store, [third, fourth]) == [JobState.CANCELLED, JobState.QUEUED]
    assert counts(store, queue) == {JobState.QUEUED: 1, JobState.RUNNING: 2, JobState.CANCELLED: 1}
    assert given(store, queue, now=NOW + MINUTE) == [fourth]


@pytest.mark.stores("redis", "redis-cluster")
def test_a_limited_job_that_another_version_cancelled_is_not_run(store: Store) -> None:
    """A version without rates ends it as any other, and does not know that it waits for one."""
    queue = new_queue()
    ids = enqueue(store, *(limited(queue) for _ in range(6)))
    claim(store, queue)
    cancel_without_rates(store, queue, ids[2])
    delete_without_rates(store, queue, ids[3])

    assert given(store, queue, now=NOW + MINUTE) == []
    assert given(store, queue, now=NOW + MINUTE) == ids[4:]
    assert state_of(store, ids[2]) is JobState.CANCELLED


def cancel_without_rates(store: Store, queue: str, job: str) -> None:
    assert isinstance(store, RedisStore)
    keys, client = QueueKeys(queue), store._link.client
    client.hset(keys.ended, job, encode(cancelled_before_run(NOW)))
    client.zadd(keys.cancelled, {job: NOW})
    client.hdel(keys.marks, job)


def delete_without_rates(store: Store, queue: str, job: str) -> None:
    cancel_without_rates(store, queue, job)
    assert store.delete_jobs([job]) == [True]


def test_jobs_that_came_back_and_were_cancelled_leave_nobody_waiting_for_ever(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *(limited(queue) for _ in range(6)))
    claim(store, queue)
    (urgent,) = enqueue(store, spec(queue, priority=9))
    assert given(store, queue, limit=1, now=NOW + MINUTE) == [urgent]

    store.cancel_jobs(ids[2:4], now=NOW + MINUTE)

    assert given(store, queue, now=NOW + 2 * MINUTE) == ids[4:]


def test_a_limited_job_is_counted_and_listed_as_queued(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *(limited(queue) for _ in range(5)))
    claim(store, queue)

    assert counts(store, queue) == {JobState.QUEUED: 3, JobState.RUNNING: 2}
    assert listed(store, JobQuery(queue=queue, states=frozenset({JobState.QUEUED})), limit=2) == ids[2:]


def test_a_limited_job_says_until_when_and_behind_how_many(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *(limited(queue) for _ in range(4)))
    claim(store, queue)

    assert [store.read_wait(queue, one) for one in ids[2:]] == [
        Wait(0, None, NOW + MINUTE),
        Wait(1, None, NOW + MINUTE),
    ]


def test_a_job_with_a_lock_and_a_rate_waits_for_both(store: Store) -> None:
    queue = new_queue()
    first, second, third = enqueue(store, *(limited(queue, lock_key="l") for _ in range(3)))

    for expected in (first, second):
        (holder,) = claim(store, queue)
        assert holder.spec.id == expected
        finish(store, succeed(holder))

    assert given(store, queue, now=NOW + MINUTE - 1) == []
    assert store.read_wait(queue, third) == Wait(0, None, NOW + MINUTE)
    assert given(store, queue, now=NOW + MINUTE) == [third]


def test_a_limited_job_leaves_its_lock_to_the_next(store: Store) -> None:
    queue = new_queue()
    enqueue(store, limited(queue), limited(queue))
    claim(store, queue)
    _, free = enqueue(store, limited(queue, lock_key="l"), spec(queue, lock_key="l"))

    assert given(store, queue) == [free]


def test_jobs_that_find_their_lock_taken_leave_the_room_of_their_rate_to_the_next(store: Store) -> None:
    queue, key = new_queue(), rate_key(Rate(1, MINUTE), "k", {})
    enqueue(store, limited(queue, key))
    claim(store, queue)
    *_, free = enqueue(store, *(limited(queue, key, lock_key="l") for _ in range(3)), limited(queue, key))
    assert given(store, queue) == []
    (holder,) = enqueue(store, spec(queue, lock_key="l"))
    assert given(store, queue) == [holder]

    later, answers = NOW + MINUTE, []
    for _ in range(5):
        answers.append(store.claim_jobs(queue, token=token_of(new_node()), limit=9, now=later))

    assert [[one.spec.id for one in answer.claims] for answer in answers] == [[], [], [], [free], []]
    assert [answer.next_due for answer in answers] == [later, later, later, None, None]


def test_a_job_that_came_back_and_was_cancelled_leaves_the_room_of_its_rate_to_the_next(store: Store) -> None:
    queue, later = new_queue(), NOW + MINUTE
    ids = enqueue(store, *(limited(queue) for _ in range(6)))
    claim(store, queue)
    (urgent,) = enqueue(store, spec(queue, priority=9))
    assert given(store, queue, limit=1, now=later) == [urgent]

    store.cancel_jobs(ids[2:4], now=later)

    assert given(store, queue, now=later) == ids[4:]


def test_a_limited_job_that_is_cancelled_makes_no_room(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *(limited(queue) for _ in range(4)))
    claim(store, queue)

    store.cancel_jobs(ids[2:3], now=NOW)

    assert next_due(store, queue) == NOW + MINUTE
    assert store.read_wait(queue, ids[3]) == Wait(0, None, NOW + MINUTE)


def expiring(queue: str, **fields: object) -> JobSpec:
    return structs.replace(limited(queue, **fields), expires_at=NOW + 30_000)  # type: ignore[arg-type]


def test_jobs_that_have_expired_are_given_out_and_use_up_no_start(store: Store) -> None:
    """Whoever is given one ends it."""
    queue, later = new_queue(), NOW + MINUTE
    enqueue(store, limited(queue), limited(queue))
    claim(store, queue)
    ids = enqueue(store, *(expiring(queue) for _ in range(4)), *(limited(queue) for _ in range(3)))
    assert given(store, queue) == []

    answers = [store.claim_jobs(queue, token=token_of(new_node()), limit=9, now=later) for _ in range(4)]

    assert [[one.spec.id for one in answer.claims] for answer in answers] == [ids[:2], ids[2:4], ids[4:6], []]
    assert [answer.next_due for answer in answers] == [later, later, later + MINUTE, later + MINUTE]


def test_who_waits_for_a_rate_that_was_used_up_beside_an_expired_job_is_not_looked_at_again_at_once(
    store: Store,
) -> None:
    queue, later = new_queue(), NOW + MINUTE
    ids = enqueue(store, expiring(queue), *(limited(queue) for _ in range(3)))

    answer = store.claim_jobs(queue, token=token_of(new_node()), limit=9, now=later)

    assert [one.spec.id for one in answer.claims] == ids[:3]
    assert answer.next_due == later + MINUTE
    assert store.read_wait(queue, ids[3]) == Wait(0, None, later + MINUTE)


def test_a_job_that_has_not_expired_yet_needs_a_start(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *(expiring(queue) for _ in range(3)))

    assert given(store, queue, now=NOW + 29_999) == ids[:2]


@pytest.mark.parametrize("comes_back", [fail_and_retry, die])
def test_a_job_that_came_back_began_in_time_and_needs_a_start_after_its_expiry_too(
    store: Store, comes_back: Callable[[Claim], Settlement]
) -> None:
    """Its rate allows two a minute. The first start is its own."""
    queue, later = new_queue(), NOW + 30_000
    (job,) = enqueue(store, expiring(queue))
    finish(store, comes_back(claim_one(store, queue)))
    enqueue(store, limited(queue, now=later), now=later)

    assert given(store, queue, now=later) == [job]


def test_a_paused_queue_names_no_time_that_has_passed(store: Store) -> None:
    queue = new_queue()
    enqueue(store, *(limited(queue) for _ in range(3)))
    claim(store, queue)

    store.pause_queue(queue)
    due = next_due(store, queue, now=NOW + MINUTE)
    assert due is None or due > NOW + MINUTE
    store.resume_queue(queue)

    assert len(given(store, queue, now=NOW + MINUTE)) == 1


def test_keys_that_count_nothing_any_more_are_forgotten(store: Store) -> None:
    """More keys than one claim forgets: each that counts a start forgets some."""
    queue = new_queue()
    for number in range(30):
        enqueue(store, limited(queue, rate_key(Rate(1, MINUTE), str(number), {})))
        claim(store, queue)
    later = NOW + 2 * MINUTE
    for number in range(3):
        enqueue(store, limited(queue, rate_key(Rate(1, MINUTE), f"later {number}", {})), now=later)
        claim(store, queue, now=later)

    enqueue(store, limited(queue, rate_key(Rate(1, MINUTE), "7", {})), now=later)
    assert len(given(store, queue, now=later)) == 1
    assert rates_in(store, queue) == 4


def test_one_claim_forgets_as_many_keys_as_it_adds(store: Store) -> None:
    queue, later = new_queue(), NOW + 2 * MINUTE
    for now in (NOW, later):
        some = [rate_key(Rate(1, MINUTE), f"{now} {number}", {}) for number in range(50)]
        enqueue(store, *(limited(queue, key) for key in some), now=now)
        assert len(given(store, queue, now=now)) == 50

    assert rates_in(store, queue) == 50


def test_keys_are_forgotten_although_nothing_is_claimed_any_more(store: Store) -> None:
    queue = new_queue()
    some = [rate_key(Rate(1, MINUTE), str(number), {}) for number in range(5)]
    enqueue(store, *(limited(queue, key) for key in some), limited(queue, some[0]))
    assert len(given(store, queue)) == 5

    assert store.forget_rates(queue, now=NOW + MINUTE - 1, limit=9) == 0
    assert (
        store.forget_rates(queue, now=NOW + MINUTE, limit=3) + store.forget_rates(queue, now=NOW + MINUTE, limit=9) == 4
    )
    assert rates_in(store, queue) == 1, "one that a job waits for is kept"
    assert len(given(store, queue, now=NOW + MINUTE)) == 1


def test_a_key_is_remembered_as_long_as_its_last_start_counts(store: Store) -> None:
    queue, half = new_queue(), MINUTE // 2
    ids = enqueue(store, *(limited(queue) for _ in range(2)))
    assert [*given(store, queue, limit=1), *given(store, queue, now=NOW + half)] == ids
    enqueue(store, limited(queue, rate_key(Rate(1, MINUTE), "other", {})))

    assert len(given(store, queue, now=NOW + MINUTE)) == 1, "whoever counts a start forgets others"
    assert store.forget_rates(queue, now=NOW + MINUTE + half - 1, limit=9) == 0
    more = enqueue(store, *(limited(queue) for _ in range(2)))

    assert given(store, queue, now=NOW + MINUTE + half - 1) == more[:1]


def test_keys_for_which_jobs_wait_keep_no_other_from_being_forgotten(store: Store) -> None:
    """However many there are: nothing is claimed in a queue that is paused, or that nobody serves."""
    queue, later = new_queue(), NOW + 2 * MINUTE
    some = [rate_key(Rate(1, MINUTE), str(number), {}) for number in range(3)]
    ids = enqueue(store, *(limited(queue, key) for key in some for _ in range(2)))
    assert len(given(store, queue)) == 3
    enqueue(store, limited(queue, rate_key(Rate(1, MINUTE), "last", {})))
    assert len(given(store, queue, now=NOW + 1)) == 1

    forgotten = [store.forget_rates(queue, now=later, limit=2) for _ in range(4)]

    assert (sum(forgotten), rates_in(store, queue)) == (1, 3)
    assert given(store, queue, now=later) == ids[1::2]


def test_a_key_is_forgotten_if_those_that_waited_for_it_were_cancelled(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *(limited(queue) for _ in range(4)))
    assert given(store, queue) == ids[:2]

    store.cancel_jobs(ids[2:3], now=NOW)
    assert store.forget_rates(queue, now=NOW + MINUTE, limit=9) == 0, "a job waits for it"
    store.cancel_jobs(ids[3:], now=NOW)

    assert store.forget_rates(queue, now=NOW + MINUTE - 1, limit=9) == 0, "its starts count"
    assert sum(store.forget_rates(queue, now=NOW + 2 * MINUTE, limit=9) for _ in range(2)) == 1
    assert rates_in(store, queue) == 0
    assert next_due(store, queue, now=NOW + 2 * MINUTE) is None


def rates_in(store: Store, queue: str) -> int:
    """How many rates the store remembers of a queue."""
    if isinstance(store, RedisStore):
        return int(store._link.client.hlen(QueueKeys(queue).rates))
    assert isinstance(store, SqliteStore)
    with store._database.read() as db:
        return int(db.execute("SELECT COUNT(*) FROM rates WHERE queue = ?", [queue]).fetchone()[0])


@pytest.mark.stores("sqlite-memory", "redis")
def test_starts_that_cannot_be_read_hold_up_nobody(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *(limited(queue) for _ in range(3)))
    claim(store, queue)
    break_starts(store, queue)

    assert given(store, queue, now=NOW + MINUTE) == ids[2:]
    assert next_due(store, queue, now=NOW + MINUTE) is None


def break_starts(store: Store, queue: str) -> None:
    if isinstance(store, RedisStore):
        store._link.client.hset(QueueKeys(queue).rates, TWO_A_MINUTE, "broken")
        return
    assert isinstance(store, SqliteStore)
    with store._database.write() as db:
        db.execute("UPDATE rates SET starts = 'broken' WHERE queue = ?", [queue])


@pytest.mark.stores("sqlite-memory", "redis")
def test_a_start_after_the_clock_was_set_back_counts_as_long_as_the_one_before(store: Store) -> None:
    queue, before = new_queue(), NOW + MINUTE // 2
    enqueue(store, limited(queue))
    claim_one(store, queue, now=before)
    enqueue(store, limited(queue))
    claim_one(store, queue, now=NOW)

    (job,) = enqueue(store, limited(queue))
    assert store.forget_rates(queue, now=NOW + MINUTE, limit=9) == 0

    assert given(store, queue, now=before + MINUTE - 1) == []
    assert given(store, queue, now=before + MINUTE) == [job]


def test_starts_that_a_wrong_clock_wrote_hold_up_nobody_and_those_of_a_moment_ahead_count(store: Store) -> None:
    queue, clock = new_queue(), store.now()
    enqueue(store, *(limited(queue) for _ in range(4)), now=clock)
    claim(store, queue, limit=1, now=clock)

    put_starts(store, queue, clock + MINUTE - 1_000, 2)
    assert given(store, queue, now=clock) == []
    put_starts(store, queue, clock + 10 * MINUTE, 2)
    enqueue(store, limited(queue), now=clock)
    assert len(given(store, queue, now=clock)) == 1


def put_starts(store: Store, queue: str, at: int, number: int) -> None:
    """So many of `TWO_A_MINUTE`, at an instant."""
    if isinstance(store, RedisStore):
        store._link.client.hset(QueueKeys(queue).rates, TWO_A_MINUTE, f"{at} {number}")
        return
    assert isinstance(store, SqliteStore)
    with store._database.write() as db:
        db.execute("UPDATE rates SET starts = ? WHERE queue = ?", [f"[[{at},{number}]]", queue])


@pytest.mark.stores("sqlite-memory", "redis")
def test_the_starts_of_a_rate_of_many_share_a_few_groups(store: Store) -> None:
    queue, key = new_queue(), rate_key(Rate(1_000, MINUTE), "k", {})
    enqueue(store, *(limited(queue, key) for _ in range(300)))

    for part in range(30):
        assert len(given(store, queue, limit=10, now=NOW + part * 100)) == 10

    assert groups_in(store, queue, key) <= 3_000 * 64 // MINUTE + 2


def groups_in(store: Store, queue: str, key: str) -> int:
    """How many groups of starts the store remembers of a rate."""
    if isinstance(store, RedisStore):
        return len(str(store._link.client.hget(QueueKeys(queue).rates, key)).split()) // 2
    assert isinstance(store, SqliteStore)
    with store._database.read() as db:
        (starts,) = db.execute("SELECT starts FROM rates WHERE queue = ? AND rate_key = ?", [queue, key]).fetchone()
    return len(msgspec.json.decode(starts))


@pytest.mark.stores("sqlite-memory", "redis")
def test_of_more_limited_jobs_than_one_claim_frees_the_next_claim_frees_the_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_a_claim_free_three(monkeypatch)
    queue, key = new_queue(), rate_key(Rate(7, MINUTE), "k", {})
    ids = enqueue(store, *(limited(queue, key) for _ in range(14)))
    assert given(store, queue) == ids[:7]

    freed = [given(store, queue, now=NOW + MINUTE) for _ in range(4)]

    assert freed == [ids[7:10], ids[10:13], ids[13:], []]


def let_a_claim_free_three(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("redis.nouns.claims.claims", "sqlite.nouns.claims.rates", "sqlite.nouns.claims.claiming"):
        monkeypatch.setattr(f"rota.store.{place}.MAX_PROMOTED", 3)


def with_two_rates_due(store: Store, queue: str) -> list[str]:
    """At `LATER` one rate allows all that a claim frees, and another, which comes after it, two; returns the jobs that
    wait for the other."""
    enqueue(store, *(limited(queue, rate_key(Rate(3, MINUTE), "first", {})) for _ in range(6)))
    assert len(given(store, queue)) == 3
    ids = enqueue(store, *(limited(queue) for _ in range(4)))
    assert given(store, queue, now=NOW + SECOND) == ids[:2]
    return ids[2:]


def test_a_rate_that_a_claim_does_not_come_to_is_looked_at_by_the_next(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_a_claim_free_three(monkeypatch)
    queue = new_queue()
    ids = with_two_rates_due(store, queue)

    assert len(given(store, queue, now=LATER)) == 3
    assert given(store, queue, now=LATER) == ids


def test_a_new_job_of_a_rate_that_a_claim_does_not_come_to_puts_off_none_that_waits(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_a_claim_free_three(monkeypatch)
    queue = new_queue()
    ids = with_two_rates_due(store, queue)
    (urgent,) = enqueue(store, limited(queue, priority=9))

    assert given(store, queue, limit=1, now=LATER) == [urgent]
    assert given(store, queue, now=LATER)[3:] == ids[:1]
    assert given(store, queue, now=LATER) == []


def test_a_job_with_a_key_that_says_no_rate_runs(store: Store) -> None:
    queue = new_queue()
    (job,) = enqueue(store, limited(queue, "broken"))

    assert given(store, queue) == [job]
