"""Every test of the command line happens in an empty folder and with none of the tester's own settings."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.store import Store, open_store

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
