"""The cookie in which a browser keeps its session. No script can read it, and no page of another site sends it."""

from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from rota.engine.access.keys.sessions import LIFE_MS

_NAME = "rota_session_"
"""The port follows: browsers send the cookies of one port to all others of the machine."""
_MOST = 4
_LONGEST = 8 * 1024


def shown_sessions(headers: Headers) -> list[str]:
    """The sessions that a request shows; one of them may be this server's."""
    try:
        found: SimpleCookie = SimpleCookie(headers.get("cookie", "")[:_LONGEST])
    except CookieError:
        return []
    return [morsel.value for name, morsel in found.items() if name.startswith(_NAME)][:_MOST]


def keep_session(answer: Response, scope: Scope, session: str) -> None:
    """Have the browser keep a session."""
    answer.set_cookie(
        _name(scope), session, max_age=LIFE_MS // 1000, secure=_is_https(scope), httponly=True, samesite="strict"
    )


def forget_session(answer: Response, scope: Scope) -> None:
    answer.delete_cookie(_name(scope), secure=_is_https(scope), httponly=True, samesite="strict")


def is_sent_by_own_page(headers: Headers) -> bool:
    """Whether a browser says that a page of this server sends the request. The gate has refused foreign ones; a request
    that says nothing of where it comes from is no page's."""
    return "origin" in headers or headers.get("sec-fetch-site") == "same-origin"


def _name(scope: Scope) -> str:
    return f"{_NAME}{(scope.get('server') or ('', 0))[1]}"


def _is_https(scope: Scope) -> bool:
    """A proxy that speaks HTTPS says so; a wrong word of it only costs who says it their cookie."""
    return scope["scheme"] == "https" or Headers(scope=scope).get("x-forwarded-proto") == "https"
