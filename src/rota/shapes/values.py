"""How many values a body holds, told before it is decoded: decoding holds the interpreter, and millions of values in a
body of few megabytes would hold it for seconds. Text is not counted, however long.

The body is looked at in slices, so that other threads run meanwhile.
"""

from rota.errors import InvalidInput

MAX_VALUES = 500_000
_SLICE = 64 * 1024


def count_values(raw: bytes | bytearray) -> int:
    """About how many; refuses a body with more than one call may have. For a thread."""
    count = _commas(raw)
    if count > MAX_VALUES:
        count = _commas_outside_of_text(raw)
    if count > MAX_VALUES:
        raise InvalidInput("body", f"holds more than {MAX_VALUES:,} values; send fewer in one call")
    return count


def _commas(raw: bytes | bytearray) -> int:
    """So many, or more than are allowed. Values without commas between them are nested, and the depth has a limit of
    its own."""
    count = 0
    for at in range(0, len(raw), _SLICE):
        count += raw.count(b",", at, at + _SLICE)
        if count > MAX_VALUES:
            break
    return count


def _commas_outside_of_text(raw: bytes | bytearray) -> int:
    """The same without those in text. Every second piece between quotation marks is text, once those are removed that
    a backslash makes part of it."""
    count, is_text, rest = 0, False, b""
    for at in range(0, len(raw), _SLICE):
        piece = rest + raw[at : at + _SLICE]
        # A last backslash belongs to what comes next, unless it is itself behind one.
        rest = b"\\" if (len(piece) - len(piece.rstrip(b"\\"))) % 2 else b""
        pieces = piece[: len(piece) - len(rest)].replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')
        count += b"".join(pieces[is_text::2]).count(b",")
        is_text ^= len(pieces) % 2 == 0
        if count > MAX_VALUES:
            break
    return count
