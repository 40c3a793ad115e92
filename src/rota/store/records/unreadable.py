"""Records that cannot be read: broken, or written by a version that knows more kinds of a thing than this one.

One such record stops nobody. It is left as it is, logged once, and named by `rota doctor`; the operation that came
across it goes on without it. Jobs and definitions have a stand-in, so that people find them where they look, and can
delete them.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec
from msgspec import Struct

from rota.model.job import Cause, JobSpec
from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.store.records.codec import decode_progress

UNREADABLE = "unreadable"
"""The kind of cause of a job without a readable record, and who manages a definition without one."""
UNREADABLE_ERRORS = (msgspec.MsgspecError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What decoding raises for a record that is not what it should be."""
SET_ASIDE_EVENT = "unreadable event "
"""How the names of settings begin that keep events from outboxes, where they would be in the way."""
_MOST_SET_ASIDE = 10_000
_MOST_REMEMBERED = 1_000
_MOST_TEXT = 500
_Value = TypeVar("_Value")
_Record = TypeVar("_Record")
_logger = logging.getLogger("rota.store")


class Unreadable(Struct, frozen=True, order=True):
    """A record that this version cannot read."""

    kind: str
    id: str
    reason: str


class UnreadableRecords:
    """Those that one handle on a store came across. Each is logged once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: set[Unreadable] = set()

    def note(self, kind: str, id: str, error: Exception) -> str:
        """Remember a record; returns why it cannot be read."""
        one = Unreadable(kind, id, reason_of(error))
        with self._lock:
            is_new = one not in self._found and len(self._found) < _MOST_REMEMBERED
            if is_new:
                self._found.add(one)
        if is_new:
            _logger.error("record cannot be read", extra={"kind": kind, "id": id, "error": one.reason})
        return one.reason

    def read(self, kind: str, id: str, decode: Callable[[], _Value]) -> _Value | None:
        """What `decode` gives, or None if it cannot."""
        try:
            return decode()
        except UNREADABLE_ERRORS as error:
            self.note(kind, id, error)
            return None

    def read_all(
        self, kind: str, id: str, decode: Callable[[_Record], _Value], records: Sequence[_Record]
    ) -> list[_Value]:
        """Those of many records of one thing that can be read."""
        try:
            return [decode(one) for one in records]
        except UNREADABLE_ERRORS:
            found = (self.read(kind, id, partial(decode, one)) for one in records)
            return [one for one in found if one is not None]

    def all(self) -> list[Unreadable]:
        with self._lock:
            return sorted(self._found)


def reason_of(error: Exception) -> str:
    return f"{error}"[:_MOST_TEXT] or type(error).__name__


def set_aside_text(record: bytes) -> str:
    """A record as a setting can keep it, for people to look at."""
    return record[:_MOST_SET_ASIDE].decode("utf-8", "backslashreplace")


def unreadable_spec(
    job_id: str, queue: str, reason: str, *, lock_key: str | None = None, unique_key: str | None = None
) -> JobSpec:
    """Takes the place of a job whose own record cannot be read. It has no job type, so it fails when it is run."""
    return JobSpec(
        id=job_id,
        job_type="",
        queue=queue,
        enqueued_at=0,
        lock_key=lock_key,
        unique_key=unique_key,
        cause=Cause(UNREADABLE, reason),
    )


def unreadable_errors(reason: str) -> dict[str, str]:
    """What a job shows whose ending cannot be read."""
    return {"type": UNREADABLE, "message": f"its record cannot be read: {reason}"}


def unreadable_node_type(uuid: str, name: str) -> NodeType:
    """Takes the place of a node type: its queue goes on, with as many threads as by default."""
    return NodeType(uuid=uuid, name=name, managed_by=UNREADABLE)


def unreadable_job_type(uuid: str, name: str, reason: str) -> JobType:
    """Takes the place of a job type. There is no such executor: its jobs fail until it is defined anew."""
    return JobType(uuid=uuid, name=name, executor=UNREADABLE, metadata={"reason": reason}, managed_by=UNREADABLE)


def unreadable_node(uuid: str, last_ping: int) -> Node:
    """Takes the place of a node: that it lives is known from its beats."""
    return Node(uuid=uuid, node_type="", last_ping=last_ping, host=UNREADABLE)


def unreadable_line(error: Exception) -> LogEntry:
    """Takes the place of a log line, so that the others keep their places."""
    return LogEntry(0, f"[this line cannot be read: {reason_of(error)}]", "warning")


def readable_progress(raw: bytes) -> Progress | None:
    """How far a job has come; a record that cannot be read says nothing."""
    try:
        return decode_progress(raw)
    except UNREADABLE_ERRORS:
        return None
