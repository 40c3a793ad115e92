"""The topics of the Redis store: two hashes each, by offset and by id."""

from collections.abc import Sequence

import msgspec

from rota.model.topics.topic import TopicRecord
from rota.store.contract.topics import MAX_PAGE_BYTES, MAX_TOPICS, TopicEntry, TopicPage, TopicRow, too_many_topics
from rota.store.redis.keys import TOPIC_NAMES, TopicKeys
from rota.store.redis.link.commands import Value
from rota.store.redis.link.part import RedisPart
from rota.store.redis.link.scripts import parts_of

_decode = msgspec.json.Decoder(TopicRecord).decode
_encode = msgspec.json.Encoder().encode
_PER_CALL = 300
"""Records have three values each, and may be long."""


class RedisTopics(RedisPart):
    """See `rota.store.contract.topics.TopicStore` for what each method promises."""

    def append_topic(self, topic: str, records: Sequence[TopicRecord]) -> list[int]:
        # On a cluster this is a step of its own. A topic that is known and has no records yet is an empty one.
        if not self._link.run("name_topic", [TOPIC_NAMES], [topic, MAX_TOPICS]):
            raise too_many_topics(topic)
        keys = TopicKeys(topic)
        offsets: list[int] = []
        for some in parts_of(records, _PER_CALL) if records else [records]:
            args: list[Value] = [value for one in some for value in (one.id, one.time, _encode(one))]
            offsets += self._link.run("append_topic", [keys.ends, keys.ids, keys.records], args)
        return offsets

    def read_topic(self, topic: str, *, offset: int, limit: int) -> TopicPage | None:
        keys = TopicKeys(topic)
        found = self._link.run("read_topic", [keys.ends, keys.records], [offset, limit, MAX_PAGE_BYTES])
        if not found:
            return None
        first, end, begin, *raw = found
        placed = [(begin + number, one) for number, one in enumerate(raw) if one]
        rows = self._unreadable.read_all("records of topic", topic, _row, placed)
        return TopicPage(TopicEntry(topic, first, end), rows, begin + len(raw))

    def list_topics(self, *, limit: int, after: str = "") -> list[TopicEntry]:
        names = self._redis.zrangebylex(TOPIC_NAMES, f"({after}" if after else "-", "+", start=0, num=limit)
        return [self._entry(name.decode()) for name in names]

    def _entry(self, topic: str) -> TopicEntry:
        first, end = self._redis.hmget(TopicKeys(topic).ends, ["first", "end"])
        return TopicEntry(topic, int(first or 0), int(end or 0))

    def trim_topics(self, topics: Sequence[str], *, older_than: int, keep: int, limit: int) -> int:
        args: list[Value] = [older_than, keep, limit]
        keys = map(TopicKeys, topics)
        return sum(self._link.run_each([("trim_topics", [one.ends, one.ids, one.records], args) for one in keys]))

    def restore_topic(self, topic: TopicEntry, rows: Sequence[TopicRow]) -> None:
        if not self._link.run("name_topic", [TOPIC_NAMES], [topic.name, MAX_TOPICS]):
            raise too_many_topics(topic.name)
        keys = TopicKeys(topic.name)
        args: list[Value] = [topic.first, topic.end]
        for row in rows:
            args += [row.offset, row.record.id, row.record.time, _encode(row.record)]
        self._link.run("restore_topic", [keys.ends, keys.ids, keys.records], args)


def _row(placed: tuple[int, bytes]) -> TopicRow:
    return TopicRow(placed[0], _decode(placed[1]))
