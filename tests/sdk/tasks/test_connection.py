"""An app's way to its store: what is opened is closed with it."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rota.engine import engine as module
from rota.engine.engine import Engine, open_engine
from rota.sdk.tasks.connection import Connection
from rota.settings import Settings
from rota.store import open_store
from tests.patience import DEADLINE_S

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
