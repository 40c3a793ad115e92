"""The gate: every request passes it before it meets a route."""

from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Receive, Scope, Send

from rota.server.answers import error_answer
from rota.server.gate.foreign_pages import is_from_foreign_page
from rota.server.gate.names import Names
from rota.server.gate.path_slashes import with_slashes_apart
from rota.server.gate.proxies import FORWARDING, Proxies

IS_DIRECT = "rota.is_direct"
"""Key in the scope: whether no proxy says that it passed the request on."""
_READ = frozenset({b"host", b"origin", b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest", *FORWARDING})
_MOST_SHOWN = 80
_UNREADABLE = "\ufffd"
"""What uvicorn puts in place of bytes that are no text."""


class Gate:
    """ASGI middleware. Refuses what is not meant for this server; tells the app from whom the rest is."""

    def __init__(self, app: ASGIApp, names: Names, proxies: Proxies) -> None:
        self._app = app
        self._names = names
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = [pair for pair in scope["headers"] if pair[0] in _READ]
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            status, message = refusal
            await error_answer(status, message, {"Connection": "close"})(scope, receive, send)
            return
        self._tell_sender(scope, headers)
        await self._app(with_slashes_apart(scope), receive, send)

    def _refusal(self, scope: Scope, pairs: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        if _UNREADABLE in scope["path"] and not _is_text(scope.get("raw_path", b"")):
            return 400, "the path is not valid UTF-8, percent-encoded"
        hosts = [value for name, value in pairs if name == b"host"]
        if len(hosts) > 1:
            return 400, "the request has more than one Host header"
        if hosts and not self._names.has(hosts[0]):
            return 421, _unknown(hosts[0])
        if not hosts and scope.get("http_version") == "1.1":
            return 400, "the request has no Host header, which HTTP/1.1 needs"
        if len(pairs) > len(hosts) and is_from_foreign_page(scope["method"], dict(pairs), self._names):
            return 403, "the request comes from a page of another site; only this server's own pages may ask it"
        return None

    def _tell_sender(self, scope: Scope, pairs: list[tuple[bytes, bytes]]) -> None:
        is_direct = FORWARDING.isdisjoint([name for name, _ in pairs])
        scope[IS_DIRECT] = is_direct
        if not is_direct and self._proxies and scope.get("client"):
            several: dict[bytes, bytes] = {}
            for name, value in pairs:
                several[name] = b", ".join([several[name], value]) if name in several else value
            scope["client"] = (self._proxies.client_of(scope["client"][0], several), 0)


def _is_text(raw_path: bytes) -> bool:
    try:
        unquote_to_bytes(raw_path).decode()
    except UnicodeDecodeError:
        return False
    return True


def _unknown(host: bytes) -> str:
    shown = host.decode("latin-1")[:_MOST_SHOWN]
    return (
        f"this server does not answer for {shown!r}; if that is one of its names, add it to the setting "
        "server.allowed_hosts (ROTA_ALLOWED_HOSTS)"
    )
