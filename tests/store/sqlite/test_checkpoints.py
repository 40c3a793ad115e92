"""Checkpoints and syncs in a thread of their own, and what a commit has to do with it."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from rota.store import open_store
from rota.store.sqlite.database import checkpoints
from tests.engine.working import wait_until

_TOO_LARGE = 1 << 47
"""Of a stack: there is no room for it in any process."""


@contextmanager
def no_room_for_threads() -> Iterator[None]:
    before = threading.stack_size(_TOO_LARGE)
    try:
        yield
    finally:
        threading.stack_size(before)


def test_what_is_committed_counts_although_there_is_no_room_for_a_thread_that_syncs_it(tmp_path: Path) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/rota.db?synchronous=NORMAL")) as store:
        with no_room_for_threads():
            assert store.put_setting("first", "1") == "1"

        assert store.get_setting("first") == "1"


def test_the_log_is_brought_into_the_file_once_there_is_room_for_a_thread_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "EVERY_CHANGES", 1)
    file = tmp_path / "rota.db"
    with closing(open_store(f"sqlite:///{file}")) as store:
        with no_room_for_threads():
            store.put_setting("first", "a value of the first commit")
        assert b"a value of the first commit" not in file.read_bytes()

        store.put_setting("second", "1")

        wait_until(lambda: b"a value of the first commit" in file.read_bytes(), "a checkpoint")
