"""The clock of a SQLite store: a jump of the wall clock is believed when the other processes of the machine read the
same, or when there is none."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.clock import uptime_ms
from rota.model.node import Node
from rota.store.sqlite.database import machine_clock
from rota.store.sqlite.database.database import MEMORY, Database
from rota.store.sqlite.database.machine_clock import MachineClock
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.store import SqliteStore
from tests.contract.building import NOW, beat, new_node, new_queue
from tests.patience import DEADLINE_S

JUMP_MS = 300_000
NEAR_MS = 60_000
"""Much less than the jump, and much more than the machine takes for a test."""
OTHER = os.getpid() + 1


class Wall:
    """The wall clock of this process, which a test may set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shift_ms = 0
        self._real_ns = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: self._real_ns() + self.shift_ms * 1_000_000)

    def real_ms(self) -> int:
        return self._real_ns() // 1_000_000

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    return Wall(monkeypatch)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(str(tmp_path / "rota.db")).open()
    yield database
    database.close()


def read_by_another(database: Database, reading: int, *, process: int = OTHER, age_ms: int = -NEAR_MS) -> None:
    """Another process left a reading; a while ahead, so that it is not older than the doubt about ours."""
    with database.write() as db:
        row = {"process": process, "uptime": uptime_ms() - age_ms, "reading": reading}
        db.execute(SQL["put_clock"], row)


def is_near(instant: int, expected: int) -> bool:
    return abs(instant - expected) < NEAR_MS


def test_it_tells_the_time(database: Database, wall: Wall) -> None:
    assert is_near(MachineClock(database).now(), wall.real_ms())


def test_it_never_goes_back_nor_ahead_by_a_millisecond(database: Database, wall: Wall) -> None:
    """Two clocks whose milliseconds begin at different moments are behind it."""
    clock = MachineClock(database)

    told = [instant for _ in range(20_000) for instant in (clock.now(), wall.real_ms())]

    assert told == sorted(told)


class HeldUp:
    """A thread that is held up before and after it asks for the time since the machine's start."""

    def __init__(self, wall: Wall, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_ms = 0
        self.times = 0
        self._wall = wall
        self._passed_ms = 0
        monkeypatch.setattr(machine_clock, "uptime_ms", self._uptime_ms)

    def _uptime_ms(self) -> int:
        self._pass()
        told = uptime_ms() + self._passed_ms
        self._pass()
        return told

    def _pass(self) -> None:
        if self.times > 0:
            self.times -= 1
            self._passed_ms += self.by_ms
            self._wall.shift_ms += self.by_ms


@pytest.fixture
def held_up(wall: Wall, monkeypatch: pytest.MonkeyPatch) -> HeldUp:
    return HeldUp(wall, monkeypatch)


@pytest.mark.parametrize("times", [1, 3, 100])
@pytest.mark.parametrize("by_ms", [100, 5_000])
def test_a_thread_that_is_held_up_tells_no_time_that_is_over(
    database: Database, wall: Wall, held_up: HeldUp, by_ms: int, times: int
) -> None:
    clock = MachineClock(database)

    for _ in range(5):
        begun = wall.now_ms()
        held_up.by_ms, held_up.times = by_ms, times
        told = clock.now()
        held_up.times = 0
        assert begun <= told <= wall.now_ms()


def test_what_another_process_is_told_was_read_without_being_held_up(database: Database, held_up: HeldUp) -> None:
    clock = MachineClock(database)
    before = clock.reading()

    held_up.by_ms, held_up.times = 2 * NEAR_MS, 4

    assert is_near(clock.reading(), before)


@pytest.mark.parametrize("jump_ms", [JUMP_MS, -JUMP_MS])
def test_a_jump_that_the_others_do_not_see_is_not_believed(database: Database, wall: Wall, jump_ms: int) -> None:
    clock = MachineClock(database)
    read_by_another(database, clock.reading())

    wall.shift_ms = jump_ms

    assert [is_near(clock.now(), wall.real_ms()) for _ in range(3)] == [True] * 3


@pytest.mark.parametrize("jump_ms", [JUMP_MS, -JUMP_MS])
def test_a_jump_that_the_others_see_too_is_believed(database: Database, wall: Wall, jump_ms: int) -> None:
    clock = MachineClock(database)

    wall.shift_ms = jump_ms
    read_by_another(database, clock.reading())

    assert is_near(clock.now(), wall.real_ms() + jump_ms)


def test_one_that_reads_as_before_is_enough_for_a_doubt(database: Database, wall: Wall) -> None:
    clock = MachineClock(database)
    before = clock.reading()

    wall.shift_ms = JUMP_MS
    read_by_another(database, clock.reading())
    read_by_another(database, before, process=OTHER + 1)

    assert is_near(clock.now(), wall.real_ms())


def test_a_jump_is_believed_after_a_while_when_there_is_nobody_else(
    database: Database, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, passed_ms = MachineClock(database), 0
    monkeypatch.setattr(machine_clock, "uptime_ms", lambda: uptime_ms() + passed_ms)

    wall.shift_ms = JUMP_MS
    soon = clock.now()
    passed_ms = 8_000
    wall.shift_ms += passed_ms
    later = clock.now()

    assert is_near(soon, wall.real_ms())
    assert is_near(later, wall.real_ms() + JUMP_MS)


def test_readings_from_before_the_doubt_say_nothing(
    database: Database, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, passed_ms = MachineClock(database), 0
    monkeypatch.setattr(machine_clock, "uptime_ms", lambda: uptime_ms() + passed_ms)
    read_by_another(database, clock.reading(), age_ms=1_000)

    wall.shift_ms = JUMP_MS
    clock.now()
    passed_ms = 8_000
    wall.shift_ms += passed_ms

    assert is_near(clock.now(), wall.real_ms() + JUMP_MS)


def test_a_clock_that_comes_back_is_trusted_again(database: Database, wall: Wall) -> None:
    clock = MachineClock(database)
    read_by_another(database, clock.reading())
    wall.shift_ms = JUMP_MS
    clock.now()

    wall.shift_ms = 0

    assert is_near(clock.now(), wall.real_ms())


def test_in_memory_nobody_who_asks_for_the_time_waits_for_who_writes(wall: Wall) -> None:
    """The writer asks too, where jobs have a rate: each would wait for the other."""
    database = Database(MEMORY).open()
    clock = MachineClock(database)
    wall.shift_ms = JUMP_MS
    told: list[int] = []
    asking = threading.Thread(target=lambda: told.append(clock.now()), daemon=True)

    with database.write():
        asking.start()
        asking.join(DEADLINE_S)
        assert [is_near(instant, wall.real_ms()) for instant in told] == [True]

    database.close()


def test_every_beat_leaves_a_reading_and_forgets_those_of_long_ago(database: Database) -> None:
    store = SqliteStore(database)
    for process, age_ms in ((1, 3_000_000), (2, 3_610_000), (3, -600_000)):
        # The last is from before the machine was started: no time since then is so long.
        read_by_another(database, 0, process=process, age_ms=age_ms)

    beat(store, Node(uuid=new_node(), node_type=new_queue(), last_ping=NOW))

    with database.read() as db:
        assert [row[0] for row in db.execute("SELECT process FROM clocks ORDER BY process")] == [1, os.getpid()]
