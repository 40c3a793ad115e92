"""Pictures for documents: the same PNG with a palette of at most 256 colours, a third of the size."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_BYTES_PER_PIXEL = {2: 3, 6: 4}
"""By the colour type: red, green, blue; and with transparency, which a screenshot has none of."""


def small_png(content: bytes) -> bytes:
    """Of a picture as browsers write them: eight bits for each colour, not interlaced."""
    chunks = list(_chunks(content))
    width, height, depth, kind, *_, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    assert (depth, interlaced) == (8, 0)
    size = _BYTES_PER_PIXEL[kind]
    raw = zlib.decompress(b"".join(part for name, part in chunks if name == b"IDAT"))
    pixels = [row[at : at + 3] for row in _rows(raw, width * size, size) for at in range(0, len(row), size)]
    colours, palette = _palette(pixels)
    lines = (bytes(map(palette.__getitem__, pixels[at : at + width])) for at in range(0, len(pixels), width))
    return _SIGNATURE + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", b"".join(colours)),
            _chunk(b"IDAT", zlib.compress(b"".join(b"\0" + line for line in lines), 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(content):
        length, name = struct.unpack(">I4s", content[at : at + 8])
        yield name, content[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(name: bytes, part: bytes) -> bytes:
    return struct.pack(">I", len(part)) + name + part + struct.pack(">I", zlib.crc32(name + part))


def _rows(raw: bytes, length: int, size: int) -> Iterator[bytes]:
    """Each row as it is: PNG stores how it differs from what is left of it and above it."""
    above = bytearray(length)
    for at in range(0, len(raw), length + 1):
        row = bytearray(raw[at + 1 : at + 1 + length])
        _add(raw[at], row, above, size)
        yield bytes(row)
        above = row


def _add(kind: int, row: bytearray, above: bytearray, size: int) -> None:
    left, corner = bytearray(size), bytearray(size)  # left of the row there is nothing
    for at in range(0, len(row) if kind else 0, size):
        for i in range(size):
            up = above[at + i]
            row[at + i] = left[i] = (row[at + i] + _predicted(kind, left[i], up, corner[i])) & 255
            corner[i] = up


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 1:
        return left
    if kind == 2:
        return up
    if kind == 3:
        return (left + up) // 2
    guess = left + up - corner
    return min((left, up, corner), key=lambda one: abs(guess - one))


def _palette(pixels: list[bytes]) -> tuple[list[bytes], dict[bytes, int]]:
    """The most frequent colours, at least one of each sort, and of every colour which of them is nearest."""
    found = Counter(pixels)
    ordered = [colour for colour, _ in found.most_common()]
    sorts = {bytes(part >> 6 for part in colour): colour for colour in reversed(ordered)}
    kept = list(dict.fromkeys([*sorts.values(), *ordered]))[:256]
    numbers = {colour: number for number, colour in enumerate(kept)}
    return kept, {colour: numbers[colour] if colour in numbers else _nearest(colour, kept) for colour in found}


def _nearest(colour: bytes, kept: list[bytes]) -> int:
    red, green, blue = colour
    distances = [(one[0] - red) ** 2 + (one[1] - green) ** 2 + (one[2] - blue) ** 2 for one in kept]
    return distances.index(min(distances))
