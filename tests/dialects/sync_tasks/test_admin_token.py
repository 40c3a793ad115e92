"""Who may ask for tasks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs
from starlette.testclient import TestClient

from rota.clock import ManualClock
from rota.dialects import registry
from rota.dialects.sync_tasks.admin_token import _CALLER
from rota.engine.access.keys.access import Caller, Scope
from rota.errors import NotAllowed
from rota.server import routes
from rota.server.api import Api, ServerOptions
from rota.server.app import make_app
from rota.store import Store, open_store
from tests.dialects.sync_tasks.source import Shop
from tests.server.serving import KEY, make_api, served

PATH = "/tasks?source=shop&start=1970-01-01T00:00:00Z&end=2100-01-01T00:00:00Z"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    yield store
    store.close()


def client_of(store: Store, folder: Path, admin_token: str | None, api: Api | None = None) -> Iterator[TestClient]:
    settings = structs.replace(Shop(store, folder).settings, admin_token=admin_token)
    api = api or make_api(store)
    with served(api, make_app(api, [*routes.ALL, *registry.operations(settings, store)]), key=None) as client:
        yield client


def status(client: TestClient, path: str = PATH, **headers: str) -> int:
    return client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()}).status_code


def test_with_an_admin_token_only_that_one_is_good_as_such(kept: Store, tmp_path: Path) -> None:
    for client in client_of(kept, tmp_path, "secret"):
        assert status(client, X_Admin_Token="secret") == 200
        assert status(client, f"{PATH}&token=secret") == 200
        assert status(client, Authorization="Bearer secret") == 200
        assert status(client, Authorization=f"Bearer {KEY}") == 200  # a key of the server, as everywhere
        assert status(client, X_Admin_Token=KEY) == 401
        assert status(client, f"{PATH}&token={KEY}") == 401
        assert status(client) == 401
        assert client.get("/api/jobs", headers={"Authorization": "Bearer secret"}).status_code == 401


@pytest.mark.parametrize(("token", "meanwhile"), [("let-me-in", 429), ("a-token-that-nobody-guesses", 200)])
def test_a_token_that_could_be_guessed_is_not_found_among_too_many_guesses(
    kept: Store, tmp_path: Path, token: str, meanwhile: int
) -> None:
    clock = ManualClock()
    api = make_api(kept, clock=clock, options=ServerOptions())
    for client in client_of(kept, tmp_path, token, api):
        assert {status(client, X_Admin_Token=token) for _ in range(150)} == {200}
        while status(client, X_Admin_Token="wrong") != 429:
            pass

        assert status(client, X_Admin_Token=token) == meanwhile
        assert status(client, Authorization=f"Bearer {token}") == meanwhile
        assert status(client, Authorization=f"Bearer {KEY}") == 200, "a key of the server is another matter"
        clock.advance(60_000)
        assert status(client, X_Admin_Token=token) == 200


@pytest.mark.parametrize("admin_token", ["a-token-that-nobody-guesses", None])
def test_who_asks_for_tasks_too_often_is_told_when_to_try_again(
    kept: Store, tmp_path: Path, admin_token: str | None
) -> None:
    """Whoever shows the token has a rate of their own, as each key has."""
    clock = ManualClock()
    api = make_api(kept, clock=clock, options=ServerOptions(rate_limit=1))
    shown = admin_token or KEY
    for client in client_of(kept, tmp_path, admin_token, api):
        assert [status(client, X_Admin_Token=shown) for _ in range(3)] == [200, 200, 429]
        assert status(client, Authorization=f"Bearer {KEY}") == (429 if admin_token is None else 200)
        clock.advance(1_000)
        assert status(client, X_Admin_Token=shown) == 200


def test_the_token_opens_the_routes_of_tasks_and_acts_under_its_own_name(kept: Store, tmp_path: Path) -> None:
    for client in client_of(kept, tmp_path, "a-token-that-nobody-guesses"):
        headers = {"X-Admin-Token": "a-token-that-nobody-guesses"}
        made = client.post("/tasks?source=shop&collection=orders", headers=headers)
        assert made.status_code == 201
        assert client.post(f"/tasks/{made.json()['task_id']}/cancel", headers=headers).status_code == 200

    (entry,) = [one for one in kept.list_audit(limit=100) if one.action == "cancel"]
    assert (entry.who, entry.key) == ("admin token", "")
    assert _CALLER.scopes == {Scope.JOBS_READ, Scope.JOBS_WRITE}


def test_a_task_is_made_with_the_rights_of_whoever_asks(kept: Store, tmp_path: Path) -> None:
    shop = Shop(kept, tmp_path)

    with pytest.raises(NotAllowed, match="lacks the scope jobs:w"):
        shop.tasks.create("shop", "orders", by=Caller("reader", frozenset({Scope.JOBS_READ})))


def test_without_one_it_is_the_api_key(kept: Store, tmp_path: Path) -> None:
    for client in client_of(kept, tmp_path, None):
        assert status(client, X_Admin_Token=KEY) == 200
        assert status(client, f"{PATH}&token={KEY}") == 200
        assert status(client, X_Admin_Token="secret") == 401


def test_the_api_documents_each_call_once(kept: Store, tmp_path: Path) -> None:
    for client in client_of(kept, tmp_path, None):
        paths = client.get("/openapi.json").json()["paths"]
        assert [path for path in paths if "tasks" in path or "sources" in path] == [
            "/tasks",
            "/tasks/{task_id}",
            "/tasks/{task_id}/logs",
            "/tasks/{task_id}/cancel",
            "/sources",
            "/sources/{source}/{collection}",
        ]
