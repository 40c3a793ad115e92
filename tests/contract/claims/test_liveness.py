"""Signs of life: pulses change while a node lives, dead ones lose their claims to whoever saw that, and zombies and
late claims can do nothing."""

import pytest

from rota.model.job import JobState, make_token
from rota.model.job_type import OnNodeDeath
from rota.store import Store
from tests.contract.building import (
    LATER,
    NOW,
    beat,
    claim,
    claim_one,
    claims_of,
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
    reclaim,
    renew,
    spec,
    state_of,
    states_of,
    succeed,
    token_of,
)


def pulse_of(store: Store, queue: str, node: str) -> str | None:
    return store.read_pulses(queue).get(node)


# -- pulses --------------------------------------------------------------------------------------------------------


def test_a_queue_that_nobody_serves_has_no_pulse(store: Store) -> None:
    assert store.read_pulses(new_queue()) == {}


def test_a_node_has_another_pulse_after_every_renewal(store: Store) -> None:
    queue, node = new_queue(), new_node()
    seen = []

    for _ in range(3):
        renew(store, queue, node)
        seen.append(pulse_of(store, queue, node))

    assert None not in seen
    assert len(set(seen)) == 3


def test_a_node_has_another_pulse_after_every_claim_of_something(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue), spec(queue))
    claim_one(store, queue, node=node)
    first = pulse_of(store, queue, node)
    held = claim_one(store, queue, node=node)
    second = pulse_of(store, queue, node)
    store.finish_and_claim_jobs(queue, [succeed(held)], token=token_of(node), limit=1, now=NOW)
    third = pulse_of(store, queue, node)

    assert None not in (first, second, third)
    assert len({first, second, third}) == 3


def test_a_claim_of_nothing_is_no_sign_of_life(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    claim_one(store, queue, node=node)
    store.pause_queue(queue)
    before = pulse_of(store, queue, node)

    assert claim(store, queue, node=node) == []
    assert claim(store, queue, node=new_node()) == []

    assert store.read_pulses(queue) == {node: before}


def test_a_pulse_belongs_to_one_queue(store: Store) -> None:
    first, second, node = new_queue(), new_queue(), new_node()
    renew(store, first, node)
    renew(store, second, node)
    before = pulse_of(store, second, node)

    renew(store, first, node)

    assert pulse_of(store, second, node) == before


def test_a_pulse_is_forgotten_if_it_is_still_the_one_that_was_seen(store: Store) -> None:
    queue, dead, alive = new_queue(), new_node(), new_node()
    renew(store, queue, dead)
    renew(store, queue, alive)
    seen = store.read_pulses(queue)
    renew(store, queue, alive)

    for node, pulse in seen.items():
        store.forget_pulse(queue, node, pulse=pulse)

    assert store.read_pulses(queue).keys() == {alive}


def test_to_try_to_write_changes_nothing(store: Store) -> None:
    queue, unused = new_queue(), new_queue()
    renew(store, queue, new_node())
    before = store.read_pulses(queue)

    store.try_to_write(queue)
    store.try_to_write(unused)

    assert (store.read_pulses(queue), store.read_pulses(unused)) == (before, {})
    assert unused not in store.list_queues()


def test_claims_without_a_pulse_get_one_that_never_changes(store: Store) -> None:
    queue, orphan, known = new_queue(), new_node(), new_node()
    enqueue(store, spec(queue), spec(queue))
    held = claim_one(store, queue, node=orphan)
    claim_one(store, queue, node=known)
    store.forget_pulse(queue, orphan, pulse=store.read_pulses(queue)[orphan])
    before = store.read_pulses(queue)

    assert [store.mark_orphans(queue) for _ in range(2)] == [1, 0]

    after = store.read_pulses(queue)
    assert after.keys() == {orphan, known}
    assert after[known] == before[known]
    assert store.reclaim_jobs(queue, [die(held)], node=orphan, pulse=after[orphan], now=LATER) == frozenset()


def test_only_nodes_that_hold_something_of_the_queue_get_a_pulse_they_do_not_have(store: Store) -> None:
    queue, other_queue, done, elsewhere = new_queue(), new_queue(), new_node(), new_node()
    enqueue(store, spec(queue), spec(other_queue))
    finish(store, succeed(claim_one(store, queue, node=done)))
    claim_one(store, other_queue, node=elsewhere)
    for one, node in ((queue, done), (other_queue, elsewhere)):
        store.forget_pulse(one, node, pulse=store.read_pulses(one)[node])

    assert store.mark_orphans(queue) == 0

    assert (store.read_pulses(queue), store.read_pulses(other_queue)) == ({}, {})
    assert store.mark_orphans(other_queue) == 1
    assert store.read_pulses(other_queue).keys() == {elsewhere}


def test_a_node_of_which_only_the_floor_is_known_has_no_pulse_until_it_gets_one(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    held = claim_one(store, queue, node=node)
    store.forget_pulse(queue, node, pulse=store.read_pulses(queue)[node])
    assert store.recover_claims(queue, node, {held.spec.id: held.token}, floor=1, now=NOW) == 0
    assert store.read_pulses(queue) == {}

    assert store.mark_orphans(queue) == 1

    assert store.read_pulses(queue).keys() == {node}


# -- what a node holds ---------------------------------------------------------------------------------------------


def test_the_claims_of_a_node_are_its_own_and_as_they_were_given(store: Store) -> None:
    queue, node, other = new_queue(), new_node(), new_node()
    enqueue(store, *[spec(queue, priority=priority) for priority in (1, 2, 3)])
    mine = claim(store, queue, node=node, limit=2)
    claim(store, queue, node=other)

    found = {each.spec.id: each for each in claims_of(store, queue, node)}
    assert found == {each.spec.id: each for each in mine}


def test_a_node_whose_name_begins_like_anothers_holds_nothing_of_it(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue))
    (first,) = store.claim_jobs(queue, token="node-1/1", limit=1, now=NOW).claims
    (second,) = store.claim_jobs(queue, token="node-12/1", limit=1, now=NOW).claims

    assert claims_of(store, queue, "node-1") == [first]
    assert claims_of(store, queue, "node-12") == [second]
    assert store.recover_claims(queue, "node-1", {}, floor=1, now=NOW) == 1
    assert claims_of(store, queue, "node-12") == [second]


def test_no_more_claims_are_named_than_asked_for(store: Store) -> None:
    queue, node = new_queue(), new_node()
    ids = enqueue(store, *[spec(queue) for _ in range(10)])
    claim(store, queue, node=node)

    some = {each.spec.id for each in store.claims_of_node(queue, node, limit=4)}

    assert len(some) == 4
    assert some < set(ids)


def test_a_claim_that_is_looked_up_knows_since_when_it_is_held(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    claim(store, queue, node=node, now=NOW + 7)

    (found,) = store.claims_of_node(queue, node, limit=4)

    assert found.began_at == NOW + 7


def test_a_claim_knows_attempts_and_deaths_before_it(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue, priority=4))
    finish(store, fail_and_retry(claim_one(store, queue)))
    due = NOW + 1_000
    reclaim(store, die(claim_one(store, queue, now=due), due))
    second = claim_one(store, queue, node=node, now=due)

    (found,) = claims_of(store, queue, node)

    assert found == second
    assert (found.attempts, found.deaths) == (1, 1)


def test_what_was_settled_is_no_longer_held(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    first, second = claim(store, queue, node=node)

    finish(store, succeed(first), interrupt(second))

    assert claims_of(store, queue, node) == []


def test_many_claims_are_found_to_the_last(store: Store) -> None:
    queue, node = new_queue(), new_node()
    ids = enqueue(store, *[spec(queue) for _ in range(2_500)])
    while claim(store, queue, node=node, limit=1_000):
        pass

    assert sorted(each.spec.id for each in claims_of(store, queue, node)) == sorted(ids)


# -- renewals ------------------------------------------------------------------------------------------------------


def test_a_renewal_of_held_jobs_finds_nothing_wrong(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    held = claim(store, queue, node=node)

    renewal = renew(store, queue, node, *held)

    assert (renewal.cancelled, renewal.lost) == ([], [])
    assert len(claims_of(store, queue, node)) == 2


def test_a_renewal_names_jobs_that_the_node_no_longer_holds(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, *[spec(queue) for _ in range(5)])
    kept, ended, returned, stolen, unknown = claim(store, queue, node=node)
    finish(store, succeed(ended), interrupt(stolen))
    thief = claim_one(store, queue)
    finish(store, interrupt(returned))
    finish(store, succeed(unknown))
    store.delete_jobs([unknown.spec.id])

    renewal = renew(store, queue, node, kept, ended, returned, stolen, unknown)

    assert thief.spec.id == stolen.spec.id
    assert sorted(renewal.lost) == sorted(each.spec.id for each in (ended, returned, stolen, unknown))
    assert renewal.cancelled == []


def test_an_older_attempt_of_the_same_node_is_lost(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    older = claim_one(store, queue, node=node)
    finish(store, interrupt(older))
    newer = claim_one(store, queue, node=node)

    assert renew(store, queue, node, older).lost == [job_id]
    assert renew(store, queue, node, newer).lost == []
    assert store.append_logs([log_batch(older, "boo")]) == {job_id}
    assert finish(store, succeed(older)) == {job_id}


def test_a_token_that_only_begins_like_the_holders_holds_nothing(store: Store) -> None:
    queue = new_queue()
    (job_id,) = enqueue(store, spec(queue))
    (held,) = store.claim_jobs(queue, token="node/12", limit=1, now=NOW).claims
    lifeline = store.lifeline(timeout_s=60)

    renewal = lifeline.renew_claims(queue, "node", {job_id: "node/1"})
    lifeline.close()

    assert renewal.lost == [job_id]
    assert find(store, job_id).token == held.token


def test_a_lifeline_serves_for_many_beats(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    held = claim_one(store, queue, node=node)
    lifeline = store.lifeline(timeout_s=60)

    answers = [lifeline.renew_claims(queue, node, {held.spec.id: held.token}) for _ in range(3)]
    lifeline.close()

    assert [answer.lost for answer in answers] == [[], [], []]


# -- reclaiming ----------------------------------------------------------------------------------------------------


def test_a_reclaimed_job_is_queued_and_its_death_is_counted(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)

    assert reclaim(store, die(claimed, LATER)) == frozenset()

    found = find(store, claimed.spec.id)
    again = claim_one(store, queue, now=LATER)
    assert (found.state, found.attempts, found.deaths) == (JobState.QUEUED, 0, 1)
    assert (again.attempts, again.deaths, again.rank) == (0, 1, claimed.rank)


def test_a_job_whose_type_says_so_fails_when_its_node_dies(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    settlement = die(claim_one(store, queue), LATER, OnNodeDeath.FAIL)

    reclaim(store, settlement)

    found = find(store, settlement.claim.spec.id)
    assert settlement.ending is not None
    assert (found.state, found.deaths, found.ended_at) == (JobState.FAILED, 1, LATER)
    assert found.errors == settlement.ending.errors


@pytest.mark.parametrize("sign", ["renewal", "claim"])
def test_a_reclaim_is_refused_whole_when_the_node_gave_another_sign_of_life(store: Store, sign: str) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue), spec(queue))
    held = claim(store, queue, node=node, limit=2)
    seen = store.read_pulses(queue)[node]
    if sign == "renewal":
        renew(store, queue, node, *held)
    else:
        claim_one(store, queue, node=node)

    refused = store.reclaim_jobs(queue, [die(each, LATER) for each in held], node=node, pulse=seen, now=LATER)

    assert refused == {each.spec.id for each in held}
    for each in held:
        found = find(store, each.spec.id)
        assert (found.state, found.token, found.deaths) == (JobState.RUNNING, each.token, 0)


def test_a_reclaim_from_a_node_without_a_pulse_is_refused(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    held = claim_one(store, queue, node=node)
    pulse = store.read_pulses(queue)[node]
    store.forget_pulse(queue, node, pulse=pulse)

    assert store.reclaim_jobs(queue, [die(held)], node=node, pulse=pulse, now=LATER) == {held.spec.id}

    assert find(store, held.spec.id).token == held.token


def test_a_reclaim_is_refused_when_the_job_was_finished_meanwhile(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue)
    finish(store, succeed(claimed, LATER), now=LATER)

    assert reclaim(store, die(claimed, LATER)) == {claimed.spec.id}

    assert state_of(store, claimed.spec.id) is JobState.SUCCEEDED


def test_a_repeated_reclaim_is_not_refused_and_counts_one_death(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    settlement = die(claim_one(store, queue), LATER)
    reclaim(store, settlement)

    assert reclaim(store, settlement) == frozenset()

    assert find(store, settlement.claim.spec.id).deaths == 1
    assert counts(store, queue) == {JobState.QUEUED: 1}


def test_a_second_watchdog_cannot_reclaim_from_the_heir(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    settlement = die(claim_one(store, queue), LATER)
    reclaim(store, settlement)
    heir = claim_one(store, queue, now=LATER)

    assert reclaim(store, settlement) == {heir.spec.id}

    assert find(store, heir.spec.id).token == heir.token


def test_an_empty_reclaim_refuses_nothing(store: Store) -> None:
    assert store.reclaim_jobs(new_queue(), [], node=new_node(), pulse="", now=NOW) == frozenset()


@pytest.mark.parametrize("on_node_death", OnNodeDeath)
def test_a_zombie_cannot_finish_a_reclaimed_job(store: Store, on_node_death: OnNodeDeath) -> None:
    queue = new_queue()
    enqueue(store, spec(queue))
    zombie = claim_one(store, queue)
    reclaim(store, die(zombie, LATER, on_node_death))
    before = find(store, zombie.spec.id)

    assert finish(store, succeed(zombie, LATER), now=LATER) == {zombie.spec.id}

    assert find(store, zombie.spec.id) == before


def test_a_zombie_can_do_nothing_to_a_job_that_runs_elsewhere(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    zombie = claim_one(store, queue, node=node)
    reclaim(store, die(zombie, LATER))
    heir = claim_one(store, queue, now=LATER)

    renewal = renew(store, queue, node, zombie)
    recovered = store.recover_claims(queue, node, {}, floor=0, now=LATER)

    assert renewal.lost == [zombie.spec.id]
    assert recovered == 0
    assert store.append_logs([log_batch(zombie, "boo")]) == {zombie.spec.id}
    assert finish(store, interrupt(zombie)) == {zombie.spec.id}
    assert finish(store, fail_and_retry(zombie)) == {zombie.spec.id}
    assert finish(store, succeed(zombie)) == {zombie.spec.id}
    assert find(store, zombie.spec.id).token == heir.token
    assert finish(store, succeed(heir, LATER), now=LATER) == frozenset()


# -- leaving -------------------------------------------------------------------------------------------------------


def test_what_a_leaving_node_still_holds_goes_back_and_no_death_is_counted(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    claimed = claim_one(store, queue, node=node)

    store.leave_queue(queue, node, floor=0, now=NOW)

    assert store.read_pulses(queue) == {}
    found = find(store, job_id)
    assert (found.state, found.attempts, found.deaths) == (JobState.QUEUED, 0, 0)
    assert finish(store, succeed(claimed)) == {job_id}


def test_a_node_may_leave_twice_and_with_empty_hands(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    finish(store, succeed(claim_one(store, queue, node=node)))

    store.leave_queue(queue, node, floor=0, now=NOW)
    store.leave_queue(queue, node, floor=0, now=NOW)

    assert store.read_pulses(queue) == {}
    assert counts(store, queue) == {JobState.SUCCEEDED: 1}


@pytest.mark.stores("redis", "redis-cluster")  # a claim on a file cannot be on its way when its node has left
def test_a_claim_that_comes_when_its_node_has_left_takes_nothing(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))

    store.leave_queue(queue, node, floor=7, now=NOW)
    late = [store.claim_jobs(queue, token=make_token(node, serial), limit=9, now=NOW).claims for serial in (6, 7)]
    store.leave_queue(queue, node, floor=0, now=NOW)
    late += [store.claim_jobs(queue, token=make_token(node, 7), limit=9, now=NOW).claims]

    assert late == [[], [], []]
    assert store.read_pulses(queue) == {}
    assert find(store, job_id).state is JobState.QUEUED


@pytest.mark.stores("redis", "redis-cluster")  # a claim on a file cannot be on its way when its node has given it up
def test_a_claim_that_its_node_gave_up_takes_nothing_when_the_node_was_taken_for_dead_meanwhile(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    renew(store, queue, node)
    store.recover_claims(queue, node, {}, floor=7, now=NOW)

    store.forget_pulse(queue, node, pulse=store.read_pulses(queue)[node])
    late = store.claim_jobs(queue, token=make_token(node, 7), limit=9, now=NOW).claims

    assert late == []
    assert store.read_pulses(queue) == {}
    assert find(store, job_id).state is JobState.QUEUED
    assert store.claim_jobs(queue, token=make_token(node, 8), limit=9, now=NOW).claims != []


def test_the_leaving_of_one_node_does_not_touch_another(store: Store) -> None:
    queue, leaver, other = new_queue(), new_node(), new_node()
    enqueue(store, spec(queue))
    held = claim_one(store, queue, node=other)
    renew(store, queue, leaver)

    store.leave_queue(queue, leaver, floor=0, now=NOW)

    assert store.read_pulses(queue).keys() == {other}
    assert claims_of(store, queue, other) == [held]


# -- recovery ------------------------------------------------------------------------------------------------------


def test_a_claim_whose_answer_was_lost_is_put_back_as_it_was(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue), spec(queue))
    known = claim_one(store, queue, node=node)
    forgotten = claim(store, queue, node=node)

    recovered = store.recover_claims(queue, node, {known.spec.id: known.token}, floor=0, now=NOW)

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
    reclaim(store, die(claim_one(store, queue, now=due), due))
    claim_one(store, queue, node=node, now=due)

    assert store.recover_claims(queue, node, {}, floor=0, now=due) == 1

    found = find(store, job_id)
    assert (found.state, found.attempts, found.deaths) == (JobState.QUEUED, 1, 1)
    assert claim_one(store, queue, now=due).attempts == 1


def test_the_token_of_a_recovered_claim_is_stale(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    claimed = claim_one(store, queue, node=node)
    store.recover_claims(queue, node, {}, floor=0, now=NOW)

    assert finish(store, succeed(claimed)) == {claimed.spec.id}
    assert store.append_logs([log_batch(claimed, "late")]) == {claimed.spec.id}

    assert state_of(store, claimed.spec.id) is JobState.QUEUED


def test_recovery_leaves_other_nodes_and_queues_alone(store: Store) -> None:
    queue, other_queue, node, other_node = new_queue(), new_queue(), new_node(), new_node()
    ids = enqueue(store, spec(queue), spec(other_queue))
    claim_one(store, queue, node=other_node)
    claim_one(store, other_queue, node=node)

    assert store.recover_claims(queue, node, {}, floor=0, now=NOW) == 0

    assert states_of(store, ids) == [JobState.RUNNING, JobState.RUNNING]


def test_there_is_nothing_to_recover_when_the_node_knows_all(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue))
    held = {each.spec.id: each.token for each in claim(store, queue, node=node)}

    assert store.recover_claims(queue, node, held, floor=0, now=NOW) == 0

    assert counts(store, queue) == {JobState.RUNNING: 2}


def test_more_than_one_step_of_lost_claims_is_recovered(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, *[spec(queue) for _ in range(2_500)])
    while claim(store, queue, node=node, limit=1_000):
        pass

    assert store.recover_claims(queue, node, {}, floor=0, now=NOW) == 2_500

    assert counts(store, queue) == {JobState.QUEUED: 2_500}


# -- late claims ---------------------------------------------------------------------------------------------------


def test_a_claim_that_comes_after_its_recovery_takes_nothing(store: Store) -> None:
    queue, node = new_queue(), new_node()
    (job_id,) = enqueue(store, spec(queue))
    store.recover_claims(queue, node, {}, floor=7, now=NOW)

    late = [store.claim_jobs(queue, token=make_token(node, serial), limit=9, now=NOW).claims for serial in (6, 7)]

    assert late == [[], []]
    assert state_of(store, job_id) is JobState.QUEUED
    (claimed,) = store.claim_jobs(queue, token=make_token(node, 8), limit=9, now=NOW).claims
    assert claimed.spec.id == job_id


def test_a_late_claim_still_delivers_its_settlements(store: Store) -> None:
    queue, node = new_queue(), new_node()
    done, waiting = enqueue(store, spec(queue), spec(queue, priority=-1))
    (held,) = store.claim_jobs(queue, token=make_token(node, 1), limit=1, now=NOW).claims
    store.recover_claims(queue, node, {held.spec.id: held.token}, floor=2, now=NOW)

    answer = store.finish_and_claim_jobs(queue, [succeed(held)], token=make_token(node, 2), limit=9, now=NOW)

    assert (answer.claims, answer.refused) == ([], frozenset())
    assert states_of(store, [done, waiting]) == [JobState.SUCCEEDED, JobState.QUEUED]


def test_the_floor_of_a_node_is_its_own_and_never_sinks(store: Store) -> None:
    queue, node, other = new_queue(), new_node(), new_node()
    enqueue(store, spec(queue), spec(queue))
    store.recover_claims(queue, node, {}, floor=5, now=NOW)
    store.recover_claims(queue, node, {}, floor=3, now=NOW)

    assert store.claim_jobs(queue, token=make_token(node, 5), limit=1, now=NOW).claims == []
    assert len(store.claim_jobs(queue, token=make_token(other, 1), limit=1, now=NOW).claims) == 1


def test_a_floor_outlives_signs_of_life(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue))
    store.recover_claims(queue, node, {}, floor=5, now=NOW)

    renew(store, queue, node)

    assert store.claim_jobs(queue, token=make_token(node, 5), limit=1, now=NOW).claims == []


def test_a_paused_queue_and_a_late_claim_still_tell_when_the_next_job_is_due(store: Store) -> None:
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue, run_at=NOW + 500))
    store.recover_claims(queue, node, {}, floor=5, now=NOW)

    assert store.claim_jobs(queue, token=make_token(node, 5), limit=1, now=NOW).next_due == NOW + 500


# -- fencing numbers -----------------------------------------------------------------------------------------------


def test_runs_under_a_lock_get_numbers_that_only_grow(store: Store) -> None:
    queue = new_queue()
    enqueue(store, *[spec(queue, lock_key=key) for key in ("a", "a", "b", "b")])
    fences: dict[str, list[int]] = {"a": [], "b": []}

    for _ in range(2):
        for held in claim(store, queue):
            fences[held.spec.lock_key or ""].append(held.fence)
            finish(store, succeed(held))

    given_out = fences["a"] + fences["b"]
    assert len(set(given_out)) == 4
    assert min(given_out) > 0
    assert fences["a"] == sorted(fences["a"])
    assert fences["b"] == sorted(fences["b"])


def test_the_number_grows_from_a_lost_run_to_its_repetition(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, lock_key="l"))
    first = claim_one(store, queue)
    reclaim(store, die(first, LATER))

    assert claim_one(store, queue, now=LATER).fence > first.fence


def test_the_number_goes_on_growing_when_the_clock_is_set_back(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue, lock_key="l"), spec(queue, lock_key="l"))
    first = claim_one(store, queue, now=LATER)
    finish(store, succeed(first))

    assert claim_one(store, queue, now=NOW).fence > first.fence


def test_a_run_without_a_lock_has_no_number(store: Store) -> None:
    queue = new_queue()
    enqueue(store, spec(queue), spec(queue, unique_key="u"))

    assert [held.fence for held in claim(store, queue)] == [0, 0]


# -- records -------------------------------------------------------------------------------------------------------


def test_time_passes_and_nobody_loses_anything(store: Store) -> None:
    """No instant that is given to a store decides who is alive."""
    queue, node = new_queue(), new_node()
    enqueue(store, spec(queue), spec(queue, priority=-1))
    held = claim_one(store, queue, node=node)
    beat(store)

    years_later = NOW + 10 * 365 * 24 * 3_600_000
    assert given(store, queue, now=years_later) != [held.spec.id]

    assert find(store, held.spec.id).token == held.token
    assert finish(store, succeed(held, years_later), now=years_later) == frozenset()
