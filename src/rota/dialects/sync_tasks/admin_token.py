"""Who may ask for tasks: whoever shows the admin token, in the query, in `X-Admin-Token` or as a Bearer key.

Without an `admin_token` in the settings it is the API key, and any other key of the server that has the rights. Pages
of the dashboard ask with the session of whoever looks at them."""

import hmac
from urllib.parse import parse_qs

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from rota.engine.access.keys import access
from rota.engine.access.keys.access import Caller
from rota.engine.access.keys.admin_key import is_strong
from rota.server.answers import Json, Refusal
from rota.server.api import Api
from rota.server.auth.bearer import bearer_key
from rota.server.endpoint import caller_of_session, caller_with, count_guess, too_often
from rota.server.operations import Manner

_HEADER = "x-admin-token"
_WRONG = "Admin token does not match"
_CALLER = Caller("admin token", frozenset({access.Scope.JOBS_READ, access.Scope.JOBS_WRITE}))
"""Whoever shows the token: it opens the routes of tasks, and no more than these need."""


class TaskError(Struct, frozen=True):
    """What went wrong. `error` is always there and empty, as in the original."""

    message: str
    error: str = ""


def task_manner(admin_token: str | None) -> Manner:
    """How the routes of tasks are talked to."""

    async def identify(api: Api, scope: Scope, headers: Headers) -> Caller:
        caller = await _caller(api, scope, headers, admin_token)
        if caller is None:
            raise Refusal(401, _WRONG)
        if wait_s := api.requests_per_key.take(caller.name):
            raise too_often(wait_s)
        return caller

    return Manner(identify, error_answer, TaskError)


def error_answer(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return Json(TaskError(message), status_code=status, headers=headers)


async def _caller(api: Api, scope: Scope, headers: Headers, admin_token: str | None) -> Caller | None:
    """The token in the query wins over the one in the header. With an admin token these two are compared with nothing
    else; a Bearer key may also be one of the server's own."""
    shown = _shown_token(scope, headers)
    bearer = bearer_key(headers) if shown is None else None
    token = shown if shown is not None else bearer
    if token is None:
        return None if "authorization" in headers else await caller_of_session(api, scope, headers)
    if admin_token is not None:
        is_right = hmac.compare_digest(token.encode("utf-8", "replace"), admin_token.encode("utf-8", "surrogateescape"))
        if bearer is None or is_right:
            count_guess(api, scope, is_right=is_right, is_strong=is_strong(admin_token))
            return _CALLER if is_right else None
    return await caller_with(api, token, scope)


def _shown_token(scope: Scope, headers: Headers) -> str | None:
    in_query = parse_qs(scope["query_string"].decode("latin-1")).get("token")
    return in_query[0] if in_query else headers.get(_HEADER)
