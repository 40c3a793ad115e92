"""The claims of the SQLite store."""

import sqlite3
from collections.abc import Sequence

from msgspec import structs

from rota.model.job import Claim
from rota.model.runs.settlement import Settlement, was_carried_out
from rota.store.contract.claims import Claims
from rota.store.records.claiming import Claiming, Wanted
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.claims import pulses
from rota.store.sqlite.nouns.claims.claiming import claim, nothing_but
from rota.store.sqlite.nouns.claims.finishing import finish
from rota.store.sqlite.nouns.claims.lifeline import SqliteLifeline
from rota.store.sqlite.nouns.claims.lookup import claims_of_node
from rota.store.sqlite.nouns.claims.recovery import recover
from rota.store.sqlite.nouns.events.awaited import SqliteAwaited
from rota.store.sqlite.nouns.jobs.lookup import find_jobs
from rota.store.sqlite.nouns.jobs.rows import readable_claim
from rota.store.sqlite.nouns.queues.lookup import has_ready_jobs, next_due


class SqliteClaims(Claiming, SqliteAwaited):
    """See `rota.store.contract.claims.ClaimStore` for what each method promises."""

    def _claim(self, queue: str, wanted: Wanted) -> Claims:
        with self._database.read() as db:
            # Idle nodes ask often; without anything to take there is no need to write.
            if not has_ready_jobs(db, queue, wanted.now):
                return nothing_but(next_due(db, queue), wanted.now)
        with self._database.write() as db:
            return claim(db, queue, wanted, self._clock.now)

    def begin_jobs(self, queue: str, claims: Sequence[Claim], *, now: int) -> None:
        rows = [{"id": one.spec.id, "queue": queue, "token": one.token, "now": now} for one in claims]
        with self._database.write() as db:
            db.executemany(SQL["begin_jobs"], rows)

    def finish_jobs(self, queue: str, settlements: Sequence[Settlement], *, now: int) -> frozenset[str]:
        with self._database.write() as db:
            all_done = self._finish(db, queue, settlements, now)
        self._announce_returns(settlements)
        return frozenset() if all_done else self._refused(settlements)

    def _finish_and_claim(self, queue: str, settlements: Sequence[Settlement], wanted: Wanted) -> Claims:
        with self._database.write() as db:
            all_done = self._finish(db, queue, settlements, wanted.now)
            answer = claim(db, queue, wanted, self._clock.now)
        self._announce_returns(settlements)
        return answer if all_done else Claims(answer.claims, answer.next_due, self._refused(settlements))

    def _finish(self, db: sqlite3.Connection, queue: str, settlements: Sequence[Settlement], now: int) -> bool:
        """Carry out what may be; tells whether that was everything."""
        return finish(db, queue, settlements, awaited=self._awaited_ends(db), now=now)

    def _refused(self, settlements: Sequence[Settlement]) -> frozenset[str]:
        """Those that were not carried out, now or earlier."""
        jobs = find_jobs(self._database, [one.claim.spec.id for one in settlements])
        pairs = zip(settlements, jobs, strict=True)
        return frozenset(one.claim.spec.id for one, job in pairs if not was_carried_out(one, job))

    def _announce_returns(self, settlements: Sequence[Settlement]) -> None:
        if any(one.ending is None or one.claim.spec.lock_key is not None for one in settlements):
            self._changes.announce()

    def lifeline(self, *, timeout_s: float) -> SqliteLifeline:
        return SqliteLifeline(self._database.private_writer(timeout_s), self._clock)

    def recover_claims(self, queue: str, node: str, held: dict[str, str], *, floor: int, now: int) -> int:
        with self._database.write() as db:
            recovered = self._recover(db, queue, node, held, floor=floor, now=now)
        self._changes.announce()
        return recovered

    def leave_queue(self, queue: str, node: str, *, floor: int, now: int) -> None:
        with self._database.write() as db:
            self._recover(db, queue, node, {}, floor=floor, now=now)
            db.execute(SQL["forget_node"], {"queue": queue, "node": node})
        self._changes.announce()

    def _recover(
        self, db: sqlite3.Connection, queue: str, node: str, known: dict[str, str], *, floor: int, now: int
    ) -> int:
        return recover(db, queue, node, known=known, floor=floor, awaited=self._awaited_ends(db), now=now)

    def read_pulses(self, queue: str) -> dict[str, str]:
        with self._database.read() as db:
            return {row["node"]: row["pulse"] for row in db.execute(SQL["read_pulses"], {"queue": queue})}

    def claims_of_node(self, queue: str, node: str, *, limit: int) -> list[Claim]:
        with self._database.read() as db:
            rows = claims_of_node(db, queue, node, limit)
        return [structs.replace(readable_claim(row, row["token"]), began_at=row["claimed_at"] or None) for row in rows]

    def reclaim_jobs(
        self, queue: str, settlements: Sequence[Settlement], *, node: str, pulse: str, now: int
    ) -> frozenset[str]:
        with self._database.write() as db:
            if not pulses.has_pulse(db, queue, node, pulse):
                return frozenset(one.claim.spec.id for one in settlements)
            all_done = self._finish(db, queue, settlements, now)
        self._announce_returns(settlements)
        return frozenset() if all_done else self._refused(settlements)

    def forget_pulse(self, queue: str, node: str, *, pulse: str) -> None:
        with self._database.write() as db:
            db.execute(SQL["forget_pulse"], {"queue": queue, "node": node, "pulse": pulse})

    def try_to_write(self, queue: str) -> None:
        with self._database.write():
            pass  # to have the lock is all that a sign of life waits for

    def mark_orphans(self, queue: str) -> int:
        with self._database.write() as db:
            return db.execute(SQL["mark_orphans"], {"queue": queue}).rowcount

    def forget_rates(self, queue: str, *, now: int, limit: int) -> int:
        at = min(now, self._clock.now())  # a caller that is ahead forgets nothing that counts
        with self._database.read() as db:
            if not db.execute(SQL["has_spent_rates"], {"queue": queue, "now": at}).fetchone()[0]:
                return 0
        with self._database.write() as db:
            return db.execute(SQL["forget_rates"], {"queue": queue, "now": at, "limit": limit}).rowcount
