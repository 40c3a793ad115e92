"""What a process of a test runs short of, for a while."""

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_TOO_LARGE = 1 << 47
"""Of a stack: there is no room for it in any process."""


@contextmanager
def no_descriptors(*, but: int = 0) -> Iterator[None]:
    """Nothing more can be opened in this process, also if something is closed; or only so many at a time."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = [os.dup(0) for _ in range(but + 1)]
    for number in free:
        os.close(number)
    limit = free[-1] if but else 3  # the three that every process has stay open
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def no_threads() -> Iterator[None]:
    """Those that have begun go on, and no other one begins."""
    before = threading.stack_size(_TOO_LARGE)
    try:
        yield
    finally:
        threading.stack_size(before)
