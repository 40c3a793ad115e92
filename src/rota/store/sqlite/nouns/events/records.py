"""Events that were taken, as the SQLite store remembers them for people."""

from collections.abc import Sequence

import msgspec

from rota.model.events.record import EventRecord
from rota.store.contract.events import MAX_EVENT_RECORDS
from rota.store.records.codec import encode
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL

_decode = msgspec.json.Decoder(EventRecord).decode


class SqliteEventRecords(SqliteNoun):
    """See `rota.store.contract.events.EventStore` for what each method promises."""

    def record_events(self, records: Sequence[EventRecord], *, keep: int = MAX_EVENT_RECORDS) -> None:
        with self._database.write() as db:
            db.executemany(SQL["record_events"], [{"id": one.id, "body": encode(one)} for one in records])
            db.execute(SQL["trim_events"], {"keep": keep})

    def list_events(self, *, limit: int, before: str | None = None) -> list[EventRecord]:
        with self._database.read() as db:
            rows = db.execute(SQL["list_events"], {"before": before, "limit": limit}).fetchall()
        return self._unreadable.read_all(
            "events that were taken of", self._database.path, _decode, [row["body"] for row in rows]
        )
