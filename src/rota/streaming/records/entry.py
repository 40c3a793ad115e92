"""What an instance keeps in memory of one definition, of which there may be a million: its encoded bytes, and the few
numbers that say when it fires. A due task is made from the bytes by putting another start between their ends.
"""

import re
from functools import lru_cache
from sys import intern

from msgspec import Struct

from rota.model.topics.light.definition import TaskDefinition
from rota.model.topics.light.fires import message_id
from rota.model.triggers.interval import TimeUnit
from rota.streaming.records.codec import decode_definition, decode_key, encode_definition

_UNITS = tuple(TimeUnit)
"""In the order of the schema's symbols."""
_PLAIN = re.compile(rb"[A-Za-z0-9_.~-]+")
"""What a message id has as it is."""


class Entry(Struct, gc=False):
    """A settled definition. Only `next` ever changes."""

    value: bytes
    """The definition as Avro."""
    start_from: int
    """Where the number of its start begins in the bytes."""
    start_until: int
    start: int
    period_ms: int
    """0 for a task that is sent once."""
    unit: TimeUnit | None
    topic: str
    next: int
    """The instant that its timer is set to."""

    @property
    def definition(self) -> TaskDefinition:
        return decode_definition(self.value)

    def due_value(self, instant: int) -> bytes:
        """The due task as Avro: the definition, with the nominal instant as its start."""
        return self.value[: self.start_from] + _long(instant) + self.value[self.start_until :]


def entry_of(definition: TaskDefinition) -> Entry:
    """The entry of a settled definition."""
    return read_entry(encode_definition(definition))


def read_entry(value: bytes, key: bytes | None = None) -> Entry:
    """The entry of a settled definition as `encode_definition` writes it; `ValueError` or `IndexError` if it is none,
    or that of another key. It begins as its key does.

    Reads by hand, because a general reader would make a dictionary and seven objects for each of a million.
    """
    at = _skip_text(value, _skip_text(value, 0))
    if key is not None and key != value[:at]:
        raise ValueError("the definition is that of another key")
    _, at = _read_long(value, at)
    is_periodic, at = _read_long(value, at)
    unit, period_ms = None, 0
    if is_periodic:
        symbol, at = _read_long(value, at)
        time, at = _read_long(value, at)
        unit = _UNITS[symbol]
        period_ms = time * unit.millis
    length, at = _read_long(value, at)
    topic = intern(value[at : at + length].decode())
    has_start, start_from = _read_long(value, at + length)
    if not has_start:
        raise ValueError("the definition is not settled: it has no start")
    start, start_until = _read_long(value, start_from)
    return Entry(value, start_from, start_until, start, period_ms, unit, topic, start)


def message_id_of(key: bytes, instant: int) -> bytes:
    """`message_id` of an encoded key. There is one for each due task, so what needs no quoting is read by hand."""
    length, at = _read_long(key, 0)
    host = key[at : at + length]
    length, at = _read_long(key, at + length)
    name = key[at : at + length]
    if _PLAIN.fullmatch(host) and _PLAIN.fullmatch(name):
        return b"%b/%b/%d" % (host, name, instant)
    return message_id(decode_key(key), instant).encode()


def _skip_text(data: bytes, at: int) -> int:
    length, at = _read_long(data, at)
    return at + length


def _read_long(data: bytes, at: int) -> tuple[int, int]:
    """An Avro long, and where the next thing begins: seven bits a byte, the lowest first, the sign in the lowest."""
    byte = data[at]
    number, shift = byte & 0x7F, 7
    while byte & 0x80:
        at += 1
        byte = data[at]
        number |= (byte & 0x7F) << shift
        shift += 7
    return (number >> 1) ^ -(number & 1), at + 1


@lru_cache(maxsize=1024)
def _long(number: int) -> bytes:
    """A number that is not negative, as an Avro long. Many tasks are due at the same instant."""
    number <<= 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
