"""Keeps a number of processes of a worker running.

TERM, INT     each process lets its running jobs end, and ends; a second one interrupts them
HUP           each process is replaced, one after the other: the old one is asked to end when the new one is ready. If
              the new one does not come to that, the old ones go on. A HUP because the terminal is gone ends all
A process that reached a limit is replaced at once, one that crashed after a pause that grows. Jobs of a process that is
gone are taken up by others, as those of any node.
"""

import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue

from rota.clock import Clock
from rota.ending.signals import heard_signals
from rota.errors import NodeStrained
from rota.host.supervision.changes import LOOK_S, FileChanges
from rota.host.supervision.child import Child
from rota.host.supervision.line import LEAVING, READY

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_RENEW_PAUSE_S = 1.0
_TERMINAL = "/dev/tty"
_logger = logging.getLogger("rota.supervisor")


class Place:
    """One of the processes that there are to be."""

    def __init__(self) -> None:
        self.child: Child | None = None
        self.heir: Child | None = None
        """Takes over when it is ready."""
        self.has_begun = False
        """Whether it ever had a process that was ready."""
        self.begun_at = 0.0
        """When its process was started."""
        self.crashes = 0
        """In a row."""
        self.due: float | None = None
        """When the next process is started, if none is."""
        self.is_done = False
        """In a burst: nothing was left to run."""


class Supervisor:
    """The processes of one worker."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        processes: int,
        is_burst: bool,
        clock: Clock,
        changes: FileChanges | None = None,
    ) -> None:
        self._command = command
        self._is_burst = is_burst
        self._clock = clock
        self._changes = changes
        self._places = [Place() for _ in range(processes)]
        self._to_renew: list[Place] = []
        self._renew_due: float | None = None
        """When the first of these is tried again, because no new process could be started."""
        self._leaving: list[Child] = []
        self._heard: SimpleQueue[int | tuple[Child, bytes]] = SimpleQueue()
        """Signals, and words of processes."""
        self._has_terminal = _has_terminal()
        self._is_stopping = False
        self._exit_code = 0

    def run(self, announce: Callable[[list[int]], None]) -> int:
        """Until a signal ends it or, in a burst, nothing is left to run. Returns the exit code. `announce` is told the
        process ids, once all are ready."""
        is_announced = False
        with heard_signals(self.hear):
            # First only one: what is wrong with the command is told once, and ends everything.
            self._start(self._places[0])
            while not self._is_over():
                self._listen()
                self._start_due()
                self._look_for_changes()
                if not is_announced and all(place.has_begun for place in self._places):
                    is_announced = True
                    announce([place.child.pid for place in self._places if place.child])
        return self._exit_code

    def hear(self, number: int) -> None:
        """A signal came. Called from any thread."""
        self._heard.put(number)

    def _is_over(self) -> bool:
        return not any(self._children()) and (self._is_stopping or all(one.is_done for one in self._places))

    def _children(self) -> Iterator[Child]:
        for place in self._places:
            yield from (one for one in (place.child, place.heir) if one is not None)
        yield from self._leaving

    # -- what it hears ---------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        try:
            heard = self._heard.get(timeout=self._wait_s())
        except Empty:
            return
        if isinstance(heard, int):
            self._on_signal(heard)
        else:
            self._on_word(*heard)

    def _wait_s(self) -> float | None:
        waits = [LOOK_S] if self._changes is not None else []
        at = self._clock.monotonic()
        dues = [self._renew_due, *(place.due for place in self._places)]
        waits += [max(due - at, 0) for due in dues if due is not None]
        return min(waits, default=None)

    def _on_signal(self, number: int) -> None:
        if number != signal.SIGHUP:
            self._stop()
        elif self._is_stopping:
            return
        elif self._has_terminal and not _has_terminal():
            self._stop()
        else:
            self._renew("a signal asked for it")

    def _on_word(self, child: Child, word: bytes) -> None:
        if word == READY:
            self._on_ready(child)
        elif word == LEAVING:
            self._on_leaving(child)
        elif child in self._leaving:
            self._leaving.remove(child)
        else:
            self._on_end(child)

    def _on_ready(self, child: Child) -> None:
        child.is_ready = True
        if self._is_stopping:
            return  # it was asked to end before it was ready, and so were all others
        for place in self._places:
            if place.heir is child:
                self._take_over(place, child)
            elif place.child is child:
                place.has_begun = True
        for place in self._places:  # the first of all is ready, and now come the others
            if not place.has_begun and place.child is None and place.due is None:
                self._start(place)

    def _take_over(self, place: Place, heir: Child) -> None:
        old, place.child, place.heir = place.child, heir, None
        place.begun_at, place.has_begun = self._clock.monotonic(), True
        if old is not None:
            self._leave(old)
        self._renew_next()

    def _on_leaving(self, child: Child) -> None:
        for place in self._places:
            if place.child is child and not self._is_stopping:
                self._leaving.append(child)
                place.child = None
                if place.heir is None:
                    self._start(place)

    def _on_end(self, child: Child) -> None:
        place = next(one for one in self._places if child in (one.child, one.heir))
        if place.heir is child:
            self._keep_old(place, child)
        else:
            place.child = None
        if self._is_stopping:
            self._exit_code = max(self._exit_code, child.exit_code if child.is_ready else 0)
        elif place.child is None and place.heir is None:
            after = self._follow if any(one.has_begun for one in self._places) else self._give_up
            after(place, child)

    def _give_up(self, place: Place, child: Child) -> None:
        """Not one process ever was ready: what is wrong with the command is wrong for all."""
        self._exit_code = child.exit_code
        self._stop()

    def _keep_old(self, place: Place, child: Child) -> None:
        place.heir = None
        self._to_renew.clear()
        extra = {"pid": child.pid, "exit_code": child.exit_code}
        _logger.error("the new process ended before it was ready; those from before go on", extra=extra)

    def _follow(self, place: Place, child: Child) -> None:
        """What comes after a process that ended by itself."""
        if child.exit_code == 0 and self._is_burst:
            place.is_done = True
            return
        if self._clock.monotonic() - place.begun_at > _LONGEST_PAUSE_S:
            place.crashes = 0
        extra = {"pid": child.pid, "exit_code": child.exit_code, "again_after_s": self._pause(place)}
        _logger.error("a process ended by itself", extra=extra)

    def _pause(self, place: Place) -> float:
        """The next process of a place is started after a pause, which this returns and which grows."""
        pause_s: float = min(_FIRST_PAUSE_S * 2**place.crashes, _LONGEST_PAUSE_S)
        place.crashes = min(place.crashes + 1, 10)
        place.due = self._clock.monotonic() + pause_s
        return pause_s

    # -- what it does ----------------------------------------------------------------------------------------------

    def _start(self, place: Place) -> None:
        place.due, place.begun_at = None, self._clock.monotonic()
        try:
            place.child = self._new_child()
        except (OSError, NodeStrained) as error:
            extra = {"error": str(error), "again_after_s": self._pause(place)}
            _logger.error("a process could not be started", extra=extra)

    def _new_child(self) -> Child:
        return Child(self._command, lambda child, word: self._heard.put((child, word)))

    def _start_heir(self, place: Place) -> bool:
        try:
            place.heir = self._new_child()
        except (OSError, NodeStrained) as error:
            extra = {"error": str(error), "again_after_s": _RENEW_PAUSE_S}
            _logger.error("a new process could not be started; the one from before goes on", extra=extra)
            return False
        return True

    def _start_due(self) -> None:
        at = self._clock.monotonic()
        for place in self._places:
            if self._is_stopping:
                place.due = None
            elif place.due is not None and place.due <= at:
                self._start(place)
        if self._renew_due is not None and self._renew_due <= at:
            self._renew_next()

    def _stop(self) -> None:
        """Ask all to end; the second time, all once more, so that their jobs are stopped. To those that were asked
        before the first time, that would be the second one. One that leaves by itself counts it as the first."""
        is_second = self._is_stopping
        self._is_stopping = True
        for child in self._children():
            if is_second or not child.was_asked:
                child.ask_to_end()

    def _leave(self, child: Child) -> None:
        self._leaving.append(child)
        child.ask_to_end()

    def _look_for_changes(self) -> None:
        if self._changes is None or self._is_stopping:
            return
        changed = self._changes.changed()
        if changed:
            self._renew(f"{os.path.relpath(changed[0])} changed")

    def _renew(self, why: str) -> None:
        """Replace all processes, one after the other. Heirs that are not ready yet are of an earlier request."""
        _logger.info("the processes are replaced: %s", why)
        for place in self._places:
            if place.heir is not None:
                self._leave(place.heir)
                place.heir = None
                if place.child is None:  # it was to follow one that is gone: now another one does
                    place.due = self._clock.monotonic()
        self._to_renew = list(self._places)
        self._renew_next()

    def _renew_next(self) -> None:
        self._renew_due = None
        while self._to_renew and not self._is_stopping:
            place = self._to_renew[0]
            if place.child is not None and not self._start_heir(place):
                self._renew_due = self._clock.monotonic() + _RENEW_PAUSE_S
                return
            self._to_renew.pop(0)
            if place.heir is not None:
                return
            if place.due is not None:
                place.due = self._clock.monotonic()


def _has_terminal() -> bool:
    """Whether this process has a terminal that is still there."""
    try:
        os.close(os.open(_TERMINAL, os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
