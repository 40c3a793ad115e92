"""LookAhead: a worker claims ahead as much as it ends within a moment, and no more."""

from rota.engine.worker.look_ahead import AHEAD_S, MAX_AHEAD, LookAhead


def test_a_worker_that_ended_nothing_yet_takes_one_job_for_each_slot() -> None:
    assert LookAhead(slots=4).most_held == 4


def test_slow_jobs_are_not_claimed_ahead() -> None:
    look_ahead = LookAhead(slots=4)

    for _ in range(20):
        look_ahead.ended(4, 10.0)

    assert look_ahead.most_held == 4


def test_quick_jobs_are_claimed_ahead_by_the_pace_of_their_ends() -> None:
    look_ahead = LookAhead(slots=4)

    for _ in range(50):
        look_ahead.ended(100, 0.1)

    assert look_ahead.most_held == 4 + round(1_000 * AHEAD_S) - 1


def test_nothing_makes_it_claim_more_than_helps() -> None:
    look_ahead = LookAhead(slots=4)

    for _ in range(50):
        look_ahead.ended(1_000_000, 0.0)

    assert look_ahead.most_held == 4 + MAX_AHEAD


def test_after_a_rest_it_begins_anew() -> None:
    look_ahead = LookAhead(slots=4)
    look_ahead.ended(1_000, 0.1)

    look_ahead.rest()

    assert look_ahead.most_held == 4
