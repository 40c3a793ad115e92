"""Ends of jobs that are to be taken as events."""

import sqlite3
from collections.abc import Sequence
from functools import partial

from rota.model.events.event import Event
from rota.model.job import Ending, JobSpec
from rota.store.contract.events import Awaited
from rota.store.records.codec import decode_event, encode
from rota.store.records.unreadable import SET_ASIDE_EVENT, UNREADABLE_ERRORS, set_aside_text
from rota.store.sqlite.database.noun import SqliteNoun
from rota.store.sqlite.database.queries import SQL, json_array
from rota.store.sqlite.nouns.settings import write_setting


class SqliteOutbox(SqliteNoun):
    """See `rota.store.contract.events.EventStore` for what each method promises."""

    def read_outbox(self, queue: str, *, limit: int) -> list[Event]:
        with self._database.read() as db:
            rows = db.execute(SQL["read_outbox"], {"queue": queue, "limit": limit}).fetchall()
        try:
            return [decode_event(row["body"]) for row in rows]
        except UNREADABLE_ERRORS:
            return self._without_unreadable(queue, rows)

    def _without_unreadable(self, queue: str, rows: list[sqlite3.Row]) -> list[Event]:
        """The events among some rows. What is none is set aside, or it would be in the way for ever."""
        events: list[Event] = []
        for row in rows:
            event = self._unreadable.read("event", row["event"], partial(decode_event, row["body"]))
            if event:
                events.append(event)
            else:
                with self._database.write() as db:
                    write_setting(db, SET_ASIDE_EVENT + row["event"], set_aside_text(row["body"]))
                    db.execute(SQL["clear_outbox"], {"events": json_array([row["event"]])})
        return events

    def clear_outbox(self, queue: str, events: Sequence[Event]) -> None:
        with self._database.write() as db:
            db.execute(SQL["clear_outbox"], {"events": json_array([event.id for event in events])})


def tell_end(db: sqlite3.Connection, spec: JobSpec, ending: Ending, awaited: Awaited) -> None:
    """Within the step that ends a job."""
    if event := awaited.event_of(spec, ending):
        put_outbox(db, spec.queue, event)


def put_outbox(db: sqlite3.Connection, queue: str, event: Event) -> None:
    """Within the step that ends a job."""
    db.execute(SQL["put_outbox"], {"queue": queue, "event": event.id, "body": encode(event)})
