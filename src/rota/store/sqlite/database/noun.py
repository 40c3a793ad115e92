"""What the nouns of a store share."""

from rota.store.records.unreadable import UnreadableRecords
from rota.store.sqlite.database.changes import Changes
from rota.store.sqlite.database.database import Database
from rota.store.sqlite.database.machine_clock import MachineClock


class SqliteNoun:
    """The operations on one noun. Those of all nouns are one store, over one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clock = MachineClock(database)
        self._changes = Changes()
        self._unreadable = UnreadableRecords()
