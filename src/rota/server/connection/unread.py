"""Long answers, and how much memory they may take together while their clients read them.

An answer is given to its connection slice by slice, as the client takes it. If all that wait take too much, the client
that has taken nothing for longest is let go: whoever reads is not in danger.
"""

import asyncio
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

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
        body = getattr(answer, "body", b"")  # a stream has none
        if len(body) <= SLICE:
            await answer(scope, receive, send)
            return
        waiting = _Waiting(len(body), _now(), scope.get(CONNECTION, {}).get(END, _nothing))
        self._make_room(len(body))
        self._waiting.add(waiting)
        try:
            await _give_in_slices(answer, waiting, send)
        finally:
            self._waiting.discard(waiting)

    def _make_room(self, size: int) -> None:
        while self._waiting and sum(one.size for one in self._waiting) + size > self._most:
            slowest = min(self._waiting, key=lambda one: one.since)
            self._waiting.discard(slowest)
            slowest.end()


async def _give_in_slices(answer: Response, waiting: _Waiting, send: Send) -> None:
    body = memoryview(answer.body)
    await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    for at in range(0, len(body), SLICE):
        await send({"type": "http.response.body", "body": body[at : at + SLICE], "more_body": at + SLICE < len(body)})
        waiting.since = _now()


def _now() -> float:
    return asyncio.get_running_loop().time()


def _nothing() -> None:
    """Where a connection is unknown to us, nothing can end it."""
