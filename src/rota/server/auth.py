"""Nothing under `/api` is answered without a good key."""

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from rota.server.answers import error_answer
from rota.server.keys import KeyRing

API = "/api"
_SCHEME = "bearer "


class BearerAuth:
    """ASGI middleware: asks for `Authorization: Bearer KEY` before anything else is looked at, unknown paths too."""

    def __init__(self, app: ASGIApp, keys: KeyRing) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _is_api(scope["path"]) and not await self._is_allowed(scope):
            answer = error_answer(
                401, "a valid key is needed: Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"}
            )
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _is_allowed(self, scope: Scope) -> bool:
        key = bearer_key(Headers(scope=scope))
        if key is None:
            return False
        return self._keys.knows(key) or await asyncio.to_thread(self._keys.accepts, key)


def bearer_key(headers: Headers) -> str | None:
    """The key that a request shows."""
    shown = headers.get("authorization", "")
    if not shown.lower().startswith(_SCHEME):
        return None
    key = shown[len(_SCHEME) :].strip()
    # Headers arrive as Latin-1; a key with other letters was sent as UTF-8.
    return key.encode("latin-1").decode("utf-8", "replace") or None


def _is_api(path: str) -> bool:
    return path == API or path.startswith(f"{API}/")
