"""Whoever changes one field changes that field: every other one stays, in the answer and in the store."""

import msgspec
import pytest
from msgspec import structs
from starlette.testclient import TestClient

from rota.model.events.configuration import ConfigurationState
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.schedule import Backfill
from rota.server.api import Api
from rota.store import Store
from rota.store.contract.schedules import ScheduleChange, ScheduleEntry

BERLIN_2030, BERLIN_2040, BERLIN_2041 = 1_893_452_400_000, 2_208_985_200_000, 2_240_607_600_000
"""Midnight of New Year's Day."""
REPORT, OTHER = "01920000-0000-7000-8000-000000000001", "01920000-0000-7000-8000-000000000002"
FAST = "01920000-0000-7000-8000-000000000003"


@pytest.fixture(autouse=True)
def defined(api: Api) -> None:
    """Two job types that run in different queues."""
    fast = NodeType(uuid=FAST, name="fast", thread_count=3)
    report = JobType(uuid=REPORT, name="report", executor="log", metadata={"message": "hello"})
    api.engine.definitions.define([fast], [report, JobType(uuid=OTHER, name="other", executor="log", node_type="fast")])


def flat(value: object, path: str = "") -> dict[str, object]:
    """All leaves of a record by their paths, defaults too."""
    if isinstance(value, msgspec.Struct):
        value = structs.asdict(value) | {"": type(value).__name__}
    if not isinstance(value, dict):
        return {path: value}
    return {key: leaf for name, item in value.items() for key, leaf in flat(item, f"{path}.{name}").items()}


def differences(before: object, after: object) -> dict[str, object]:
    """What is different now, by path; a path that is gone has no value."""
    old, new = flat(before), flat(after)
    return {key: new.get(key) for key in old.keys() | new.keys() if key not in old or old[key] != new.get(key)}


def of_properties(client: TestClient, shape: str) -> set[str]:
    """The fields of a body, by the server's own document."""
    return set(client.get("/openapi.json").json()["components"]["schemas"][shape]["properties"])


# -- schedules -----------------------------------------------------------------------------------------------------

COMMON: dict[str, object] = {
    "name": "full",
    "job_type": "report",
    "job_arguments": {"region": "eu"},
    "start": "2030-01-01",
    "end": "2040-01-01",
    "max_runs": 9,
    "tz": "Europe/Berlin",
    "utc": False,
    "jitter": 5_000,
    "overlap": "buffer_one",
    "catch_up": {"mode": "all", "window": "2d", "max": 7},
    "exclude": ["2035-12-25"],
    "priority": 3,
    "paused": False,
    "note": "because",
    "pause_on_failure": True,
}
KINDS: dict[str, dict[str, object]] = {
    "cron": {"cron": "30 2 1 * 1", "dialect": "quartz", "days": "both", "dst": "literal"},
    "interval": {"interval": 60_000, "anchor": "epoch", "phase": 7_000},
    "frequency": {"frequency": {"timeUnit": "HOURS", "time": 5}},
    "at": {"at": "2035-01-01"},
    "delay": {"delay": 200_000_000_000},
}
OF_ALL: list[tuple[str, object, dict[str, object]]] = [
    ("name", "new", {".name": "new"}),
    ("job_type", "other", {".job_type": OTHER, ".queue": FAST}),
    ("job_type_uuid", OTHER.upper(), {".job_type": OTHER, ".queue": FAST}),
    ("job_arguments", {"a": 1}, {".arguments.region": None, ".arguments.a": 1}),
    ("arguments", {"a": 1}, {".arguments.region": None, ".arguments.a": 1}),
    ("start", "2030-01-01T01:00", {".trigger.start": BERLIN_2030 + 3_600_000}),
    ("start", None, {".trigger.start": None}),
    ("end", "2041-01-01", {".trigger.end": BERLIN_2041}),
    ("end", None, {".trigger.end": None}),
    ("max_runs", 10, {".max_runs": 10}),
    ("max_runs", None, {".max_runs": None}),
    ("tz", "America/New_York", {".trigger.tz": "America/New_York"}),
    ("tz", None, {".trigger.tz": "UTC"}),
    ("utc", True, {".trigger.utc": True}),
    ("jitter", "9s", {".trigger.jitter_ms": 9_000}),
    ("jitter", None, {".trigger.jitter_ms": 0}),
    ("overlap", "allow", {".overlap": "allow"}),
    ("catch_up", {"mode": "last"}, {".catch_up.mode": "last"}),
    ("catch_up", "last", {".catch_up.mode": "last"}),
    ("catch_up", {"mode": None}, {".catch_up.mode": "last"}),
    ("catch_up", {"window": None}, {".catch_up.window_ms": 86_400_000}),
    ("catch_up", {"max": None}, {".catch_up.max_fires": 100}),
    ("catch_up", {"window": 50_000}, {".catch_up.window_ms": 50_000}),
    ("catch_up", {"window": "none"}, {".catch_up.window_ms": None}),
    ("catch_up", {"max": 8}, {".catch_up.max_fires": 8}),
    ("exclude", ["2036-12-25"], {".excluded": ("2036-12-25",)}),
    ("exclude", None, {".excluded": ()}),
    ("priority", -4, {".priority": -4}),
    ("priority", None, {".priority": 0}),
    ("paused", True, {".paused": True}),
    ("note", "other", {".pause_note": "other"}),
    ("pause_on_failure", False, {".pause_on_failure": False}),
]
OF_KIND: list[tuple[str, str, object, dict[str, object]]] = [
    ("cron", "cron", "31 2 1 * 1", {".trigger.cron": "31 2 1 * 1"}),
    ("cron", "dialect", "unix", {".trigger.dialect": "unix"}),
    ("cron", "days", "either", {".trigger.days": "either"}),
    ("cron", "dst", "skip", {".trigger.dst": "skip"}),
    ("cron", "dst", None, {".trigger.dst": "vixie"}),
    ("interval", "interval", "2m", {".trigger.every_ms": 120_000}),
    ("interval", "every", "2m", {".trigger.every_ms": 120_000}),
    ("interval", "anchor", "ended", {".trigger.anchor": "ended"}),
    ("interval", "phase", "8s", {".trigger.phase_ms": 8_000}),
    (
        "frequency",
        "frequency",
        {"timeUnit": "DAYS", "time": 6},
        {".trigger.unit": "DAYS", ".trigger.time": 6},
    ),
    ("at", "at", "2030-01-01", {".trigger.at": BERLIN_2030}),
    ("delay", "delay", 200_000_000_001, {".trigger.delay_ms": 200_000_000_001}),
]
SHOWN_AS = {
    "arguments": {"job_arguments"},
    "queue": set(),
    "job_type": {"job_type", "job_type_uuid"},
    "excluded": {"exclude"},
    "pause_note": {"note"},
    "trigger": {"trigger", "words", "zone", "interval", "next", "next_due", "cursor"},
    "paused": {"paused", "next", "next_due"},
}
"""Where the answer has what the record has."""


def make_schedule(client: TestClient, store: Store, kind: str) -> str:
    """A schedule in which every field has a value of its own, with a past."""
    answer = client.post("/api/schedules", json=COMMON | KINDS[kind])
    assert answer.status_code == 200, answer.text
    uuid = str(answer.json()["uuid"])
    entry = find_schedule(store, uuid)
    backfill = Backfill(id="b", start=1, end=2, made_at=3, count=4)
    state = structs.replace(
        entry.state, version=2, runs=4, counts={"fired": 4}, last_scheduled_by="somebody", backfills=(backfill,)
    )
    assert store.put_schedules([ScheduleChange(entry.schedule, state, 1)]) == [True]
    return uuid


def find_schedule(store: Store, uuid: str) -> ScheduleEntry:
    (entry,) = store.find_schedules([uuid])
    assert entry is not None
    return entry


@pytest.mark.parametrize("kind", KINDS)
def test_one_field_of_a_schedule_is_changed_and_no_other(admin: TestClient, kept: Store, kind: str) -> None:
    for field, value, expected in OF_ALL + [case[1:] for case in OF_KIND if case[0] == kind]:
        path = f"/api/schedules/{make_schedule(admin, kept, kind)}"
        uuid = path.rpartition("/")[2]
        before, shown_before = find_schedule(kept, uuid), admin.get(path).json()

        answer = admin.patch(path, json={field: value})

        assert answer.status_code == 200, (field, value, answer.text)
        after, shown = find_schedule(kept, uuid), answer.json()
        assert differences(before.schedule, after.schedule) == expected, (field, value)
        assert shown == admin.get(path).json()
        roots = {key.split(".")[1] for key in expected}
        may_differ = {"version"}.union(*(SHOWN_AS.get(root, {root}) for root in roots))
        differ = {key for key in shown if shown[key] != shown_before[key]}
        assert "version" in differ <= may_differ, (field, value)
        assert after.state.version == 3
        assert (after.state.runs, after.state.counts, after.state.last_scheduled_by, after.state.backfills) == (
            before.state.runs,
            before.state.counts,
            before.state.last_scheduled_by,
            before.state.backfills,
        )
        assert admin.delete(path).status_code == 200


def test_a_zone_is_kept_while_a_schedule_goes_by_utc(admin: TestClient, kept: Store) -> None:
    answer = admin.post("/api/schedules", json={**COMMON, **KINDS["cron"], "utc": True})
    uuid = answer.json()["uuid"]
    before = find_schedule(kept, uuid).schedule

    admin.patch(f"/api/schedules/{uuid}", json={"priority": 8})
    assert differences(before, find_schedule(kept, uuid).schedule) == {".priority": 8}
    admin.patch(f"/api/schedules/{uuid}", json={"utc": False})
    assert differences(before, find_schedule(kept, uuid).schedule) == {".priority": 8, ".trigger.utc": False}


@pytest.mark.parametrize("old", KINDS)
@pytest.mark.parametrize("new", KINDS)
def test_times_of_another_kind_change_the_times_and_nothing_else(
    admin: TestClient, kept: Store, old: str, new: str
) -> None:
    uuid = make_schedule(admin, kept, old)
    before = find_schedule(kept, uuid).schedule

    answer = admin.patch(f"/api/schedules/{uuid}", json=KINDS[new])

    assert answer.status_code == 200, answer.text
    after = find_schedule(kept, uuid).schedule
    assert structs.replace(after, trigger=before.trigger) == before
    for name in ("start", "end", "tz", "utc", "jitter_ms"):
        assert getattr(after.trigger, name) == getattr(before.trigger, name), name
    admin.delete(f"/api/schedules/{uuid}")
    fresh = find_schedule(kept, make_schedule(admin, kept, new)).schedule
    assert after.trigger == fresh.trigger


def test_the_event_of_a_schedule_is_changed_and_nothing_else(admin: TestClient, kept: Store) -> None:
    whole = {**COMMON, **KINDS["cron"], "emit": {"type": "TABLE", "resource": "t"}}
    del whole["job_type"], whole["job_arguments"]
    uuid = admin.post("/api/schedules", json=whole).json()["uuid"]
    before = find_schedule(kept, uuid).schedule

    answer = admin.patch(f"/api/schedules/{uuid}", json={"emit": {"type": "FILE", "resource": "f"}})

    assert answer.status_code == 200, answer.text
    after = find_schedule(kept, uuid).schedule
    assert differences(before, after) == {".arguments.type": "FILE", ".arguments.resourceId": "f"}


def test_every_field_of_a_schedule_is_tried_here(admin: TestClient) -> None:
    tried = {field for field, _, _ in OF_ALL} | {field for _, field, _, _ in OF_KIND}

    assert of_properties(admin, "ScheduleChange") == tried | {"emit", "version"}


def test_a_change_of_nothing_changes_nothing(admin: TestClient, kept: Store) -> None:
    uuid = make_schedule(admin, kept, "cron")
    before = find_schedule(kept, uuid)

    for body in ({}, {"version": 2}, {"version": None}, {"priority": 3}, COMMON):
        assert admin.patch(f"/api/schedules/{uuid}", json=body).status_code == 200, body

    assert find_schedule(kept, uuid) == before


def test_what_is_put_in_the_place_of_a_schedule_has_the_defaults_of_a_new_one(admin: TestClient, kept: Store) -> None:
    uuid = make_schedule(admin, kept, "cron")
    before = find_schedule(kept, uuid).schedule
    bare = {"job_type": "report", "cron": "0 3 * * *"}

    assert admin.put(f"/api/schedules/{uuid}", json=bare).status_code == 200

    after = find_schedule(kept, uuid).schedule
    new = find_schedule(kept, admin.post("/api/schedules", json=bare).json()["uuid"]).schedule
    assert after == structs.replace(new, uuid=uuid, name="full", created_at=before.created_at)


# -- job types -----------------------------------------------------------------------------------------------------

JOB_TYPE: dict[str, object] = {
    "name": "full",
    "executor": "bash",
    "metadata": {"command": "true", "cwd": "/tmp"},
    "unique": "while_pending",
    "node_type": "fast",
    "timeout": 5_000,
    "retries": {"attempts": 4, "delay_ms": 50, "factor": 1.5, "max_delay_ms": 500, "jitter": 0.25},
    "on_node_death": "fail",
    "rate": "10/m",
    "rate_key": "{host}",
}
JOB_TYPE_CHANGES: list[tuple[str, object, dict[str, object]]] = [
    ("name", "new", {".name": "new"}),
    ("metadata", {"command": "false"}, {".metadata.command": "false", ".metadata.cwd": None}),
    ("unique", False, {".unique": "none"}),
    ("unique", True, {".unique": "while_running"}),
    ("unique", "none", {".unique": "none"}),
    ("node_type", "default", {".node_type": "default"}),
    ("timeout", 6_000, {".timeout_ms": 6_000}),
    ("timeout", None, {".timeout_ms": None}),
    ("retries", {"attempts": 5}, {".retry.attempts": 5}),
    ("retries", {"delay_ms": 60}, {".retry.delay_ms": 60}),
    ("retries", {"factor": 3}, {".retry.factor": 3}),
    ("retries", {"max_delay_ms": 600}, {".retry.max_delay_ms": 600}),
    ("retries", {"jitter": 0}, {".retry.jitter": 0}),
    ("retries", {}, {}),
    ("on_node_death", "requeue", {".on_node_death": "requeue"}),
    ("rate", "5/90s", {".rate.limit": 5, ".rate.period_ms": 90_000}),
    ("rate_key", "{customer}", {".rate_key": "{customer}"}),
    ("rate_key", None, {".rate_key": ""}),
]


def find_job_type(store: Store, uuid: str) -> JobType:
    """What it says, whichever version that is."""
    (found,) = [one for one in store.list_job_types() if one.uuid == uuid]
    return found.unversioned


def test_one_field_of_a_job_type_is_changed_and_no_other(admin: TestClient, kept: Store) -> None:
    path = f"/api/job_types/{admin.post('/api/job_types', json=JOB_TYPE).json()['uuid']}"
    uuid = path.rpartition("/")[2]
    whole, before = admin.get(path).json(), find_job_type(kept, uuid)
    del whole["version"]
    shown_as = {"timeout_ms": "timeout", "retry": "retries"}

    for field, value, expected in JOB_TYPE_CHANGES:
        answer = admin.patch(path, json={field: value})
        assert answer.status_code == 200, (field, value, answer.text)
        shown = answer.json()
        assert differences(before, find_job_type(kept, uuid)) == expected, (field, value)
        roots = {key.split(".")[1] for key in expected}
        assert {key for key in whole if shown[key] != whole[key]} == {shown_as.get(root, root) for root in roots}
        assert shown == admin.get(path).json()
        put_back = admin.put(path, json=whole).json()
        assert put_back == {**whole, "version": put_back["version"]}
        assert find_job_type(kept, uuid) == before
    others = {"executor", "version"}
    assert of_properties(admin, "JobTypeChange") == {field for field, _, _ in JOB_TYPE_CHANGES} | others


def test_the_executor_of_a_job_type_is_changed_and_nothing_else(admin: TestClient, kept: Store) -> None:
    uuid = admin.post("/api/job_types", json={**JOB_TYPE, "executor": "log", "metadata": {}}).json()["uuid"]
    before = find_job_type(kept, uuid)

    answer = admin.patch(f"/api/job_types/{uuid}", json={"executor": "event"})

    assert answer.status_code == 200, answer.text
    assert differences(before, find_job_type(kept, uuid)) == {".executor": "event"}


def test_what_is_put_in_the_place_of_a_job_type_has_the_defaults_of_a_new_one(admin: TestClient, kept: Store) -> None:
    uuid = admin.post("/api/job_types", json=JOB_TYPE).json()["uuid"]

    assert admin.put(f"/api/job_types/{uuid}", json={"name": "bare", "executor": "log"}).status_code == 200

    assert find_job_type(kept, uuid) == JobType(uuid=uuid, name="bare", executor="log")


@pytest.mark.parametrize("owner", ["rota", "synchrony"])
def test_a_definition_that_is_changed_stays_its_owners(admin: TestClient, api: Api, kept: Store, owner: str) -> None:
    theirs = JobType(uuid=new_id(1), name="theirs", executor="log", managed_by=owner)
    queue = NodeType(uuid=new_id(1), name="theirs", thread_count=2, managed_by=owner)
    api.engine.definitions.define([queue], [theirs])

    put = admin.put(f"/api/job_types/{theirs.uuid}", json={"name": "theirs", "executor": "log", "timeout": 5})
    assert put.json()["managed_by"] == owner
    assert find_job_type(kept, theirs.uuid) == structs.replace(theirs, timeout_ms=5)
    assert admin.patch(f"/api/job_types/{theirs.uuid}", json={"timeout": 6}).json()["managed_by"] == owner
    body = {"uuid": queue.uuid, "name": "theirs", "thread_count": 5, "managed_by": None}
    assert admin.post(f"/api/node_types/{queue.uuid}", json=body).status_code == 200
    assert admin.get(f"/api/node_types/{queue.uuid}").json() == {**body, "managed_by": owner}


# -- node types ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("field", "value"), [("name", "quick"), ("thread_count", 9)])
def test_one_field_of_a_node_type_is_changed_and_no_other(
    admin: TestClient, kept: Store, field: str, value: object
) -> None:
    before = {"uuid": new_id(1), "name": "slow", "thread_count": 2, "managed_by": None}
    path = f"/api/node_types/{before['uuid']}"
    others = kept.list_node_types()
    assert admin.post(path, json=before).json() == {"status": "ok"}

    assert admin.post(path, json={**before, field: value}).status_code == 200

    assert admin.get(path).json() == {**before, field: value}
    stored = {one.uuid: one for one in kept.list_node_types()}
    expected = {"uuid": before["uuid"], "name": "slow", "thread_count": 2, field: value}
    assert stored.pop(str(before["uuid"])) == NodeType(**expected)  # type: ignore[arg-type]
    assert sorted(stored.values(), key=lambda one: one.uuid) == sorted(others, key=lambda one: one.uuid)


# -- configurations ------------------------------------------------------------------------------------------------

FILE_IN = {"type": "FILE", "resourceId": "/in/", "lifeDuration": 3_600, "match": "prefix"}
TABLE = {"type": "TABLE", "resourceId": "t", "lifeDuration": 60}
REPORTED = {"type": "JOB", "resourceId": "elsewhere", "lifeDuration": 5, "outcome": "failed"}
JOB = {"job_type": "report", "arguments": {"region": "eu"}, "priority": 3}
CONFIGURATION: dict[str, object] = {
    "name": "full",
    "dependencies": [{"any_of": [FILE_IN, TABLE]}, REPORTED],
    "job": JOB,
    "clock": "reception",
    "late": "join",
}


def part(number: int, **changes: object) -> dict[str, object]:
    """The configuration with one dependency changed."""
    parts = [FILE_IN, TABLE, REPORTED]
    parts[number] = {**parts[number], **changes}
    return {"dependencies": [{"any_of": parts[:2]}, parts[2]]}


CONFIGURATION_CHANGES: list[tuple[dict[str, object], dict[str, object]]] = [
    ({"name": "new"}, {"name": "new"}),
    ({"job": {**JOB, "job_type": "other"}}, {"job_type": OTHER, "queue": FAST}),
    ({"job": {**JOB, "arguments": {"a": 1}}}, {"arguments": {"a": 1}}),
    ({"job": {**JOB, "priority": 4}}, {"priority": 4}),
    ({"clock": "event"}, {"clock": "event"}),
    ({"late": "ignore"}, {"late": "ignore"}),
    (part(0, resourceId="/out/"), {"dependencies.0.resource": "/out/"}),
    (part(0, lifeDuration=1), {"dependencies.0.life_s": 1}),
    (part(0, match="glob"), {"dependencies.0.match": "glob"}),
    (part(1, type="FILE"), {"dependencies.1.type": "FILE"}),
    (part(2, outcome="succeeded"), {"dependencies.2.outcome": "succeeded"}),
    ({"dependencies": [FILE_IN, TABLE, REPORTED]}, {"rule": None}),
]


def stored_configuration(store: Store, uuid: str) -> tuple[dict[str, object], ConfigurationState]:
    """The fields of the record, and its state."""
    (entry,) = store.find_configurations([uuid])
    assert entry is not None
    fields = structs.asdict(entry.configuration)
    for number, one in enumerate(fields.pop("dependencies")):
        fields |= {f"dependencies.{number}.{name}": value for name, value in structs.asdict(one).items()}
    return fields, entry.state


@pytest.mark.parametrize(("change", "expected"), CONFIGURATION_CHANGES)
def test_one_field_of_a_configuration_is_changed_and_no_other(
    admin: TestClient, kept: Store, change: dict[str, object], expected: dict[str, object]
) -> None:
    answer = admin.post("/api/configurations", json=CONFIGURATION)
    assert answer.status_code == 200, answer.text
    shown_before, uuid = answer.json(), answer.json()["uuid"]
    event = {"eventType": "FILE", "eventTimestamp": "2026-01-01T00:00:00", "eventResourceId": "/in/x"}
    assert admin.post("/events", json=event).json()["validated"] != []
    before, state = stored_configuration(kept, uuid)

    answer = admin.put("/api/configurations/full", json=CONFIGURATION | change)

    assert answer.status_code == 200, answer.text
    after, later = stored_configuration(kept, uuid)
    assert {name: after[name] for name in after if after[name] != before.get(name)} == expected
    assert after.keys() == before.keys()
    shown = admin.get(f"/api/configurations/{uuid}").json()
    assert shown == answer.json()
    names = {key.split(".")[0] for key in change}
    ever = {"version", "evaluated"}
    assert names <= {key for key in shown if shown[key] != shown_before[key]} <= names | ever
    assert (later.version, later.evaluated, later.triggered) == (state.version + 1, 1, 0)
    is_forgotten = "clock" in expected or any(key.startswith("dependencies.0") for key in expected)
    assert (later.evidence[0] == state.evidence[0]) is not is_forgotten


def test_a_configuration_that_is_put_back_as_it_was_shown_is_the_same(admin: TestClient, kept: Store) -> None:
    shown = admin.post("/api/configurations", json=CONFIGURATION).json()
    before = stored_configuration(kept, shown["uuid"])
    writable = {key: shown[key] for key in ("name", "dependencies", "job", "clock", "late")}

    assert admin.put("/api/configurations/full", json=writable).json() == shown

    assert stored_configuration(kept, shown["uuid"]) == before
