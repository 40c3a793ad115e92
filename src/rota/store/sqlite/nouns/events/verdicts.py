"""Writing what events did to a configuration, as part of a transaction."""

import sqlite3

from rota.model.job import JobSpec
from rota.store.contract.events import (
    MAX_EVALUATIONS,
    MAX_VALIDATIONS,
    Applied,
    Validation,
    Verdicts,
    is_time_to_trim,
    not_made,
)
from rota.store.records.codec import encode
from rota.store.sqlite.database.queries import SQL
from rota.store.sqlite.nouns.jobs.admission import AwaitedEnds, admit
from rota.store.sqlite.nouns.jobs.rows import new_row


def apply_verdicts(db: sqlite3.Connection, one: Verdicts, now: int, awaited_ends: AwaitedEnds) -> Applied:
    """Evidence, evaluations, state and jobs of one configuration, if it is still the expected version."""
    moved = {
        "uuid": one.configuration.uuid,
        "expected": one.expected,
        "version": one.state.version,
        "state": encode(one.state),
    }
    row = db.execute(SQL["apply_verdicts"], moved).fetchone()
    if row is None:
        return Applied(False)
    seq = int(row["seq"])
    survivors = dict(pair for spec in one.specs if (pair := _refused(db, spec, now, awaited_ends)))
    first = one.state.evaluated - len(one.evaluations) + 1
    told = [not_made(each) if each.job in survivors else each for each in one.evaluations]
    rows = [{"seq": seq, "number": number, "body": encode(each)} for number, each in enumerate(told, first)]
    db.executemany(SQL["put_evaluation"], rows)
    db.executemany(SQL["put_validation"], [_validation_row(seq, each) for each in one.validations])
    if is_time_to_trim(one):
        db.execute(SQL["trim_evaluations"], {"seq": seq, "keep": MAX_EVALUATIONS})
        db.execute(SQL["trim_validations"], {"seq": seq, "keep": MAX_VALIDATIONS, "before": one.forget_before})
    return Applied(True, survivors)


def _validation_row(seq: int, one: Validation) -> dict[str, object]:
    return {
        "seq": seq,
        "received_at": one.event.received_at,
        "event": one.event.id,
        "dependency": one.dependency,
        "own_id": one.event.id if one.has_own_id else None,
        "body": encode(one),
    }


def _refused(db: sqlite3.Connection, spec: JobSpec, now: int, awaited_ends: AwaitedEnds) -> tuple[str, str] | None:
    """A job that was not made, and the one that is there instead."""
    answer = admit(db, spec, new_row(spec, now), now, awaited_ends)
    return None if answer.is_new else (spec.id, answer.job_id)
