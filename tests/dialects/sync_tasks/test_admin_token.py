"""Who may ask for tasks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs
from starlette.testclient import TestClient

from rota.dialects import registry
from rota.server import routes
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


def client_of(store: Store, folder: Path, admin_token: str | None) -> Iterator[TestClient]:
    settings = structs.replace(Shop(store, folder).settings, admin_token=admin_token)
    api = make_api(store)
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


def test_without_one_it_is_the_api_key(kept: Store, tmp_path: Path) -> None:
    for client in client_of(kept, tmp_path, None):
        assert status(client, X_Admin_Token=KEY) == 200
        assert status(client, f"{PATH}&token={KEY}") == 200
        assert status(client, X_Admin_Token="secret") == 401


def test_the_api_documents_each_call_once(kept: Store, tmp_path: Path) -> None:
    for client in client_of(kept, tmp_path, None):
        paths = client.get("/openapi.json").json()["paths"]
        assert [path for path in paths if "tasks" in path] == [
            "/tasks",
            "/tasks/{task_id}",
            "/tasks/{task_id}/logs",
            "/tasks/{task_id}/cancel",
        ]
