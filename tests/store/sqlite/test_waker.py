"""The waker of a SQLite store, and the files of its process."""

import os
from contextlib import ExitStack
from pathlib import Path

from rota.store import open_store
from tests.contract.building import new_node, new_queue


def test_a_nudge_that_comes_after_the_end_is_written_into_no_other_file(tmp_path: Path) -> None:
    with ExitStack() as closing:
        store = open_store(f"sqlite:///{tmp_path}/rota.db")
        closing.callback(store.close)
        waker = store.waker(new_queue(), new_node())
        waker.close()
        others = [tmp_path / f"other {number}" for number in range(10)]
        for other in others:  # one of them gets the number that the waker's pipe had
            closing.callback(os.close, os.open(other, os.O_RDWR | os.O_CREAT))

        waker.nudge()

        assert [other.read_bytes() for other in others] == [b""] * len(others)
