"""What a process of a test runs short of, for a while."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_TOO_LARGE = 1 << 47
"""Of a stack: there is no room for it in any process."""


@contextmanager
def no_room_for_threads() -> Iterator[None]:
    """Those that have begun go on, and no other one begins."""
    before = threading.stack_size(_TOO_LARGE)
    try:
        yield
    finally:
        threading.stack_size(before)
