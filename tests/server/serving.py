"""A server of the native API on a store, without a socket, and clients that show a key."""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.testclient import TestClient
from starlette.types import ASGIApp

from rota.clock import Clock, SystemClock
from rota.dialects import registry
from rota.engine.access.keys.admin_key import KeyPlan
from rota.engine.access.keys.key_ring import KeyRing
from rota.engine.definitions.built_in import ensure_default_node_type
from rota.engine.engine import Engine
from rota.server.api import Api, HealthCheck, ServerOptions
from rota.server.app import make_app
from rota.store import Store

KEY = "chosen-by-a-person-42"
BASE = "http://127.0.0.1"
BEARER = {"Authorization": f"Bearer {KEY}"}
UNLIMITED = ServerOptions(rate_limit=0, wrong_keys_per_s=0)


def make_api(
    store: Store,
    *,
    clock: Clock | None = None,
    options: ServerOptions = UNLIMITED,
    health: HealthCheck = lambda: None,
) -> Api:
    """The API on a store, with the node type `default` and the admin key `KEY`."""
    clock = clock or SystemClock()
    engine = Engine(store, clock)
    ensure_default_node_type(engine.definitions, clock.now())
    return Api(
        engine,
        keys=KeyRing(store, KeyPlan(made=None, configured=KEY, allows_dev_key=False), clock),
        health=health,
        options=options,
        sections=registry.sections(),
    )


@contextmanager
def served(api: Api, app: ASGIApp | None = None, key: str | None = KEY) -> Iterator[TestClient]:
    """A client that shows a key."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with TestClient(app or make_app(api), BASE, raise_server_exceptions=False, headers=headers) as client:
        yield client
    api.close()
