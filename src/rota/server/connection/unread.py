"""Long answers, and how much memory they may take together while their clients read them.

An answer, or a part of a stream, is given to its connection slice by slice, as the client takes it. If all that wait
take too much, the client that has taken nothing for longest is let go: whoever reads is not in danger.
"""

import asyncio
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rota.server.connection.facts import CONNECTION, END

MAX_TOGETHER = 128 * 1024 * 1024
SLICE = 64 * 1024
"""What a connection takes at once. Answers of this size and less are given as they are."""


class _Waiting:
    """One answer that is being read."""

    def __init__(self, size: int, since: float, end: Callable[[], None]) -> None:
        self.size = size
        self.since = since
        """When its client last took something."""
        self.end = end


class UnreadAnswers:
    """Those of one server. Used on its event loop only."""

    def __init__(self, most: int = MAX_TOGETHER) -> None:
        self._most = most
        self._waiting: set[_Waiting] = set()

    async def give(self, answer: Response, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        body = getattr(answer, "body", None)  # a stream has none
        if body is not None and len(body) <= SLICE:
            await answer(scope, receive, send)
            return
        end = scope.get(CONNECTION, {}).get(END, _nothing)

        async def send_bounded(message: Message) -> None:
            if len(message.get("body", b"")) <= SLICE:
                await send(message)
            else:
                await self._send_long(message, send, end)

        await answer(scope, receive, send_bounded)

    async def _send_long(self, message: Message, send: Send, end: Callable[[], None]) -> None:
        size = len(message["body"])
        waiting = _Waiting(size, _now(), end)
        self._make_room(size)
        self._waiting.add(waiting)
        try:
            await _send_in_slices(message, waiting, send)
        finally:
            self._waiting.discard(waiting)

    def _make_room(self, size: int) -> None:
        while self._waiting and sum(one.size for one in self._waiting) + size > self._most:
            slowest = min(self._waiting, key=lambda one: one.since)
            self._waiting.discard(slowest)
            slowest.end()


async def _send_in_slices(message: Message, waiting: _Waiting, send: Send) -> None:
    body, goes_on = memoryview(message["body"]), message.get("more_body", False)
    for at in range(0, len(body), SLICE):
        is_last = at + SLICE >= len(body)
        await send({**message, "body": body[at : at + SLICE], "more_body": goes_on or not is_last})
        waiting.since = _now()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _nothing() -> None:
    """Where a connection is unknown to us, nothing can end it."""
