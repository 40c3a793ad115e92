"""The clock, and the rule that nothing else in Rota asks for the time."""

import ast
import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

import rota
from rota.clock import (
    FOLLOW_EVERY_MS,
    ManualClock,
    NodeClock,
    StoreClock,
    SystemClock,
    as_datetime,
    as_millis,
    uptime_clock,
    uptime_ms,
)
from rota.errors import StoreUnavailable

SOURCE = Path(rota.__file__).parent

ASKS_FOR_THE_TIME = {
    *(f"time.{name}" for name in ("time", "monotonic", "perf_counter", "clock_gettime")),
    *(f"time.{name}_ns" for name in ("time", "monotonic", "perf_counter", "clock_gettime")),
    *(f"time.{name}" for name in ("localtime", "gmtime", "ctime", "asctime", "strftime")),
    *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
    "datetime.date.today",
    "time.*",
    "datetime.*",
}
"""Some of these also format a given instant; `as_datetime` serves for that. CPU time is not the time."""


def time_questions(source: str) -> list[str]:
    """Line and name of every place that asks for the time, or hands on a function that does."""
    tree = ast.parse(source)
    names = _imported_names(tree)
    asked = [(node.lineno, _full_name(node, names)) for node in ast.walk(tree) if isinstance(node, ast.expr)]
    asked += [(line, name) for line, name in _star_imports(tree)]
    return [f"{line}: {name}" for line, name in sorted(set(asked)) if name in ASKS_FOR_THE_TIME]


def _imported_names(tree: ast.AST) -> dict[str, str]:
    """What each imported name stands for: after `from datetime import datetime as dt`, `dt` is `datetime.datetime`."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.split(".")[0]
                names[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _star_imports(tree: ast.AST) -> list[tuple[int, str]]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [(node.lineno, f"{node.module}.*") for node in found if any(alias.name == "*" for alias in node.names)]


def _full_name(node: ast.expr, names: dict[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return names.get(name, "")
        case ast.Attribute(value=value, attr=attr):
            owner = _full_name(value, names)
            return f"{owner}.{attr}" if owner else ""
    return ""


def test_only_the_clock_asks_for_the_time() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{question}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path != SOURCE / "clock.py"
        for question in time_questions(path.read_text())
    ]

    assert found == []


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("import time\ntime.time()", ["2: time.time"]),
        ("import time as t\nt.monotonic_ns()", ["2: time.monotonic_ns"]),
        ("from time import perf_counter as tick\ntick()", ["2: time.perf_counter"]),
        ("import time\ndef f(clock=time.monotonic): ...", ["2: time.monotonic"]),
        ("import datetime\ndatetime.datetime.now()", ["2: datetime.datetime.now"]),
        ("from datetime import datetime as dt\ndt.utcnow().date()", ["2: datetime.datetime.utcnow"]),
        ("def f():\n    from datetime import date\n    return date.today()", ["3: datetime.date.today"]),
        ("from time import *", ["1: time.*"]),
        ("import time\ntime.sleep(1)\ntime.process_time()", []),
        ("from datetime import datetime, UTC\ndatetime.fromtimestamp(0, UTC)", []),
        ("now = clock.now()\ntime = 1\nself.time.time()", []),
    ],
)
def test_a_question_for_the_time_is_found_under_any_name(source: str, asked: list[str]) -> None:
    assert time_questions(source) == asked


def test_the_clock_itself_would_be_found() -> None:
    assert time_questions((SOURCE / "clock.py").read_text()) != []


def test_a_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(1_000)

    assert (clock.now(), clock.monotonic()) == (1_000, 0.0)
    assert clock.advance(1_500) == 2_500
    assert (clock.now(), clock.monotonic()) == (2_500, 1.5)


def test_a_jump_of_the_wall_clock_leaves_monotonic_time_alone() -> None:
    clock = ManualClock(1_000)
    clock.advance(500)

    clock.set(10)

    assert (clock.now(), clock.monotonic()) == (10, 0.5)


class Times:
    """The wall clock and the time since the machine's start, both moved by a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall_ms, self.uptime_ms = 1_700_000_000_000, 50_000
        monkeypatch.setattr(time, "time_ns", lambda: self.wall_ms * 1_000_000)
        monkeypatch.setattr("rota.clock._uptime_ns", lambda: self.uptime_ms * 1_000_000)

    def pass_by(self, ms: int) -> None:
        self.wall_ms += ms
        self.uptime_ms += ms


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    return Times(monkeypatch)


class AskedStore:
    """A store that tells the time of a clock of its own, unless it is away, and counts who asks."""

    def __init__(self, times: Times, *, ahead_ms: int = 0) -> None:
        self._times = times
        self.ahead_ms = ahead_ms
        self.question_ms = self.answer_ms = 0
        """How long each is on its way."""
        self.is_away = False
        self.asked = 0

    def now(self) -> int:
        self.asked += 1
        if self.is_away:
            raise StoreUnavailable("the store is away")
        self._times.pass_by(self.question_ms)
        told = 1_700_000_000_000 + self._times.uptime_ms - 50_000 + self.ahead_ms
        self._times.pass_by(self.answer_ms)
        return told


def followed(times: Times) -> tuple[AskedStore, NodeClock]:
    """A store, and the clock of a node that agrees with it."""
    store = AskedStore(times)
    clock = NodeClock(store.now)
    clock.follow()
    return store, clock


def test_a_nodes_clock_goes_on_when_the_machines_is_set(times: Times) -> None:
    clock = NodeClock(AskedStore(times).now)
    times.wall_ms -= 3_600_000
    times.pass_by(1_500)

    assert clock.now() == 1_700_000_001_500
    assert clock.monotonic() == 51.5


def test_a_node_follows_the_stores_clock_at_the_first_look(times: Times) -> None:
    clock = NodeClock(AskedStore(times, ahead_ms=600_000).now)

    clock.follow()

    assert (clock.now(), clock.step_ms) == (1_700_000_600_000, 0)


@pytest.mark.parametrize("jump_ms", [1_000, 300_000, -1_000, -300_000])
def test_a_jump_of_the_stores_clock_is_followed_at_the_second_look(times: Times, jump_ms: int) -> None:
    store, clock = followed(times)

    store.ahead_ms = jump_ms
    clock.follow()
    assert (clock.now(), clock.step_ms) == (times.wall_ms, jump_ms)

    times.pass_by(5_000)
    clock.follow()
    assert (clock.now(), clock.step_ms) == (times.wall_ms + jump_ms, 0)


def test_two_jumps_to_different_times_are_not_believed(times: Times) -> None:
    store, clock = followed(times)

    for store.ahead_ms in (300_000, -300_000, 600_000, 601_000):
        clock.follow()

    assert clock.now() == times.wall_ms
    store.ahead_ms = 601_999
    clock.follow()
    assert clock.now() == times.wall_ms + 601_999


def test_a_jump_that_was_not_seen_again_is_forgotten(times: Times) -> None:
    store, clock = followed(times)

    for store.ahead_ms in (300_000, 0, 300_000):
        clock.follow()

    assert (clock.now(), clock.step_ms) == (times.wall_ms, 300_000)


@pytest.mark.parametrize(
    ("drift_ms", "is_followed"), [(19, False), (-19, False), (20, True), (999, True), (-999, True)]
)
def test_a_drift_is_followed_at_once_and_noise_is_not(times: Times, drift_ms: int, is_followed: bool) -> None:
    store, clock = followed(times)

    store.ahead_ms = drift_ms
    clock.follow()

    assert clock.now() == times.wall_ms + (drift_ms if is_followed else 0)


@pytest.mark.parametrize("step_ms", [300_000, -300_000])
def test_a_step_of_the_machines_clock_does_not_reach_a_program(times: Times, step_ms: int) -> None:
    store = AskedStore(times, ahead_ms=7_000)
    clock = StoreClock(store.now)
    assert clock.now() == 1_700_000_007_000

    times.wall_ms += step_ms

    assert clock.now() == 1_700_000_007_000
    times.pass_by(FOLLOW_EVERY_MS)
    assert clock.now() == 1_700_000_007_000 + FOLLOW_EVERY_MS


def test_a_program_asks_for_the_time_when_it_needs_it_and_the_last_answer_is_old(times: Times) -> None:
    store = AskedStore(times)
    clock = StoreClock(store.now)

    for _ in range(100):
        clock.now()
    times.pass_by(FOLLOW_EVERY_MS - 1)
    clock.now()
    assert store.asked == 1

    times.pass_by(100 * FOLLOW_EVERY_MS)
    assert store.asked == 1
    clock.now()
    assert store.asked == 2


def test_while_a_program_asks_for_the_time_nobody_else_in_it_does(times: Times) -> None:
    """Of many threads one asks; the others go by the last answer meanwhile."""
    store = AskedStore(times)
    clock = StoreClock(lambda: (store.now(), clock.now() if store.asked < 5 else 0)[0])

    clock.now()
    times.pass_by(FOLLOW_EVERY_MS)
    clock.now()

    assert store.asked == 2


@pytest.mark.parametrize("change_ms", [20, -20, 3_600_000, -3_600_000])
def test_a_program_follows_the_stores_clock(times: Times, change_ms: int) -> None:
    store = AskedStore(times)
    clock = StoreClock(store.now)
    clock.now()

    store.ahead_ms = change_ms
    times.pass_by(FOLLOW_EVERY_MS)

    assert clock.now() == times.wall_ms + change_ms


@pytest.mark.parametrize("noise_ms", [19, -19])
def test_a_program_ignores_network_noise(times: Times, noise_ms: int) -> None:
    store = AskedStore(times)
    clock = StoreClock(store.now)
    clock.now()

    store.ahead_ms = noise_ms
    times.pass_by(FOLLOW_EVERY_MS)

    assert clock.now() == times.wall_ms


def test_time_goes_on_for_a_program_while_its_store_is_away(times: Times) -> None:
    store = AskedStore(times, ahead_ms=60_000)
    clock = StoreClock(store.now)
    clock.now()

    store.is_away = True
    times.pass_by(FOLLOW_EVERY_MS)
    assert clock.now() == clock.now() == times.wall_ms + 60_000
    assert store.asked == 2

    store.is_away, store.ahead_ms = False, 90_000
    times.pass_by(1_000)
    assert clock.now() == times.wall_ms + 90_000


@pytest.mark.parametrize("make", [StoreClock, NodeClock])
@pytest.mark.parametrize(("question_ms", "answer_ms"), [(0, 30_000), (30_000, 0), (400, 500)])
def test_a_slow_answer_alone_sets_no_clock(
    times: Times, make: type[StoreClock | NodeClock], question_ms: int, answer_ms: int
) -> None:
    store = AskedStore(times)
    clock = make(store.now)
    clock.follow()

    store.question_ms, store.answer_ms = question_ms, answer_ms
    clock.follow()

    assert clock.now() == times.wall_ms
    assert isinstance(clock, StoreClock) or clock.step_ms == 0


@pytest.mark.parametrize(("ahead_ms", "followed_ms"), [(-1_000, 0), (900, 900), (-300_900, -900)])
def test_a_slow_answer_is_followed_as_far_as_it_is_certain(times: Times, ahead_ms: int, followed_ms: int) -> None:
    store, clock = followed(times)

    store.question_ms, store.ahead_ms = 300_000, ahead_ms
    clock.follow()

    assert clock.now() == times.wall_ms + followed_ms


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux tells the time for which it was suspended")
def test_the_time_since_the_start_counts_suspended_time(monkeypatch: pytest.MonkeyPatch) -> None:
    suspended_ns = {time.CLOCK_BOOTTIME: 3_600_000_000_000, time.CLOCK_MONOTONIC: 0}
    monkeypatch.setattr(time, "clock_gettime_ns", lambda which: 7_000_000_000 + suspended_ns[which])

    assert uptime_clock()() == 3_607_000_000_000


def test_on_macos_the_time_since_the_start_counts_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own `monotonic` stands still meanwhile there."""
    monkeypatch.delattr(time, "CLOCK_BOOTTIME", raising=False)
    monkeypatch.setattr(time, "clock_gettime_ns", {time.CLOCK_MONOTONIC: 3_607_000_000_000}.__getitem__)
    monkeypatch.setattr(time, "monotonic_ns", lambda: 7_000_000_000)

    assert uptime_clock("darwin")() == 3_607_000_000_000
    assert uptime_clock("another")() == 7_000_000_000


def test_what_is_measured_goes_by_the_time_since_the_start(times: Times) -> None:
    assert uptime_ms() == times.uptime_ms
    clocks = [SystemClock(), *(make(AskedStore(times).now) for make in (StoreClock, NodeClock))]
    assert [clock.monotonic() for clock in clocks] == [times.uptime_ms / 1000] * 3


def test_instants_and_datetimes_convert_both_ways() -> None:
    moment = datetime(2024, 5, 1, 12, 30, 0, 123_000, tzinfo=UTC)

    assert as_datetime(as_millis(moment)) == moment
    assert as_millis(moment.astimezone(timezone(timedelta(hours=5)))) == as_millis(moment)
    assert as_millis(moment.replace(tzinfo=None)) == as_millis(moment)
