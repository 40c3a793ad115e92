"""How many live logs and pages there may be: a connection that follows one stays, and others need connections too."""

from collections import Counter
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from rota.server.answers import Refusal

_RETRY_AFTER = {"Retry-After": "5"}


class Seats:
    """Those of one server, and who has them. Used on its event loop only."""

    def __init__(self, most: int, most_per_key: int) -> None:
        self._most = most
        self._most_per_key = most_per_key
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._taken.total()

    def take(self, who: str) -> None:
        """Have one; refuses if the key has enough already, or all are taken."""
        if self._taken[who] >= self._most_per_key:
            raise Refusal(
                429,
                f"the key {who!r} follows {self._most_per_key} live logs and pages already; end one first",
                _RETRY_AFTER,
            )
        if self.taken >= self._most:
            raise Refusal(
                503, "too many live logs and pages are followed on this server; try again later", _RETRY_AFTER
            )
        self._taken[who] += 1

    def give_back(self, who: str) -> None:
        self._taken[who] -= 1
        if not self._taken[who]:
            del self._taken[who]


class LiveAnswer(StreamingResponse):
    """A stream that has a seat, from when it is made until it ends, however it ends."""

    def __init__(self, content: AsyncIterator[bytes], media_type: str, seats: Seats, who: str) -> None:
        seats.take(who)
        super().__init__(content, media_type=media_type)
        self._seats = seats
        self._who = who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            # Or the next request on the connection would wait for the end of the job.
            self.body_iterator = _nothing()
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._seats.give_back(self._who)


async def _nothing() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for part in nothing:
        yield part
