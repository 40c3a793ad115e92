"""The API's app on a real socket, with streams that can be made to break off."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.patience import DEADLINE_S
from tests.servers import wait_until


class Cutting:
    """In front of an app: ends as many streams of logs as it is told to behind their first line, and takes its time for
    everything."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.cuts = 0
        self.delay_s = 0.0
        self.delayed = 0
        """Requests that had to wait for so long."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.delay_s:
            self.delayed += 1
            await asyncio.sleep(self.delay_s)
        is_cut = self.cuts > 0 and scope["type"] == "http" and scope["path"].endswith("/stream")
        is_over = False

        async def send_less(message: Message) -> None:
            nonlocal is_over
            if is_over:
                return
            if b"data:" in message.get("body", b""):
                self.cuts -= 1
                is_over = True
                line, end, _ = message["body"].partition(b"\n\n")
                message = {"type": "http.response.body", "body": line + end, "more_body": False}
            await send(message)

        await self._app(scope, receive, send_less if is_cut else send)


@contextmanager
def serving(app: ASGIApp, certificate: str | None = None, key: str | None = None, *, port: int = 0) -> Iterator[str]:
    """The app on a free port of this machine, or this one, with TLS if it has a certificate; gives its address. At the
    end it waits for nobody."""
    config = uvicorn.Config(
        app,
        port=port,
        log_level="critical",
        lifespan="off",
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_graceful_shutdown=0,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the server to start")
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(DEADLINE_S)
        assert not thread.is_alive(), "the server does not stop"
