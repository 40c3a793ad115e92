"""Every test of the command line happens in an empty folder and with none of the tester's own settings."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.server.app import make_app
from rota.store import Store, open_store
from tests.sdk.serving import serving
from tests.server.serving import KEY, make_api

_OWN_SETTINGS = re.compile(r"ROTA_(?!TEST_)|REDIS_|HTTP_|NODE_TYPE$|STORE_TYPE$|NO_COLOR$|FORCE_COLOR$")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    for name in list(os.environ):
        if _OWN_SETTINGS.match(name):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def opened(folder: Path) -> Iterator[Store]:
    """The store that verbs use in this folder, opened for looking at it."""
    store = open_store("sqlite:///rota.db")
    yield store
    store.close()


@pytest.fixture(params=["store", "server"])
def place(request: pytest.FixtureRequest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What verbs work with: the store in this folder, or a server on it, with the admin's key. They do the same."""
    if request.param == "store":
        yield "store"
        return
    store = open_store("sqlite:///rota.db")
    api = make_api(store)
    with serving(make_app(api)) as address:
        monkeypatch.setenv("ROTA_SERVER", address)
        monkeypatch.setenv("ROTA_API_KEY", KEY)
        yield "server"
    api.close()
    store.close()
