"""Nothing is looked up for clients that have gone; what they wanted done is done."""

import asyncio
import threading

import pytest
from starlette.types import Receive, Scope, Send

from rota.engine.access.keys.access import OPEN
from rota.server.api import Api
from rota.server.app import make_app
from rota.server.connection.facts import is_client_gone
from rota.server.listen import listen, serve
from rota.server.operations import Call, Operation
from rota.store import Store
from tests.engine.working import until
from tests.patience import DEADLINE_S
from tests.server.serving import make_api

GOING = 30
MANY = 100
"""More than there are threads."""


class House:
    """A server whose every thread is held up until it is told to go on."""

    def __init__(self, api: Api) -> None:
        self.may_go_on = threading.Event()
        self.done: list[str] = []
        self.scopes: list[Scope] = []
        methods = ("GET", "POST")
        self._app = make_app(api, [self._operation(method, "/slow") for method in methods])
        # Whatever the number of threads: who comes later waits behind these.
        self._holding = [asyncio.create_task(api.in_thread(self.may_go_on.wait, DEADLINE_S)) for _ in range(MANY)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        await self._app(scope, receive, send)

    def _operation(self, method: str, path: str) -> Operation:
        def run(api: Api, call: Call[None, None]) -> dict[str, str]:
            self.done.append(method)
            return {"done": method}

        return Operation(
            method=method, path=path, needs=OPEN, run=run, tag="", summary="", description="", name=f"{method} {path}"
        )


@pytest.mark.stores("sqlite-memory")  # it is about who asks
@pytest.mark.parametrize(("method", "times"), [("GET", 1), ("POST", GOING + 1)])
def test_only_what_changes_something_is_done_for_those_who_have_gone(store: Store, method: str, times: int) -> None:
    async def play() -> None:
        api = make_api(store)
        house, stopping, listener = House(api), asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(house, listener, stopping))
        head = f"{method} /slow HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 0"
        try:
            connections = [await asyncio.open_connection(*listener.getsockname()) for _ in range(GOING + 1)]
            for _, writer in connections:
                writer.write(f"{head}\r\n\r\n".encode())
            await until(lambda: len(house.scopes) == GOING + 1, "all requests to wait")
            for _, writer in connections[1:]:
                writer.transport.abort()
            await until(lambda: sum(map(is_client_gone, house.scopes)) == GOING, "the server to hear who has gone")
            house.may_go_on.set()
            staying, writer = connections[0]

            assert b"200 OK" in await staying.readline()
            await until(lambda: api.requests.counts.total() == GOING + 1, "the others to be counted")
            writer.close()
        finally:
            house.may_go_on.set()
            stopping.set()
            await serving
            api.close()

        assert house.done == [method] * times
        gone = {("GET", "/slow", 499): GOING} if method == "GET" else {}
        assert api.requests.counts == {(method, "/slow", 200): times} | gone

    asyncio.run(play())
