"""What SQLite refuses is told as an error of a store, and known until it is over."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rota.errors import InvalidInput, StoreFull, StoreRefused, StoreUnavailable
from rota.store.sqlite.database.database import DURABLE, MEMORY, parse_url
from rota.store.sqlite.store import SqliteStore
from tests.contract.building import counts, enqueue, new_queue, spec

MUCH: dict[str, object] = {"text": "x" * 1_000_000}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore.open(f"sqlite:///{tmp_path}/rota.db")) as store:
        yield store


def most_pages(store: SqliteStore, pages: int) -> None:
    store._database._writer.execute(f"PRAGMA max_page_count = {pages}")


def test_a_full_disk_takes_nothing_and_is_trouble_until_something_is_written(store: SqliteStore) -> None:
    queue = new_queue()
    most_pages(store, 1)  # as many as there are, since it cannot be fewer

    with pytest.raises(StoreFull, match="nothing was written, free some space and try again"):
        enqueue(store, spec(queue), spec(queue, arguments=MUCH))

    assert counts(store, queue) == {}
    (told,) = store.troubles()
    assert "the last write failed: database or disk is full" in told
    most_pages(store, 1_000_000)
    enqueue(store, spec(queue, arguments=MUCH))
    assert store.troubles() == []


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to be looked at as one\n" * 100)

    with pytest.raises(StoreRefused, match=r"notes\.txt is not a usable SQLite database"):
        SqliteStore.open(f"sqlite:///{file}")

    assert file.read_text().startswith("not a database")


def test_a_store_that_was_closed_is_not_there_any_more(tmp_path: Path) -> None:
    store = SqliteStore.open(f"sqlite:///{tmp_path}/rota.db")
    store.close()

    with pytest.raises(StoreUnavailable, match=r"rota\.db: "):
        store.list_queues()


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("sqlite:///rota.db", ("rota.db", DURABLE)),
        ("sqlite:////var/rota.db", ("/var/rota.db", DURABLE)),
        ("sqlite:///rota.db?synchronous=normal", ("rota.db", "NORMAL")),
        ("sqlite://:memory:", (MEMORY, DURABLE)),
        ("sqlite:///:memory:", (MEMORY, DURABLE)),
    ],
)
def test_an_address_names_a_file_and_how_it_is_synced(url: str, meant: tuple[str, str]) -> None:
    assert parse_url(url) == meant


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("sqlite://rota.db", "names no file"),
        ("sqlite://host/rota.db", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///rota.db?sync=FULL", "unknown option 'sync'"),
        ("sqlite:///rota.db?synchronous=OFF", "must be NORMAL or FULL, got 'OFF'"),
    ],
)
def test_an_address_that_says_something_else_is_refused(url: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        parse_url(url)
