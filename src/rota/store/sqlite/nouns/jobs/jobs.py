"""The jobs of the SQLite store."""

from collections import Counter
from collections.abc import Sequence

from rota.model.job import Job, JobSpec
from rota.store.contract.jobs import MOST_AHEAD, Admission, CancelAnswer, JobPage, JobQuery, Wait
from rota.store.records import listing
from rota.store.sqlite.database.database import translated_errors
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.events.awaited import SqliteAwaited
from rota.store.sqlite.nouns.history import forget_jobs
from rota.store.sqlite.nouns.jobs.admission import admit, insert_jobs
from rota.store.sqlite.nouns.jobs.changes import cancel_job, retry_job
from rota.store.sqlite.nouns.jobs.lookup import find_jobs
from rota.store.sqlite.nouns.jobs.rows import job_of, new_row
from rota.store.sqlite.nouns.jobs.sections import Sections
from rota.store.sqlite.nouns.jobs.within import enqueue_within
from rota.store.sqlite.nouns.queues.stats import count_up

_EVER = 1 << 62


class SqliteJobs(SqliteAwaited):
    """See `rota.store.contract.jobs.JobStore` for what each method promises."""

    def enqueue_jobs(self, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        rows = [new_row(spec, now) for spec in specs]
        with self._database.write() as db:
            if insert_jobs(db, specs, rows) == len(rows):
                admissions = [Admission(spec.id, True) for spec in specs]
            else:
                # Some were left out; which ones is told one by one, in a second pass over the untouched table.
                db.execute("ROLLBACK")
                db.execute("BEGIN IMMEDIATE")
                admissions = [
                    admit(db, spec, row, now, self._awaited_ends) for spec, row in zip(specs, rows, strict=True)
                ]
            pairs = zip(specs, admissions, strict=True)
            for queue, jobs in Counter(spec.queue for spec, admission in pairs if admission.is_new).items():
                count_up(db, queue, "enqueued", jobs, now)
        self._changes.announce()
        return admissions

    def enqueue_jobs_within(self, connection: object, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        # Nobody is told: the file changes for everybody at the commit, and that is what waiting nodes watch.
        with translated_errors(self._database.path):
            return enqueue_within(connection, self._database.path, specs, now, self._awaited_ends)

    def find_jobs(self, job_ids: Sequence[str], *, queue: str | None = None) -> list[Job | None]:
        found = find_jobs(self._database, job_ids)
        return [job if job and queue in (None, job.spec.queue) else None for job in found]

    def list_jobs(self, query: JobQuery, *, limit: int, cursor: str | None = None) -> JobPage:
        return listing.list_jobs(Sections(self._database), query, limit, cursor)

    def list_series(
        self,
        queue: str,
        series: str,
        *,
        since: int = 0,
        until: int | None = None,
        limit: int,
        after: Job | None = None,
        latest_first: bool = False,
    ) -> list[Job]:
        query = SQL["list_series_latest_first" if latest_first else "list_series"]
        conditions: dict[str, object] = {"queue": queue, "name": series, "since": since, "limit": limit}
        conditions["until"] = _EVER if until is None else until
        place = (after.spec.enqueued_at, after.id) if after else ((_EVER, "") if latest_first else (-1, ""))
        conditions["at"], conditions["id"] = place
        with self._database.read() as db:
            return [job_of(row) for row in db.execute(query, conditions)]

    def count_series(self, queue: str, series: str) -> int:
        with self._database.read() as db:
            return int(db.execute(SQL["count_series"], {"queue": queue, "name": series}).fetchone()["jobs"])

    def read_wait(self, queue: str, job_id: str) -> Wait | None:
        with self._database.read() as db:
            row = db.execute(SQL["read_wait"], {"queue": queue, "id": job_id, "most": MOST_AHEAD}).fetchone()
        return Wait(row["ahead"], row["lock_holder"], row["limited_until"]) if row else None

    def cancel_jobs(self, job_ids: Sequence[str], *, now: int) -> list[CancelAnswer]:
        with self._database.write() as db:
            awaited = self._awaited_ends(db)
            answers = [cancel_job(db, job_id, awaited, now) for job_id in job_ids]
        self._changes.announce()
        return answers

    def retry_jobs(self, job_ids: Sequence[str], *, now: int) -> list[bool]:
        with self._database.write() as db:
            answers = [retry_job(db, job_id, now) for job_id in job_ids]
        self._changes.announce()
        return answers

    def delete_jobs(self, job_ids: Sequence[str]) -> list[bool]:
        forgotten = forget_jobs(self._database, job_ids)
        return [job_id in forgotten for job_id in job_ids]
