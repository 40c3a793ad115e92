"""Commands of another user, which the process of a test may not kill for a while. Only root can have that."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.servers import wait_until

needs_root = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.geteuid() != 0, reason="only root can start commands of another user"
)
AS_ANOTHER = ["setpriv", "--reuid", "1", "--clear-groups", "--"]
"""Put before a command: whoever may not kill everybody's processes may not kill that."""
_VERSION_3 = 0x20080522
_CAP_KILL = 1 << 5


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Rights(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def no_right_to_kill() -> Iterator[None]:
    """The calling thread kills nobody's processes but those of its own user."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, rights = _Header(_VERSION_3, 0), (_Rights * 2)()
    assert libc.capget(ctypes.byref(header), rights) == 0, os.strerror(ctypes.get_errno())
    rights[0].effective &= ~_CAP_KILL
    assert libc.capset(ctypes.byref(header), rights) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        rights[0].effective |= _CAP_KILL
        assert libc.capset(ctypes.byref(header), rights) == 0, os.strerror(ctypes.get_errno())


def await_exec(pid: int, name: str) -> None:
    """A process that has said something may not have become the program yet that it becomes next."""
    wait_until(lambda: Path(f"/proc/{pid}/comm").read_text() == f"{name}\n", f"{pid} to become {name}")
