"""The routes of the dashboard: its pages, signing in, the stream of a tab, and static files."""

import logging
from contextlib import suppress
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from rota.errors import InvalidInput, RotaError, StoreError
from rota.server.answers import FAULT, Refusal, error_answer
from rota.server.api import Api
from rota.server.bodies.decoding import decode_path
from rota.server.gate.path_slashes import with_slashes_apart
from rota.server.live_logs.seats import LiveAnswer
from rota.server.pages.asking import Asking
from rota.server.pages.endpoint import PageEndpoint, visitor
from rota.server.pages.live.screens import Screens
from rota.server.pages.live.stream import Stream
from rota.server.pages.log_text import LogText
from rota.server.pages.page import Page, Pages, Visit, check_may_look
from rota.server.pages.showing.static_files import static_files, static_version
from rota.server.pages.signing_in import SignIn, sign_out
from rota.server.routes.jobs.logs import EVENT_STREAM
from rota.shapes.errors import status_of

_logger = logging.getLogger("rota.server")
_LONGEST_AT = 4_000
_MOST_DIGITS = 15
_FOR_GOOD = "public, max-age=31536000, immutable"


def page_endpoints(api: Api, dashboard: Pages) -> dict[str, ASGIApp]:
    """Path to what answers it, beside the operations of the API."""
    return {
        **{page.path: PageEndpoint(api, page, dashboard.navigation) for page in dashboard.pages},
        "/jobs/{uuid}/log.txt": LogText(api),
        "/sign-in": SignIn(api),
        "/sign-out": sign_out,
        "/live": _Live(api, dashboard.pages),
        "/static/{version}/{name}": _Asgi(_give_static),
    }


class _Asgi:
    """A plain function as an ASGI app: Starlette takes functions for something else."""

    def __init__(self, function: ASGIApp) -> None:
        self._function = function

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._function(scope, receive, send)


async def _give_static(scope: Scope, receive: Receive, send: Send) -> None:
    found = static_files().get(scope["path_params"]["name"])
    if found is None or scope["method"] not in ("GET", "HEAD"):
        await error_answer(404, "there is no such file")(scope, receive, send)
        return
    # An address of another version is one of an older or newer server behind the same name: it is not kept.
    is_current = scope["path_params"]["version"] == static_version()
    headers = {"cache-control": _FOR_GOOD} if is_current else {}
    await Response(found.content, media_type=found.media_type, headers=headers)(scope, receive, send)


class _Live:
    """The stream of one tab: `GET /live?at=PATH&after=LINES`."""

    def __init__(self, api: Api, pages: tuple[Page, ...]) -> None:
        self._api = api
        self._pages = [(page, compile_path(page.path)[0]) for page in pages]
        self._screens = Screens(api)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer(scope)
        self._api.requests.count("GET", "/live", answer.status_code)
        await self._api.unread.give(answer, scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        headers = Headers(scope=scope)
        try:
            if scope["method"] != "GET":
                raise Refusal(405, "a stream is only followed", {"Allow": "GET"})
            caller, _ = await visitor(self._api, scope, headers)
            query = QueryParams(scope["query_string"])
            at = query.get("at", "/")[:_LONGEST_AT]
            page, visit = self._meant(at)
            asking = Asking(self._api, caller)
            check_may_look(asking, page)
            if not self._screens.is_open(at, caller):
                await self._api.in_thread(_check_is_there, asking, page, visit)
            stream = Stream(self._api, self._screens, page, visit)
            events = stream.events(at, _number(query.get("after", "")), caller=caller, headers=headers)
            return LiveAnswer(events, EVENT_STREAM, self._api.seats, caller.name)
        except Refusal as refusal:
            return error_answer(refusal.status, str(refusal), refusal.headers)
        except RotaError as error:
            return error_answer(status_of(error), str(error))
        except Exception:
            _logger.exception("a page cannot be followed")
            return error_answer(500, FAULT)

    def _meant(self, at: str) -> tuple[Page, Visit]:
        """The page at a path, and the look at it."""
        try:
            parts = urlsplit(at)
        except ValueError as error:
            raise InvalidInput("at", f"is no path: {error}") from None
        raw = parts.path.encode("ascii", "ignore")
        scope: Scope = {"type": "http", "method": "GET", "path": unquote(parts.path), "raw_path": raw, "headers": []}
        scope = with_slashes_apart(scope)
        for page, path in self._pages:
            found = path.match(scope["path"])
            if found and page.parts and not parts.netloc:
                return page, Visit(decode_path(found.groupdict()), QueryParams(parts.query))
        raise Refusal(404, "there is no page that changes at this path")


def _check_is_there(asking: Asking, page: Page, visit: Visit) -> None:
    """Refuse to follow what does not exist. Whatever else is wrong may pass, and the stream says so meanwhile."""
    with suppress(StoreError):
        page.gather(asking, visit)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else 0
