"""The SQLite store: the sum of its nouns. Each operation is one transaction; its SQL is in the file of its noun in
`queries/`, under its name."""

from typing import Self

from rota.store.records.unreadable import Unreadable
from rota.store.sqlite.audit import SqliteAudit
from rota.store.sqlite.claims.claims import SqliteClaims
from rota.store.sqlite.copies import SqliteCopies
from rota.store.sqlite.database.database import Database, parse_url
from rota.store.sqlite.definitions import SqliteDefinitions
from rota.store.sqlite.events.events import SqliteEvents
from rota.store.sqlite.history import SqliteHistory
from rota.store.sqlite.jobs.jobs import SqliteJobs
from rota.store.sqlite.logs import SqliteLogs
from rota.store.sqlite.nodes import SqliteNodes
from rota.store.sqlite.queues.queues import SqliteQueues
from rota.store.sqlite.schedules import SqliteSchedules
from rota.store.sqlite.settings import SqliteSettings
from rota.store.sqlite.topics import SqliteTopics


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
    """See `rota.store.store.Store` for what each method promises."""

    @classmethod
    def open(cls, url: str) -> Self:
        path, synchronous = parse_url(url)
        return cls(Database(path, synchronous=synchronous).open())

    @property
    def url(self) -> str:
        return "sqlite://:memory:" if self._database.in_memory else f"sqlite:///{self._database.path}"

    def now(self) -> int:
        return self._clock.now()

    def problems(self) -> list[str]:
        return ["everything is in memory and is gone when the process ends"] if self._database.in_memory else []

    def troubles(self) -> list[str]:
        return self._database.troubles()

    def unreadable_records(self) -> list[Unreadable]:
        return self._unreadable.all()

    def close(self) -> None:
        self._database.close()
