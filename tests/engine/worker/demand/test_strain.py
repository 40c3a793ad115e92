"""How many jobs a worker holds while its process is short of something."""

import pytest

from rota.engine.worker.demand.strain import CALM_S, GROW_S, PAUSE_S, Strain


@pytest.mark.parametrize(
    ("slots", "running", "most"),
    [
        (150, 80, 60),
        (150, 2, 1),
        (150, 1, 1),
        (8, 200, 8),  # slots are not all that holds jobs: some were claimed ahead
        (1, 0, 1),
    ],
)
def test_a_shortage_leaves_three_quarters_of_what_ran_and_at_least_one(slots: int, running: int, most: int) -> None:
    strain = Strain(slots)

    strain.ran_short(running, 100.0)

    assert strain.most_held(100.0 + PAUSE_S) == most
    assert strain.is_on


@pytest.mark.parametrize(
    ("seconds", "most"),
    [(0, 60), (GROW_S - 0.1, 60), (GROW_S, 75), (2 * GROW_S, 93), (4 * GROW_S, 145), (5 * GROW_S, 150), (1e6, 150)],
)
def test_it_grows_by_a_quarter_at_a_time_up_to_the_slots(seconds: float, most: int) -> None:
    strain = Strain(150)
    strain.ran_short(80, 100.0)

    assert strain.most_held(100.0 + seconds) == most


def test_of_several_shortages_at_once_the_least_counts() -> None:
    strain = Strain(150)

    for running in (149, 120, 80):
        strain.ran_short(running, 100.0)

    assert strain.most_held(100.0) == 60


def test_a_shortage_while_it_grows_sets_it_back() -> None:
    strain = Strain(150)
    strain.ran_short(80, 100.0)
    assert strain.most_held(100.0 + 2 * GROW_S) == 93

    strain.ran_short(84, 111.0)

    assert strain.most_held(111.0) == 63
    assert strain.most_held(111.0 + GROW_S) == 78


def test_nothing_is_claimed_for_a_moment_when_not_even_one_could_start() -> None:
    strain = Strain(150)
    strain.ran_short(0, 100.0)

    assert strain.most_held(100.0) == 0
    assert strain.most_held(100.0 + PAUSE_S) == 1


def test_it_is_over_when_all_slots_were_allowed_for_a_while() -> None:
    strain = Strain(2)
    strain.ran_short(2, 100.0)

    assert (strain.most_held(100.0 + GROW_S), strain.is_on) == (2, True)
    assert (strain.most_held(100.0 + GROW_S + CALM_S), strain.is_on) == (2, False)


@pytest.mark.parametrize(("slots", "most"), [(90, 90), (40, 40), (300, 181)])
def test_it_grows_up_to_the_slots_that_there_are_by_then(slots: int, most: int) -> None:
    strain = Strain(150)
    strain.ran_short(80, 100.0)

    strain.resize(slots)

    assert strain.most_held(100.0) == min(60, slots)
    assert strain.most_held(100.0 + 5 * GROW_S) == most
