"""The settings that a SQLite store keeps."""

import sqlite3

from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL


class SqliteSettings(SqliteNoun):
    """See `rota.store.contract.settings.SettingStore` for what each method promises."""

    def get_setting(self, name: str) -> str | None:
        with self._database.read() as db:
            row = db.execute(SQL["get_setting"], {"name": name}).fetchone()
            return str(row["value"]) if row else None

    def put_setting(self, name: str, value: str, *, only_if_absent: bool = False) -> str:
        with self._database.write() as db:
            if only_if_absent:
                db.execute(SQL["put_setting_if_absent"], {"name": name, "value": value})
            else:
                write_setting(db, name, value)
            return str(db.execute(SQL["get_setting"], {"name": name}).fetchone()["value"])

    def list_settings(self, prefix: str) -> dict[str, str]:
        with self._database.read() as db:
            return {row["name"]: row["value"] for row in db.execute(SQL["list_settings"], {"prefix": prefix})}

    def delete_setting(self, name: str) -> bool:
        with self._database.write() as db:
            return db.execute(SQL["delete_setting"], {"name": name}).rowcount == 1


def write_setting(db: sqlite3.Connection, name: str, value: str) -> None:
    """Keep a value, whatever was there, as part of a transaction."""
    db.execute(SQL["put_setting"], {"name": name, "value": value})
