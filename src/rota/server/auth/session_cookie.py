"""The cookie in which a browser keeps its session. No script can read it, and no page of another site sends it."""

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from rota.engine.access.keys.sessions import LIFE_MS

_NAME = "rota_session_"
"""The port follows: browsers send the cookies of one port to all others of the machine."""
_MOST_OTHERS = 3


def shown_sessions(headers: Headers) -> dict[str, str]:
    """The sessions that a request shows, by the names of their cookies. Whatever else stands beside them is another
    program's, and may be of any form."""
    pieces = ";".join(headers.getlist("cookie")).split(";")
    found = [piece.strip().partition("=") for piece in pieces]
    return {name: value for name, _, value in found if name.startswith(_NAME)}


def likely_sessions(headers: Headers, scope: Scope) -> list[str]:
    """Those to try: that of this port, and a few of others, for a server may be reached by several."""
    found = shown_sessions(headers)
    own = found.pop(_name(scope), None)
    return [*([] if own is None else [own]), *list(found.values())[:_MOST_OTHERS]]


def keep_session(answer: Response, scope: Scope, session: str) -> None:
    """Have the browser keep a session."""
    answer.set_cookie(
        _name(scope), session, max_age=LIFE_MS // 1000, secure=_is_https(scope), httponly=True, samesite="strict"
    )


def forget_session(answer: Response, scope: Scope) -> None:
    answer.delete_cookie(_name(scope), secure=_is_https(scope), httponly=True, samesite="strict")


def is_sent_by_own_page(headers: Headers) -> bool:
    """Whether a browser says that a page of this very server sends the request, and not one of another port or name of
    its machine, which the gate lets pass with a key. A request that says nothing of where it comes from is no page's.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    scheme, _, place = headers.get("origin", "").lower().partition("://")
    return scheme in ("http", "https") and place == headers.get("host", "").lower()


def is_opened_by_a_person(headers: Headers) -> bool:
    """Whether a browser says that somebody typed the address, or came from a page of this server. Programs that can be
    led to fetch an address do not say so."""
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-site") in ("none", "same-origin")


def _name(scope: Scope) -> str:
    return f"{_NAME}{(scope.get('server') or ('', 0))[1]}"


def _is_https(scope: Scope) -> bool:
    """A proxy that speaks HTTPS says so; a wrong word of it only costs who says it their cookie."""
    return scope["scheme"] == "https" or Headers(scope=scope).get("x-forwarded-proto") == "https"
