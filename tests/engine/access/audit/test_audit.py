"""Every change leaves an entry: who, by which key, from where, what, before and after."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rota.clock import ManualClock
from rota.engine.access.audit import reading
from rota.engine.access.audit.actor import STORE, acting, user_of_process
from rota.engine.access.audit.reading import AuditQuery, read_audit
from rota.engine.access.audit.record import Change, recorded
from rota.engine.access.keys.access import Role, read_scopes
from rota.engine.access.keys.admin_key import replace_key
from rota.engine.access.keys.named_keys import make_key, revoke_key
from rota.engine.definitions.built_in import ensure_default_node_type
from rota.engine.engine import Engine
from rota.engine.housekeeping.retention import Retention
from rota.model.access.audit import Actor, AuditEntry, shown_side
from rota.model.ids import new_id, numbered_id
from rota.model.job_type import JobType
from rota.server.app import make_app
from rota.store import Store, open_store
from tests.server.serving import BASE, BEARER, make_api

WAITS = [{"type": "FILE", "resourceId": "/in", "lifeDuration": 60}]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    yield store
    store.close()


def told(store: Store) -> list[str]:
    """What was done to what, the first change first."""
    return [f"{one.action} {one.kind} {one.name}" for one in store.list_audit(limit=1000)][::-1]


def named(store: Store, name: str) -> AuditEntry:
    return next(one for one in store.list_audit(limit=1000) if one.name == name)


def create(store: Store, name: str, now: int | None = None) -> None:
    """Change nothing, and say so."""
    with recorded(store, Change(action="create", kind="thing", name=name), now=now):
        pass


def test_every_change_over_http_leaves_one_entry_of_its_key(kept: Store) -> None:
    key, made = make_key(kept, "root", role=Role.ADMIN, scopes=read_scopes([], Role.ADMIN), expires_at=None, now=1)
    api = make_api(kept)
    client = TestClient(
        make_app(api), headers={"Authorization": f"Bearer {key}"}, base_url=BASE, client=("10.0.0.5", 4000)
    )
    before = len(told(kept))

    def done(method: str, path: str, body: object = None) -> dict[str, str]:
        answer = client.request(method, path, json={} if body is None and method == "POST" else body)
        assert answer.status_code == 200, answer.text
        found: dict[str, str] = answer.json()
        return found

    metadata = {"command": "true", "environment": {"PASSWORD": "canary"}}
    uuid = done("POST", "/api/job_types", {"name": "t", "executor": "bash", "metadata": metadata})["uuid"]
    done("PATCH", f"/api/job_types/{uuid}", {"timeout": 5})
    done("PATCH", f"/api/job_types/{uuid}", {"timeout": 5})
    schedule = done("POST", "/api/schedules", {"job_type": "t", "name": "s", "interval": "1h"})["uuid"]
    done("PATCH", f"/api/schedules/{schedule}", {"interval": "2h"})
    done("POST", f"/api/schedules/{schedule}/pause")
    done("POST", f"/api/schedules/{schedule}/resume")
    done("POST", f"/api/schedules/{schedule}/run")
    done("DELETE", f"/api/schedules/{schedule}")
    done("POST", "/api/configurations", {"name": "c", "dependencies": WAITS, "job": {"job_type": "t"}})
    other = [{**WAITS[0], "lifeDuration": 90}]
    done("PUT", "/api/configurations/c", {"name": "c", "dependencies": other, "job": {"job_type": "t"}})
    done("DELETE", "/api/configurations/c")
    job = done("POST", "/api/jobs", {"job_type_uuid": "t"})["uuid"]
    done("POST", f"/api/jobs/{job}/cancel")
    done("POST", f"/api/jobs/{job}/retry")
    done("POST", "/api/jobs/cancel", {"all": True})
    done("DELETE", f"/api/jobs/{job}")
    queue = api.engine.definitions.node_type("default").uuid
    done("POST", f"/api/node_types/{queue}/pause")
    done("POST", f"/api/node_types/{queue}/resume")
    slow = new_id(5)
    done("POST", f"/api/node_types/{slow}", {"uuid": slow, "name": "slow", "thread_count": 1})
    done("DELETE", f"/api/job_types/{uuid}")

    assert told(kept)[before:] == [
        "create job type t",
        "change job type t",
        "create schedule s",
        "change schedule s",
        "change schedule s",
        "change schedule s",
        "run schedule s",
        "delete schedule s",
        "create configuration c",
        "change configuration c",
        "delete configuration c",
        f"cancel job {job}",
        f"retry job {job}",
        "cancel jobs 2 jobs",
        f"delete job {job}",
        "pause queue default",
        "resume queue default",
        "create node type slow",
        "delete job type t",
    ]
    entries = kept.list_audit(limit=len(told(kept)) - before)
    assert {(one.who, one.key, one.origin) for one in entries} == {("root", made.id, "api 10.0.0.5")}
    assert all("canary" not in str(one) for one in entries)
    change = next(one for one in entries if one.action == "change" and one.kind == "job type")
    assert isinstance(change.before, dict)
    assert isinstance(change.after, dict)
    assert ("timeout_ms" in change.before, change.after["timeout_ms"]) == (False, 5)
    shown = client.get("/api/audit", params={"kind": "schedule", "action": "run", "limit": 5}).json()["changes"]
    assert [(one["name"], one["who"], one["key"]) for one in shown] == [("s", "root", made.id)]
    api.close()


def test_what_is_refused_leaves_no_entry(kept: Store) -> None:
    api = make_api(kept)
    client = TestClient(make_app(api), headers=BEARER, base_url=BASE)
    before = told(kept)

    assert client.post("/api/job_types", json={"name": "t", "executor": "none"}).status_code == 400
    assert client.delete(f"/api/job_types/{new_id(5)}").status_code == 404
    assert client.post(f"/api/jobs/{new_id(5)}/cancel", json={}).status_code == 404

    assert told(kept) == before
    api.close()


def test_keys_leave_entries_without_their_secrets(kept: Store) -> None:
    key, _ = make_key(kept, "shop", role=Role.VIEWER, scopes=read_scopes([], Role.VIEWER), expires_at=9, now=1)
    revoke_key(kept, "shop")
    admin = replace_key(kept)

    assert told(kept) == ["create key shop", "revoke key shop", "replace key admin"]
    text = str(kept.list_audit(limit=10))
    assert key not in text
    assert admin not in text
    assert "sha256" not in text


def test_who_works_on_the_store_itself_is_the_user_of_the_process(kept: Store) -> None:
    engine = Engine.open(kept)
    ensure_default_node_type(engine.definitions, 1)

    engine.definitions.create_job_type(JobType(uuid=new_id(1), name="t", executor="log"))

    assert (named(kept, "t").who, named(kept, "t").origin) == (user_of_process(), STORE)


def test_two_requests_at_a_time_are_told_apart(kept: Store) -> None:
    async def change(who: str) -> None:
        with acting(Actor(who, "api")):
            await asyncio.sleep(0)
            await asyncio.to_thread(create, kept, who)

    async def both() -> None:
        await asyncio.gather(*(change(f"key {number}") for number in range(20)))

    asyncio.run(both())

    assert all(one.who == one.name for one in kept.list_audit(limit=100))


def test_an_entry_is_bounded() -> None:
    fits = {"a": "x" * (16_384 - 8)}

    cut = shown_side({"a": "x" * (16_384 - 7)})

    assert shown_side(fits) == fits
    assert cut == {"cut": "16385 bytes, the limit is 16384"}


def test_entries_are_found_by_what_they_are_about(kept: Store) -> None:
    for number in range(700):
        with acting(Actor(f"key{number % 7}", "api")):
            create(kept, f"t{number}", now=1_000_000 + number)

    page = read_audit(kept, AuditQuery(who="key3"), limit=60)
    rest = read_audit(kept, AuditQuery(who="key3"), limit=60, cursor=page.cursor)

    assert [len(page.entries), len(rest.entries), rest.cursor] == [60, 40, None]
    assert {one.who for one in page.entries + rest.entries} == {"key3"}
    assert len(read_audit(kept, AuditQuery(since=1_000_690), limit=60).entries) == 10
    assert [one.name for one in read_audit(kept, AuditQuery(name="t5"), limit=60).entries] == ["t5"]


def test_entries_are_found_by_the_name_or_the_id_of_a_key(kept: Store) -> None:
    for actor in (Actor("mine", "api", key="k1"), Actor("mine", "api", key="k2"), Actor("other", "api", key="mine")):
        with acting(actor):
            create(kept, actor.key, now=1_000_000)

    def found(who: str) -> set[str]:
        return {one.name for one in read_audit(kept, AuditQuery(who=who), limit=9).entries}

    assert [found(who) for who in ("k1", "mine", "other", "nobody")] == [{"k1"}, {"k1", "k2", "mine"}, {"mine"}, set()]


def test_entries_far_apart_are_all_found_by_following_the_cursor(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_PAGE", 3)
    monkeypatch.setattr(reading, "_MOST_READ", 9)
    for number in range(40):
        with acting(Actor("rare" if number % 13 == 0 else "often", "api")):
            create(kept, f"t{number}", now=1_000_000 + number)

    pages = [read_audit(kept, AuditQuery(who="rare"), limit=60)]
    while pages[-1].cursor is not None and len(pages) < 40:
        pages.append(read_audit(kept, AuditQuery(who="rare"), limit=60, cursor=pages[-1].cursor))

    assert [one.name for page in pages for one in page.entries] == ["t39", "t26", "t13", "t0"]
    assert len(pages) == 5, "nine are looked at in one call"


def test_old_entries_are_forgotten_by_retention(kept: Store) -> None:
    clock = ManualClock()
    engine = Engine(kept, clock)
    for name, time in {"old": clock.now() - 10_000, "new": clock.now()}.items():
        made = AuditEntry(
            id=numbered_id(time, name, 1), time=time, who="", origin="", action="create", kind="thing", name=name
        )
        kept.append_audit([made])

    Retention(kept, engine.definitions, max_age_ms=1, max_count=1, audit_max_age_ms=5_000).run_once(clock.now())

    assert told(kept) == ["create thing new"]
