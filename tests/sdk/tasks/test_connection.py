"""An app's way to its store: what is opened is closed with it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec import structs

from rota import Rota
from rota.engine import engine as module
from rota.engine.engine import Engine, open_engine
from rota.errors import StoreUnavailable
from rota.sdk.tasks.connection import Connection
from rota.settings import Settings
from rota.store import open_store
from tests.patience import DEADLINE_S
from tests.servers import wait_until

A_MOMENT_S = 0.2
"""Long enough for the fault to show on most machines. A slow one that misses it takes nothing for a fault."""


def test_an_engine_that_is_opened_while_another_is_lent_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens, may_open, is_lent = threading.Event(), threading.Event(), threading.Event()

    def open_slowly(settings: Settings) -> Engine:
        opens.set()
        assert may_open.wait(DEADLINE_S)
        return open_engine(settings)

    monkeypatch.setattr(module, "open_engine", open_slowly)
    connection = Connection(f"sqlite:///{tmp_path / 'rota.db'}")
    other = open_store("sqlite://:memory:")

    with ThreadPoolExecutor(2) as threads:
        opening = threads.submit(lambda: connection.engine)
        assert opens.wait(DEADLINE_S)

        def lend() -> None:
            with connection.lent(Engine.open(other)):
                is_lent.set()
                opening.result(DEADLINE_S)

        lending = threads.submit(lend)
        is_lent.wait(A_MOMENT_S)
        may_open.set()
        lending.result(DEADLINE_S)
    other.close()

    assert connection.is_open
    assert connection.engine is opening.result()
    connection.close()


def test_what_was_opened_is_closed_and_opened_again_when_it_is_needed(tmp_path: Path) -> None:
    with Rota(f"sqlite:///{tmp_path / 'rota.db'}", name="shop") as app:
        first = app.engine
        assert app.engine is first
        app.close()
        second = app.engine
        assert second is not first
        assert second.store.list_nodes(since=0) == []

    for engine in (first, second):
        with pytest.raises(StoreUnavailable, match="closed database"):
            engine.store.list_nodes(since=0)


def test_a_worker_on_another_store_leaves_nothing_open_on_the_first(tmp_path: Path) -> None:
    connection = Connection(f"sqlite:///{tmp_path / 'first.db'}")
    first, settings = connection.engine, connection.settings()
    connection.use(settings)
    assert connection.engine is first

    connection.use(structs.replace(settings, store=f"sqlite:///{tmp_path / 'second.db'}"))

    assert (connection.engine is first, connection.url) == (False, f"sqlite:///{tmp_path / 'second.db'}")
    with pytest.raises(StoreUnavailable, match="closed database"):
        first.store.list_nodes(since=0)
    connection.close()


def test_a_worker_of_a_program_fires_schedules_until_it_is_stopped(tmp_path: Path) -> None:
    app = Rota(f"sqlite:///{tmp_path / 'rota.db'}", name="shop")
    store = app.engine.store
    app.stop_worker()  # there is none yet
    worker = threading.Thread(target=app.run_worker, kwargs={"threads": 3})
    worker.start()
    try:
        wait_until(lambda: bool(store.list_nodes(since=0)) or not worker.is_alive(), "the worker has begun")
        nodes = store.list_nodes(since=0)
    finally:
        app.stop_worker()
        worker.join()
    assert [(sorted(one.roles), one.slots) for one in nodes] == [(["scheduler", "worker"], 3)]
    app.stop_worker()  # there is none any more
    app.close()
