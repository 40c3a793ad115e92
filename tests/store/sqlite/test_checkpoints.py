"""Checkpoints and syncs in a thread of their own, and what a commit has to do with it."""

import errno
import fcntl
import os
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from rota.errors import StoreUnavailable
from rota.model.node import Node
from rota.store import Store, open_store
from rota.store.sqlite.database import checkpoints
from rota.store.sqlite.database.database import Database
from tests.contract.building import claim_one, enqueue, finish, log_batch, new_node, new_queue, spec, succeed
from tests.engine.working import wait_until
from tests.shortage import no_threads


def test_what_is_committed_counts_although_there_is_no_room_for_a_thread_that_syncs_it(tmp_path: Path) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/rota.db?synchronous=NORMAL")) as store:
        with no_threads():
            assert store.put_setting("first", "1") == "1"

        assert store.get_setting("first") == "1"


def test_the_log_is_brought_into_the_file_once_there_is_room_for_a_thread_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "EVERY_CHANGES", 1)
    file = tmp_path / "rota.db"
    with closing(open_store(f"sqlite:///{file}")) as store:
        with no_threads():
            store.put_setting("first", "a value of the first commit")
        assert b"a value of the first commit" not in file.read_bytes()

        store.put_setting("second", "1")

        wait_until(lambda: b"a value of the first commit" in file.read_bytes(), "a checkpoint")


@pytest.mark.parametrize("forget", [None, "jobs", "logs"])
def test_long_rows_are_brought_into_the_file_when_they_are_many_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget: str | None
) -> None:
    """Those of logs: 2,000 of them may be more than SQLite leaves in its own log."""
    monkeypatch.setattr(checkpoints, "EVERY_BYTES", (1 << 40) if forget else 100_000)
    file = tmp_path / "rota.db"
    with closing(open_store(f"sqlite:///{file}")) as store:
        queue = new_queue()
        store.put_setting("first", "a value of the first commit")
        enqueue(store, spec(queue))
        held = claim_one(store, queue)
        store.append_logs([log_batch(held, "x" * 100_000)])
        finish(store, succeed(held))
        if forget:
            assert b"a value of the first commit" not in file.read_bytes()
            monkeypatch.setattr(checkpoints, "EVERY_BYTES", 150_000)  # with what was written before it is enough

        if forget == "jobs":
            assert store.delete_jobs([held.spec.id]) == [True]
        elif forget == "logs":
            assert store.delete_logs([held.spec.id]) == [True]

        wait_until(lambda: b"a value of the first commit" in file.read_bytes(), "a checkpoint")


class Syncs:
    """The syncs of the log that this process asks for; each may fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.fail = False
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, descriptor: int) -> None:
        self.count += 1
        if self.fail:
            raise OSError(5, "Input/output error")


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> Syncs:
    return Syncs(monkeypatch)


def beat(store: Store, *, while_others: Callable[[], object] = lambda: None) -> None:
    """As an idle node does, twice."""
    queue, node = new_queue(), Node(uuid=new_node(), node_type="default", last_ping=store.now())
    with closing(store.lifeline(timeout_s=5)) as line:
        line.beat(node)
        while_others()
        line.renew_claims(queue, node.uuid, {})
        line.beat(node)


def test_an_idle_node_syncs_nothing_for_its_own_beats(tmp_path: Path, syncs: Syncs) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/rota.db?synchronous=NORMAL")) as store:
        beat(store)

    assert syncs.count == 0


@pytest.mark.parametrize(("synchronous", "is_synced"), [("NORMAL", True), ("FULL", False)])
def test_an_idle_node_syncs_what_others_wrote_if_they_may_not_have(
    tmp_path: Path, syncs: Syncs, synchronous: str, is_synced: bool
) -> None:
    file = f"sqlite:///{tmp_path}/rota.db"
    with closing(open_store(file)) as other, closing(open_store(f"{file}?synchronous={synchronous}")) as store:
        beat(store, while_others=lambda: other.put_setting("first", "1"))

    assert (syncs.count > 0) is is_synced


def test_a_store_whose_last_sync_failed_does_not_end_as_if_all_were_well(tmp_path: Path, syncs: Syncs) -> None:
    store = open_store(f"sqlite:///{tmp_path}/rota.db?synchronous=NORMAL")
    store.put_setting("first", "1")

    syncs.fail = True
    with pytest.raises(StoreUnavailable, match="what was written last may be lost"):
        store.close()


@pytest.mark.parametrize("fails", [False, True])
def test_a_sync_leaves_no_file_open(tmp_path: Path, syncs: Syncs, fails: bool) -> None:
    syncs.fail = fails
    store = open_store(f"sqlite:///{tmp_path}/rota.db?synchronous=NORMAL")
    store.put_setting("first", "1")
    wait_until(lambda: syncs.count > 0, "a sync")

    with suppress(StoreUnavailable):
        store.close()

    assert open_files_below(tmp_path) == []


def open_files_below(folder: Path) -> list[str]:
    """What this process has open there, as far as the system tells."""
    found = []
    for descriptor in Path("/proc/self/fd").glob("*"):
        with suppress(FileNotFoundError):  # the one that reads the list is gone by now
            found.append(str(descriptor.readlink()))
    return [file for file in found if file.startswith(str(folder))]


class WholeSyncs:
    """A system with a call that has the drive write what it holds back too, as macOS has, and this file system's answer
    to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.error: int | None = None
        monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
        monkeypatch.setattr(fcntl, "fcntl", self._sync)

    def _sync(self, descriptor: int, command: int) -> None:
        assert command == 51
        self.count += 1
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error))


@pytest.fixture
def whole_syncs(monkeypatch: pytest.MonkeyPatch) -> WholeSyncs:
    return WholeSyncs(monkeypatch)


def write_and_close(folder: Path) -> None:
    with closing(open_store(f"sqlite:///{folder}/rota.db?synchronous=NORMAL")) as store:
        store.put_setting("first", "1")


def test_a_sync_reaches_the_drive_where_the_system_has_a_call_for_that(
    tmp_path: Path, syncs: Syncs, whole_syncs: WholeSyncs
) -> None:
    write_and_close(tmp_path)

    assert (whole_syncs.count > 0, syncs.count) == (True, 0)


def test_a_file_system_without_that_call_is_synced_as_it_can(
    tmp_path: Path, syncs: Syncs, whole_syncs: WholeSyncs
) -> None:
    whole_syncs.error = errno.ENOTSUP

    write_and_close(tmp_path)

    assert syncs.count > 0


def test_a_drive_that_fails_is_a_sync_that_failed(tmp_path: Path, syncs: Syncs, whole_syncs: WholeSyncs) -> None:
    whole_syncs.error = errno.EIO

    with pytest.raises(StoreUnavailable, match="what was written last may be lost"):
        write_and_close(tmp_path)
    assert syncs.count == 0


@pytest.mark.parametrize("synchronous", ["NORMAL", "FULL"])
def test_syncs_of_sqlite_reach_the_drive_too(tmp_path: Path, synchronous: str) -> None:
    """On macOS; elsewhere SQLite has only one way to sync."""
    database = Database(str(tmp_path / "rota.db"), synchronous=synchronous).open()

    with closing(database), database.write() as writer, closing(database.connect()) as another:
        asked = [one.execute("PRAGMA fullfsync").fetchone()[0] for one in (writer, another)]

    assert asked == [1, 1]


def test_what_no_thread_could_sync_is_synced_at_the_end(tmp_path: Path, syncs: Syncs) -> None:
    store = open_store(f"sqlite:///{tmp_path}/rota.db?synchronous=NORMAL")
    with no_threads():
        store.put_setting("first", "1")

    syncs.fail = True
    with pytest.raises(StoreUnavailable, match="what was written last may be lost"):
        store.close()
