"""Inserting many rows with few statements.

`executemany` takes and gives back Python's lock for every row, and whoever computes meanwhile keeps it for
milliseconds. One statement with many rows does so once: a busy server then inserts twice as fast.
"""

import re
import sqlite3
from collections.abc import Sequence
from functools import lru_cache

_VALUES = re.compile(r"VALUES \((?P<names>[^()]*)\)")
_LARGEST = 256
"""Rows of one statement. Blocks are powers of two, so that a few prepared statements serve all numbers of rows."""


def insert_rows(db: sqlite3.Connection, query: str, rows: Sequence[dict[str, object]]) -> int:
    """Run an `INSERT ... VALUES (:a, :b)` for many rows; returns how many were inserted."""
    inserted, start = 0, 0
    while start < len(rows):
        size = min(_LARGEST, 1 << (len(rows) - start).bit_length() - 1)
        text, names = _for_rows(query, size)
        values = [row[name] for row in rows[start : start + size] for name in names]
        inserted += db.execute(text, values).rowcount
        start += size
    return inserted


@lru_cache
def _for_rows(query: str, size: int) -> tuple[str, tuple[str, ...]]:
    """The query for this many rows, and the names of a row's values in order."""
    found = _VALUES.search(query)
    assert found is not None, f"no VALUES in {query}"
    names = tuple(name.strip().removeprefix(":") for name in found["names"].split(","))
    one = f"({', '.join('?' * len(names))})"
    return f"{query[: found.start()]}VALUES {', '.join([one] * size)}{query[found.end() :]}", names
