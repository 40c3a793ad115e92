"""The index of dependencies: under which keys configurations are found, as part of a transaction."""

import sqlite3
from collections.abc import Iterator

from rota.model.events.configuration import Configuration
from rota.model.events.event import Event
from rota.store.contract.events import BEGINNING, EXACT, IndexKey, Place, index_keys, waits_for_jobs
from rota.store.records.codec import decode_configuration
from rota.store.records.unreadable import UNREADABLE_ERRORS
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.definitions import raise_version


def index_configuration(
    db: sqlite3.Connection, seq: int, *, before: Configuration | None, after: Configuration | None
) -> None:
    """Move a configuration from its old keys to its new ones."""
    old, new = (index_keys(one) if one else set() for one in (before, after))
    db.executemany(SQL["unindex_dependency"], [{**key._asdict(), "seq": seq} for key in old - new])
    db.executemany(SQL["index_dependency"], [{**key._asdict(), "seq": seq} for key in new - old])
    if any(one and waits_for_jobs(one) for one in (before, after)):
        raise_version(db)


def unindex_configuration(db: sqlite3.Connection, row: sqlite3.Row) -> None:
    """Let a configuration, of which this is the row, no longer be found."""
    try:
        index_configuration(db, row["seq"], before=decode_configuration(row["body"]), after=None)
    except UNREADABLE_ERRORS:
        # Looks at the whole index, since nobody can tell under which keys it is.
        db.execute(SQL["unindex_configuration"], {"seq": row["seq"]})
        raise_version(db)


def match_event(db: sqlite3.Connection, event: Event) -> list[Place]:
    """Where the configurations live that may have a dependency on an event."""
    keys = [IndexKey(event.type, EXACT, event.resource)]
    keys += [IndexKey(event.type, BEGINNING, start) for start in _beginnings(db, event)]
    rows = [row for key in keys for row in db.execute(SQL["match_dependencies"], key._asdict())]
    return list(dict.fromkeys(Place(row["queue"], row["uuid"]) for row in rows))


def _beginnings(db: sqlite3.Connection, event: Event) -> Iterator[str]:
    """Stored beginnings of a resource, the longest first.

    The greatest key up to the resource either is a beginning of it, or shares some characters with it, and no longer
    beginning is stored: so each look shortens what is left, and few are needed.
    """
    bound: str | None = event.resource
    while bound is not None:
        row = db.execute(SQL["last_beginning"], {"type": event.type, "bound": bound}).fetchone()
        if row is None:
            return
        start = str(row["start"])
        if bound.startswith(start):
            yield start
            bound = start[:-1] if start else None
        else:
            bound = _common_beginning(start, bound)


def _common_beginning(one: str, other: str) -> str:
    length = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]
