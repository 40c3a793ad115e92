"""Reading a topic to its end, and following it from there.

A store wakes nodes only, so whoever follows asks again and again, less often when nothing comes.
"""

import time
from collections.abc import Iterator

from rota.engine.topics.topics import Topics
from rota.errors import NotFound
from rota.store.contract.topics import TopicRow

_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.5
_PAGE = 1_000


def read_to_end(topics: Topics, topic: str, offset: int) -> Iterator[TopicRow]:
    """The records from an offset on, up to the last one that there is at the first look; a negative offset counts from
    there."""
    page = topics.read(topic, offset=offset, limit=_PAGE)
    end = page.topic.end
    while page.rows:
        yield from (row for row in page.rows if row.offset < end)
        if page.following >= end:
            return
        page = topics.read(topic, offset=page.following, limit=_PAGE)


def follow(topics: Topics, topic: str, offset: int) -> Iterator[TopicRow]:
    """Records from an offset on, and then each one as soon as it is there. A topic that is not there yet is awaited."""
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            page = topics.read(topic, offset=offset, limit=_PAGE)
        except NotFound:
            offset, rows = 0, []
        else:
            offset, rows = page.following, page.rows
        yield from rows
        pause_s = _FIRST_PAUSE_S if rows else min(pause_s * 1.5, _LONGEST_PAUSE_S)
        if not rows:
            time.sleep(pause_s)
