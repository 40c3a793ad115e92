"""The one stream of a tab: parts of its page as they change, and beside them the lines of a job's log."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import msgspec
from starlette.datastructures import Headers

from rota.engine.access.keys.access import Caller
from rota.errors import StoreError
from rota.server.api import Api
from rota.server.endpoint import is_still_good
from rota.server.live_logs.latest import Line
from rota.server.pages.live.screens import Screens
from rota.server.pages.page import Page, Visit
from rota.server.pages.showing.rendering import render_log
from rota.server.routes.jobs.logs import HEARTBEAT_S, KEY_CHECK_S
from rota.shapes.jobs import log_shape

_Events = AsyncGenerator[bytes | None, None]
_WAITING = 4
"""Events that wait for a client that does not read; then nothing more is read for it."""
_END = b""
"""Behind the last event."""
_logger = logging.getLogger("rota.server")


class Stream:
    """What one tab follows."""

    def __init__(self, api: Api, screens: Screens, page: Page, visit: Visit) -> None:
        self._api = api
        self._screens = screens
        self._page = page
        self._visit = visit

    async def events(self, at: str, after: int, *, caller: Caller, headers: Headers) -> AsyncIterator[bytes]:
        """Until the client goes, the server stops, or the key is no longer good."""
        yield b"retry: 2000\n\n"
        now = self._api.engine.clock.monotonic
        said_at = asked_at = now()
        # Whoever leaves a generator behind leaves its followers behind, until somebody collects it.
        async with aclosing(self._merged(at, after, caller)) as merged:
            async for event in merged:
                if now() - asked_at >= KEY_CHECK_S:
                    if not await is_still_good(self._api, headers, caller):
                        yield b"event: signed-out\ndata: {}\n\n"
                        return
                    asked_at = now()
                if event is None and now() - said_at >= HEARTBEAT_S:
                    event = b": still there\n\n"
                if event:
                    said_at = now()
                    yield event

    async def _merged(self, at: str, after: int, caller: Caller) -> _Events:
        parts = self._screens.follow(self._page, self._visit, at, caller=caller, idle_s=KEY_CHECK_S)
        if not self._page.log_of:
            async with aclosing(parts):
                async for event in parts:
                    yield event
            return
        waiting: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING)
        tasks = [asyncio.create_task(_pour(one, waiting)) for one in (parts, self._log(after))]
        try:
            while (event := await waiting.get()) != _END:
                yield event
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _log(self, after: int) -> _Events:
        """Lines as they come. A job that has ended may be brought back, and go on."""
        job = self._visit.path[self._page.log_of]
        while True:
            try:
                if await self._api.log_feeds.has_more(job, after):
                    async with aclosing(self._api.log_feeds.follow(job, after=after, idle_s=KEY_CHECK_S)) as following:
                        async for lines in following:
                            if lines:
                                yield await self._api.in_thread(_log_event, lines)
                                after = lines[-1].next
            except StoreError:
                pass  # it may come back; the page says meanwhile what is wrong
            await asyncio.sleep(KEY_CHECK_S)


def _log_event(lines: list[Line]) -> bytes:
    shapes = [msgspec.to_builtins(log_shape(line.entry)) for line in lines]
    shown = {"html": render_log(shapes), "next": lines[-1].next}
    return b"event: log\ndata: %s\n\n" % msgspec.json.encode(shown)


async def _pour(events: _Events, into: "asyncio.Queue[bytes | None]") -> None:
    """However they end, the stream ends with them, and the browser begins another one."""
    try:
        async with aclosing(events):
            async for event in events:
                await into.put(event)
    except Exception:
        _logger.exception("the stream of a page failed")
    await into.put(_END)
