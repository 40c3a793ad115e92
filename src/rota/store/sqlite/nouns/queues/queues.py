"""The queues of the SQLite store."""

from rota.model.job import JobState
from rota.store.contract.queues import Cancellation, Stats
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.claims.lookup import cancelled_claims
from rota.store.sqlite.nouns.history import count_ended
from rota.store.sqlite.nouns.queues import stats
from rota.store.sqlite.nouns.queues.lookup import has_live_jobs, has_ready_jobs, is_paused, next_due, queues_in
from rota.store.sqlite.nouns.queues.waker import SqliteWaker

_FORGET_QUEUE = (
    "forget_stats",
    "forget_forgotten",
    "forget_pulses",
    "forget_fence",
    "forget_queue_rates",
    "resume_queue",
)


class SqliteQueues(SqliteNoun):
    """See `rota.store.contract.queues.QueueStore` for what each method promises."""

    def pause_queue(self, queue: str) -> None:
        with self._database.write() as db:
            db.execute(SQL["pause_queue"], {"queue": queue})

    def resume_queue(self, queue: str) -> None:
        with self._database.write() as db:
            db.execute(SQL["resume_queue"], {"queue": queue})
        self._changes.announce()

    def paused_queues(self) -> frozenset[str]:
        with self._database.read() as db:
            return frozenset(row["queue"] for row in db.execute(SQL["paused_queues"]))

    def list_queues(self) -> list[str]:
        with self._database.read() as db:
            return queues_in(db)

    def forget_queue(self, queue: str) -> bool:
        with self._database.write() as db:
            if db.execute(SQL["is_queue_used"], {"queue": queue}).fetchone()[0] or has_live_jobs(db, queue):
                return False
            for query in _FORGET_QUEUE:
                db.execute(SQL[query], {"queue": queue})
            return True

    def count_jobs(self, queue: str) -> dict[JobState, int]:
        with self._database.read() as db:

            def count(query: str) -> int:
                return int(db.execute(SQL[query], {"queue": queue}).fetchone()[0])

            held, buffered = db.execute(SQL["count_running"], {"queue": queue}).fetchone()
            return {
                JobState.DELAYED: count("count_delayed"),
                JobState.QUEUED: count("count_ready") + count("count_blocked") + count("count_limited") + buffered,
                JobState.RUNNING: held - buffered,
                **count_ended(db, queue),
            }

    def read_stats(self, queue: str, *, since: int, until: int) -> list[Stats]:
        with self._database.read() as db:
            return stats.read_stats(db, queue, max(since, 1), until)

    def read_totals(self, queue: str) -> Stats:
        with self._database.read() as db:
            found = stats.read_stats(db, queue, 0, 1)
        return found[0] if found else Stats()

    def waker(self, queue: str, node: str) -> SqliteWaker:
        return SqliteWaker(
            self._changes,
            path=None if self._database.in_memory else self._database.path,
            connect=self._database.connect,
            ready_in_s=lambda: self._ready_in_s(queue, self._clock.now()),
            cancelled_claims=lambda: self._cancelled_claims(queue, node),
            monotonic=self._clock.monotonic,
        )

    def _ready_in_s(self, queue: str, now: int) -> float | None:
        """How soon a claim finds something: 0 is at once, None not as far as is known."""
        with self._database.read() as db:
            if has_ready_jobs(db, queue, now):
                return 0
            due = next_due(db, queue)
            paused = is_paused(db, queue)
        return None if due is None or paused else max(due - now, 1) / 1000

    def _cancelled_claims(self, queue: str, node: str) -> list[Cancellation]:
        with self._database.read() as db:
            return cancelled_claims(db, queue, node)
