"""Back-off."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import InvalidInput
from rota.model.runs.retry import MAX_DELAY_MS, RetryPolicy


def test_there_is_one_attempt_by_default() -> None:
    assert RetryPolicy().attempts == 1


def test_delays_grow_up_to_the_limit() -> None:
    policy = RetryPolicy(attempts=9, delay_ms=1_000, factor=3, max_delay_ms=20_000, jitter=0)

    assert [policy.delay_after(n, 0.5) for n in (1, 2, 3, 4)] == [1_000, 3_000, 9_000, 20_000]


@pytest.mark.parametrize("attempts", [2, 10, 64, 65, 66, 999, 1_000, 10**9])
@pytest.mark.parametrize("factor", [100.0, 100, 99.9, 1.5])
def test_the_longest_delays_and_factors_never_pass_the_limit(attempts: int, factor: float) -> None:
    policy = RetryPolicy(attempts=1_000, delay_ms=2_592_000_000, factor=factor, max_delay_ms=2_592_000_000, jitter=1)

    assert policy.delay_after(attempts, 0) == 2_592_000_000
    assert policy.delay_after(attempts, 0.5) == 3_888_000_000


@pytest.mark.parametrize(
    ("policy", "delays"),
    [
        (RetryPolicy(delay_ms=0, factor=100, jitter=0), [0, 0, 0, 0]),
        (RetryPolicy(delay_ms=500, factor=1, jitter=0), [500, 500, 500, 500]),
        (RetryPolicy(delay_ms=500, max_delay_ms=0, jitter=0), [0, 0, 0, 0]),
        (RetryPolicy(delay_ms=5_000, max_delay_ms=4_000, jitter=0), [4_000, 4_000, 4_000, 4_000]),
        (RetryPolicy(delay_ms=1, factor=100, max_delay_ms=10_000, jitter=0), [1, 100, 10_000, 10_000]),
        (RetryPolicy(jitter=0), [1_000, 2_000, 4_000, 8_000]),
        (RetryPolicy(), [1_050, 2_100, 4_200, 8_400]),
    ],
)
def test_delays_are_those_of_the_policy(policy: RetryPolicy, delays: list[int]) -> None:
    assert [policy.delay_after(attempts, 0.5) for attempts in (1, 2, 3, 4)] == delays


@pytest.mark.parametrize(
    "policy",
    [
        RetryPolicy(attempts=1, delay_ms=0, factor=1, max_delay_ms=0, jitter=0),
        RetryPolicy(attempts=1_000, delay_ms=2_592_000_000, factor=100, max_delay_ms=2_592_000_000, jitter=1),
    ],
)
def test_a_policy_at_its_bounds_is_taken(policy: RetryPolicy) -> None:
    policy.check("retry")


@given(st.integers(1, 1_000), st.floats(0, 0.999))
def test_jitter_only_adds_and_stays_within_its_share(attempts: int, chance: float) -> None:
    policy = RetryPolicy(attempts=1_000, delay_ms=1_000, jitter=0.2)
    bare = RetryPolicy(attempts=1_000, delay_ms=1_000, jitter=0).delay_after(attempts, 0)

    assert bare <= policy.delay_after(attempts, chance) <= round(bare * 1.2)


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (RetryPolicy(attempts=0), "attempts"),
        (RetryPolicy(attempts=1_001), "attempts"),
        (RetryPolicy(delay_ms=-1), "delay_ms"),
        (RetryPolicy(factor=0.5), "factor"),
        (RetryPolicy(factor=float("nan")), "factor"),
        (RetryPolicy(max_delay_ms=MAX_DELAY_MS + 1), "max_delay_ms"),
        (RetryPolicy(delay_ms=2_592_000_001), "delay_ms"),
        (RetryPolicy(max_delay_ms=-1), "max_delay_ms"),
        (RetryPolicy(factor=100.1), "factor"),
        (RetryPolicy(factor=0.99), "factor"),
        (RetryPolicy(jitter=1.5), "jitter"),
        (RetryPolicy(jitter=-0.1), "jitter"),
    ],
)
def test_a_policy_that_cannot_be_meant_is_refused_with_its_field(policy: RetryPolicy, field: str) -> None:
    with pytest.raises(InvalidInput, match=rf"retry\.{field}"):
        policy.check("retry")


@pytest.mark.parametrize(
    "policy",
    [
        RetryPolicy(attempts=1, delay_ms=0, factor=1, max_delay_ms=0, jitter=0),
        RetryPolicy(attempts=1_000, delay_ms=2_592_000_000, factor=100, max_delay_ms=2_592_000_000, jitter=1),
    ],
)
def test_a_policy_on_its_bounds_is_accepted(policy: RetryPolicy) -> None:
    policy.check("retry")


@pytest.mark.parametrize(
    "policy",
    [
        RetryPolicy(delay_ms=2_592_000_001),
        RetryPolicy(factor=100.1),
        RetryPolicy(factor=float("inf")),
        RetryPolicy(max_delay_ms=-1),
        RetryPolicy(jitter=-0.1),
        RetryPolicy(jitter=float("nan")),
    ],
)
def test_a_policy_beyond_its_bounds_is_refused(policy: RetryPolicy) -> None:
    with pytest.raises(InvalidInput):
        policy.check("retry")


def test_waits_are_in_milliseconds_and_jitter_is_added_by_chance() -> None:
    policy = RetryPolicy(attempts=9, delay_ms=1_000, factor=2, max_delay_ms=3_000, jitter=0.5)

    assert [policy.delay_after(1, chance) for chance in (0.0, 0.5, 0.999)] == [1_000, 1_250, 1_500]
    assert policy.delay_after(9, 1.0) == 4_500


def test_the_greatest_factor_and_number_of_attempts_give_a_wait_within_the_limit() -> None:
    policy = RetryPolicy(attempts=1_000, delay_ms=2_592_000_000, factor=100, max_delay_ms=2_592_000_000, jitter=0)

    assert [policy.delay_after(attempts, 0.0) for attempts in (1, 2, 65, 66, 1_000)] == [2_592_000_000] * 5
