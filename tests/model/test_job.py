"""States, moves and ranks."""

from hypothesis import given
from hypothesis import strategies as st

from rota.model.job import (
    FINAL_STATES,
    LIVE_STATES,
    MAX_PRIORITY,
    MOVES,
    JobSpec,
    JobState,
    available_at_of_rank,
    make_token,
    node_of_token,
    rank_of,
    serial_of_token,
)

priorities = st.integers(min_value=-MAX_PRIORITY, max_value=MAX_PRIORITY)
instants = st.integers(min_value=0, max_value=4_000_000_000_000)


def test_every_state_is_either_live_or_final_and_has_its_moves() -> None:
    assert set(JobState) == FINAL_STATES | LIVE_STATES
    assert not FINAL_STATES & LIVE_STATES
    assert set(MOVES) == set(JobState)


def test_a_success_stays() -> None:
    assert MOVES[JobState.SUCCEEDED] == frozenset()


@given(priorities, priorities, instants, instants)
def test_rank_orders_by_priority_and_then_by_time(high: int, low: int, early: int, late: int) -> None:
    high, low = max(high, low), min(high, low)
    early, late = min(early, late), max(early, late)

    assert high == low or rank_of(high, late) < rank_of(low, early)
    assert rank_of(high, early) <= rank_of(high, late)


@given(priorities, instants)
def test_a_rank_is_exact_in_a_double_and_tells_its_time(priority: int, available_at: int) -> None:
    rank = rank_of(priority, available_at)

    assert int(float(rank)) == rank
    assert 0 <= available_at - available_at_of_rank(rank) < 16


def test_a_time_in_the_past_gives_no_place_ahead() -> None:
    spec = JobSpec(id="a", job_type="t", queue="q", enqueued_at=5_000, run_at=1)

    assert spec.available_at == 5_000


def test_a_token_names_its_node() -> None:
    assert node_of_token(make_token("node-1", 42)) == "node-1"


def test_a_token_names_its_serial() -> None:
    assert [serial_of_token(make_token("node-1", serial)) for serial in (1, 42, 1_000_000)] == [1, 42, 1_000_000]
    assert node_of_token(make_token("a-b", 7)) == "a-b"


def test_the_legal_moves_are_these() -> None:
    moves = {(before.value, after.value) for before, states in MOVES.items() for after in states}

    assert moves == {
        ("delayed", "queued"),
        ("delayed", "cancelled"),
        ("queued", "running"),
        ("queued", "cancelled"),
        ("running", "succeeded"),
        ("running", "failed"),
        ("running", "cancelled"),
        ("running", "delayed"),
        ("running", "queued"),
        ("failed", "queued"),
        ("cancelled", "queued"),
    }


def test_a_job_for_later_is_ready_at_its_time() -> None:
    spec = JobSpec(id="a", job_type="t", queue="q", enqueued_at=5_000, run_at=9_000)

    assert spec.available_at == 9_000
    assert JobSpec(id="a", job_type="t", queue="q", enqueued_at=5_000).available_at == 5_000
