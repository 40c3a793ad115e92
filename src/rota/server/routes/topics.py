"""Topics: records that other programs read, each at its own pace."""

from typing import Annotated

from msgspec import Meta, Struct

from rota.engine.access.keys.access import Scope
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.server.routes.pages import cut
from rota.shapes.topics import RecordShape, TopicShape, record_shape, topic_shape
from rota.store.contract.topics import MAX_TOPICS

routes = Routes("topics")


class TopicQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many topics, and from behind which name."""

    limit: Annotated[int, Meta(ge=1, le=MAX_TOPICS)] = 1_000
    after: Annotated[str, Meta(max_length=249)] = ""


class TopicList(Struct, frozen=True):
    """Topics, by name."""

    topics: list[TopicShape]


class RecordQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which records: from an offset on. A negative one counts from the end: -10 is the last ten."""

    offset: Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)] = 0
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100


class RecordList(Struct, frozen=True):
    """Records, oldest first. `following` is the offset to ask for next."""

    topic: TopicShape
    records: list[RecordShape]
    following: int


@routes.get("/api/topics", needs=Scope.SCHEDULES_READ, query=TopicQuery, answer=TopicList)
def list_topics(api: Api, call: Call[None, TopicQuery]) -> TopicList:
    """Topics, by name."""
    found = api.engine.store.list_topics(limit=call.query.limit, after=call.query.after)
    return TopicList([topic_shape(one) for one in found])


@routes.get("/api/topics/{topic}", needs=Scope.SCHEDULES_READ, query=RecordQuery, answer=RecordList, errors=(404,))
def read_topic(api: Api, call: Call[None, RecordQuery]) -> RecordList:
    """Records of a topic, from an offset on."""
    page = api.engine.topics.read(call.path["topic"], offset=call.query.offset, limit=call.query.limit)
    records = cut(record_shape(row) for row in page.rows)
    is_whole = len(records) == len(page.rows)
    return RecordList(topic_shape(page.topic), records, page.following if is_whole else page.rows[len(records)].offset)
