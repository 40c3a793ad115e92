"""Which ends of jobs some configuration or flow waits for, as part of the transaction that ends them."""

import sqlite3
from functools import partial

from rota.model.events.configuration import Configuration
from rota.model.events.event import JOB
from rota.store.contract.events import Awaited, awaited_ends
from rota.store.records.codec import decode_configuration
from rota.store.records.unreadable import UnreadableRecords
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.definitions import job_types_in, version_in


class SqliteAwaited(SqliteNoun):
    """For nouns that end jobs."""

    _awaited = Awaited(-1)
    """Which ends were to be told in the last step that ended jobs."""

    def _awaited_ends(self, db: sqlite3.Connection) -> Awaited:
        """What is known, or what is read anew if anything was defined since."""
        version = version_in(db)
        if version != self._awaited.version:
            listening, job_types = listening_in(db, self._unreadable), job_types_in(db, self._unreadable)
            self._awaited = awaited_ends(version, listening, job_types)
        return self._awaited


def listening_in(db: sqlite3.Connection, unreadable: UnreadableRecords) -> list[Configuration]:
    """The configurations that wait for the end of jobs."""
    rows = db.execute(SQL["listening_configurations"], {"type": JOB}).fetchall()
    read = unreadable.read
    found = [read("configuration", row["uuid"], partial(decode_configuration, row["body"])) for row in rows]
    return [one for one in found if one]
