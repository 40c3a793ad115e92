"""What happens to every request: who asks, may they, is it well formed; then the operation, then the answer.

The caller's rights are decided on the route that matched, never on the text of the path.
"""

import asyncio
import inspect
import logging
from collections.abc import Iterable
from functools import partial
from math import ceil
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rota.engine.access.audit.actor import begin_acting
from rota.engine.access.keys.access import NOBODY, OPEN, Caller
from rota.engine.access.keys.admin_key import is_strong
from rota.engine.access.keys.dev_key import is_dev_key
from rota.engine.access.keys.rights import told_to
from rota.errors import NotFound, RotaError, StoreError
from rota.model.access.audit import Actor
from rota.server.answers import FAULT, Json, Refusal, error_answer
from rota.server.api import Api
from rota.server.auth.bearer import bearer_key
from rota.server.auth.session_cookie import is_sent_by_own_page, likely_sessions, shown_sessions
from rota.server.bodies import decoding
from rota.server.bodies.reading import read_body
from rota.server.bodies.room import Place
from rota.server.connection.facts import CONNECTION, IS_OWN_PROGRAM, is_client_gone
from rota.server.gate.gate import IS_DIRECT
from rota.server.gate.own_programs import is_own_program
from rota.server.operations import Call, NoBody, Operation
from rota.shapes.errors import status_of
from rota.shapes.values import count_values

_logger = logging.getLogger("rota.server")
_BIG = 32 * 1024
_READING = ("GET", "HEAD")
CLIENT_GONE = 499
"""What the metrics count for a request that nobody waited for. Others call it so, too; no client ever sees it."""


class Endpoint:
    """An ASGI app for one path: its operations by method."""

    def __init__(self, api: Api, operations: dict[str, Operation]) -> None:
        self.operations = operations
        self._api = api
        self._is_open = all(one.needs is OPEN for one in operations.values())
        first = next(iter(operations.values()))
        self._path = first.path
        self._identify = first.manner.identify if first.manner else identify
        self._error = first.manner.error if first.manner else error_answer
        heads = {"HEAD"} if "GET" in operations else set()
        self._allow = ", ".join(sorted({*operations, *heads}))
        self._is_async = {method: inspect.iscoroutinefunction(one.run) for method, one in operations.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        answer = await self._answer(method, scope, receive)
        self._api.requests.count(method, self._path, answer.status_code)
        await self._api.unread.give(answer, scope, receive, send)

    async def _answer(self, method: str, scope: Scope, receive: Receive) -> Response:
        """Any answer, also to a fault of ours: its details are for the log alone."""
        try:
            return await self._run(method, scope, receive)
        except Refusal as refusal:
            return self._error(refusal.status, str(refusal), refusal.headers)
        except RotaError as error:
            return self._error(status_of(error), str(error), None)
        except Exception:
            _logger.exception("a request failed", extra={"method": method, "path": self._path})
            return self._error(500, FAULT, None)

    async def _run(self, method: str, scope: Scope, receive: Receive) -> Response:
        headers = Headers(scope=scope)
        caller = await self._guest(scope, headers) if self._is_open else await self._identify(self._api, scope, headers)
        operation = self.operations.get(method)
        if operation is None:
            raise Refusal(405, f"this path does not take {method}; it takes {self._allow}", {"Allow": self._allow})
        check_may(caller, operation)
        place = Place(self._api.body_room)
        try:
            body = await read_body(operation, headers, receive, place)
            call: Call[Any, Any] = Call(
                decoding.decode_path(scope["path_params"]),
                decoding.decode_query(scope["query_string"], operation.query) if operation.query else None,
                _decoded(operation, body) if len(body) <= _BIG else await self._decoded_big(operation, body, place),
                caller,
                headers,
            )
            begin_acting(Actor(caller.name, f"api {address_of(scope)}", caller.key))
            if self._is_async[method]:
                return _answer(await operation.run(self._api, call))
            return await self._api.in_thread(self._run_in_thread, operation, call, scope)
        except NotFound as error:
            raise told_to(caller, error) from None
        finally:
            place.give_back()

    def _run_in_thread(self, operation: Operation, call: Call[Any, Any], scope: Scope) -> Response:
        """With its answer as bytes: a long one takes its time, too. What nobody waits for any more is not looked up,
        since others wait for a thread; what was to be done is done."""
        if operation.method == "GET" and is_client_gone(scope):
            return Response(status_code=CLIENT_GONE)
        return _answer(operation.run(self._api, call))

    async def _guest(self, scope: Scope, headers: Headers) -> Caller:
        """Who asks at an open path: somebody if a good key is shown, and nobody else is turned away."""
        if "authorization" not in headers and not shown_sessions(headers):
            return NOBODY
        try:
            return await identify(self._api, scope, headers)
        except Refusal:
            return NOBODY

    async def _decoded_big(self, operation: Operation, body: bytes | bytearray, place: Place) -> Any:
        """In a thread, so that the loop goes on for others."""
        place.need_values(await self._api.in_thread(count_values, body))
        return await self._api.in_thread(_decoded, operation, body)


def _decoded(operation: Operation, body: bytes | bytearray) -> Any:
    """The body as its type."""
    if operation.body is None or (operation.body is NoBody and not body):
        return None
    return decoding.decode_body(body, operation.body)


def check_may(caller: Caller, operation: Operation) -> None:
    """Refuse a caller who lacks what the operation needs."""
    if not caller.may(operation.needs):
        raise Refusal(403, f"the key {caller.name!r} lacks the scope {operation.needs}")


def _answer(found: object) -> Response:
    return found if isinstance(found, Response) else Json(found)


async def identify(api: Api, scope: Scope, headers: Headers) -> Caller:
    """Whose key the request shows, or whose session; refuses those without a good one, and those who ask too often."""
    key = bearer_key(headers)
    if key is not None:
        caller = await caller_with(api, key, scope)
    else:
        caller = None if "authorization" in headers else await caller_of_session(api, scope, headers)
    if caller is None:
        raise Refusal(401, "a valid key is needed: Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"})
    if wait_s := api.requests_per_key.take(caller.name):
        raise too_often(wait_s)
    return caller


async def caller_with(api: Api, key: str, scope: Scope) -> Caller | None:
    """Whose a key is; None if it is nobody's."""
    by_own_program = is_dev_key(key) and await is_from_own_program(api, scope)
    if by_own_program or is_strong(key):
        known = api.keys.known(key, by_own_program=by_own_program)
        if known is not None:
            return known
    return await _look_up(api, key, scope, by_own_program)


async def caller_of_session(api: Api, scope: Scope, headers: Headers) -> Caller | None:
    """Whose session a browser shows. What would change something must come from a page of this server."""
    for session in likely_sessions(headers, scope):
        by_own_program = is_dev_key(session.partition(".")[0]) and await is_from_own_program(api, scope)
        caller = api.sessions.known(session, by_own_program=by_own_program)
        caller = caller or await api.in_thread(partial(api.sessions.identify, session, by_own_program=by_own_program))
        if caller is not None:
            if scope["method"] not in _READING and not is_sent_by_own_page(headers):
                raise Refusal(403, "a session works on the pages of this server only; programs show a key instead")
            return caller
    return None


async def is_still_good(api: Api, headers: Headers, caller: Caller) -> bool:
    """Whether what opened a stream is good still: whoever lost their key must not hear more."""
    key = bearer_key(headers)
    if key is not None:
        return await api.in_thread(api.keys.still_good, key, caller)
    return await api.in_thread(_is_any_good, api, shown_sessions(headers).values(), caller)


def _is_any_good(api: Api, sessions: Iterable[str], caller: Caller) -> bool:
    # Whose program is at the other end was asked when the stream was opened, and stays so.
    return any(api.sessions.identify(one, by_own_program=True) == caller for one in sessions)


async def is_from_own_program(api: Api, scope: Scope) -> bool:
    """Whether the request comes directly from a program of this server's user, on this machine. Asked once for each
    connection, as long as that lives."""
    client, server = scope.get("client"), scope.get("server")
    if not scope.get(IS_DIRECT) or not client or not server:
        return False
    facts = scope.get(CONNECTION, {})
    if IS_OWN_PROGRAM not in facts:
        facts[IS_OWN_PROGRAM] = await api.in_thread(is_own_program, tuple(client), tuple(server))
    return bool(facts[IS_OWN_PROGRAM])


async def _look_up(api: Api, key: str, scope: Scope, by_own_program: bool) -> Caller | None:
    """By the hashes in the store. An address may try few keys that were never good: guessing must stay slow, and must
    not keep out those who share the address, behind a proxy, and have a good key. One that could be guessed counts like
    a guess, or the right one would be found among any number."""
    address = address_of(scope)
    was_good = by_own_program or (is_strong(key) and api.keys.was_good(key))
    # Taken before it is known: many that try at the same moment count like many that try one after another.
    if not was_good and (wait_s := api.wrong_keys.take(address)):
        raise too_often(wait_s)
    caller = api.keys.known(key, by_own_program=by_own_program)
    try:
        caller = caller or await asyncio.to_thread(api.keys.identify, key, by_own_program=by_own_program)
    except StoreError:
        if not was_good:
            api.wrong_keys.give_back(address)  # nobody knows whether it is wrong
        raise
    if caller is not None and not was_good:
        api.wrong_keys.give_back(address)
    return caller


def count_guess(api: Api, scope: Scope, *, is_right: bool, is_strong: bool) -> None:
    """For what is compared with one secret. An address may try few. Whoever shows the right one is not kept out by
    others behind its address, unless it could be guessed: then it counts like a guess, or it would be found among any
    number."""
    if is_right and is_strong:
        return
    if wait_s := api.wrong_keys.take(address_of(scope)):
        raise too_often(wait_s)
    if is_right:
        api.wrong_keys.give_back(address_of(scope))


def address_of(scope: Scope) -> str:
    return str((scope.get("client") or ("?",))[0])


def too_often(wait_s: float) -> Refusal:
    return Refusal(429, f"too many requests; try again in {wait_s:.1f} s", {"Retry-After": str(ceil(wait_s))})


class NotFoundEndpoint:
    """Answers paths that no route has. Below `/api` only those with a key are told that nothing is there."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = error_answer(404, "there is nothing at this path; / links to what is there")
        if scope["path"].startswith("/api"):
            try:
                await identify(self._api, scope, Headers(scope=scope))
            except Refusal as refusal:
                answer = error_answer(refusal.status, str(refusal), refusal.headers)
        await answer(scope, receive, send)
