"""One declaration per operation of the HTTP API. Routing, authorisation, decoding and the OpenAPI document all come
from it, so none of them can forget what another knows.

A file in `routes/` makes a `Routes` and declares its operations on it:

    routes = Routes("jobs")

    @routes.get("/api/jobs/{uuid}", needs=Scope.JOBS_READ, answer=JobShape, errors=(404,))
    def show_job(api: Api, call: Call[None, None]) -> JobShape:
        '''One job.'''

A plain function runs in a thread and may ask the store; an `async` one runs on the event loop and must not. What it
returns is sent as JSON, unless it is a `Response`.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, TypeVar

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import Response

from rota.engine.access.keys.access import Caller, Scope

BODY_LIMIT = 1024 * 1024
JSON = "application/json"

Body = TypeVar("Body")
Query = TypeVar("Query")
Function = TypeVar("Function", bound=Callable[..., Any])


class Call(Struct, Generic[Body, Query], frozen=True):
    """One request, decoded and allowed."""

    path: dict[str, str]
    """Parameters in the path; those called `uuid` or `..._uuid` are UUIDs in canonical spelling."""
    query: Query
    body: Body
    caller: Caller
    headers: Headers


class NoBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing but `{}`. Clients may also send no body at all."""


class Manner(Struct, frozen=True):
    """How operations of a dialect are talked to, where that is not as in the native API."""

    identify: Callable[..., Awaitable[Caller]]
    """From the API, the ASGI scope and the headers to the caller; raises a `Refusal` for others."""
    error: Callable[[int, str, dict[str, str] | None], Response]
    """From a status, a message and headers to the answer that tells an error."""
    error_shape: Any
    """The type of the JSON in it."""


class Operation(Struct, frozen=True, kw_only=True):
    """What one method on one path takes, needs, does and answers."""

    method: str
    path: str
    tag: str
    summary: str
    description: str
    name: str
    needs: Scope | None
    """The scope that a caller must have; `OPEN` for everybody."""
    run: Callable[..., Any]
    body: Any = None
    documented_body: Any = None
    """What the OpenAPI document says of the body, where the operation reads it itself and takes more spellings."""
    query: Any = None
    answer: Any = None
    """The type of the JSON answer; None when the answer is of another kind."""
    media: str = JSON
    errors: tuple[int, ...] = ()
    """Statuses beyond those that every operation can have."""
    may_make: bool = False
    """Whether 201 says that something was made, and 200 that it was there already."""
    body_limit: int = BODY_LIMIT
    manner: Manner | None = None
    """None for the native one. All operations of a path have the same."""
    is_alias: bool = False
    """Another spelling of a path, which the OpenAPI document does not repeat."""

    @property
    def takes_json(self) -> bool:
        """Whether the request must say that it is JSON, which keeps forms of foreign pages out. Where a dialect takes
        no body at all, none is read."""
        return self.method in ("POST", "PUT", "PATCH") and (self.manner is None or self.body is not None)


class Routes:
    """The operations of one noun."""

    def __init__(self, tag: str, *, manner: Manner | None = None) -> None:
        self.tag = tag
        self.manner = manner
        self.operations: list[Operation] = []

    def get(self, path: str, *, needs: Scope | None, **declared: Any) -> Callable[[Function], Function]:
        return self._declare("GET", path, needs, declared)

    def post(self, path: str, *, needs: Scope | None, **declared: Any) -> Callable[[Function], Function]:
        return self._declare("POST", path, needs, declared)

    def put(self, path: str, *, needs: Scope | None, **declared: Any) -> Callable[[Function], Function]:
        return self._declare("PUT", path, needs, declared)

    def patch(self, path: str, *, needs: Scope | None, **declared: Any) -> Callable[[Function], Function]:
        return self._declare("PATCH", path, needs, declared)

    def delete(self, path: str, *, needs: Scope | None, **declared: Any) -> Callable[[Function], Function]:
        return self._declare("DELETE", path, needs, declared)

    def _declare(
        self, method: str, path: str, needs: Scope | None, declared: dict[str, Any]
    ) -> Callable[[Function], Function]:
        def keep(function: Function) -> Function:
            if method == "POST" and self.manner is None:
                declared.setdefault("body", NoBody)
            summary, _, description = (function.__doc__ or "").strip().partition("\n")
            operation = Operation(
                method=method,
                path=path,
                tag=self.tag,
                summary=summary.rstrip("."),
                description=" ".join(description.split()),
                name=function.__name__,
                needs=needs,
                run=function,
                manner=self.manner,
                **declared,
            )
            self.operations.append(operation)
            return function

        return keep


def by_path(operations: Iterable[Operation]) -> dict[str, dict[str, Operation]]:
    """Path to method to operation. Paths with fewer parameters come first, so that literals win over parameters."""
    paths: dict[str, dict[str, Operation]] = {}
    for operation in sorted(operations, key=lambda one: (one.path.count("{"), one.path)):
        methods = paths.setdefault(operation.path, {})
        if operation.method in methods:
            raise ValueError(f"{operation.method} {operation.path} is declared twice")
        methods[operation.method] = operation
    return paths
