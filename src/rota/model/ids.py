"""Ids are UUIDv7: unique without asking anyone, and in the order in which they were made.

Within one process ids are strictly increasing, also within a millisecond and when the clock is set back, because the
order of ids is the order of equal jobs in a queue.
"""

import os
import re
import struct
import threading
from hashlib import blake2b
from uuid import UUID

from rota.errors import InvalidInput

_lock = threading.Lock()
_last_ms = 0
_counter = 0
_noises: list[int] = []
"""Random numbers that are not used yet. Asking the system for one costs a job more than all else of its id."""
_NOISES_AT_ONCE = 64
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_noises.clear)  # a child must not use what its parent uses
_COUNTER_BITS = 12
_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)


def new_id(now_ms: int) -> str:
    """A fresh id made at `now_ms`."""
    ms, counter, noise = _next_place(now_ms)
    value = (ms << 80) | (0x7000 | counter) << 64 | 0x8000_0000_0000_0000 | noise & 0x3FFF_FFFF_FFFF_FFFF
    return _spelled(value)


def numbered_id(ms: int, series: str, number: int) -> str:
    """The id of one of many that belong together: the same at every call, and in the order of the numbers."""
    ms, counter = ms + (number >> _COUNTER_BITS), number & (1 << _COUNTER_BITS) - 1
    noise = int.from_bytes(blake2b(f"{series} {number}".encode(), digest_size=8).digest(), "big")
    return _spelled((ms << 80) | (0x7000 | counter) << 64 | 0x8000_0000_0000_0000 | noise & 0x3FFF_FFFF_FFFF_FFFF)


def made_at(id_: str) -> int:
    """The instant of which an id is that `new_id` made."""
    return UUID(id_).int >> 80


def ids_between(first_ms: int, last_ms: int) -> tuple[str, str]:
    """Where ids lie that were made in these milliseconds: not below the first text, and below the second."""
    return _spelled(first_ms << 80), _spelled(last_ms + 1 << 80)


def _spelled(value: int) -> str:
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _next_place(now_ms: int) -> tuple[int, int, int]:
    """The next pair of millisecond and counter, greater than every one before it in this process; and noise."""
    global _last_ms, _counter
    with _lock:
        if not _noises:
            _noises.extend(struct.unpack(f">{_NOISES_AT_ONCE}Q", os.urandom(8 * _NOISES_AT_ONCE)))
        noise = _noises.pop()
        start = noise >> 62
        if now_ms > _last_ms:
            _last_ms, _counter = now_ms, start
        else:
            _counter += 1
            if _counter >> _COUNTER_BITS:
                _last_ms, _counter = _last_ms + 1, start
        return _last_ms, _counter, noise


def new_pulse() -> str:
    """A text that was never used before, for a node's sign of life."""
    return os.urandom(8).hex()


def is_id(text: str) -> bool:
    """Whether a text is an id in its canonical spelling."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def reference(text: str) -> str:
    """An id in its canonical spelling; a name as it is. Digits without dashes may be the name of something."""
    return text.lower() if _ID.fullmatch(text) else text


def check_id(field: str, value: str) -> str:
    """The id in its canonical spelling, or `InvalidInput` that names the field."""
    try:
        return str(UUID(value))
    except (ValueError, AttributeError, TypeError):
        raise InvalidInput(field, f"{value!r} is not a UUID") from None
