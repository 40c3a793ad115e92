"""Headers that every answer has, so that a browser guesses, stores and embeds nothing. An answer's own ones win.

A fault of ours outside of any operation is answered here too: the log has the details, the client does not."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rota.server.answers import FAULT, error_answer

_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_NAMES = frozenset(name for name, _ in _HEADERS)


class SafeHeaders:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_begun = False

        async def send_safely(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                own = dict(message["headers"])
                added = _HEADERS if _NAMES.isdisjoint(own) else [pair for pair in _HEADERS if pair[0] not in own]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        try:
            await self._app(scope, receive, send_safely)
        except Exception:
            if not is_begun:
                await error_answer(500, FAULT)(scope, receive, send_safely)
            raise  # uvicorn logs it, and ends the connection
