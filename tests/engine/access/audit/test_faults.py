"""No change without an entry, wherever the one who makes it dies or loses the store."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rota.engine.access.audit.record import Change, recorded
from rota.engine.access.keys.named_keys import list_keys
from rota.errors import Conflict, StoreError, StoreUnavailable
from rota.server.api import Api
from rota.server.app import make_app
from rota.store import Store, open_store
from tests.cli.calling import call_process, environment
from tests.server.auth.test_matrix import REQUESTS, House
from tests.server.serving import BASE, BEARER, make_api

DIES = """
import os, signal, sys
from rota.engine.access.keys.access import Role, read_scopes
from rota.engine.access.keys.named_keys import make_key
from rota.store import open_store

url, operation = sys.argv[1:]
store = open_store(url)
setattr(store, operation, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
make_key(store, "shop", role=Role.VIEWER, scopes=read_scopes([], Role.VIEWER), expires_at=None, now=store.now())
"""
CHANGE = Change(action="create", kind="thing", name="t")
AUDITED = {
    *("create_job_type", "replace_job_type", "change_job_type", "delete_job_type"),
    *("put_node_type", "delete_node_type", "pause_queue", "resume_queue"),
    *("create_schedule", "replace_schedule", "change_schedule", "delete_schedule"),
    *("pause_schedule", "resume_schedule", "run_schedule", "create_backfill", "cancel_backfill"),
    *("apply_definitions", "create_key", "revoke_key"),
    *("create_configuration", "replace_configuration", "delete_configuration"),
    *("cancel_job", "retry_job", "delete_job", "cancel_jobs", "retry_jobs", "delete_jobs", "drain_node"),
}
"""Operations whose changes have entries. Jobs that are made, and events, are records of their own."""
UNCHANGED = {"resume_schedule"}
"""Of these, the ones whose good request changes nothing, and so needs no entry: the schedule is not paused."""


def told(store: Store) -> list[tuple[str, bool]]:
    return [(f"{one.action} {one.kind} {one.name}", one.is_done) for one in store.list_audit(limit=100)]


@pytest.mark.stores("sqlite-file", "redis", "redis-cluster")  # another process must reach it
@pytest.mark.parametrize(("operation", "is_made"), [("put_setting", False), ("settle_audit", True)])
def test_whoever_dies_in_the_middle_of_a_change_leaves_an_entry(
    store: Store, store_url: str, operation: str, is_made: bool
) -> None:
    ended = subprocess.run([sys.executable, "-c", DIES, store_url, operation], env=environment())

    assert ended.returncode == -signal.SIGKILL
    assert told(store) == [("create key shop", False)]
    assert bool(list_keys(store)) == is_made
    shown = call_process("audit", "--store", store_url)
    assert "create key (perhaps)" in shown.stdout


def test_after_an_error_of_the_store_nobody_knows(store: Store) -> None:
    with pytest.raises(StoreError), recorded(store, CHANGE):
        raise StoreUnavailable("it is away")

    assert told(store) == [("create thing t", False)]


def test_what_is_refused_leaves_no_entry(store: Store) -> None:
    with pytest.raises(Conflict), recorded(store, CHANGE, CHANGE):
        raise Conflict("no")
    with recorded(store, CHANGE) as recording:
        recording.nothing_was_done()

    assert told(store) == []


def test_a_change_that_is_made_is_done_also_if_the_log_is_lost_afterwards(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object) -> None:
        raise StoreUnavailable("it is away")

    monkeypatch.setattr(store, "settle_audit", lose)
    with recorded(store, CHANGE):
        pass

    assert told(store) == [("create thing t", False)]


def test_an_entry_says_what_was_done_in_the_end(store: Store) -> None:
    with recorded(store, CHANGE) as recording:
        assert told(store) == [("create thing t", False)]
        recording.was(Change(action="create", kind="thing", name="u"))

    assert told(store) == [("create thing u", True)]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    store = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    made = make_api(store)
    yield made
    made.close()
    store.close()


def everything(folder: Path) -> str:
    with closing(sqlite3.connect(folder / "rota.db")) as database:
        return "\n".join(database.iterdump())


def test_nothing_is_changed_over_http_if_the_log_cannot_be_written(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object) -> None:
        raise StoreUnavailable("it is away")

    house, refused = House(api), set()
    with TestClient(make_app(api), BASE, headers=BEARER) as client:
        for operation in api.operations:
            if operation.method == "GET":
                continue
            request = REQUESTS[operation.name](house)
            before = everything(tmp_path)
            with monkeypatch.context() as patched:
                patched.setattr(api.engine.store, "append_audit", lose)
                answer = client.request(
                    operation.method,
                    operation.path.format(**request.path) + request.query,
                    json={} if request.body is None else request.body,
                )
            if answer.status_code == 503:
                refused.add(operation.name)
                assert everything(tmp_path) == before, operation.name

    assert refused == AUDITED - UNCHANGED
