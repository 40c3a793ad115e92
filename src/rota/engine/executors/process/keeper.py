"""Ends the process groups of this process with it, whatever way it ends.

A killed process cannot clean up, so another one waits for its end: the *keeper*, a small shell in a session of its own.
It has the reading end of a pipe whose writing end only this process has, and a table of groups in memory that both
share. The kernel closes the pipe with this process; the keeper then kills every group in the table, and ends. Keeping a
group costs a few bytes written to memory: no system call is made, and nobody is woken.

A group leaves the table before its leader is reaped, so its number cannot belong to anybody else while it is there.
A child is announced before it is started, because half of all kills under load hit a process that is starting one; it
is then found by a variable in its environment. That needs `/proc`: without one, such a last child lives on.
"""

import logging
import mmap
import os
import threading

from rota.engine.executors.process.exit_watch import reap
from rota.engine.executors.process.nameless_file import open_nameless
from rota.engine.executors.process.spawn import spawn

CHILD_NAME = "ROTA_CHILD"
"""The variable by which the keeper finds a child whose number was not noted before this process ended."""
_SHELL = "/bin/sh"
_TITLE = "rota-keeper"
"""What `ps` shows behind the script."""
_ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
_RESTART_S = 0.2
"""Before a keeper that was killed is replaced; so one that cannot run at all costs next to nothing."""
_FREE, _EXPECTED, _RUNNING = b" ?+"
_ENTRY = b"%c %10d %10d\n"
"""Mark, serial number, process group. The mark is one byte and written last, so no entry is ever half valid."""
_ENTRY_BYTES = len(_ENTRY % (_FREE, 0, 0))
_GROUP = slice(13, 23)
_FIRST_ENTRIES = 64
_SCRIPT = f"""
trap '' HUP INT QUIT TERM
cd /
read -r _
while read -r mark serial group; do
  case $mark in
    +) kill -s KILL -- "-$group" ;;
    \\?) unnoted="$unnoted $serial" ;;
  esac
done <&1
[ "$unnoted" ] || exit 0
# A child of the last moment: its environment can be read as soon as it has begun its program, which on a machine that
# is very busy may take a while.
for pause in 0.1 0.1 0.2 0.6 2 5; do
  for serial in $unnoted; do
    for found in $(grep -lsxz "{CHILD_NAME}=$1.$serial" /proc/[0-9]*/environ); do
      found=${{found#/proc/}}
      kill -s KILL -- "-${{found%/environ}}"
    done
  done
  sleep $pause
done
"""
"""Standard input is the pipe, standard output the table. Written for any shell that follows POSIX."""
_logger = logging.getLogger("rota.node")


class KeptGroup:
    """One child's entry in the table, from just before its start until just before it is reaped."""

    __slots__ = ("_at", "_keeper", "name")

    def __init__(self, keeper: "Keeper", at: int, name: str) -> None:
        self._keeper = keeper
        self._at = at
        self.name = name
        """To be the value of ROTA_CHILD in the child's environment."""

    def started(self, pid: int) -> None:
        """The child leads the group of this number."""
        self._keeper.note(self._at, pid)

    def ended(self) -> None:
        """Nothing is left of the group, or nothing was started. May be called twice."""
        if self._at >= 0:
            self._keeper.forget(self._at)
            self._at = -1


class Keeper:
    """The keeper process and its table. It is started with the first group, and anew if somebody kills it."""

    def __init__(self) -> None:
        self._name = os.urandom(4).hex()
        self._serial = 0
        self._table: mmap.mmap | None = None
        self._table_fd = self._read_end = self._write_end = -1
        self._free: list[int] = []
        self._kept = 0
        self._retired = threading.Event()
        self._lock = threading.Lock()
        """Guards the start of the process, for which a thread waits, against `retire`."""

    def keep(self) -> KeptGroup:
        """Expect a child that is started next. `OSError` or `RuntimeError` when there is no keeper yet, and the system
        has no descriptor, process or thread for it."""
        if self._table is None:
            self._start()
        if not self._free:
            self._grow()
        assert self._table is not None
        at = self._free.pop()
        self._kept += 1
        self._serial += 1
        self._table[at : at + _ENTRY_BYTES] = _ENTRY % (_FREE, self._serial, 0)
        self._table[at] = _EXPECTED
        return KeptGroup(self, at, f"{self._name}.{self._serial}")

    def note(self, at: int, pid: int) -> None:
        assert self._table is not None
        self._table[at + _GROUP.start : at + _GROUP.stop] = b"%10d" % pid
        self._table[at] = _RUNNING

    def forget(self, at: int) -> None:
        if self._table is None:
            return  # this is a forked copy of the process that has the child
        self._table[at] = _FREE
        self._kept -= 1
        self._free.append(at)

    def retire(self) -> None:
        """End the keeper process, unless it is still needed. The next group starts another."""
        with self._lock:
            if self._table is not None and not self._kept:
                self._retired.set()
                self.let_go()

    def let_go(self) -> None:
        """Give up what is open. In a forked copy of this process that is all there is to do."""
        for fd in (self._write_end, self._read_end, self._table_fd):
            if fd >= 0:
                os.close(fd)
        self._table_fd = self._read_end = self._write_end = -1
        self._table = None
        self._free = []

    def _start(self) -> None:
        with self._lock:
            self._retired = threading.Event()
            pid = 0
            try:
                self._read_end, self._write_end = os.pipe()
                self._table_fd = open_nameless()
                self._grow()
                pid = self._spawn()
                threading.Thread(target=self._stand_by, args=(pid, self._retired), name=_TITLE, daemon=True).start()
            except (FileNotFoundError, PermissionError) as error:
                message = "child processes would outlive a killed node: their keeper cannot be started"
                _logger.warning(message, extra={"error": str(error)})
            except BaseException:
                self.let_go()
                if pid:
                    reap(pid)  # no thread will; it has no pipe any more and nothing to kill, so it ends at once
                raise

    def _grow(self) -> None:
        """Double the table. Its room is written and not only reserved: a full disk is to be an error here and now."""
        size = len(self._table) if self._table is not None else 0
        entries = size // _ENTRY_BYTES or _FIRST_ENTRIES
        os.pwrite(self._table_fd, _ENTRY % (_FREE, 0, 0) * entries, size)
        self._table = mmap.mmap(self._table_fd, size + entries * _ENTRY_BYTES)
        self._free.extend(range(size, len(self._table), _ENTRY_BYTES))

    def _spawn(self) -> int:
        errors = os.open(os.devnull, os.O_WRONLY)
        try:
            return spawn(
                [_SHELL, "-c", _SCRIPT, _TITLE, self._name],
                environment=_ENVIRONMENT,
                stdin=self._read_end,
                stdout=self._table_fd,
                stderr=errors,
            )
        finally:
            os.close(errors)

    def _stand_by(self, pid: int, retired: threading.Event) -> None:
        """Reap the keeper when it ends, and start another while it is needed. That one finds the same table."""
        while True:
            reap(pid)
            pid = 0
            while not pid:
                if retired.wait(_RESTART_S):
                    return
                with self._lock:
                    if retired.is_set():
                        return
                    pid = self._replace()

    def _replace(self) -> int:
        """The process id of a new keeper, or 0."""
        try:
            pid = self._spawn()
        except OSError as error:
            _logger.error("the keeper of child processes ended and cannot be started", extra={"error": str(error)})
            return 0
        _logger.warning("the keeper of child processes ended; there is another", extra={"pid": pid})
        return pid


_keeper = Keeper()
"""Groups belong to a process, so it has one keeper, however many nodes and loops run in it."""


def keep_group() -> KeptGroup:
    """Have the group of a child that is started next end with this process."""
    return _keeper.keep()


def retire_keeper() -> None:
    """End the keeper process, unless a group is still alive."""
    _keeper.retire()


def _leave_to_parent() -> None:
    """In a forked copy of this process, which must not keep the pipe open, and whose groups are its own."""
    global _keeper
    inherited, _keeper = _keeper, Keeper()
    inherited.let_go()


os.register_at_fork(after_in_child=_leave_to_parent)
