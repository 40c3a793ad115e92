"""Rounds over several places of which one hangs: the others are looked at, and everything is looked at once at a
time."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from rota.clock import ManualClock
from rota.engine.node.rounds import SLOW_S, Look, Rounds
from tests.patience import DEADLINE_S

SLOW_MS = int(SLOW_S * 1000) + 1
PLACES = ("a", "b", "c")


class Places:
    """Three places, of which some hang until they are let go, and a duty's rounds over them."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.rounds = Rounds(self.clock)
        self.hangs: set[str] = set()
        self.is_over = threading.Event()
        self.looks: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.looked_by: dict[str, threading.Thread] = {}
        self.has_begun = threading.Semaphore(0)
        self.threads: list[threading.Thread] = []

    def look_at(self, place: str) -> bool:
        self.looks[place] += 1
        self.looked_by[place] = threading.current_thread()
        self.has_begun.release()
        if place in self.hangs:
            assert self.is_over.wait(DEADLINE_S)
        self.ended[place] += 1
        return False

    def round(self) -> None:
        looks: dict[str, Look] = {place: self._look_at(place) for place in PLACES}
        round = self.rounds.begin()
        self.rounds.take(round, looks)
        round.end()

    def _look_at(self, place: str) -> Callable[[], bool]:
        return lambda: self.look_at(place)

    def get_stuck(self, place: str) -> threading.Thread:
        """Begin a round in another thread; returns when it is at a place that hangs, and has been for long."""
        self.hangs.add(place)
        thread = threading.Thread(target=self.round)
        self.threads.append(thread)
        thread.start()
        for _ in PLACES[: PLACES.index(place) + 1]:
            assert self.has_begun.acquire(timeout=DEADLINE_S)
        was_stuck = self.rounds.is_stuck
        self.clock.advance(SLOW_MS)
        assert (was_stuck, self.rounds.is_stuck) == (False, True)
        return thread

    def let_go(self) -> None:
        self.hangs.clear()
        self.is_over.set()
        for thread in self.threads:
            thread.join(DEADLINE_S)


@pytest.fixture
def places() -> Iterator[Places]:
    places = Places()
    yield places
    places.let_go()


def test_in_good_times_there_is_no_thread_but_the_callers(places: Places) -> None:
    for _ in range(3):
        places.round()

    places.clock.advance(SLOW_MS)
    assert places.looked_by == dict.fromkeys(PLACES, threading.current_thread())
    assert not places.rounds.is_stuck


def test_the_next_round_looks_at_the_others_while_one_is_stuck(places: Places) -> None:
    places.get_stuck("a")

    places.round()

    assert places.looks == {"a": 1, "b": 1, "c": 1}
    assert not places.rounds.is_stuck


def test_a_round_beside_one_that_is_stuck_is_held_up_by_nothing_else(places: Places) -> None:
    """All queues of a server hang together."""
    places.get_stuck("a")
    places.hangs.add("b")

    places.round()

    assert places.looks == {"a": 1, "b": 1, "c": 1}
    assert places.ended == {"c": 1}


def test_a_round_that_was_stuck_ends_with_the_look_that_it_was_at(places: Places) -> None:
    stuck = places.get_stuck("a")
    places.round()
    before = dict(places.looked_by)

    places.let_go()

    assert places.ended == {"a": 1, "b": 1, "c": 1}
    assert stuck not in (before["b"], before["c"])


def test_what_was_stuck_is_looked_at_apart_from_then_on(places: Places) -> None:
    places.get_stuck("b")
    places.let_go()

    places.round()

    here = threading.current_thread()
    assert [places.looked_by[place] is here for place in PLACES] == [True, False, True]


def test_a_round_goes_on_behind_one_that_was_slow_and_not_overtaken(places: Places) -> None:
    places.get_stuck("a")

    places.let_go()

    assert places.ended == {"a": 1, "b": 1, "c": 1}


def test_after_the_end_no_look_is_begun_however_long_one_takes(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.engine.node.rounds.LONGEST_END_S", 0)
    places.get_stuck("a")

    places.rounds.end()
    places.let_go()

    assert places.ended == {"a": 1}
