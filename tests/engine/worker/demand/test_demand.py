"""What a worker wants, and when it asks again."""

import pytest

from rota.engine.worker.demand.demand import BUSY_CHECK_S, Demand
from rota.engine.worker.demand.look_ahead import AHEAD_S
from rota.engine.worker.demand.strain import CALM_S, GROW_S, PAUSE_S
from rota.engine.worker.times import IDLE_CHECK_S

SLOTS = 4
AT = 100.0
NOW = 1_700_000_000_000


def new_demand() -> Demand:
    return Demand(SLOTS, at=AT, idle_check_s=IDLE_CHECK_S)


def quick_demand(ahead: int) -> Demand:
    """Of a worker whose pace lets it claim so many ahead."""
    demand = new_demand()
    for _ in range(60):
        demand.ended(ahead, run_s=0.0, within_s=AHEAD_S * 0.9999)
    return demand


def asked_in_vain() -> Demand:
    """Of a worker that knows of no jobs."""
    demand = new_demand()
    demand.answered(wanted=SLOTS, got=0, in_hand=0, at=AT)
    return demand


# -- how much ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("in_hand", "has_idle_slot", "wanted"),
    [
        (0, True, SLOTS),
        (3, True, 1),  # a free slot is never left waiting
        (3, False, 0),  # less than half a batch can wait
        (2, False, 2),
        (SLOTS, False, 0),
        (SLOTS + 5, True, 0),  # more in hand than wanted, because the pace has slackened
    ],
)
def test_a_worker_at_rest_wants_a_job_for_each_slot(in_hand: int, has_idle_slot: bool, wanted: int) -> None:
    assert new_demand().wanted(in_hand, AT, has_idle_slot=has_idle_slot) == wanted


@pytest.mark.parametrize(
    ("in_hand", "has_idle_slot", "wanted"),
    [(0, True, SLOTS + 96), (50, False, 50), (51, False, 0), (51, True, 49)],
)
def test_a_quick_worker_claims_ahead_half_a_batch_at_a_time(in_hand: int, has_idle_slot: bool, wanted: int) -> None:
    assert quick_demand(96).wanted(in_hand, AT, has_idle_slot=has_idle_slot) == wanted


def test_exchanges_in_which_nothing_ended_say_nothing_of_the_pace() -> None:
    demand = quick_demand(96)

    for _ in range(10):
        demand.ended(0, run_s=0.0, within_s=60.0)

    assert demand.room(0, AT) == SLOTS + 96


@pytest.mark.parametrize(("got", "in_hand", "room"), [(0, 0, SLOTS), (0, 1, 99), (1, 0, 100)])
def test_the_pace_is_forgotten_when_there_is_nothing_to_do(got: int, in_hand: int, room: int) -> None:
    demand = quick_demand(96)

    demand.answered(wanted=10, got=got, in_hand=in_hand, at=AT)

    assert demand.room(in_hand, AT) == room


def test_a_worker_that_drains_wants_nothing() -> None:
    demand = new_demand()

    demand.close()

    assert demand.room(0, AT) == 0
    assert demand.wanted(0, AT, has_idle_slot=True) == 0


# -- when ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("got", "asks_again"), [(SLOTS, True), (SLOTS - 1, False), (0, False)])
def test_a_claim_that_brought_less_than_it_asked_for_is_not_repeated_at_once(got: int, asks_again: bool) -> None:
    demand = new_demand()

    demand.answered(wanted=SLOTS, got=got, in_hand=0, at=AT)

    assert (demand.wanted(0, AT, has_idle_slot=True) > 0) is asks_again


@pytest.mark.parametrize(
    ("passed_s", "due_in_ms", "asks_again"),
    [
        (0.0, None, False),
        (IDLE_CHECK_S - 0.01, None, False),
        (IDLE_CHECK_S, None, True),  # a wake-up may have been lost
        (0.1, 101, False),
        (0.1, 100, True),
        (0.1, -1, True),
    ],
)
def test_a_worker_asks_again_when_a_job_is_due_and_once_in_a_while(
    passed_s: float, due_in_ms: int | None, asks_again: bool
) -> None:
    demand = asked_in_vain()
    demand.next_due = None if due_in_ms is None else NOW + due_in_ms

    demand.time_passed(AT + passed_s, NOW + round(passed_s * 1000))

    assert (demand.wanted(0, AT, has_idle_slot=True) > 0) is asks_again


def test_a_worker_asks_again_when_it_is_woken_or_does_not_know_what_came_of_its_claim() -> None:
    woken, unanswered = asked_in_vain(), asked_in_vain()

    woken.woken(0, AT)
    unanswered.unanswered()

    assert woken.wanted(0, AT, has_idle_slot=True) == SLOTS
    assert unanswered.wanted(0, AT, has_idle_slot=True) == SLOTS


@pytest.mark.parametrize(
    ("due_in_ms", "is_busy", "pause_s"),
    [
        (None, False, IDLE_CHECK_S),
        (250, False, 0.25),
        (3_600_000, False, IDLE_CHECK_S),
        (0, False, 0.001),
        (-5_000, False, 0.001),  # overdue, yet not to be had, in a paused queue: nobody spins
        (None, True, BUSY_CHECK_S),
        (1, True, BUSY_CHECK_S),
    ],
)
def test_a_worker_waits_until_the_next_job_is_due(due_in_ms: int | None, is_busy: bool, pause_s: float) -> None:
    demand = new_demand()
    demand.next_due = None if due_in_ms is None else NOW + due_in_ms

    assert demand.pause_s(AT, NOW, is_busy=is_busy, has_room=True) == pause_s


@pytest.mark.parametrize("due_in_ms", [None, 250, 0, -5_000])
def test_a_worker_without_room_does_not_wait_for_what_is_due(due_in_ms: int | None) -> None:
    demand = new_demand()
    demand.next_due = None if due_in_ms is None else NOW + due_in_ms

    assert demand.longest_wait_s(NOW, has_room=False) == IDLE_CHECK_S
    assert demand.pause_s(AT, NOW, is_busy=False, has_room=False) == IDLE_CHECK_S
    assert demand.pause_s(AT, NOW, is_busy=True, has_room=False) == BUSY_CHECK_S


# -- signals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("in_hand", "must_signal"), [(0, False), (SLOTS - 1, False), (SLOTS, True), (SLOTS + 1, True)])
def test_a_worker_without_room_passes_a_signal_on_once(in_hand: int, must_signal: bool) -> None:
    demand = new_demand()

    demand.woken(in_hand, AT)

    assert demand.must_signal is must_signal
    assert demand.take_signal() is must_signal
    assert demand.take_signal() is False


@pytest.mark.parametrize("signals", [False, True])
def test_a_signal_that_may_have_reached_nobody_is_passed_on_again(signals: bool) -> None:
    demand = new_demand()
    demand.woken(SLOTS, AT)
    demand.take_signal()

    demand.unanswered(signals=signals)

    assert demand.take_signal() is signals
    assert demand.take_signal() is False


def test_a_signal_that_comes_while_the_store_is_away_is_kept() -> None:
    demand = new_demand()
    demand.woken(SLOTS, AT)

    demand.unanswered()

    assert demand.take_signal() is True


def test_a_worker_that_drains_passes_every_signal_on() -> None:
    demand = new_demand()
    demand.close()

    demand.woken(0, AT)

    assert demand.take_signal() is True


# -- strain --------------------------------------------------------------------------------------------------------


def test_a_strained_worker_wants_fewer_jobs_until_it_is_relieved() -> None:
    demand = quick_demand(96)

    demand.ran_short(2, AT)

    assert demand.room(0, AT) == 1
    assert demand.room(1, AT) == 0
    assert demand.is_relieved(AT) is False
    assert demand.room(0, AT + GROW_S) == 2


def test_who_could_start_not_even_one_job_tries_again_after_a_moment_although_nobody_wakes_it() -> None:
    demand = asked_in_vain()
    demand.ran_short(0, AT)

    assert demand.wanted(0, AT, has_idle_slot=True) == 0
    assert demand.pause_s(AT, NOW, is_busy=False, has_room=False) == PAUSE_S < IDLE_CHECK_S
    assert demand.pause_s(AT + PAUSE_S / 4, NOW, is_busy=False, has_room=False) == PAUSE_S * 3 / 4
    assert demand.wanted(0, AT + PAUSE_S, has_idle_slot=True) == 1
    assert demand.pause_s(AT + PAUSE_S, NOW, is_busy=False, has_room=True) == IDLE_CHECK_S


def test_relief_is_told_once_whoever_notices_it_first() -> None:
    demand = new_demand()
    demand.ran_short(2, AT)
    calm = AT + 10 * GROW_S + CALM_S

    assert demand.room(0, calm) == SLOTS

    assert demand.is_relieved(calm) is True
    assert demand.is_relieved(calm) is False


def test_who_was_never_strained_is_not_relieved() -> None:
    assert new_demand().is_relieved(AT + 3_600) is False
