"""What a job said: as a page, and as a live stream of server-sent events."""

from collections.abc import AsyncIterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from rota.engine.access.keys.access import Scope
from rota.model.runs.log import LEVELS, LogEntry
from rota.server.api import Api
from rota.server.endpoint import is_still_good
from rota.server.live_logs.latest import Line
from rota.server.live_logs.seats import LiveAnswer
from rota.server.operations import Call, Routes
from rota.shapes import fields
from rota.shapes.jobs import LogShape, log_shape

EVENT_STREAM = "text/event-stream"
HEARTBEAT_S = 15.0
KEY_CHECK_S = 2.0
"""A stream ends within this time after its key."""
_PAGE = 200
_MAX_PAGE_SIZE = 8 * 1024 * 1024
"""Letters of the messages in one page; then it is cut, and says that there is more."""

routes = Routes("logs")

Level = Literal["debug", "info", "warning", "error"]
Position = Annotated[int, Meta(ge=0, le=2**53, description="How many lines to pass.")]


class LogQuery(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which lines of a log."""

    level: Level = "debug"
    """This level and above."""
    start: fields.Instant | None = None
    """Said at this instant or later."""
    end: fields.Instant | None = None
    """Said before this instant."""
    after: Position = 0

    def wants(self, entry: LogEntry) -> bool:
        return (
            LEVELS.index(entry.level) >= LEVELS.index(self.level)
            and (self.start is None or entry.time >= self.start)
            and (self.end is None or entry.time < self.end)
        )


class LogPageQuery(LogQuery, frozen=True, forbid_unknown_fields=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    last: Annotated[int, Meta(ge=1, le=10_000, description="Begin so many lines before the end.")] | None = None


class LogList(Struct, frozen=True):
    """Lines of all attempts, oldest first. `next` is where to read on; `more` whether there is more to read now."""

    logs: list[LogShape]
    next: int
    more: bool


@routes.get("/api/jobs/{uuid}/logs", needs=Scope.JOBS_READ, query=LogPageQuery, answer=LogList, errors=(404,))
def read_logs(api: Api, call: Call[None, LogPageQuery]) -> LogList:
    """The log of a job, as far as it goes now."""
    uuid, query = api.engine.jobs.find(call.path["uuid"]).id, call.query
    wanted: list[LogShape] = []
    position, size = _first_position(api, uuid, query), 0
    while True:
        page = api.engine.store.read_logs(uuid, after=position, limit=_PAGE)
        for entry in page.entries:
            position += 1
            if query.wants(entry):
                wanted.append(log_shape(entry))
                size += len(entry.message)
                if len(wanted) == query.limit or size >= _MAX_PAGE_SIZE:
                    return LogList(wanted, position, True)
        if len(page.entries) < _PAGE:
            return LogList(wanted, position, False)


def _first_position(api: Api, uuid: str, query: LogPageQuery) -> int:
    return query.after if query.last is None else max(query.after, api.engine.store.count_logs(uuid) - query.last)


@routes.get("/api/jobs/{uuid}/logs/stream", needs=Scope.JOBS_READ, query=LogQuery, media=EVENT_STREAM, errors=(404,))
async def stream_logs(api: Api, call: Call[None, LogQuery]) -> LiveAnswer:
    """The log of a job as server-sent events, live until the job has ended.

    Each line is an event with a line of the log as its data; the last event is `end` and has the job's final state.
    A client that was cut off goes on with the header Last-Event-ID and misses nothing. A key may follow so many logs at
    a time (429), and a server has so many live ones (503).
    """
    job = await api.in_thread(api.engine.jobs.find, call.path["uuid"])
    after = _last_event_id(call) or call.query.after
    return LiveAnswer(_events(api, job.id, after, call), EVENT_STREAM, api.seats, call.caller.name)


def _last_event_id(call: Call[None, LogQuery]) -> int:
    text = call.headers.get("last-event-id", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


async def _events(api: Api, job_id: str, after: int, call: Call[None, LogQuery]) -> AsyncIterator[bytes]:
    yield b": open\n\n"
    now = api.engine.clock.monotonic
    said_at = asked_at = now()
    async for lines in api.log_feeds.follow(job_id, after=after, idle_s=KEY_CHECK_S):
        if now() - asked_at >= KEY_CHECK_S:
            if not await is_still_good(api, call.headers, call.caller):
                return
            asked_at = now()
        chunk = b"".join(event_of(line) for line in lines or () if call.query.wants(line.entry))
        if not chunk and now() - said_at >= HEARTBEAT_S:
            chunk = b": still there\n\n"
        if chunk:
            said_at = now()
            yield chunk
    state = await api.log_feeds.final_state(job_id)
    if state is not None:
        yield b'event: end\ndata: {"state":"%s"}\n\n' % state.encode()


def event_of(line: Line) -> bytes:
    """One event. JSON has no bare line ends, so its data is one line."""
    return b"id: %d\ndata: %s\n\n" % (line.next, msgspec.json.encode(log_shape(line.entry)))
