"""A server on an empty SQLite store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rota.server.api import Api
from rota.store import Store, open_store
from tests.server.serving import make_api, served


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    store = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    yield store
    store.close()


@pytest.fixture
def api(kept: Store) -> Api:
    """The API on that store."""
    return make_api(kept)


@pytest.fixture
def admin(api: Api) -> Iterator[TestClient]:
    """A client with the admin key."""
    with served(api) as client:
        yield client
