"""What the kernel knows of the nodes of this machine: a process that is gone has let go of its lock.

Every node holds an exclusive lock on a small file, from before it is known to the store until it ends, however it ends.
Whoever can take that lock knows at once that the node is dead. The files lie in a folder of this user and of this start
of the machine; where it cannot be used, or a node's file is not in it (another machine, a container, another user),
nothing is known, and the node is judged by its silence.
"""

import fcntl
import logging
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from weakref import WeakSet

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_logger = logging.getLogger("rota.node")


class Presence:
    """The lock files of this machine's nodes, and which nodes this process has. `folder` is None where there is no
    place for files. All nodes of a process share one (`own_presence`), so that none of them judges another."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._here: set[str] = set()
        self._held: dict[str, int] = {}

    def hold(self, node: str) -> None:
        """Show that a node of this process lives, until `release` or the end of the process."""
        self._here.add(node)
        _in_use.add(self)
        if self._folder is None:
            return
        try:
            self._held[node] = self._lock(node)
        except OSError as error:
            _logger.info("no lock file; others will judge this node by its silence", extra={"error": str(error)})

    def release(self, node: str) -> None:
        """The node has ended and left nothing behind."""
        if node in self._held:
            self.forget(node)
        self.let_go(node)

    def let_go(self, node: str) -> None:
        """The node has ended, and the store may still show what was its: others know at once that it is gone."""
        self._here.discard(node)
        # No longer held before it is closed: in a child that is forked in between the number may be another file's.
        descriptor = self._held.pop(node, None)
        if descriptor is not None:
            _close(descriptor)

    def leave_to_parent(self) -> None:
        """In a forked copy of this process: the nodes are its parent's, and live or die with that."""
        self._here.clear()
        while self._held:
            _close(self._held.popitem()[1])

    def is_here(self, node: str) -> bool:
        """Whether it is a node of this process that has not ended in good order: as long as the process lives, what it
        runs may go on. Asked from any thread."""
        return node in self._here

    def gone(self, nodes: Iterable[str]) -> list[str]:
        """Those nodes whose process is known to have ended."""
        return [node for node in nodes if not self.is_here(node) and self._is_gone(node)]

    def forget(self, node: str) -> None:
        """Remove the file of a node that is no more."""
        if self._folder is not None:
            with suppress(OSError):
                (self._folder / node).unlink()

    def _lock(self, node: str) -> int:
        """The descriptor of a node's locked file. A file that cannot be locked is removed: it would say that the node
        is dead."""
        assert self._folder is not None
        descriptor = os.open(self._folder / node, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.forget(node)
            os.close(descriptor)
            raise
        return descriptor

    def _is_gone(self, node: str) -> bool:
        if self._folder is None:
            return False
        try:
            descriptor = os.open(self._folder / node, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False  # not of this machine, or of another user
        try:
            # Shared, so that two who look at the same time do not take each other for the node.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True


@cache
def own_presence() -> Presence:
    """The one that all nodes of this process share, whoever opened them."""
    return Presence(run_folder())


def run_folder() -> Path | None:
    """The folder for lock files, made if need be; None where none can be trusted.

    Named after this start of the machine: a folder that several machines share must not let one judge another's nodes.
    """
    boot = _boot_id()
    if boot is None:
        return None
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    folder = Path(base) / f"rota-{os.getuid()}-{boot}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        _logger.info("no folder for lock files", extra={"folder": str(folder), "error": str(error)})
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if is_ours else None


def _boot_id() -> str | None:
    try:
        if sys.platform == "darwin":
            command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
            return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or None
        return _BOOT_ID.read_text().strip()
    except OSError:
        return None


def _close(descriptor: int) -> None:
    with suppress(OSError):
        os.close(descriptor)


_in_use: WeakSet[Presence] = WeakSet()


def _leave_to_parent() -> None:
    """A child that is forked without exec would hold the locks too, and outlive the nodes with them. What is held is
    looked up in that moment: a lock that was released has left its number to other files."""
    for presence in list(_in_use):
        presence.leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parent)
