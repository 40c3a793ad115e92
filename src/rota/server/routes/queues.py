"""Queues in figures: how many jobs are where, and what happened minute by minute."""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta, Struct

from rota.engine.access.keys.access import Scope
from rota.model.node import DEAD_AFTER_MS, NodeType
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.shapes import fields
from rota.shapes.nodes import QueueShape, queue_shape
from rota.shapes.why import WhyShape, why_shape
from rota.store.contract.queues import STATS_KEPT_MS, STATS_STEP_MS

routes = Routes("queues")
_DEFAULT_SPAN_MS = 3_600_000


class QueueList(Struct, frozen=True):
    """All queues, by name."""

    queues: list[QueueShape]


class StatsQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Of which queues and minutes. The last hour, unless told; minutes are kept for 48 hours."""

    queue: fields.Reference | None = None
    since: fields.Instant | None = None
    until: fields.Instant | None = None
    step: Annotated[int, Meta(ge=1, le=1440, description="Minutes that are counted together.")] = 1


class Point(Struct, frozen=True):
    """What happened within one step."""

    time: int
    enqueued: int
    succeeded: int
    failed: int
    cancelled: int


class Series(Struct, frozen=True, kw_only=True):
    """The steps of one queue in which something happened, oldest first."""

    uuid: str
    name: str
    points: list[Point]


class StatsList(Struct, frozen=True, kw_only=True):
    """Time series, one per queue."""

    since: int
    until: int
    step: int
    queues: list[Series]


@routes.get("/api/queues", needs=Scope.QUEUES_READ, answer=QueueList)
def list_queues(api: Api, call: Call[None, None]) -> QueueList:
    """All queues, with their jobs by state."""
    return QueueList(list(queue_shapes(api)))


def queue_shapes(api: Api) -> Iterable[QueueShape]:
    paused = api.engine.store.paused_queues()
    nodes = api.engine.store.list_nodes(since=api.engine.clock.now() - DEAD_AFTER_MS + 1)
    for one in api.engine.definitions.node_types():
        yield queue_shape(one, api.engine.store.count_jobs(one.uuid), nodes, is_paused=one.uuid in paused)


@routes.get("/api/queues/{queue}/why", needs=Scope.QUEUES_READ, answer=WhyShape, errors=(404,))
def why_queue(api: Api, call: Call[None, None]) -> WhyShape:
    """Why nothing of a queue begins at this moment."""
    return why_shape(api.engine.why.queue(call.path["queue"]))


@routes.get("/api/stats", needs=Scope.QUEUES_READ, query=StatsQuery, answer=StatsList, errors=(404,))
def read_stats(api: Api, call: Call[None, StatsQuery]) -> StatsList:
    """How many jobs were enqueued and ended, minute by minute."""
    query, now = call.query, api.engine.clock.now()
    until = now + 1 if query.until is None else query.until
    since = until - _DEFAULT_SPAN_MS if query.since is None else query.since
    step_ms = query.step * STATS_STEP_MS
    # A step is given whole, so that a chart's first bar is not a stump.
    since = max(since, now - STATS_KEPT_MS, 0) // step_ms * step_ms
    defined = api.engine.definitions
    queues = defined.node_types() if query.queue is None else [defined.node_type(query.queue)]
    series = [_series(api, queue, since, until, step_ms) for queue in queues]
    return StatsList(since=since, until=until, step=step_ms, queues=series)


def _series(api: Api, queue: NodeType, since: int, until: int, step_ms: int) -> Series:
    steps: dict[int, list[int]] = {}
    for one in api.engine.store.read_stats(queue.uuid, since=since, until=until):
        counts = steps.setdefault(one.minute // step_ms * step_ms, [0, 0, 0, 0])
        for place, count in enumerate((one.enqueued, one.succeeded, one.failed, one.cancelled)):
            counts[place] += count
    return Series(uuid=queue.uuid, name=queue.name, points=[Point(time, *counts) for time, counts in steps.items()])
