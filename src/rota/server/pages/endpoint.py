"""What happens to every request for a page: who looks, what is asked for them, and the page, or why there is none."""

import logging
from functools import partial
from urllib.parse import quote

from starlette.datastructures import Headers, QueryParams
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from rota import __version__
from rota.engine.access.keys.access import NOBODY, Caller
from rota.engine.access.keys.dev_key import DEV_KEY
from rota.errors import RotaError
from rota.server.answers import FAULT, Refusal
from rota.server.api import Api
from rota.server.auth.session_cookie import is_opened_by_a_person, keep_session
from rota.server.bodies.decoding import decode_path
from rota.server.endpoint import identify, is_from_own_program
from rota.server.pages.asking import Asking
from rota.server.pages.page import Context, Entry, Page, Visit, check_may_look
from rota.server.pages.showing.rendering import render, render_page
from rota.shapes.errors import status_of

POLICY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
}
_LINKS = """Rota {}
/docs  every operation of the HTTP API
/openapi.json  the same for programs
/health  whether all is well
"""
_logger = logging.getLogger("rota.server")


class PageEndpoint:
    """An ASGI app for one page."""

    def __init__(self, api: Api, page: Page, navigation: tuple[Entry, ...]) -> None:
        self._api = api
        self._page = page
        self._navigation = navigation

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(scope)
        self._api.requests.count("GET", self._page.path, answer.status_code)
        await self._api.unread.give(answer, scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        headers = Headers(scope=scope)
        if scope["method"] not in ("GET", "HEAD"):
            return self._error(NOBODY, Refusal(405, "a page is only looked at", {"Allow": "GET, HEAD"}))
        if self._page.path == "/" and "text/html" not in headers.get("accept", ""):
            return PlainTextResponse(_LINKS.format(__version__))
        try:
            caller, session = await visitor(self._api, scope, headers)
        except Refusal as refusal:
            return self._turned_away(scope, refusal)
        except RotaError as error:
            return self._error(NOBODY, Refusal(status_of(error), str(error)))
        answer = await self._shown(scope, caller)
        if session is not None:
            keep_session(answer, scope, session)
        return answer

    def _turned_away(self, scope: Scope, refusal: Refusal) -> Response:
        if refusal.status != 401:
            return self._error(NOBODY, refusal)
        query = scope["query_string"].decode("latin-1")
        # As it was sent: of a decoded path nobody can tell which letters belong to names.
        wanted = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        return RedirectResponse(f"/sign-in?then={quote(wanted, safe='')}", status_code=303)

    async def _shown(self, scope: Scope, caller: Caller) -> Response:
        try:
            html = await self._api.in_thread(self._html, scope, caller)
            return HTMLResponse(html, headers=POLICY)
        except Refusal as refusal:
            return self._error(caller, refusal)
        except RotaError as error:
            return self._error(caller, Refusal(status_of(error), str(error)))
        except Exception:
            _logger.exception("a page failed", extra={"path": self._page.path})
            return self._error(caller, Refusal(500, FAULT))

    def _html(self, scope: Scope, caller: Caller) -> str:
        asking = Asking(self._api, caller)
        query = QueryParams(scope["query_string"])
        visit = Visit(decode_path(scope["path_params"]), query, self._entries_for(asking))
        check_may_look(asking, self._page)
        gathered = self._page.gather(asking, visit)
        beside = self._page.beside(asking, visit) if self._page.beside else {}
        return render_page(self._page, gathered | beside | self._around(asking))

    def _around(self, asking: Asking) -> Context:
        """What every page has around it."""
        return {
            "navigation": self._entries_for(asking),
            "section": self._page.section,
            "caller": asking.caller.name,
            "may": asking.may,
            "now": asking.now,
            "version": __version__,
        }

    def _entries_for(self, asking: Asking) -> tuple[Entry, ...]:
        return tuple(one for one in self._navigation if asking.may(one.operation))

    def _error(self, caller: Caller, refusal: Refusal) -> Response:
        around = self._around(Asking(self._api, caller)) | {"section": ""}
        html = render("frame/error.html", around | {"status": refusal.status, "sentence": str(refusal)})
        return HTMLResponse(html, refusal.status, headers=POLICY | refusal.headers)


async def visitor(api: Api, scope: Scope, headers: Headers) -> tuple[Caller, str | None]:
    """Who looks at a page, and the session that their browser is to keep, if it has none yet: while `dev_key` works, a
    browser of the user who runs the server needs no key."""
    try:
        return await identify(api, scope, headers), None
    except Refusal as refusal:
        is_asked = refusal.status == 401 and "authorization" not in headers and is_opened_by_a_person(headers)
        if not is_asked or not await is_from_own_program(api, scope):
            raise
        begun = await api.in_thread(partial(api.sessions.begin, DEV_KEY, by_own_program=True))
        if begun is None:
            raise
        return begun.caller, begun.session
