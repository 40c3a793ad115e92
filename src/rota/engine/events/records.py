"""What people are told of events: made while these are taken, and read by type and the beginning of a resource."""

import logging
from collections.abc import Sequence

from msgspec import Struct, structs

from rota.errors import StoreError
from rota.model.events.evaluation import Verdict
from rota.model.events.event import Event
from rota.model.events.record import MAX_MEANINGS, EventRecord, Meaning
from rota.model.ids import new_id
from rota.store.contract.events import Applied, Verdicts
from rota.store.contract.store import Store

_PAGE = 200
_MOST_READ = 2_000
"""Records looked at in one call; whoever wants more goes on with the cursor."""
_logger = logging.getLogger("rota.events")


class Meanings:
    """What the events of one call meant, by their ids."""

    def __init__(self) -> None:
        self._kept: dict[str, list[Meaning]] = {}
        self._matched: dict[str, int] = {}

    def add(self, verdicts: Verdicts, applied: Applied) -> None:
        """What was written."""
        for evaluation in verdicts.evaluations:
            id, job, verdict = evaluation.event.id, evaluation.job, evaluation.verdict
            survivor = applied.survivors.get(job) if job else None
            if survivor is not None:
                job, verdict = survivor, Verdict.UNIQUE
            self._matched[id] = self._matched.get(id, 0) + 1
            kept = self._kept.setdefault(id, [])
            if len(kept) < MAX_MEANINGS:
                kept.append(Meaning(verdicts.configuration.uuid, verdicts.configuration.name, verdict, job))

    def records(self, events: Sequence[Event], now: int) -> list[EventRecord]:
        """Of several with one id the first counts, and has what they meant."""
        first = {event.id: event for event in reversed(events)}
        return [
            EventRecord(
                id=new_id(now),
                event=event,
                matched=self._matched.get(event.id, 0),
                meanings=tuple(self._kept.get(event.id, ())),
            )
            for event in events
            if first[event.id] is event
        ]


def record(store: Store, records: Sequence[EventRecord]) -> None:
    """Have events remembered for people. They were taken: if this cannot be done, whoever posted them must not post
    them again."""
    try:
        store.record_events(records)
    except StoreError as error:
        _logger.warning("events were taken, but not recorded", extra={"count": len(records), "error": str(error)})


class RecordQuery(Struct, frozen=True):
    """Which events; all, unless told."""

    type: str | None = None
    resource: str = ""
    """How their resource begins."""

    def wants(self, record: EventRecord) -> bool:
        return self.type in (None, record.event.type) and record.event.resource.startswith(self.resource)


class RecordPage(Struct, frozen=True):
    """Events, the latest first, and where to go on; None when there are no more."""

    records: list[EventRecord]
    cursor: str | None = None


def read_records(store: Store, query: RecordQuery, *, limit: int, cursor: str | None = None) -> RecordPage:
    """A page, which may be short, or empty, and still have a cursor: of events that nobody wants some are looked at."""
    found = RecordPage([], cursor)
    for _ in range(_MOST_READ // _PAGE):
        page = store.list_events(limit=min(_PAGE, limit) if query == RecordQuery() else _PAGE, before=found.cursor)
        for one in page:
            found = structs.replace(found, cursor=one.id)
            if query.wants(one):
                found.records.append(one)
            if len(found.records) == limit:
                return found
        if not page:
            return structs.replace(found, cursor=None)
    return found
