"""What uvicorn is told: bounded connections, no belief in forwarding headers, no log line for every broken request."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from rota.server.connection import limits

_GRACE_S = 5
"""Time for requests under way, and endless streams, after the node has stopped."""
_LOOK_S = 1.0


class BoundedConfig(uvicorn.Config):
    """The configuration of one server."""

    def __init__(self, app: ASGIApp, *, max_connections: int) -> None:
        super().__init__(
            app,
            log_config=None,
            log_level=logging.ERROR,  # whoever connects could fill the log with warnings
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_GRACE_S,
            **_protocol(),
        )
        self.most_connections = limits.most_connections(max_connections)


def _protocol() -> dict[str, Any]:
    """Ours, where httptools is; else uvicorn's other one, with the bound that it has."""
    try:
        from rota.server.connection.protocol import BoundedProtocol
    except ImportError:
        return {"http": "h11", "h11_max_incomplete_event_size": limits.MAX_HEAD}
    return {"http": BoundedProtocol}


def _check() -> Callable[[Iterable[object], float], None]:
    """What looks at all connections; uvicorn's other protocol has no bounds to look after."""
    try:
        from rota.server.connection.protocol import check_connections
    except ImportError:
        return lambda connections, now: None
    return check_connections


async def watch_connections(server: uvicorn.Server) -> None:
    """Look at the time of every connection, and whether its client is still there, again and again."""
    loop, check = asyncio.get_running_loop(), _check()
    while True:
        await asyncio.sleep(_LOOK_S)
        check(server.server_state.connections, loop.time())
