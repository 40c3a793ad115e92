"""A store of its own for each test, shared by processes: a file, or a Redis that keeps what it was given."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.store import open_store
from tests.servers import RedisServer
from tests.system.crew import Crew
from tests.system.installation import SystemInstallation

# Written before it is answered, so that the death of the process loses nothing. With `everysec` Redis answers first
# while a sync takes its time, which it does on a busy disk.
DURABLE = {"appendonly": "yes", "appendfsync": "no"}


@pytest.fixture
def durable_redis() -> Iterator[RedisServer]:
    with RedisServer(DURABLE) as server:
        yield server


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store. Not of a cluster, whose servers take seconds to start for each test: what differs
    there has tests of its own in `redis/`."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/rota.db"
    server: RedisServer = request.getfixturevalue("durable_redis")
    return server.url


@pytest.fixture
def installation(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SystemInstallation]:
    """What the test sees of it. Whoever looks waits for a server, or for a writer of the file, that is held up."""
    monkeypatch.setattr("rota.store.sqlite.database.database._BUSY_TIMEOUT_MS", 120_000)
    store = open_store(url if url.startswith("sqlite") else f"{url}?answer_timeout_s=120")
    yield SystemInstallation(store, tmp_path)
    store.close()


@pytest.fixture
def crew(url: str, tmp_path: Path) -> Iterator[Crew]:
    with Crew(url, tmp_path) as crew:
        yield crew
