"""Giving jobs to a node, as part of a transaction."""

import sqlite3
from collections.abc import Callable

from rota.model.job import Claim, node_of_token, was_at_a_death
from rota.store.contract.claims import MAX_PROMOTED, MAX_SCANNED, Claims
from rota.store.records.claiming import Wanted
from rota.store.records.codec import decode_past
from rota.store.records.unreadable import UNREADABLE_ERRORS
from rota.store.sqlite.database.queries import SQL, json_array
from rota.store.sqlite.nouns.claims import pulses
from rota.store.sqlite.nouns.claims.locks import block_jobs, fences_of, free_lock, split_by_lock
from rota.store.sqlite.nouns.claims.rates import RateRound
from rota.store.sqlite.nouns.jobs.rows import claim_of, readable_claim
from rota.store.sqlite.nouns.queues.lookup import is_paused, next_due


def claim(db: sqlite3.Connection, queue: str, wanted: Wanted, clock: Callable[[], int]) -> Claims:
    """Make due jobs ready, then give the first ready ones to the node of the token; so many of them begin now. `clock`
    is the store's, by which rates go."""
    token, limit, now, begin = wanted
    due = next_due(db, queue)
    if due is not None and due <= now:
        db.execute(SQL["promote_due_jobs"], {"queue": queue, "now": now, "limit": MAX_PROMOTED})
        due = next_due(db, queue)
    if limit < 1 or is_paused(db, queue):
        return nothing_but(due, now)
    if pulses.is_late(db, queue, token):
        return Claims([], due)
    rates = RateRound(db, queue, now, clock)
    if due is not None and due <= now:
        rates.free_due()
    claims: list[Claim] = []
    scanned, locks = 0, set[str]()
    while len(claims) < limit and scanned < MAX_SCANNED:
        most = min(limit - len(claims), MAX_SCANNED - scanned)
        candidates = db.execute(SQL["claim_candidates"], {"queue": queue, "limit": most}).fetchall()
        scanned += len(candidates)
        unlocked, blocked = split_by_lock(db, queue, candidates, locks)
        free, limited = rates.split(unlocked)
        to_begin = max(begin - len(claims), 0)
        at_once, ahead = _split_by_begin(free, to_begin)
        taken = _take(db, queue, at_once, token, now, is_begun=True)
        taken += _take(db, queue, ahead, token, now, is_begun=False)
        claims += sorted(taken, key=_place) if len(at_once) > to_begin else taken
        if not blocked and not limited:
            break
        block_jobs(db, blocked)
        rates.give_room_back(blocked)
        _limit_jobs(db, queue, limited, locks)
    if rates.is_touched:
        rates.write()
        due = next_due(db, queue)
    if claims:
        pulses.set_pulse(db, queue, node_of_token(token), token)
    return Claims(claims, due if claims or scanned < MAX_SCANNED else now)


def _limit_jobs(db: sqlite3.Connection, queue: str, rows: list[sqlite3.Row], locks: set[str]) -> None:
    """Keep jobs back until their rate allows them. A lock that one of them could have had is for the next."""
    if not rows:
        return
    db.execute(SQL["limit_jobs"], {"seqs": json_array([row["seq"] for row in rows])})
    for lock_key in {row["lock_key"] for row in rows} - {None}:
        locks.discard(lock_key)
        free_lock(db, queue, lock_key)


def nothing_but(due: int | None, now: int) -> Claims:
    """Nothing now. What is overdue and yet not given is kept back by a pause, and asking again does not help."""
    return Claims([], due if due is not None and due > now else None)


def _split_by_begin(rows: list[sqlite3.Row], begin: int) -> tuple[list[sqlite3.Row], list[sqlite3.Row]]:
    """Those that begin at once, and those that are claimed ahead. Who was there when a node died is never among these,
    so that a further death is counted."""
    at_once, ahead = rows[:begin], rows[begin:]
    if not any(row["past"] for row in ahead):
        return at_once, ahead
    marked = {row["seq"] for row in ahead if row["past"] and _was_at_a_death(row)}
    return at_once + [row for row in ahead if row["seq"] in marked], [row for row in ahead if row["seq"] not in marked]


def _place(claim: Claim) -> tuple[int, str]:
    return claim.rank, claim.spec.id


def _was_at_a_death(row: sqlite3.Row) -> bool:
    try:
        return was_at_a_death(decode_past(row["past"]))
    except UNREADABLE_ERRORS:
        return False


def _take(
    db: sqlite3.Connection, queue: str, rows: list[sqlite3.Row], token: str, now: int, *, is_begun: bool
) -> list[Claim]:
    """Hand out rows; those with a lock get a fencing number."""
    if not rows:
        return []
    seqs = json_array([row["seq"] for row in rows])
    db.execute(SQL["claim_jobs"], {"token": token, "begins_at": now if is_begun else 0, "seqs": seqs})
    fences = fences_of(db, queue, rows, now)
    try:
        return [claim_of(row, token, fence, is_begun) for row, fence in zip(rows, fences, strict=True)]
    except UNREADABLE_ERRORS:
        whole = db.execute(SQL["claimed_jobs"], {"seqs": seqs}).fetchall()
        return [readable_claim(row, token, fence) for row, fence in zip(whole, fences, strict=True)]
