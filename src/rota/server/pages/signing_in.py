"""Signing in: a key is shown once, and a session is kept in its place. Wrong keys are counted as everywhere."""

from functools import partial
from urllib.parse import parse_qs

from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from rota import __version__
from rota.engine.access.keys.dev_key import is_dev_key
from rota.engine.access.keys.key_ring import holder_id
from rota.errors import RotaError
from rota.server.answers import Refusal
from rota.server.api import Api
from rota.server.auth.session_cookie import forget_session, is_sent_by_own_page, keep_session
from rota.server.endpoint import caller_with, is_from_own_program
from rota.server.pages.endpoint import POLICY
from rota.server.pages.showing.rendering import render
from rota.shapes.errors import status_of

_LARGEST_FORM = 8 * 1024
_WRONG = "This key is not known here. It may have been revoked, or have ended; `rota key list` shows the keys that are."


class SignIn:
    """The page with one field, and what it sends."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        answer = await self._answer(request)
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method in ("GET", "HEAD"):
            return _form(then=QueryParams(request.scope["query_string"]).get("then", "/"))
        if request.method != "POST":
            return _form(405, "This page is looked at, or sent a key.")
        fields = await _fields(request)
        if fields is None:
            return _form(413, "The form is too large.")
        then = _local(fields.get("then", "/"))
        try:
            return await self._signed_in(request, fields.get("key", "").strip(), then)
        except Refusal as refusal:
            return _form(refusal.status, str(refusal), then=then, headers=refusal.headers)
        except RotaError as error:
            return _form(status_of(error), str(error), then=then)

    async def _signed_in(self, request: Request, key: str, then: str) -> Response:
        caller = await caller_with(self._api, key, request.scope) if key else None
        if caller is None:
            return _form(401, _WRONG if key else "Show a key.", then=then)
        is_own = is_dev_key(key) and await is_from_own_program(self._api, request.scope)
        begin = partial(self._api.sessions.begin, holder_id(key, caller), by_own_program=is_own)
        begun = await self._api.in_thread(begin)
        if begun is None:
            return _form(401, _WRONG, then=then)
        answer = RedirectResponse(then, status_code=303)
        keep_session(answer, request.scope, begun.session)
        return answer


async def sign_out(scope: Scope, receive: Receive, send: Send) -> None:
    """Forget the session. Only a page of this server may say so."""
    if scope["method"] != "POST" or not is_sent_by_own_page(Headers(scope=scope)):
        await _form(405, "Sign out with the button of a page.")(scope, receive, send)
        return
    answer = RedirectResponse("/sign-in", status_code=303)
    forget_session(answer, scope)
    await answer(scope, receive, send)


async def _fields(request: Request) -> dict[str, str] | None:
    """Of a form; None if it is too large."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LARGEST_FORM:
            return None
    found = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[0] for name, values in found.items()}


def _local(path: str) -> str:
    """A path of this server; anything else is the overview."""
    is_local = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_local else "/"


def _form(status: int = 200, sentence: str = "", *, then: str = "/", headers: dict[str, str] | None = None) -> Response:
    html = render("frame/sign_in.html", {"sentence": sentence, "then": _local(then), "version": __version__})
    return HTMLResponse(html, status, headers=POLICY | (headers or {}))
