"""What a key may have made: jobs by hand, and jobs that schedules and configurations make later.

Whoever may define job types can run anything. Everybody else runs what is defined, with what its job type opens.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from rota.dialects.light.opening import scheduler_of
from rota.engine.access.keys.access import SCOPES_OF, Role, Scope, read_scopes
from rota.engine.access.keys.admin_key import KeyPlan
from rota.engine.access.keys.key_ring import KeyRing
from rota.engine.access.keys.named_keys import NamedKey, make_key
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.topics.light.definition import read_definition
from rota.server.api import Api
from rota.server.app import make_app
from rota.store import Store
from tests.server.serving import BASE

As = Callable[..., TestClient]
Arguments = dict[str, object]
WAITS = [{"type": "FILE", "resourceId": "/in", "lifeDuration": 60}]
EVENT = {"eventType": "FILE", "eventTimestamp": "2026-01-01T00:00:00", "eventResourceId": "/in"}
LATEST = 4_102_444_800_000
SCRIPTED: list[Arguments] = [
    {"environment": {"TAR_OPTIONS": "--checkpoint-action=exec=id"}},
    {"environment": {"MAKEFILES": "/tmp/evil"}},
    {"environment": {"HOME": "/tmp/evil"}},
    {"environment": {"LANG": "C", "LD_PRELOAD": "/tmp/evil.so"}},
    {"command": ["--checkpoint-action=exec=id"]},
    {"command": "-exec id ;"},
]
"""Each makes some program run what nobody defined."""


@pytest.fixture
def acting_as(api: Api, kept: Store) -> Iterator[As]:
    """`acting_as(role, *scopes)` is a client with a new key."""
    app = make_app(api)

    def client(role: str, *scopes: str) -> TestClient:
        name = ".".join([role, *(one.replace(":", "-") for one in scopes)])
        key, _ = make_key(kept, name, role=Role(role), scopes=read_scopes(scopes, Role(role)), expires_at=None, now=1)
        api.keys = KeyRing(kept, KeyPlan(made=None, configured=None, allows_dev_key=False), api.engine.clock)
        return TestClient(app, BASE, headers={"Authorization": f"Bearer {key}"})

    yield client
    api.close()


@pytest.fixture
def admin(acting_as: As) -> TestClient:
    """A client that may define; there are the job types `plain`, `open` and `dashed`."""
    client = acting_as("admin")
    opened: Arguments = {"allow_words": True, "allow_environment": ["LANG"]}
    types: dict[str, Arguments] = {"plain": {}, "open": opened, "dashed": {"allow_words": "--"}}
    for name, more in types.items():
        made = client.post(
            "/api/job_types",
            json={"name": name, "executor": "bash", "metadata": {"command": ["tar", "cf", "x"], **more}},
        )
        assert made.status_code == 200, made.text
    return client


def job(job_type: str, arguments: Arguments | None = None) -> Arguments:
    return {"job_type_uuid": job_type, "arguments": arguments or {}}


def schedule(job_type: str, arguments: Arguments | None = None) -> Arguments:
    return {"job_type": job_type, "name": f"hourly-{job_type}", "interval": "1h", "job_arguments": arguments or {}}


def configuration(job_type: str, arguments: Arguments | None = None) -> Arguments:
    return {"name": "c", "dependencies": WAITS, "job": {"job_type": job_type, "arguments": arguments or {}}}


MAKERS = {"/api/jobs": job, "/api/schedules": schedule, "/api/configurations": configuration}


@pytest.mark.parametrize("path", MAKERS)
@pytest.mark.parametrize("arguments", SCRIPTED)
def test_an_operator_adds_nothing_that_the_job_type_does_not_open(
    acting_as: As, admin: TestClient, kept: Store, path: str, arguments: Arguments
) -> None:
    answer = acting_as("operator").post(path, json=MAKERS[path]("plain", arguments))

    assert answer.status_code == 403
    assert "'plain'" in answer.json()["error"]
    assert "the key 'operator' may not define job types" in answer.json()["error"]
    assert admin.get("/api/jobs").json()["jobs"] == []
    assert admin.get("/api/schedules").json()["schedules"] == admin.get("/api/configurations").json()["configurations"]


@pytest.mark.parametrize("path", MAKERS)
@pytest.mark.parametrize("arguments", SCRIPTED)
def test_whoever_may_define_adds_what_they_like(admin: TestClient, path: str, arguments: Arguments) -> None:
    assert admin.post(path, json=MAKERS[path]("plain", arguments)).status_code == 200


@pytest.mark.parametrize("path", MAKERS)
def test_an_operator_adds_what_the_job_type_opens(acting_as: As, admin: TestClient, path: str) -> None:
    operator = acting_as("operator")
    good: Arguments = {"command": ["a", "b"], "environment": {"LANG": "C"}}

    assert operator.post(path, json=MAKERS[path]("open", good)).status_code == 200
    refused = operator.post(path, json=MAKERS[path]("open", {**good, "environment": {"LANG": "C", "HOME": "/"}}))

    assert refused.status_code == 403
    assert "environment.HOME" in refused.json()["error"]


def test_a_refusal_within_many_jobs_says_which_and_none_is_made(acting_as: As, admin: TestClient) -> None:
    jobs = [job("plain"), job("plain", {"command": "-x"})]

    answer = acting_as("operator").post("/api/jobs/bulk", json={"jobs": jobs})

    assert answer.status_code == 403
    assert answer.json()["error"].startswith("jobs[1]: arguments.command: the job type 'plain' takes no words")
    assert admin.get("/api/jobs").json()["jobs"] == []


def test_an_operator_changes_the_time_of_a_schedule_but_not_what_it_adds(acting_as: As, admin: TestClient) -> None:
    operator = acting_as("operator")
    uuid = admin.post("/api/schedules", json=schedule("plain", {"command": "-x"})).json()["uuid"]

    assert operator.patch(f"/api/schedules/{uuid}", json={"interval": "2h"}).status_code == 200
    assert operator.post(f"/api/schedules/{uuid}/run", json={}).status_code == 200
    assert operator.patch(f"/api/schedules/{uuid}", json={"job_arguments": {"command": "-y"}}).status_code == 403
    assert operator.put(f"/api/schedules/{uuid}", json=schedule("plain", {"command": "-y"})).status_code == 403
    assert operator.patch(f"/api/schedules/{uuid}", json={"job_type": "dashed"}).status_code == 200
    assert operator.patch(f"/api/schedules/{uuid}", json={"job_type": "plain"}).status_code == 403
    assert admin.get(f"/api/schedules/{uuid}").json()["job_arguments"] == {"command": "-x"}


def test_an_operator_changes_what_a_configuration_waits_for_but_not_what_it_adds(
    acting_as: As, admin: TestClient
) -> None:
    operator = acting_as("operator")
    body = configuration("plain", {"command": "-x"})
    assert admin.post("/api/configurations", json=body).status_code == 200

    later = {**body, "dependencies": [{**WAITS[0], "lifeDuration": 90}]}
    assert operator.put("/api/configurations/c", json=later).status_code == 200
    other = configuration("plain", {"command": "-y"})
    assert operator.put("/api/configurations/c", json=other).status_code == 403


# -- scopes -----------------------------------------------------------------------------------------------------------


def test_whoever_says_what_happened_neither_defines_nor_deletes(acting_as: As, admin: TestClient) -> None:
    poster = acting_as("operator", "events:w", "jobs:w")
    admin.post("/api/configurations", json=configuration("plain"))

    assert poster.post("/events", json=EVENT).status_code == 200
    assert poster.post("/api/configurations", json={**configuration("plain"), "name": "d"}).status_code == 403
    assert poster.put("/api/configurations/c", json=configuration("plain")).status_code == 403
    assert poster.delete("/api/configurations/c").status_code == 403
    assert len(admin.get("/api/configurations").json()["configurations"]) == 1


def test_whoever_defines_a_trigger_may_enqueue_what_it_makes(acting_as: As, admin: TestClient) -> None:
    definer = acting_as("operator", "config:w", "sched:w", "events:r")
    uuid = admin.post("/api/schedules", json=schedule("plain")).json()["uuid"]
    past = {"start": "2026-01-01T00:00:00", "end": "2026-01-01T05:00:00"}

    tried = [
        definer.post("/api/schedules", json={**schedule("plain"), "name": "mine"}),
        definer.put(f"/api/schedules/{uuid}", json=schedule("plain")),
        definer.patch(f"/api/schedules/{uuid}", json={"interval": "1s"}),
        definer.post(f"/api/schedules/{uuid}/run", json={}),
        definer.post(f"/api/schedules/{uuid}/backfills", json=past),
        definer.post("/api/configurations", json=configuration("plain")),
        definer.post("/api/configurations", json={"name": "d", "dependencies": WAITS}),
    ]

    assert [(one.status_code, "jobs:w" in one.json()["error"]) for one in tried] == [(403, True)] * len(tried)
    assert definer.post(f"/api/schedules/{uuid}/pause", json={}).status_code == 200
    assert admin.get("/api/jobs").json()["jobs"] == []


def test_whoever_has_a_schedule_emit_events_may_post_them(acting_as: As, admin: TestClient) -> None:
    body = {"name": "noon", "cron": "0 12 * * *", "emit": {}}

    refused = acting_as("operator", "sched:w", "jobs:w").post("/api/schedules", json=body)
    assert (refused.status_code, "events:w" in refused.json()["error"]) == (403, True)
    poster = acting_as("operator", "sched:w", "events:w")
    made = poster.post("/api/schedules", json=body)
    assert made.status_code == 200
    assert poster.post(f"/api/schedules/{made.json()['uuid']}/run", json={}).status_code == 200
    without = acting_as("operator", "sched:w").post(f"/api/schedules/{made.json()['uuid']}/run", json={})
    assert without.status_code == 403


def test_nobody_sends_a_task_of_the_light_scheduler_by_enqueueing_it(
    acting_as: As, admin: TestClient, api: Api
) -> None:
    scheduler_of(api.engine).apply(read_definition({"host": "h", "name": "n", "topic": "reports", "start": LATEST}))
    forged: Arguments = {"host": "h", "name": "n", "topic": "orders"}

    for client in (acting_as("operator"), admin):
        answer = client.post("/api/jobs", json=job("rota.light", forged))
        assert answer.status_code == 400
        assert "'rota.light' is made by schedules" in answer.json()["error"]
    body = {"name": "c", "dependencies": WAITS, "job": {"job_type": "rota.light", "arguments": forged}}
    answer = acting_as("operator", "config:w", "jobs:w").post("/api/configurations", json=body)
    assert (answer.status_code, "lacks the scope sched:w" in answer.text) == (403, True)


def test_nobody_posts_an_event_by_enqueueing_the_emitter(acting_as: As, admin: TestClient) -> None:
    admin.post("/api/schedules", json={"name": "noon", "cron": "0 12 * * *", "emit": {}})
    forged = job("rota.emit", {"type": "FILE", "resourceId": "/in"})

    for client in (acting_as("operator", "jobs:w"), acting_as("operator"), admin):
        answer = client.post("/api/jobs", json=forged)
        assert answer.status_code == 400
        assert "'rota.emit' is made by schedules" in answer.json()["error"]
    own = {"name": "mail", "executor": "event"}
    assert admin.post("/api/job_types", json=own).status_code == 200
    assert acting_as("viewer", "jobs:r").post("/api/jobs", json=job("mail")).status_code == 403
    assert admin.post("/api/jobs", json=job("mail", {"type": "FILE", "resourceId": "/in"})).status_code == 200


def test_an_admins_key_that_is_narrowed_runs_what_is_defined(acting_as: As, admin: TestClient) -> None:
    narrow = acting_as("admin", "jobs:w")

    assert narrow.post("/api/jobs", json=job("plain")).status_code == 200
    assert narrow.post("/api/jobs", json=job("plain", {"command": "-x"})).status_code == 403


def test_a_key_that_had_all_of_its_role_has_what_the_role_got_since(kept: Store) -> None:
    before = frozenset(Scope) - {Scope.TYPES_WRITE, Scope.CONFIGURATIONS_WRITE, Scope.AUDIT_READ, Scope.KEYS_WRITE}
    some = frozenset({Scope.JOBS_READ})

    def of_older_version(scopes: frozenset[Scope]) -> NamedKey:
        return NamedKey(id="1", name="o", role=Role.OPERATOR, scopes=scopes, hash="", made_at=1)

    operator, narrow = of_older_version(before), of_older_version(some)
    _, exact = make_key(kept, "e", role=Role.OPERATOR, scopes=before, expires_at=None, now=1)
    _, whole = make_key(kept, "w", role=Role.OPERATOR, scopes=SCOPES_OF[Role.OPERATOR], expires_at=None, now=1)

    assert operator.caller.may(Scope.CONFIGURATIONS_WRITE)
    assert not operator.caller.may(Scope.TYPES_WRITE)
    assert not operator.caller.may(Scope.AUDIT_READ)
    assert not operator.caller.may(Scope.KEYS_WRITE)
    assert narrow.caller.scopes == some
    assert exact.caller.scopes == before, "it was made with these names, and there were more"
    assert whole.caller.scopes == SCOPES_OF[Role.OPERATOR]


def test_a_role_has_these_scopes() -> None:
    reading = {"jobs:r", "types:r", "queues:r", "nodes:r", "sched:r", "events:r", "metrics:r"}
    running = reading | {"jobs:w", "queues:w", "nodes:w", "sched:w", "events:w", "config:w"}

    assert {role.value: set(scopes) for role, scopes in SCOPES_OF.items()} == {
        "viewer": reading,
        "operator": running,
        "editor": running | {"types:w"},
        "admin": running | {"types:w", "audit:r", "keys:w"},
    }


def test_an_editor_applies_a_file_and_makes_no_keys(acting_as: As, admin: TestClient) -> None:
    editor = acting_as("editor")
    file = {
        "job_types": [{"name": "tidy", "executor": "log"}],
        "schedules": [{"name": "tidy", "job_type": "tidy", "every": "1h"}],
    }

    applied = editor.post("/api/definitions/apply", json={"owner": "shop", "file": file})

    assert [one["action"] for one in applied.json()["changes"]] == ["create", "create"]
    assert editor.post("/api/keys", json={"name": "mine", "role": "viewer"}).status_code == 403
    assert editor.get("/api/audit").status_code == 403


@pytest.mark.parametrize("scopes", [["jobs:w"], ["jobs:w", "sched:w", "config:w", "jobs:r", "sched:r", "events:r"]])
def test_what_is_defined_is_suggested_to_those_only_who_may_list_it(
    acting_as: As, admin: TestClient, kept: Store, scopes: list[str]
) -> None:
    kept.put_job_types([JobType(uuid=new_id(1), name="lost", executor="log", node_type="defautl")])
    client, wrong = acting_as("operator", *scopes), {"name": "x", "job_type": "plaim", "cron": "0 3 * * *"}
    waiting = {"name": "x", "dependencies": WAITS, "job": {"job_type": "plaim"}}

    assert said(client.post("/api/jobs", json={"job_type": "plaim"})) == "no job type 'plaim'"
    assert said(client.post("/api/jobs/bulk", json={"jobs": [{"job_type": "plaim"}]})).startswith("no job type 'plaim'")
    assert said(client.post("/api/jobs", json={"job_type": "lost"})).endswith("run: no node type 'defautl'")
    for answer in (
        client.get("/api/jobs", params={"job_type": "plaim"}),
        client.get("/api/jobs/defautl/queued"),
        client.post("/api/schedules", json=wrong),
        client.post("/api/configurations", json=waiting),
        client.get("/jobs", params={"q": "type:plaim"}),
    ):
        # A page says it beside what was typed.
        assert answer.status_code >= 400 or "no job type &#39;plaim&#39;" in answer.text
        assert not any(name in answer.text for name in ("'plain'", "dashed", "'default'", "&#39;plain")), answer.text
    assert said(admin.post("/api/jobs", json={"job_type": "plaim"})) == "no job type 'plaim'; did you mean 'plain'?"
    assert said(admin.post("/api/jobs", json={"job_type": "lost"})).endswith("did you mean 'default'?")


def said(answer: Any) -> str:
    assert answer.status_code in (400, 404), answer.text
    return str(answer.json()["error"])
