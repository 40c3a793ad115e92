"""For how long a job of a killed node could have begun again, before it did."""

import pytest

from tests.soak.judge import Life, Stretch
from tests.soak.ledger import Line, runs_of
from tests.soak.recovery import Recovery, Scene, longest_free

SECOND = 1_000


def s(since: int, until: int) -> Stretch:
    return Stretch(since * SECOND, until * SECOND)


def taken_over(
    *,
    node: str = "worker-1.1",
    others: list[Life] | None = None,
    blind: list[Stretch] | None = None,
    paused: dict[str, list[Stretch]] | None = None,
    lock: str = "-",
    beside: list[Line] | None = None,
) -> Recovery:
    """A node that was killed at 10 s; its job begins again at 50 s, and what happened meanwhile."""
    lines = [
        Line("start", "one", "job", 1, node, 5 * SECOND, lock),
        *(beside or []),
        Line("start", "two", "job", 1, "worker-2.1", 50 * SECOND, lock),
    ]
    runs = runs_of(lines)
    first, second = runs[0], runs[-1]
    lives = [Life(node, 0, killed_at=10 * SECOND), *(others or [Life("worker-2.1", 0)])]
    return Scene(lives, blind or [], paused or {}, runs).recovery(first, second)


def test_without_another_fault_it_could_all_the_time() -> None:
    assert taken_over() == Recovery(40 * SECOND, 40 * SECOND, "job", "worker-1.1")


def test_not_while_nobody_could_watch() -> None:
    assert taken_over(blind=[s(0, 20), s(30, 45)]).could_ms == 10 * SECOND


def test_not_while_its_own_queue_is_paused() -> None:
    assert taken_over(paused={"default": [s(20, 45)], "lone": [s(10, 50)]}).could_ms == 10 * SECOND


@pytest.mark.parametrize(
    ("other", "could_s"),
    [
        (Life("worker-2.1", 30 * SECOND), 20),
        (Life("worker-2.1", 0, killed_at=22 * SECOND), 12),
        (Life("worker-2.1", 0, asked_at=23 * SECOND), 13),
        (Life("worker-2.1", 0, ended_at=24 * SECOND), 14),
        (Life("worker-2.1", 0, suspended=[s(11, 31)]), 19),
        (Life("lone.1", 0), 0),
    ],
)
def test_not_while_no_node_serves_its_queue(other: Life, could_s: int) -> None:
    assert taken_over(others=[other]).could_ms == could_s * SECOND


def test_one_node_alone_is_one_whose_queue_no_other_serves() -> None:
    others = [Life("worker-2.1", 0), Life("lone.2", 44 * SECOND)]

    assert taken_over(node="lone.1", others=others).could_ms == 6 * SECOND


@pytest.mark.parametrize(
    "met",
    [
        Life("worker-3.1", 0, killed_at=30 * SECOND),
        Life("worker-3.1", 0, asked_at=30 * SECOND),
        Life("worker-3.1", 0, suspended=[s(30, 40)]),
    ],
)
def test_anew_when_another_node_that_may_have_claimed_it_is_met(met: Life) -> None:
    assert taken_over(others=[Life("worker-2.1", 0), met]).could_ms == 20 * SECOND


def test_not_while_another_run_holds_its_lock() -> None:
    beside = [
        Line("start", "other", "another", 1, "worker-2.1", 12 * SECOND, "lock:x"),
        Line("end", "other", "another", 1, "worker-2.1", 42 * SECOND, "lock:x"),
    ]

    assert taken_over(lock="lock:x", beside=beside).could_ms == 8 * SECOND
    assert taken_over(lock="lock:y", beside=beside).could_ms == 40 * SECOND
    assert taken_over(beside=beside).could_ms == 40 * SECOND


def test_hindrances_may_overlap_lie_outside_and_have_no_length() -> None:
    assert longest_free(s(10, 50), []) == 40 * SECOND
    assert longest_free(s(10, 50), [s(0, 5), s(60, 70)]) == 40 * SECOND
    assert longest_free(s(10, 50), [s(12, 40), s(15, 20), s(38, 44)]) == 6 * SECOND
    assert longest_free(s(10, 50), [s(25, 25)]) == 25 * SECOND
    assert longest_free(s(10, 50), [s(0, 90)]) == 0


def test_it_is_told_in_a_sentence() -> None:
    assert Recovery(40_000, 26_500, "job", "lone.1").text == (
        "job job of lone.1 began again 40.0 s after the kill, and could have begun for 26.5 s"
    )
