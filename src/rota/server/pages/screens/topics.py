"""Topics: rows of records that other programs read, and the latest records of one."""

from rota.server.pages.asking import Asking
from rota.server.pages.page import Context, Visit

PARTS = ("list",)
ONE_PARTS = ("records",)
_TOPICS = 200
_RECORDS = 50


def gather(asking: Asking, visit: Visit) -> Context:
    after = visit.query.get("after") or None
    topics = asking.ask("list_topics", limit=_TOPICS, after=after)["topics"]
    return {"topics": topics, "more": topics[-1]["name"] if len(topics) == _TOPICS else ""}


def gather_one(asking: Asking, visit: Visit) -> Context:
    offset = visit.query.get("offset") or str(-_RECORDS)
    return {"found": asking.ask("read_topic", {"topic": visit.path["topic"]}, offset=offset, limit=_RECORDS)}
