"""The one ASGI app: every declared operation at its path, in front of nothing that is not declared."""

from collections.abc import Iterable

from msgspec import structs
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from rota.engine.access.keys.access import OPEN
from rota.server import routes
from rota.server.api import Api
from rota.server.endpoint import Endpoint, NotFoundEndpoint
from rota.server.gate.gate import Gate
from rota.server.gate.safe_headers import SafeHeaders
from rota.server.operations import Operation, by_path
from rota.server.pages.page import Pages
from rota.server.pages.routes import page_endpoints
from rota.server.pages.sitemap import DASHBOARD


def make_app(api: Api, operations: Iterable[Operation] = routes.ALL, pages: Pages = DASHBOARD) -> ASGIApp:
    """The app of one node."""
    api.operations = tuple(_opened(api, one) for one in operations)
    api.operations_by_name = {one.name: one for one in api.operations if not one.is_alias}
    return SafeHeaders(Gate(Paths(api, pages), names=api.names, proxies=api.proxies))


class Paths:
    """Which endpoint answers a path. One without parameters is found at once, however many there are; the others are
    tried one after another."""

    def __init__(self, api: Api, pages: Pages = DASHBOARD) -> None:
        operations = {path: Endpoint(api, methods) for path, methods in by_path(api.operations).items()}
        endpoints: dict[str, ASGIApp] = {**operations, **page_endpoints(api, pages)}
        self._literal = {path: endpoint for path, endpoint in endpoints.items() if "{" not in path}
        others = [Route(path, endpoint) for path, endpoint in endpoints.items() if "{" in path]
        # A redirect from `/api/` to `/api` would make clients drop their key.
        self._router = Router(others, redirect_slashes=False, default=NotFoundEndpoint(api))

    @property
    def known(self) -> set[str]:
        """All paths, as they were declared."""
        return {*self._literal, *(getattr(route, "path", "") for route in self._router.routes)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._literal.get(scope.get("path", ""))
        if endpoint is None:
            await self._router(scope, receive, send)
        else:
            scope["path_params"] = {}
            await endpoint(scope, receive, send)


def _opened(api: Api, operation: Operation) -> Operation:
    """The metrics, if a setting opens them."""
    if operation.path == "/metrics" and api.options.metrics_open:
        return structs.replace(operation, needs=OPEN)
    return operation
