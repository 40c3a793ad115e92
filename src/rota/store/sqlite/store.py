"""The SQLite store: the sum of its nouns. Each operation is one transaction; its SQL is in the file of its noun in
`queries/`, under its name."""

from typing import Self

from rota.store.records.unreadable import Unreadable
from rota.store.sqlite.database.database import Database, parse_url
from rota.store.sqlite.nouns.audit import SqliteAudit
from rota.store.sqlite.nouns.claims.claims import SqliteClaims
from rota.store.sqlite.nouns.copies import SqliteCopies
from rota.store.sqlite.nouns.definitions import SqliteDefinitions
from rota.store.sqlite.nouns.events.events import SqliteEvents
from rota.store.sqlite.nouns.history import SqliteHistory
from rota.store.sqlite.nouns.jobs.jobs import SqliteJobs
from rota.store.sqlite.nouns.logs import SqliteLogs
from rota.store.sqlite.nouns.nodes import SqliteNodes
from rota.store.sqlite.nouns.queues.queues import SqliteQueues
from rota.store.sqlite.nouns.schedules import SqliteSchedules
from rota.store.sqlite.nouns.settings import SqliteSettings
from rota.store.sqlite.nouns.topics import SqliteTopics


class SqliteStore(
    SqliteDefinitions,
    SqliteSettings,
    SqliteJobs,
    SqliteClaims,
    SqliteQueues,
    SqliteHistory,
    SqliteLogs,
    SqliteNodes,
    SqliteSchedules,
    SqliteEvents,
    SqliteAudit,
    SqliteTopics,
    SqliteCopies,
):
    """See `rota.store.contract.store.Store` for what each method promises."""

    _owns_database = True

    @classmethod
    def open(cls, url: str) -> Self:
        path, synchronous = parse_url(url)
        return cls(Database(path, synchronous=synchronous).open())

    @property
    def url(self) -> str:
        return "sqlite://:memory:" if self._database.in_memory else f"sqlite:///{self._database.path}"

    def reopen(self) -> Self:
        if not self._database.in_memory:
            return type(self)(self._database.reopen())
        found = type(self)(self._database)
        found._owns_database = False  # there is one connection, which ends with the first handle
        return found

    def now(self, *, queue: str | None = None) -> int:
        return self._clock.now()

    def problems(self) -> list[str]:
        return ["everything is in memory and is gone when the process ends"] if self._database.in_memory else []

    @property
    def contacts(self) -> int:
        return 0

    def troubles(self) -> list[str]:
        return self._database.troubles()

    def unreadable_records(self) -> list[Unreadable]:
        return self._unreadable.all()

    def close(self) -> None:
        if self._owns_database:
            self._database.close()
