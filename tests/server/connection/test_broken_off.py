"""A client that breaks off: whoever answers it hears of that, also while others of its requests wait behind."""

import asyncio

from starlette.types import Receive, Scope, Send

from rota.server.listen import listen, serve
from tests.engine.working import until


class Endless:
    """An ASGI app whose answer goes on until it hears that nobody is there."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.heard: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.append(scope["path"])
        listening = asyncio.create_task(self._listen(receive))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not listening.done():
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
            await asyncio.sleep(0.01)

    async def _listen(self, receive: Receive) -> None:
        while (message := await receive())["type"] == "http.request":
            pass
        self.heard.append(message["type"])


def test_an_answer_ends_with_its_connection_although_another_request_waits_behind_it() -> None:
    async def play() -> None:
        app, stopping, listener = Endless(), asyncio.Event(), listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(app, listener, stopping))
        try:
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            writer.write(b"GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readexactly(1)

            writer.transport.abort()
            await until(lambda: app.heard == ["http.disconnect"], "the answer to hear of it")
        finally:
            stopping.set()
            await serving

        assert app.begun == ["/first"]

    asyncio.run(play())
