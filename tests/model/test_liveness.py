"""Who is alive: rules of a watcher with its own clock. Times are seconds; the dead time is 20."""

import pytest

from rota.model.liveness import (
    Contact,
    Observer,
    Writes,
    common_since,
    contact_of_node,
    let_go_after_s,
    let_go_grace_s,
)

DEAD_S = 20.0


def looks(observer: Observer, pulse: str, *times: float, in_touch_since: float | None = 0.0) -> list[list[str]]:
    return [observer.look({"node": pulse}, at=at, in_touch_since=in_touch_since) for at in times]


def test_a_node_lets_go_at_three_quarters_of_the_dead_time() -> None:
    assert let_go_after_s(DEAD_S) == 15.0


def test_what_is_let_go_is_over_before_others_begin() -> None:
    # At 15 s it is told to end, and 5 s are left; half of them are for what comes between.
    assert let_go_grace_s(DEAD_S) == 2.5


def test_a_nodes_own_writes_may_be_half_the_dead_time_apart() -> None:
    contact = contact_of_node(DEAD_S)
    contact.made(0.0)

    assert contact.since(10.0) == 0.0
    assert contact.since(10.001) is None


def test_the_beginning_of_a_contact_stays_while_there_is_no_gap() -> None:
    contact = Contact(5.0)
    for at in (1.0, 6.0, 11.0):
        contact.made(at)
    assert contact.since(11.0) == 1.0

    contact.made(16.001)
    assert contact.since(16.001) == 16.001


def test_a_silent_node_is_dead_after_the_whole_dead_time() -> None:
    observer = Observer(DEAD_S)

    found = looks(observer, "a", *range(21))

    assert found == [[]] * 20 + [["node"]]


def test_every_new_pulse_begins_a_new_life() -> None:
    observer = Observer(DEAD_S)
    looks(observer, "a", *range(20))

    assert looks(observer, "b", *range(20, 40)) == [[]] * 20
    assert looks(observer, "b", 40) == [["node"]]


def test_a_node_that_was_away_is_a_new_one() -> None:
    observer = Observer(DEAD_S)
    looks(observer, "a", *range(15))
    observer.look({}, at=15, in_touch_since=0.0)

    assert looks(observer, "a", *range(16, 36)) == [[]] * 20
    assert looks(observer, "a", 36) == [["node"]]


def test_a_watcher_that_blinked_for_more_than_a_quarter_watches_anew() -> None:
    careful, blinking = Observer(DEAD_S), Observer(DEAD_S)

    assert looks(careful, "a", 0, 5, 10, 15, 20)[-1] == ["node"]
    assert looks(blinking, "a", 0, 5, 10.001, 15, 20, 25, 30)[-1] == []
    assert looks(blinking, "a", 30.001)[-1] == ["node"]


@pytest.mark.parametrize("since", [1.0, 19.0])
def test_only_the_time_for_which_the_watcher_could_write_counts(since: float) -> None:
    observer = Observer(DEAD_S)
    times = [float(at) for at in range(int(since) + 20)]

    assert looks(observer, "a", *times, in_touch_since=since) == [[]] * len(times)
    assert looks(observer, "a", since + 20.0, in_touch_since=since) == [["node"]]


def test_whoever_cannot_write_now_finds_nobody_dead() -> None:
    observer = Observer(DEAD_S)
    looks(observer, "a", *range(30))

    assert looks(observer, "a", 30, in_touch_since=None) == [[]]


def test_each_node_is_judged_by_itself() -> None:
    observer = Observer(DEAD_S)
    for at in range(20):
        observer.look({"silent": "a", "alive": str(at)}, at=at, in_touch_since=0.0)

    assert observer.look({"silent": "a", "alive": "new", "newcomer": "a"}, at=20, in_touch_since=0.0) == ["silent"]


def test_pulses_that_changed_were_written_and_those_of_the_first_look_or_the_same_again_may_be_old() -> None:
    writes = Writes(DEAD_S)

    writes.saw({"node": "a"}, 1.0)
    writes.saw({"node": "a"}, 2.0)
    assert writes.since(2.0) is None

    writes.saw({"node": "b"}, 3.0)
    writes.saw({"node": "b"}, 4.0)
    assert writes.since(4.0) == 3.0


@pytest.mark.parametrize("pulses", [{"node": "a", "new": "x"}, {}])
def test_a_node_that_comes_or_goes_was_written_too(pulses: dict[str, str]) -> None:
    writes = Writes(DEAD_S)
    writes.saw({"node": "a"}, 1.0)

    writes.saw(pulses, 2.0)

    assert writes.since(2.0) == 2.0


def test_writes_of_others_and_of_ones_own_are_one_stretch_until_half_the_dead_time_passes_without_any() -> None:
    writes = Writes(DEAD_S)
    writes.saw({"node": "a"}, 0.0)
    writes.made(1.0)
    writes.saw({"node": "b"}, 11.0)
    writes.made(21.0)

    assert writes.since(31.0) == 1.0
    assert writes.since(31.001) is None


def test_a_proof_is_needed_when_nothing_was_written_for_a_third_of_the_dead_time() -> None:
    writes = Writes(DEAD_S)
    assert writes.need_proof(0.0)

    writes.made(0.0)
    assert [writes.need_proof(at) for at in (6.9, 7.0)] == [False, True]

    writes.saw({"node": "a"}, 7.0)
    assert writes.need_proof(7.0)
    writes.saw({"node": "b"}, 8.0)
    assert [writes.need_proof(at) for at in (14.9, 15.0)] == [False, True]


@pytest.mark.parametrize(
    ("stretches", "expected"),
    [((1.0, 3.0, 2.0), 3.0), ((0.0,), 0.0), ((0.0, 0.0), 0.0), ((1.0, None), None), ((None,), None)],
)
def test_stretches_have_in_common_what_comes_after_the_latest_began_if_all_last(
    stretches: tuple[float | None, ...], expected: float | None
) -> None:
    assert common_since(*stretches) == expected
