"""Leases: nodes that live keep their jobs, dead ones lose them, and zombies cannot write."""

import pytest

from rota.model.job import JobState
from rota.model.job_type import OnNodeDeath
from rota.model.settlement import POISON_DEATHS
from rota.store import Store
from tests.contract.building import (
    LEASE_MS,
    NOW,
    claim,
    claim_one,
    counts,
    die,
    enqueue,
    fail_and_retry,
    find,
    finish,
    given,
    interrupt,
    log_batch,
    new_node,
    new_queue,
    spec,
    state_of,
    states_of,
    succeed,
    token_of,
)

BEFORE_END = NOW + LEASE_MS - 1
AFTER_END = NOW + LEASE_MS + 1


def lost_ids(store: Store, queue: str, now: int, limit: int = 100) -> set[str]:
    return {claim.spec.id for claim in store.lost_claims(queue, now=now, limit=limit)}


def test_a_claim_is_lost_when_its_lease_is_over(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    assert store.lost_claims(queue, now=BEFORE_END, limit=10) == []
    assert store.lost_claims(queue, now=AFTER_END, limit=10) == [claimed]


def test_a_lost_claim_knows_attempts_and_deaths_before_it(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, priority=4))
    finish(store, fail_and_retry(claim_one(store, queue)))
    due = NOW + 1_000
    first = claim_one(store, queue, now=due)
    dead = due + LEASE_MS + 1
    store.reclaim_jobs(queue, [die(first, dead)], now=dead)
    second = claim_one(store, queue, now=dead)

    (lost,) = store.lost_claims(queue, now=dead + LEASE_MS + 1, limit=10)

    assert lost == second
    assert (lost.attempts, lost.deaths) == (1, 1)


def test_an_ended_claim_is_never_lost(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    first, second = claim(store, queue)

    finish(store, succeed(first), interrupt(second))

    assert store.lost_claims(queue, now=AFTER_END, limit=10) == []


def test_only_the_silent_node_loses_its_claims(store: Store) -> None:
    queue, alive, silent = new_queue(), new_node(), new_node()
    enqueue(store, *[spec(queue) for _ in range(4)])
    kept = claim(store, queue, node=alive, limit=2)
    gone = claim(store, queue, node=silent, limit=2)

    held = {each.spec.id: each.token for each in kept}
    store.renew_claims(queue, alive, held, lease_ms=LEASE_MS, now=NOW + 5_000)

    assert lost_ids(store, queue, AFTER_END) == {each.spec.id for each in gone}


def test_a_lease_belongs_to_one_queue(store: Store) -> None:
    first, second, node = new_queue(), new_queue(), new_node()
    enqueue(store, spec(first), spec(second))
    mine, other = claim_one(store, first, node=node), claim_one(store, second, node=node)

    store.renew_claims(first, node, {mine.spec.id: mine.token}, lease_ms=LEASE_MS, now=NOW + 5_000)

    assert store.lost_claims(first, now=AFTER_END, limit=10) == []
    assert store.lost_claims(second, now=AFTER_END, limit=10) == [other]


def test_no_more_lost_claims_are_named_than_asked_for(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(10)])
    claim(store, queue)

    some = lost_ids(store, queue, AFTER_END, limit=4)

    assert len(some) == 4
    assert some < set(ids)


def test_lost_claims_are_found_to_the_last_in_rounds(store: Store) -> None:
    queue = new_queue()
    ids = enqueue(store, *[spec(queue) for _ in range(10)])
    for _ in range(5):
        claim(store, queue, limit=2)

    reclaimed: list[str] = []
    while lost := store.lost_claims(queue, now=AFTER_END, limit=3):
        assert store.reclaim_jobs(queue, [die(each, AFTER_END) for each in lost], now=AFTER_END) == frozenset()
        reclaimed.extend(each.spec.id for each in lost)

    assert sorted(reclaimed) == sorted(ids)


def test_another_claim_extends_the_lease_of_all_that_the_node_holds(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    claim_one(store, queue, node=node)

    claim_one(store, queue, node=node, now=NOW + 5_000)

    assert store.lost_claims(queue, now=NOW + 5_000 + LEASE_MS - 1, limit=10) == []
    assert len(store.lost_claims(queue, now=NOW + 5_000 + LEASE_MS + 1, limit=10)) == 2


def test_a_claim_of_nothing_leaves_the_lease_as_it_was(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    claim_one(store, queue, node=node)
    store.pause_queue(queue)

    assert claim(store, queue, node=node, now=NOW + 5_000) == []

    assert len(store.lost_claims(queue, now=AFTER_END, limit=10)) == 1


def test_finish_and_claim_extends_the_lease(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue), spec(queue))
    first, _second = claim(store, queue, node=node, limit=2)

    store.finish_and_claim_jobs(
        queue, [succeed(first)], token=token_of(node), limit=1, lease_ms=LEASE_MS, now=NOW + 5_000
    )

    assert store.lost_claims(queue, now=NOW + 5_000 + LEASE_MS - 1, limit=10) == []
    assert len(store.lost_claims(queue, now=NOW + 5_000 + LEASE_MS + 1, limit=10)) == 2


def test_a_renewal_of_held_jobs_finds_nothing_wrong(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    held = {each.spec.id: each.token for each in claim(store, queue, node=node)}

    renewal = store.renew_claims(queue, node, held, lease_ms=LEASE_MS, now=NOW + 5_000)

    assert (renewal.cancelled, renewal.lost) == ([], [])
    assert store.lost_claims(queue, now=NOW + 5_000 + LEASE_MS - 1, limit=10) == []


def test_a_renewal_names_jobs_that_the_node_no_longer_holds(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, *[spec(queue) for _ in range(5)])
    kept, ended, returned, stolen, unknown = claim(store, queue, node=node)
    finish(store, succeed(ended), interrupt(stolen))
    thief = claim_one(store, queue)
    finish(store, interrupt(returned))
    finish(store, succeed(unknown))
    store.delete_jobs([unknown.spec.id])
    held = {each.spec.id: each.token for each in (kept, ended, returned, stolen, unknown)}

    renewal = store.renew_claims(queue, node, held, lease_ms=LEASE_MS, now=NOW)

    assert thief.spec.id == stolen.spec.id
    assert sorted(renewal.lost) == sorted(each.spec.id for each in (ended, returned, stolen, unknown))
    assert renewal.cancelled == []


def test_a_renewal_with_nothing_held_extends_the_lease(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue, node=node)

    store.renew_claims(queue, node, {}, lease_ms=LEASE_MS, now=NOW + 5_000)

    assert store.lost_claims(queue, now=NOW + 5_000 + LEASE_MS - 1, limit=10) == []
    assert find(store, claimed.spec.id).token == claimed.token


def test_a_late_renewal_keeps_what_was_not_taken_yet(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue, node=node)

    renewal = store.renew_claims(
        queue, node, {claimed.spec.id: claimed.token}, lease_ms=LEASE_MS, now=AFTER_END + 60_000
    )

    assert renewal.lost == []
    assert store.lost_claims(queue, now=AFTER_END + 60_000, limit=10) == []


def test_a_reclaimed_job_is_queued_and_its_death_is_counted(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    assert store.reclaim_jobs(queue, [die(claimed, AFTER_END)], now=AFTER_END) == frozenset()

    found = find(store, claimed.spec.id)
    again = claim_one(store, queue, now=AFTER_END)
    assert (found.state, found.attempts, found.deaths) == (JobState.QUEUED, 0, 1)
    assert (again.attempts, again.deaths, again.rank) == (0, 1, claimed.rank)


def test_a_job_whose_type_says_so_fails_when_its_node_dies(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    settlement = die(claim_one(store, queue), AFTER_END, OnNodeDeath.FAIL)

    store.reclaim_jobs(queue, [settlement], now=AFTER_END)

    found = find(store, settlement.claim.spec.id)
    assert settlement.ending is not None
    assert (found.state, found.deaths, found.ended_at) == (JobState.FAILED, 1, AFTER_END)
    assert found.errors == settlement.ending.errors


def test_a_poison_job_is_quarantined(store: Store) -> None:
    queue, now = new_queue(), NOW
    (job_id,) = enqueue(store, spec(queue))

    for _ in range(POISON_DEATHS):
        claim_one(store, queue, now=now)
        now += LEASE_MS + 1
        lost = store.lost_claims(queue, now=now, limit=10)
        assert store.reclaim_jobs(queue, [die(each, now) for each in lost], now=now) == frozenset()

    found = find(store, job_id)
    assert (found.state, found.deaths) == (JobState.FAILED, POISON_DEATHS)
    assert given(store, queue, now=now) == []


@pytest.mark.parametrize("on_node_death", OnNodeDeath)
def test_a_zombie_cannot_finish_a_reclaimed_job(store: Store, on_node_death: OnNodeDeath) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    zombie = claim_one(store, queue)
    store.reclaim_jobs(queue, [die(zombie, AFTER_END, on_node_death)], now=AFTER_END)
    before = find(store, zombie.spec.id)

    assert finish(store, succeed(zombie, AFTER_END), now=AFTER_END) == {zombie.spec.id}

    assert find(store, zombie.spec.id) == before


def test_a_zombie_can_do_nothing_to_a_job_that_runs_elsewhere(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    zombie = claim_one(store, queue, node=node)
    store.reclaim_jobs(queue, [die(zombie, AFTER_END)], now=AFTER_END)
    heir = claim_one(store, queue, now=AFTER_END)

    held = {zombie.spec.id: zombie.token}
    renewal = store.renew_claims(queue, node, held, lease_ms=LEASE_MS, now=AFTER_END)
    recovered = store.recover_claims(queue, node, {}, now=AFTER_END)

    assert renewal.lost == [zombie.spec.id]
    assert recovered == 0
    assert store.append_logs([log_batch(zombie, "boo")]) == {zombie.spec.id}
    assert finish(store, interrupt(zombie)) == {zombie.spec.id}
    assert finish(store, fail_and_retry(zombie)) == {zombie.spec.id}
    assert finish(store, succeed(zombie)) == {zombie.spec.id}
    assert find(store, zombie.spec.id).token == heir.token
    assert finish(store, succeed(heir, AFTER_END), now=AFTER_END) == frozenset()


def test_a_reclaim_is_refused_while_the_lease_lasts(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    assert store.reclaim_jobs(queue, [die(claimed, BEFORE_END)], now=BEFORE_END) == {claimed.spec.id}

    assert find(store, claimed.spec.id).token == claimed.token
    assert finish(store, succeed(claimed)) == frozenset()


def test_a_reclaim_is_refused_when_the_lease_was_renewed_meanwhile(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue, node=node)
    lost = store.lost_claims(queue, now=AFTER_END, limit=10)
    store.renew_claims(queue, node, {claimed.spec.id: claimed.token}, lease_ms=LEASE_MS, now=AFTER_END)

    assert store.reclaim_jobs(queue, [die(each, AFTER_END) for each in lost], now=AFTER_END) == {claimed.spec.id}

    found = find(store, claimed.spec.id)
    assert (found.state, found.token, found.deaths) == (JobState.RUNNING, claimed.token, 0)


def test_a_reclaim_is_refused_when_the_job_was_finished_meanwhile(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    finish(store, succeed(claimed, AFTER_END), now=AFTER_END)

    assert store.reclaim_jobs(queue, [die(claimed, AFTER_END)], now=AFTER_END) == {claimed.spec.id}

    assert state_of(store, claimed.spec.id) is JobState.SUCCEEDED


def test_a_repeated_reclaim_is_not_refused_and_counts_one_death(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    settlement = die(claim_one(store, queue), AFTER_END)
    store.reclaim_jobs(queue, [settlement], now=AFTER_END)

    assert store.reclaim_jobs(queue, [settlement], now=AFTER_END) == frozenset()

    assert find(store, settlement.claim.spec.id).deaths == 1
    assert counts(store, queue) == {JobState.QUEUED: 1}


def test_a_second_watchdog_cannot_reclaim_from_the_heir(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    settlement = die(claim_one(store, queue), AFTER_END)
    store.reclaim_jobs(queue, [settlement], now=AFTER_END)
    heir = claim_one(store, queue, now=AFTER_END)

    assert store.reclaim_jobs(queue, [settlement], now=AFTER_END) == {heir.spec.id}

    assert find(store, heir.spec.id).token == heir.token


def test_a_node_that_leaves_loses_what_it_still_holds(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue, node=node)

    store.drop_lease(queue, node)

    assert store.lost_claims(queue, now=NOW, limit=10) == [claimed]
    assert store.reclaim_jobs(queue, [die(claimed)], now=NOW) == frozenset()
    assert state_of(store, claimed.spec.id) is JobState.QUEUED


def test_a_node_that_leaves_with_empty_hands_leaves_nothing(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    finish(store, succeed(claim_one(store, queue, node=node)))

    store.drop_lease(queue, node)
    store.drop_lease(queue, node)

    assert store.lost_claims(queue, now=NOW + 10 * LEASE_MS, limit=10) == []


def test_the_leaving_of_one_node_does_not_touch_another(store: Store) -> None:
    queue, leaver, other = new_queue(), new_node(), new_node()
    enqueue(store, spec(queue))
    claim_one(store, queue, node=other)
    claim(store, queue, node=leaver)

    store.drop_lease(queue, leaver)

    assert store.lost_claims(queue, now=BEFORE_END, limit=10) == []


def test_a_claim_whose_answer_was_lost_is_put_back_as_it_was(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue), spec(queue))
    known = claim_one(store, queue, node=node)
    forgotten = claim(store, queue, node=node)

    recovered = store.recover_claims(queue, node, {known.spec.id: known.token}, now=NOW)

    again = claim(store, queue)
    assert recovered == 2
    assert find(store, known.spec.id).token == known.token
    assert [(each.spec, each.rank, each.attempts, each.deaths) for each in again] == [
        (each.spec, each.rank, 0, 0) for each in forgotten
    ]


def test_recovery_keeps_earlier_attempts_and_deaths(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    finish(store, fail_and_retry(claim_one(store, queue)))
    due = NOW + 1_000
    first = claim_one(store, queue, now=due)
    dead = due + LEASE_MS + 1
    store.reclaim_jobs(queue, [die(first, dead)], now=dead)
    claim_one(store, queue, node=node, now=dead)

    assert store.recover_claims(queue, node, {}, now=dead) == 1

    found = find(store, job_id)
    assert (found.state, found.attempts, found.deaths) == (JobState.QUEUED, 1, 1)
    assert claim_one(store, queue, now=dead).attempts == 1


def test_the_token_of_a_recovered_claim_is_stale(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue, node=node)
    store.recover_claims(queue, node, {}, now=NOW)

    assert finish(store, succeed(claimed)) == {claimed.spec.id}
    assert store.append_logs([log_batch(claimed, "late")]) == {claimed.spec.id}

    assert state_of(store, claimed.spec.id) is JobState.QUEUED


def test_recovery_leaves_other_nodes_and_queues_alone(store: Store) -> None:
    queue, other_queue, node, other_node = new_queue(), new_queue(), new_node(), new_node()
    ids = enqueue(store, spec(queue), spec(other_queue))
    claim_one(store, queue, node=other_node)
    claim_one(store, other_queue, node=node)

    assert store.recover_claims(queue, node, {}, now=NOW) == 0

    assert states_of(store, ids) == [JobState.RUNNING, JobState.RUNNING]


def test_there_is_nothing_to_recover_when_the_node_knows_all(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    held = {each.spec.id: each.token for each in claim(store, queue, node=node)}

    assert store.recover_claims(queue, node, held, now=NOW) == 0

    assert counts(store, queue) == {JobState.RUNNING: 2}


def test_an_empty_reclaim_refuses_nothing(store: Store) -> None:
    assert store.reclaim_jobs(new_queue(), [], now=NOW) == frozenset()
    assert store.lost_claims(new_queue(), now=NOW, limit=10) == []
