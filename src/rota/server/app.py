"""The one ASGI app. Routes are added here; everything under `/api` needs a key."""

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rota import __version__
from rota.errors import RotaError
from rota.server.answers import Json, answer_fault, answer_http_error, answer_rota_error
from rota.server.auth import API, BearerAuth
from rota.server.keys import KeyRing

HealthCheck = Callable[[], str | None]
"""None when all is well, else what is wrong, in one line."""


def make_app(*, keys: KeyRing, health: HealthCheck) -> Starlette:
    """The app of one node."""

    async def answer_health(request: Request) -> Response:
        trouble = health()
        return PlainTextResponse(trouble or "ok", status_code=503 if trouble else 200)

    app = Starlette(
        routes=[Route("/health", answer_health), Route(API, answer_api)],
        middleware=[Middleware(BearerAuth, keys=keys)],
        exception_handlers={
            HTTPException: answer_http_error,
            RotaError: answer_rota_error,
            Exception: answer_fault,
        },
    )
    # A redirect from `/api/` to `/api` would make clients drop their key.
    app.router.redirect_slashes = False
    return app


async def answer_api(request: Request) -> Response:
    """Which server this is; a way to try a key."""
    return Json({"name": "rota", "version": __version__})
