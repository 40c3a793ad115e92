"""Learns from the kernel that another process wrote to a file (Linux's inotify, which Python does not offer by
itself)."""

import ctypes
import os
import sys

_IN_MODIFY = 0x00000002
_IN_NONBLOCK = os.O_NONBLOCK
_IN_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def watch_file(path: str) -> int | None:
    """A descriptor that becomes readable when the file is written to; None where the system cannot tell."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC)
    if descriptor < 0:
        return None
    if libc.inotify_add_watch(descriptor, os.fsencode(path), _IN_MODIFY) < 0:
        os.close(descriptor)
        return None
    return descriptor


def drain(descriptor: int) -> bool:
    """Forget what was reported so far; tells whether there was anything."""
    reported = False
    try:
        while os.read(descriptor, 65536):
            reported = True
    except BlockingIOError:
        pass  # nothing more
    return reported
