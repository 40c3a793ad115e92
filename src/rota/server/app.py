"""The one ASGI app: every declared operation at its path, in front of nothing that is not declared."""

from collections.abc import Iterable

from msgspec import structs
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from rota.engine.access.keys.access import OPEN
from rota.server import routes
from rota.server.answers import answer_fault
from rota.server.api import Api
from rota.server.endpoint import Endpoint, NotFoundEndpoint
from rota.server.gate.gate import Gate
from rota.server.gate.safe_headers import SafeHeaders
from rota.server.operations import Operation, by_path
from rota.server.pages.routes import page_routes


def make_app(api: Api, operations: Iterable[Operation] = routes.ALL) -> Starlette:
    """The app of one node."""
    api.operations = tuple(_opened(api, one) for one in operations)
    api.operations_by_name = {one.name: one for one in api.operations if not one.is_alias}
    app = Starlette(
        routes=[
            *(Route(path, Endpoint(api, methods)) for path, methods in by_path(api.operations).items()),
            *page_routes(api),
        ],
        middleware=[Middleware(SafeHeaders), Middleware(Gate, names=api.names, proxies=api.proxies)],
        exception_handlers={Exception: answer_fault},
    )
    # A redirect from `/api/` to `/api` would make clients drop their key.
    app.router.redirect_slashes = False
    app.router.default = NotFoundEndpoint(api)
    return app


def _opened(api: Api, operation: Operation) -> Operation:
    """The metrics, if a setting opens them."""
    if operation.path == "/metrics" and api.options.metrics_open:
        return structs.replace(operation, needs=OPEN)
    return operation
