"""A store that cannot be used is told in one clear line, at the start."""

import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

import pytest

from rota.errors import StoreRefused, StoreUnavailable
from rota.store import open_store
from tests.ports import free_port
from tests.servers import RedisServer
from tests.system.crew import Crew

STORE_EXIT_CODE = 5


def assert_refused_in_one_line(url: str, folder: Path, *says: str) -> None:
    with Crew(url, folder) as crew:
        worker = crew.hire()

        assert worker.wait() == STORE_EXIT_CODE
        (line,) = worker.output.splitlines()
        assert line.startswith("error: ")
        for text in says:
            assert text in line


def test_a_redis_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    port = free_port()
    url = f"redis://127.0.0.1:{port}/0"

    with pytest.raises(StoreUnavailable, match=str(port)):
        open_store(url)
    assert_refused_in_one_line(url, tmp_path, str(port))


def test_a_file_that_cannot_be_made_is_told_in_one_line(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/no/such/folder/rota.db"

    with pytest.raises(StoreUnavailable, match="unable to open"):
        open_store(url)
    assert_refused_in_one_line(url, tmp_path, "no/such/folder/rota.db", "unable to open")


def test_a_file_that_is_no_database_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "rota.db").write_text("This is a letter, and a long one at that. " * 100)
    url = f"sqlite:///{tmp_path}/rota.db"

    with pytest.raises(StoreRefused, match="not a usable SQLite database"):
        open_store(url)
    assert_refused_in_one_line(url, tmp_path, "not a usable SQLite database")


def test_an_sqlite_that_is_too_old_is_refused_and_the_oldest_that_will_do_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 35, 0))
    open_store(f"sqlite:///{tmp_path}/rota.db").close()

    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreRefused, match=r"needs 3\.35 or later"):
        open_store(f"sqlite:///{tmp_path}/rota.db")


def test_a_redis_that_would_drop_jobs_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with RedisServer({"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}) as server:
        with pytest.raises(StoreRefused, match="allkeys-lru"):
            open_store(server.url)
        assert_refused_in_one_line(server.url, tmp_path, "allkeys-lru", "CONFIG SET maxmemory-policy noeviction")


def test_a_file_of_a_newer_rota_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "rota.db"
    open_store(f"sqlite:///{path}").close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 999")
    database.close()

    with pytest.raises(StoreRefused, match="newer Rota"):
        open_store(f"sqlite:///{path}")
    assert_refused_in_one_line(f"sqlite:///{path}", tmp_path, "999", "upgrade Rota")

    database = sqlite3.connect(path)
    assert database.execute("PRAGMA user_version").fetchone() == (999,)
    database.close()


def test_an_empty_file_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "rota.db"
    database = sqlite3.connect(path)
    database.execute("VACUUM")  # a file with a header and nothing else: version 0
    database.close()

    store = open_store(f"sqlite:///{path}")

    assert store.list_node_types() == []
    store.close()
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA user_version").fetchone()[0] >= 1
    database.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc for open files")
def test_a_new_file_that_somebody_else_is_just_writing_is_waited_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/rota.db"
    open_store("sqlite://:memory:").close()  # the first one loads modules, which takes longer

    with closing(sqlite3.connect(tmp_path / "rota.db", isolation_level=None)) as other, ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN IMMEDIATE")
        opening = pool.submit(open_store, url)
        # Nobody can see that it waits, only that it did not give up; were it not to begin in time, it passes.
        is_refused = bool(wait([opening], timeout=0.2).done)
        other.execute("COMMIT")

        opening.result().close()
    assert not is_refused


def test_a_file_that_is_refused_is_not_left_open(tmp_path: Path) -> None:
    newer, no_database = tmp_path / "newer.db", tmp_path / "no-database.db"
    open_store(f"sqlite:///{newer}").close()
    with closing(sqlite3.connect(newer)) as database:
        database.execute("PRAGMA user_version = 999")
    no_database.write_text("not a database" * 1000)

    for path in (newer, no_database):
        with pytest.raises(StoreRefused):
            open_store(f"sqlite:///{path}")

        assert not [name for name in open_files() if str(path) in name]


def open_files() -> list[str]:
    """What this process has open; a descriptor that is gone meanwhile is not."""
    folder = Path("/proc/self/fd")
    return [str(entry.readlink()) for entry in folder.iterdir() if entry.is_symlink()]
