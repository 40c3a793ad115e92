"""The supervisor, with processes that do nothing but speak to it."""

import os
import signal
import sys
import threading
from pathlib import Path
from queue import SimpleQueue

import pytest

from rota.clock import ManualClock, SystemClock
from rota.host.supervision.child import ENDED, Child
from rota.host.supervision.supervisor import Place, Supervisor
from tests.patience import LONG_DEADLINE_S
from tests.processes import children_of, is_alive
from tests.servers import POLL_S, wait_until
from tests.shortage import no_threads

READY_TOO_LATE = """
import signal, socket, sys, time
line = socket.socket(fileno=int(sys.argv[-1]))
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
open("begun", "w").close()
while not asked:
    time.sleep(0.01)
line.send(b"r")
time.sleep(0.2)
sys.exit(len(asked) - 1)
"""


def test_one_that_is_ready_after_it_was_asked_to_end_is_followed_by_no_other(folder: Path) -> None:
    supervisor = Supervisor([sys.executable, "-c", READY_TOO_LATE], processes=3, is_burst=False, clock=SystemClock())

    def stop() -> None:
        wait_until((folder / "begun").exists, "the first process")
        supervisor.hear(signal.SIGTERM)

    stopping = threading.Thread(target=stop)
    stopping.start()
    exit_code = supervisor.run(lambda pids: None)
    stopping.join()

    assert exit_code == 0  # and it was asked once


HOLDS_ITS_LINE = """
import os, socket, sys, time
line = socket.socket(fileno=int(sys.argv[-1]))
line.send(b"rl")
if os.fork() == 0:
    open("held.new", "w").write(str(os.getpid()))
    os.rename("held.new", "held")
    time.sleep(600)
while not os.path.exists("held"):
    time.sleep(0.01)
os._exit(3)
"""


def test_the_end_of_a_process_is_heard_although_a_child_of_its_own_holds_its_line(folder: Path) -> None:
    heard: SimpleQueue[tuple[bytes, int]] = SimpleQueue()

    def hear(child: Child, word: bytes) -> None:
        heard.put((word, child.exit_code if word == ENDED else 0))

    Child([sys.executable, "-c", HOLDS_ITS_LINE], hear)
    try:
        assert [heard.get(timeout=120) for _ in range(3)] == [(b"r", 0), (b"l", 0), (ENDED, 3)]
    finally:
        os.kill(int((folder / "held").read_text()), signal.SIGKILL)


COUNTS_REQUESTS = """
import os, signal, socket, sys
heard = [signal.SIGTERM, signal.SIGVTALRM]
signal.pthread_sigmask(signal.SIG_BLOCK, heard)
line = socket.socket(fileno=int(sys.argv[-1]))
name = next(one for one in ("replaced", "limited", "fresh") if not os.path.exists(one))
open(name, "w").close()
line.send(b"rl" if name == "limited" else b"r")
for times in ("once", "twice"):
    if signal.sigwait(heard) != signal.SIGTERM:
        break
    open(f"{name} was asked {times}", "w").close()
open(f"{name} has ended", "w").close()
"""
"""The second process reaches a limit at once. Each ends when it is asked for the second time, or by the other signal,
which is heard after a request that came before it: its number is higher."""


def test_a_process_counts_as_asked_to_end_if_it_was_and_not_because_it_leaves_by_itself(folder: Path) -> None:
    supervisor = Supervisor([sys.executable, "-c", COUNTS_REQUESTS], processes=1, is_burst=False, clock=SystemClock())
    announced: SimpleQueue[list[int]] = SimpleQueue()
    running = threading.Thread(target=supervisor.run, args=[announced.put])
    running.start()

    def until(event: str) -> None:
        wait_until((folder / event).exists, event)

    try:
        (replaced,) = announced.get(timeout=LONG_DEADLINE_S)
        supervisor.hear(signal.SIGHUP)
        until("replaced was asked once")
        until("fresh")

        supervisor.hear(signal.SIGTERM)
        until("fresh was asked once")
        until("limited was asked once")  # it is the last in line
        os.kill(replaced, signal.SIGVTALRM)
        until("replaced has ended")
        assert not (folder / "replaced was asked twice").exists()

        supervisor.hear(signal.SIGTERM)
        until("fresh was asked twice")
        until("limited was asked twice")
    finally:
        while running.is_alive():  # whatever went wrong, no process stays
            supervisor.hear(signal.SIGTERM)
            running.join(POLL_S)


LEAVES_BEFORE_ITS_HEIR_IS_READY = """
import os, signal, socket, sys, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
line = socket.socket(fileno=int(sys.argv[-1]))
name = next(one for one in ("old", "heir", "next") if not os.path.exists(one))
open(name, "w").close()
if name != "heir":
    line.send(b"r")
if name == "old":
    while not os.path.exists("heir"):
        time.sleep(0.01)
    line.send(b"l")
signal.sigwait([signal.SIGTERM])
"""


def test_a_place_whose_process_left_before_its_heir_was_ready_has_one_again_after_another_request(folder: Path) -> None:
    command = [sys.executable, "-c", LEAVES_BEFORE_ITS_HEIR_IS_READY]
    supervisor = Supervisor(command, processes=1, is_burst=False, clock=SystemClock())
    announced: SimpleQueue[list[int]] = SimpleQueue()
    running = threading.Thread(target=supervisor.run, args=[announced.put])
    running.start()

    try:
        announced.get(timeout=LONG_DEADLINE_S)
        supervisor.hear(signal.SIGHUP)
        wait_until(lambda: supervisor._places[0].child is None, "the old process, which leaves")

        supervisor.hear(signal.SIGHUP)

        wait_until((folder / "next").exists, "a process in its place")
    finally:
        while running.is_alive():  # whatever went wrong, no process stays
            supervisor.hear(signal.SIGTERM)
            running.join(POLL_S)


READY = """#!{python}
import os, signal, socket, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
line = socket.socket(fileno=int(sys.argv[-1]))
with open("ready", "a") as file:
    file.write(f"{{os.getpid()}}\\n")
line.send(b"r")
signal.sigwait([signal.SIGTERM])
"""


class Program:
    """An executable file that comes and goes, and the supervisor of its processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "program"
        self.supervisor = Supervisor([str(self._path)], processes=1, is_burst=False, clock=SystemClock())
        self._exit_codes: list[int] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self._exit_codes.append(self.supervisor.run(lambda pids: None))

    def come(self) -> None:
        new = self._folder / "new"
        new.write_text(READY.format(python=sys.executable))
        new.chmod(0o700)
        new.rename(self._path)

    def go(self) -> None:
        self._path.unlink()

    @property
    def ready(self) -> list[str]:
        """The processes that were ready so far."""
        path = self._folder / "ready"
        return path.read_text().splitlines() if path.exists() else []

    def stop(self) -> int:
        self.supervisor.hear(signal.SIGTERM)
        self._thread.join()
        return self._exit_codes[0]

    @property
    def has_ended(self) -> bool:
        return bool(self._exit_codes)


def test_a_process_that_cannot_be_started_is_tried_until_it_can(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    program = Program(folder)
    wait_until(lambda: "a process could not be started" in caplog.text, "a process that could not be started")

    program.come()
    wait_until(lambda: len(program.ready) == 1, "the process that could be started")

    assert program.stop() == 0


def test_a_replacement_that_cannot_be_started_is_tried_again_and_the_old_process_goes_on(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = Program(folder)
    program.come()
    wait_until(lambda: len(program.ready) == 1, "the first process")
    program.go()
    program.supervisor.hear(signal.SIGHUP)
    wait_until(lambda: "the one from before goes on" in caplog.text, "a replacement that could not be started")
    os.kill(int(program.ready[0]), 0)

    program.come()
    wait_until(lambda: len(program.ready) == 2, "the replacement")

    assert program.stop() == 0


def test_a_process_for_whose_threads_there_is_no_room_is_ended_and_tried_until_there_is(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    children = set(children_of(os.getpid()))
    program = Program(folder)
    with no_threads():
        program.come()
        wait_until(lambda: "threads" in str([vars(one) for one in caplog.records]), "a lack of threads")
        wait_until(lambda: set(children_of(os.getpid())) == children, "the end of the process that was started")

    wait_until(lambda: any(is_alive(int(one)) for one in program.ready), "the process that could be started")

    assert program.stop() == 0
    assert set(children_of(os.getpid())) == children


def test_a_replacement_for_whose_threads_there_is_no_room_is_tried_again_and_the_old_process_goes_on(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = Program(folder)
    program.come()
    wait_until(lambda: len(program.ready) == 1, "the first process")
    with no_threads():
        program.supervisor.hear(signal.SIGHUP)
        wait_until(lambda: "the one from before goes on" in caplog.text, "a replacement that could not be started")
        assert is_alive(int(program.ready[0]))

    wait_until(lambda: not is_alive(int(program.ready[0])), "the end of the old process")

    assert program.stop() == 0


def test_a_process_that_crashes_again_and_again_is_started_after_pauses_that_grow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    supervisor = Supervisor(["nothing"], processes=1, is_burst=False, clock=clock)
    place, crashed = Place(), ended(3)

    def crash(after_s: float) -> float:
        """How long the next process waits after one that lived for so long."""
        place.begun_at = clock.monotonic()
        clock.advance(round(after_s * 1000))
        supervisor._follow(place, crashed)
        return (place.due or 0.0) - clock.monotonic()

    assert [crash(after_s=0.0) for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert [crash(after_s=30.0), crash(after_s=30.001), crash(after_s=1.0)] == [30, 0.5, 1]
    assert caplog.messages == ["a process ended by itself"] * 12


@pytest.mark.parametrize(("exit_code", "is_burst", "is_done"), [(0, True, True), (3, True, False), (0, False, False)])
def test_only_in_a_burst_is_a_process_that_ended_well_not_replaced(
    exit_code: int, is_burst: bool, is_done: bool
) -> None:
    supervisor = Supervisor(["nothing"], processes=1, is_burst=is_burst, clock=ManualClock())
    place = Place()

    supervisor._follow(place, ended(exit_code))

    assert (place.is_done, place.due is None) == (is_done, is_done)


def test_a_supervisor_sleeps_until_the_next_start_is_due_and_else_until_it_hears_something() -> None:
    clock = ManualClock()
    clock.advance(100_000)
    supervisor = Supervisor(["nothing"], processes=2, is_burst=False, clock=clock)
    waits = [supervisor._wait_s()]

    supervisor._places[1].due = 107.0
    waits.append(supervisor._wait_s())
    supervisor._renew_due = 103.0
    waits.append(supervisor._wait_s())
    supervisor._places[0].due = 99.0
    waits.append(supervisor._wait_s())

    assert waits == [None, 7, 3, 0]


ENDS = "import os, signal, sys; %s"


@pytest.mark.parametrize(
    ("code", "exit_code"), [("sys.exit(5)", 5), ("sys.exit(0)", 0), ("os.kill(os.getpid(), signal.SIGKILL)", 137)]
)
def test_what_no_process_could_begin_with_ends_the_supervisor_with_the_exit_code_of_the_first(
    folder: Path, code: str, exit_code: int
) -> None:
    command = [sys.executable, "-c", ENDS % code]

    assert Supervisor(command, processes=3, is_burst=False, clock=SystemClock()).run(lambda pids: None) == exit_code


ENDS_BADLY = """
import signal, socket, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
line = socket.socket(fileno=int(sys.argv[-1]))
line.send(b"r")
signal.sigwait([signal.SIGTERM])
sys.exit(4)
"""


def test_a_supervisor_that_was_asked_to_end_tells_that_a_process_did_not_end_well(folder: Path) -> None:
    supervisor = Supervisor([sys.executable, "-c", ENDS_BADLY], processes=1, is_burst=False, clock=SystemClock())

    assert supervisor.run(lambda pids: supervisor.hear(signal.SIGTERM)) == 4


NEVER_READY = """
import os, sys, time
open("begun", "w").close()
time.sleep(600)
"""


def test_a_process_that_was_asked_to_end_before_it_was_ready_has_not_ended_badly(folder: Path) -> None:
    supervisor = Supervisor([sys.executable, "-c", NEVER_READY], processes=1, is_burst=False, clock=SystemClock())

    def stop() -> None:
        wait_until((folder / "begun").exists, "the process")
        supervisor.hear(signal.SIGTERM)

    stopping = threading.Thread(target=stop)
    stopping.start()
    exit_code = supervisor.run(lambda pids: None)
    stopping.join()

    assert exit_code == 0, "the signal ended it, as it should"


HEIR_IS_SLOW = """
import os, signal, socket, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
line = socket.socket(fileno=int(sys.argv[-1]))
name = next(one for one in ("old", "slow", "next") if not os.path.exists(one))
open(name, "w").close()
if name != "slow":
    line.send(b"r")
signal.sigwait([signal.SIGTERM])
open(f"{name} has ended", "w").close()
"""


def test_a_replacement_that_is_not_ready_yet_gives_way_to_that_of_a_later_request(folder: Path) -> None:
    """It has the code of before, and nobody would hear of it any more."""
    supervisor = Supervisor([sys.executable, "-c", HEIR_IS_SLOW], processes=1, is_burst=False, clock=SystemClock())
    announced: SimpleQueue[list[int]] = SimpleQueue()
    running = threading.Thread(target=supervisor.run, args=[announced.put])
    running.start()

    try:
        announced.get(timeout=LONG_DEADLINE_S)
        supervisor.hear(signal.SIGHUP)
        wait_until((folder / "slow").exists, "a replacement that is not ready")
        assert not (folder / "old has ended").exists()

        supervisor.hear(signal.SIGHUP)

        wait_until((folder / "slow has ended").exists, "its end")
        wait_until((folder / "old has ended").exists, "the next one to take over")
        assert not (folder / "next has ended").exists()
    finally:
        while running.is_alive():  # whatever went wrong, no process stays
            supervisor.hear(signal.SIGTERM)
            running.join(POLL_S)


def test_a_process_that_leaves_by_itself_is_followed_by_the_one_that_was_to_replace_it() -> None:
    supervisor = Supervisor(["nothing"], processes=1, is_burst=False, clock=ManualClock())
    (place,) = supervisor._places
    old, heir = ended(0), ended(0)
    place.child, place.heir = old, heir

    supervisor._on_leaving(old)

    assert list(supervisor._children()) == [heir, old]
    assert place.due is None, "no third one is started"


def test_a_process_that_leaves_while_all_are_asked_to_end_is_not_followed_by_another() -> None:
    supervisor = Supervisor(["nothing"], processes=1, is_burst=False, clock=ManualClock())
    (place,) = supervisor._places
    place.child = leaving = ended(0)
    supervisor._is_stopping = True

    supervisor._on_leaving(leaving)
    supervisor._on_end(leaving)

    assert place.due is None
    assert supervisor._is_over()


def test_a_start_that_is_due_when_all_are_asked_to_end_is_not_made() -> None:
    clock = ManualClock()
    supervisor = Supervisor(["nothing"], processes=1, is_burst=False, clock=clock)
    (place,) = supervisor._places
    place.due, place.begun_at = clock.monotonic(), -1.0
    supervisor._is_stopping = True

    supervisor._start_due()

    assert place.begun_at == -1.0
    assert place.due is None


def test_a_place_that_waits_after_a_crash_is_filled_at_once_when_all_are_replaced() -> None:
    """What crashed may be mended by the new code."""
    clock = ManualClock()
    supervisor = Supervisor(["nothing"], processes=1, is_burst=False, clock=clock)
    (place,) = supervisor._places
    place.due = clock.monotonic() + 30

    supervisor._renew("a test asked for it")

    assert place.due == clock.monotonic()


def test_how_long_a_replacement_lived_counts_from_when_it_took_over() -> None:
    clock = ManualClock()
    supervisor = Supervisor(["nothing"], processes=1, is_burst=False, clock=clock)
    (place,) = supervisor._places
    place.heir = heir = ended(3)
    place.crashes = 2
    clock.advance(60_000)

    supervisor._on_ready(heir)
    supervisor._on_end(heir)

    assert place.due == clock.monotonic() + 2.0, "it crashed soon, as those before it"


def test_a_hup_because_the_terminal_is_gone_ends_all_processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = folder / "tty"
    terminal.touch()
    monkeypatch.setattr("rota.host.supervision.supervisor._TERMINAL", str(terminal))
    program = Program(folder)
    program.come()
    wait_until(lambda: len(program.ready) == 1, "the first process")

    program.supervisor.hear(signal.SIGHUP)
    wait_until(lambda: len(program.ready) == 2, "its replacement: the terminal is still there")
    terminal.unlink()
    program.supervisor.hear(signal.SIGHUP)
    wait_until(lambda: program.has_ended or len(program.ready) > 2, "the end of all, or another replacement")

    exit_code = program.stop()

    assert (len(program.ready), exit_code) == (2, 0)


def ended(exit_code: int) -> Child:
    """A process that has ended so."""
    over = threading.Event()
    child = Child(
        [sys.executable, "-c", f"import sys; sys.exit({exit_code})"], lambda _, word: over.set() if not word else None
    )
    assert over.wait(LONG_DEADLINE_S)
    return child
