"""The server itself: health, version, metrics, and what it offers."""

from functools import lru_cache

import msgspec
from msgspec import Struct
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from rota import __version__
from rota.engine.access.keys.access import NOBODY, OPEN, Scope
from rota.server import metrics
from rota.server.api import Api
from rota.server.docs import openapi
from rota.server.docs import page as docs_page
from rota.server.operations import JSON, Call, Operation, Routes

TEXT = "text/plain"
HTML = "text/html"
_DOCS_POLICY = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"}

routes = Routes("system")


class About(Struct, frozen=True):
    """Which server this is."""

    name: str
    version: str
    time: int
    """By the clock that the installation goes by."""
    event_types: tuple[str, ...]
    """Those that a setting adds to the ones that every installation knows; `*` is any."""


@routes.get("/health", needs=OPEN, media=TEXT, errors=(503,))
async def show_health(api: Api, call: Call[None, None]) -> Response:
    """`ok` or `not ok`; with any key, what is wrong, in one line. Needs none."""
    trouble = api.health()
    if trouble and call.caller is NOBODY:
        trouble = "not ok"
    return PlainTextResponse(trouble or "ok", status_code=503 if trouble else 200)


@routes.get("/api", needs=Scope.JOBS_READ, answer=About)
async def show_about(api: Api, call: Call[None, None]) -> About:
    """Which server this is; a way to try a key."""
    return About("rota", __version__, api.engine.clock.now(), api.engine.event_types)


@routes.get("/openapi.json", needs=OPEN)
async def show_openapi(api: Api, call: Call[None, None]) -> Response:
    """This document."""
    return Response(_document(api.operations), media_type=JSON)


@routes.get("/docs", needs=OPEN, media=HTML)
async def show_docs(api: Api, call: Call[None, None]) -> Response:
    """The same, as a page to read."""
    return HTMLResponse(_docs(api.operations), headers=_DOCS_POLICY)


# Both are made once: anybody may ask for them, and making them takes the loop's time.
@lru_cache(maxsize=4)
def _document(operations: tuple[Operation, ...]) -> bytes:
    return msgspec.json.encode(openapi.document(operations))


@lru_cache(maxsize=4)
def _docs(operations: tuple[Operation, ...]) -> bytes:
    return docs_page.page(openapi.document(operations)).encode()


@routes.get("/metrics", needs=Scope.METRICS_READ, media=TEXT)
def show_metrics(api: Api, call: Call[None, None]) -> Response:
    """Metrics for Prometheus."""
    return Response(metrics.text(api), media_type=metrics.MEDIA_TYPE)
