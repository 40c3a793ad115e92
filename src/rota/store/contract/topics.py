"""The contract of a store, for topics. What `store.py` says of all operations holds here too.

A record keeps its offset, a number that grows by one from record to record and begins at 0. Records go away only at the
old end, by `trim_topics`. A topic is there from its first record on, and stays when all of them are gone, so that no
offset is given twice.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from rota.errors import Conflict
from rota.model.topics.topic import TopicRecord

MAX_TOPICS = 10_000
MAX_PAGE_BYTES = 8 * 1024 * 1024
"""Records of one page; the last of them may go beyond."""


class TopicRow(Struct, frozen=True):
    """A record and its place."""

    offset: int
    record: TopicRecord


class TopicEntry(Struct, frozen=True):
    """A topic, and from where to where it has records."""

    name: str
    first: int
    """The offset of the oldest record, or `end`."""
    end: int
    """The offset that the next record gets."""


class TopicPage(Struct, frozen=True):
    """A part of a topic."""

    topic: TopicEntry
    rows: list[TopicRow]
    following: int
    """Where to read on."""


class TopicStore(Protocol):
    """Records that others read, by topic."""

    def append_topic(self, topic: str, records: Sequence[TopicRecord]) -> list[int]:
        """Add records, in order; returns the offset of each. One whose id is there already stays as it is, so that
        repeating is harmless for as long as the record is kept.

        `Conflict`, and nothing was added, if the topic is new and there are `MAX_TOPICS` already.
        """
        ...

    def read_topic(self, topic: str, *, offset: int, limit: int) -> TopicPage | None:
        """At most `limit` records from an offset on, or from the oldest one; fewer if they are longer than
        `MAX_PAGE_BYTES` together. What cannot be read is left out. None: there is no such topic."""
        ...

    def list_topics(self, *, limit: int, after: str = "") -> list[TopicEntry]:
        """Topics by name, from behind a name."""
        ...

    def trim_topics(self, topics: Sequence[str], *, older_than: int, keep: int, limit: int) -> int:
        """Forget the oldest records of these topics: those published before an instant, and those beyond the latest
        `keep`; at most `limit` of each topic. Returns how many. One step per topic; done again, it goes on."""
        ...

    def restore_topic(self, topic: TopicEntry, rows: Sequence[TopicRow]) -> None:
        """Keep records of elsewhere at their offsets, in a topic that begins and ends as it did there. Records that are
        there already stay as they are."""
        ...


def too_many_topics(topic: str) -> Conflict:
    return Conflict(f"the topic {topic!r} cannot be made: there are {MAX_TOPICS} topics already; use one of those")
