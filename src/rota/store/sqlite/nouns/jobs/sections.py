"""The sections of a listing of jobs, read from their indexes."""

from collections.abc import Iterable

from rota.model.job import Job, JobState
from rota.store.records.listing import Place
from rota.store.sqlite.database.database import Database
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.jobs.rows import job_of
from rota.store.sqlite.nouns.queues.lookup import queues_in


class Sections:
    """See `rota.store.records.listing.SectionReader`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_queues(self) -> list[str]:
        with self._database.read() as db:
            return queues_in(db)

    def read_section(
        self, section: str, queue: str, states: Iterable[JobState], *, after: Place, limit: int
    ) -> list[tuple[Place, Job]]:
        place = {"queue": queue, "place": after[0], "id": after[1], "limit": limit}
        with self._database.read() as db:
            if section != "ended":
                return [((row["place"], row["id"]), job_of(row)) for row in db.execute(SQL[_PAGES[section]], place)]
            rows = [row for state in states for row in db.execute(SQL["page_ended"], {**place, "state": state})]
        rows.sort(key=lambda row: (row["place"], row["id"]), reverse=True)
        return [((row["place"], row["id"]), job_of(row)) for row in rows[:limit]]


_PAGES = {
    "delayed": "page_delayed",
    "buffered": "page_buffered",
    "queued": "page_queued",
    "blocked": "page_blocked",
    "running": "page_running",
}
