"""The audit log that a SQLite store keeps."""

import sqlite3
from collections.abc import Sequence

import msgspec

from rota.model.access.audit import AuditEntry
from rota.model.ids import ids_between
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL

_COUNTED_AT_A_TIME = 10_000
"""Entries: two milliseconds' work."""
_AFTER_ALL = "g"
"""No id comes behind it: they begin with hexadecimal digits."""
_decode = msgspec.json.Decoder(AuditEntry).decode
_encode = msgspec.json.Encoder().encode


class SqliteAudit(SqliteNoun):
    """See `rota.store.contract.audit.AuditStore` for what each method promises."""

    def append_audit(self, entries: Sequence[AuditEntry]) -> None:
        rows = [{"id": entry.id, "entry": _encode(entry)} for entry in entries]
        with self._database.write() as db:
            db.executemany(SQL["append_audit"], rows)

    def settle_audit(self, done: Sequence[AuditEntry], dropped: Sequence[str] = ()) -> None:
        with self._database.write() as db:
            for entry in done:
                if self._is_begun(db, entry.id):
                    db.execute(SQL["settle_audit"], {"id": entry.id, "entry": _encode(entry)})
            for one in dropped:
                if self._is_begun(db, one):
                    db.execute(SQL["drop_audit"], {"id": one})

    def _is_begun(self, db: sqlite3.Connection, id: str) -> bool:
        row = db.execute(SQL["find_audit"], {"id": id}).fetchone()
        return row is not None and not _decode(row["entry"]).is_done

    def list_audit(self, *, limit: int, before: str | None = None) -> list[AuditEntry]:
        with self._database.read() as db:
            rows = db.execute(SQL["list_audit"], {"before": before, "limit": limit}).fetchall()
        return self._unreadable.read_all(
            "audit entries of", self._database.path, _decode, [row["entry"] for row in rows]
        )

    def trim_audit(self, *, older_than: int, keep: int, limit: int) -> int:
        bound, _ = ids_between(max(older_than, 0), max(older_than, 0))
        found = [one for one in (self._newest_audit(bound), self._newest_beyond(keep)) if one is not None]
        if not found:
            return 0
        with self._database.write() as db:
            return db.execute(SQL["trim_audit"], {"until": max(found), "limit": limit}).rowcount

    def _newest_audit(self, before: str) -> str | None:
        with self._database.read() as db:
            found: str | None = db.execute(SQL["newest_audit"], {"before": before}).fetchone()["id"]
            return found

    def _newest_beyond(self, keep: int) -> str | None:
        """The newest entry beyond the latest `keep`. These are counted in steps, so that who reads does not wait long,
        and who writes not at all."""
        found = self._newest_audit(_AFTER_ALL)
        for passed in _steps(keep):
            if found is None:
                return None
            with self._database.read() as db:
                row = db.execute(SQL["pass_audit"], {"id": found, "passed": passed}).fetchone()
            found = row["id"] if row else None
        return found


def _steps(number: int) -> list[int]:
    return [_COUNTED_AT_A_TIME] * (number // _COUNTED_AT_A_TIME) + [number % _COUNTED_AT_A_TIME]
