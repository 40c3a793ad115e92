"""A SQLite store in trouble tells it: in its answers, in `/health`, in a metric, in the log and to the doctor."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from rota.errors import StoreUnavailable
from rota.model.ids import new_id
from rota.store import Store, open_store
from rota.store.sqlite.database.checkpoints import MOST_LOG_BYTES
from tests.cli.calling import RotaProcess, call_process
from tests.servers import wait_until
from tests.system.sqlite.syncs import Syncs
from tests.system.up import Up

MIB = 1024 * 1024


@contextmanager
def up(folder: Path, store: str, syncs: Syncs) -> Iterator[Up]:
    call_process("job-type", "create", "hello", "--store", store, "--executor", "log")
    with RotaProcess(["up", "--port", "0", "--json", "--store", store], folder, **syncs.environment) as process:
        yield Up(process)
        assert process.stop() == 0


def test_a_store_that_cannot_sync_accepts_nothing_and_says_so_until_it_can(tmp_path: Path) -> None:
    syncs = Syncs(tmp_path)
    with up(tmp_path, f"sqlite:///{tmp_path}/rota.db?synchronous=NORMAL", syncs) as rota:
        assert rota.enqueues()
        wait_until(lambda: rota.ask("/health") == (200, "ok"), "the server to be well")
        assert rota.troubles() == 0

        syncs.fail()

        wait_until(lambda: not rota.enqueues(), "a job to be refused")
        assert rota.troubles() > 0
        wait_until(lambda: rota.ask("/health")[0] == 503, "the server to say that it is not well")
        assert "sync failed" in rota.ask("/health")[1]
        wait_until(lambda: rota.says("trouble"), "the log to tell it")

        syncs.succeed()

        wait_until(rota.enqueues, "a job to be accepted again")
        wait_until(lambda: rota.ask("/health") == (200, "ok"), "the server to be well again")
        wait_until(lambda: rota.says("trouble is over"), "the log to tell it")
        assert rota.troubles() == 0


def test_a_process_that_ends_before_its_job_is_synced_says_that_it_is_not_certain(tmp_path: Path) -> None:
    url, syncs = f"sqlite:///{tmp_path}/rota.db?synchronous=NORMAL", Syncs(tmp_path)
    call_process("job-type", "create", "hello", "--store", url, "--executor", "log")
    with closing(open_store(f"sqlite:///{tmp_path}/rota.db")) as other:
        assert call_process("enqueue", "hello", "--store", url, **syncs.environment).exit_code == 0
        other.put_setting("a", "begins the log anew, which SQLite syncs by itself")

        syncs.fail()
        refused = call_process("enqueue", "hello", "--store", url, **syncs.environment)
        looked = call_process("jobs", "--store", url, **syncs.environment)

    assert refused.exit_code == StoreUnavailable.exit_code
    assert "sync failed" in refused.stderr
    assert "what was written last may be lost" in refused.stderr
    assert looked.exit_code == 0, "who writes nothing has nothing to sync"


def test_a_node_that_does_nothing_notices_that_what_others_write_cannot_be_synced(tmp_path: Path) -> None:
    syncs, url = Syncs(tmp_path), f"sqlite:///{tmp_path}/rota.db?synchronous=NORMAL"
    with up(tmp_path, url, syncs) as rota:
        assert call_process("queues", "pause", "default", "--store", url).exit_code == 0
        wait_until(lambda: rota.ask("/health") == (200, "ok"), "the server to be well")

        syncs.fail()
        assert call_process("enqueue", "hello", "--store", url).exit_code == 0  # its own syncs are real

        wait_until(lambda: "sync failed" in rota.ask("/health")[1], "the server to say that it is not well")
        wait_until(lambda: rota.says("trouble"), "the log to tell it")
        assert rota.troubles() > 0
        with closing(open_store(f"sqlite:///{tmp_path}/rota.db")) as other:
            other.put_setting("a", "begins the log anew, which SQLite syncs by itself")
        doctor = json.loads(rota.ask("/api/doctor")[1])
        assert any("sync failed" in one["message"] for one in doctor["findings"])

        syncs.succeed()

        wait_until(lambda: rota.ask("/health") == (200, "ok"), "the server to be well again")


def test_unless_told_otherwise_every_commit_is_synced_and_a_failed_sync_refuses_the_very_job(tmp_path: Path) -> None:
    syncs = Syncs(tmp_path)
    with up(tmp_path, f"sqlite:///{tmp_path}/rota.db", syncs) as rota:
        assert rota.enqueues()

        syncs.fail()
        assert not rota.enqueues()
        wait_until(lambda: rota.troubles() > 0, "the metric to tell it")
        wait_until(lambda: "write failed" in rota.ask("/health")[1], "the server to say that it is not well")

        syncs.succeed()
        assert rota.enqueues()
        wait_until(lambda: rota.ask("/health") == (200, "ok"), "the server to be well again")


def test_the_doctor_finds_a_disk_that_does_not_keep_what_is_written(tmp_path: Path) -> None:
    url, syncs = f"sqlite:///{tmp_path}/rota.db?synchronous=FULL", Syncs(tmp_path)
    open_store(url).close()
    assert call_process("doctor", "--store", url, **syncs.environment).exit_code == 0

    syncs.fail()
    answer = call_process("doctor", "--store", url, **syncs.environment)

    assert answer.exit_code == 7
    assert "problem  disk: nothing can be written" in answer.stdout
    assert "problem  store: it answers, but refuses to write" in answer.stdout


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path}/rota.db")
    yield opened
    opened.close()


def test_a_log_that_only_grows_is_told_until_it_is_short_again(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "rota.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM settings").fetchall()
        for letter in range(MOST_LOG_BYTES // (8 * MIB)):
            assert store.troubles() == []
            store.put_setting("large", chr(ord("A") + letter) * 8 * MIB)

        (trouble,) = store.troubles()
        assert f"{path}-wal has grown to" in trouble
        doctor = call_process("doctor", "--store", f"sqlite:///{path}")
        assert doctor.exit_code == 7
        assert "has grown to" in doctor.stdout

    def is_short_again() -> bool:
        store.put_setting("small", new_id(store.now()))
        return store.troubles() == []

    wait_until(is_short_again, "the log to begin anew")
