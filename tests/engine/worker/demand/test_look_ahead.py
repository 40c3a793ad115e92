"""LookAhead: a worker claims ahead as much as it ends within a moment, and no more."""

import pytest

from rota.engine.worker.demand.look_ahead import AHEAD_S, MAX_AHEAD, LookAhead

SLOTS = 4


def ahead(*, run_s: float, within_s: float, jobs: int = 100, times: int = 60) -> int:
    """How many jobs are claimed ahead if so many end in this time, again and again, each after a run of `run_s`."""
    look_ahead = LookAhead(SLOTS)
    for _ in range(times):
        look_ahead.ended(jobs, run_s=run_s * jobs, within_s=within_s)
    return look_ahead.most_held - SLOTS


def test_a_worker_that_ended_nothing_yet_takes_one_job_for_each_slot() -> None:
    assert LookAhead(SLOTS).most_held == SLOTS


def test_slow_jobs_are_not_claimed_ahead() -> None:
    assert ahead(jobs=4, run_s=10.0, within_s=10.0) == 0


@pytest.mark.parametrize("run_s", [AHEAD_S * 1.01, 0.3, 60.0])
def test_slow_jobs_that_end_together_do_not_look_quick(run_s: float) -> None:
    assert ahead(jobs=4, run_s=run_s, within_s=0.0) == 0


def test_jobs_that_share_one_thread_are_claimed_ahead_by_the_pace_of_their_ends() -> None:
    assert ahead(jobs=100, run_s=0.0, within_s=0.1) == round(1_000 * AHEAD_S)


def test_jobs_that_end_together_are_claimed_ahead_by_the_length_of_their_runs() -> None:
    assert ahead(jobs=4, run_s=0.004, within_s=0.0) == SLOTS * 5


def test_nothing_makes_it_claim_more_than_helps() -> None:
    assert ahead(jobs=1_000_000, run_s=0.0, within_s=0.0) == MAX_AHEAD


def test_one_batch_of_long_runs_is_enough_to_claim_nothing_ahead() -> None:
    look_ahead = LookAhead(SLOTS)
    for _ in range(60):
        look_ahead.ended(100, run_s=0.0, within_s=0.001)

    look_ahead.ended(1, run_s=0.3, within_s=0.3)

    assert look_ahead.most_held == SLOTS


def test_after_a_rest_it_begins_anew() -> None:
    look_ahead = LookAhead(SLOTS)
    look_ahead.ended(1_000, run_s=0.0, within_s=0.1)

    look_ahead.rest()

    assert look_ahead.most_held == SLOTS
