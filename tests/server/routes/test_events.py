"""Events and configurations over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.store import Store
from tests.server.serving import make_api, served

GOOD = {"eventType": "FILE", "eventTimestamp": "2021-01-01 12:00:00", "eventResourceId": "/in/a"}
IN = {"type": "FILE", "resourceId": "/in/", "lifeDuration": 60}
CRON = {"type": "TIME_BASED", "resourceId": "cron", "lifeDuration": 0}


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    api = make_api(store)
    api.engine.definitions.define_job_type(JobType(uuid=new_id(1), name="report", executor="log"))
    with served(api) as client:
        yield client


def cron(at: str) -> dict[str, str]:
    return {"eventType": "TIME_BASED", "eventTimestamp": at, "eventResourceId": "cron"}


def define(client: TestClient, name: str = "c", *dependencies: object, **more: object) -> Any:
    wish = {"name": name, "dependencies": list(dependencies) or [IN, CRON], **more}
    answer = client.post("/api/configurations", json=wish)
    assert answer.status_code == 200, answer.text
    return answer.json()


def events_of(client: TestClient, name: str = "c") -> Any:
    return client.get(f"/api/configurations/{name}/events").json()["events"]


def test_an_event_that_matches_nothing_is_fine(client: TestClient) -> None:
    answer = client.post("/events", json=GOOD)

    assert (answer.status_code, answer.json()) == (200, {"validated": [], "triggered": []})


def test_a_list_of_events_is_taken_in_order_and_says_what_each_did(client: TestClient) -> None:
    define(client, job={"job_type": "report", "arguments": {"a": 1}, "priority": 3})

    answer = client.post("/events", json=[GOOD, {"eventType": "FILE"}, cron("2021-01-01 12:00:30"), 5])

    body = answer.json()
    assert answer.status_code == 200
    assert body.keys() == {"validated", "triggered", "failed"}, "it is no error as a whole: who repeats it repeats all"
    assert [(one["event"], one["dependency"]) for one in body["validated"]] == [(0, IN), (2, CRON)]
    assert [one["event"] for one in body["triggered"]] == [2]
    assert [(one["event"], one["field"]) for one in body["failed"]] == [(1, "eventTimestamp"), (3, "event")]
    job = client.get(f"/api/jobs/{body['triggered'][0]['job']}").json()
    assert (job["job_type"], job["arguments"], job["priority"]) == ("report", {"a": 1}, 3)
    assert job["cause"]["kind"] == "event"


def test_a_list_of_which_nothing_is_good_is_a_bad_request(client: TestClient) -> None:
    define(client)

    answer = client.post("/events", json=[{}, {**GOOD, "eventTimestamp": "soon"}])

    assert (answer.status_code, answer.json()["status"]) == (400, "error")
    assert [one["field"] for one in answer.json()["failed"]] == ["eventType", "eventTimestamp"]
    assert answer.json()["error"].startswith("[0].eventType: ")
    assert client.post("/events", json=[]).status_code == 400
    assert events_of(client) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("", "body"),
        ("{", "body"),
        ("nonsense", "body"),
        ("[" * 100_000, "body"),
        ("null", "event"),
        ("5", "event"),
        ('"text"', "event"),
        ("{}", "eventType"),
        ({**GOOD, "eventType": "FOLDER"}, "eventType"),
        ({**GOOD, "eventType": 5}, "eventType"),
        ({**GOOD, "eventType": None}, "eventType"),
        ({**GOOD, "eventTimestamp": "yesterday"}, "eventTimestamp"),
        ({**GOOD, "eventTimestamp": 1609502400}, "eventTimestamp"),
        ({**GOOD, "eventTimestamp": None}, "eventTimestamp"),
        ({**GOOD, "eventResourceId": ""}, "eventResourceId"),
        ({**GOOD, "eventResourceId": ["a"]}, "eventResourceId"),
        ({**GOOD, "eventResourceId": "a\0b"}, "eventResourceId"),
        ({**GOOD, "eventResourceld": "other"}, "eventResourceId"),
        ({**GOOD, "eventId": ""}, "eventId"),
        ({**GOOD, "eventId": 5}, "eventId"),
        ({**GOOD, "outcome": "succeeded"}, "outcome"),
        ({**GOOD, "evenType": "FILE"}, "evenType"),
        ({key: value for key, value in GOOD.items() if key != "eventResourceId"}, "eventResourceId"),
    ],
)
def test_a_bad_event_is_refused_by_field_and_nothing_is_stored(client: TestClient, body: object, field: str) -> None:
    define(client)
    headers = {"Content-Type": "application/json"}

    if isinstance(body, str):
        answer = client.post("/events", content=body, headers=headers)
    else:
        answer = client.post("/events", json=body)

    assert answer.status_code == 400, answer.text
    assert answer.json()["status"] == "error"
    assert answer.json()["error"].startswith(f"{field}: "), answer.text
    assert events_of(client) == []


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
def test_only_json_is_taken(client: TestClient, kind: str) -> None:
    answer = client.post("/events", content=b"{}", headers={"Content-Type": kind})

    assert answer.status_code == 415


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_other_methods_are_refused(client: TestClient, method: str) -> None:
    answer = client.request(method, "/events")

    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"


def test_a_key_is_needed(client: TestClient) -> None:
    assert client.post("/events", json=GOOD, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/api/configurations", headers={"Authorization": ""}).status_code == 401


def test_a_repeated_event_id_counts_once(client: TestClient) -> None:
    define(client, "c", {**IN, "lifeDuration": 60})
    event = {**GOOD, "eventId": "delivery-1"}

    first = client.post("/events", json=event).json()
    again = client.post("/events", json={**event, "eventTimestamp": "2021-01-01 12:00:01"}).json()

    assert len(first["triggered"]) == 1
    assert again == {"validated": [], "triggered": []}
    assert client.get("/api/configurations/c/evaluations").json()["evaluations"][0]["verdict"] == "duplicate"


def test_an_admin_may_say_when_an_event_was_received(client: TestClient) -> None:
    define(client)

    client.post("/events", json=GOOD, params={"received_at": 1609502400123})

    assert events_of(client)[0]["event"]["received_at"] == 1609502400123


def test_a_configuration_is_created_shown_changed_and_deleted(client: TestClient) -> None:
    made = define(client, "c", {"any_of": [IN, {**IN, "resourceId": "*.csv", "match": "glob"}]}, CRON)
    assert made["dependencies"] == [{"any_of": [IN, {**IN, "resourceId": "*.csv", "match": "glob"}]}, CRON]
    assert client.get("/api/configurations/c").json() == made
    assert client.get(f"/api/configurations/{made['uuid']}").json() == made
    assert client.get("/api/configurations").json() == {"configurations": [made], "cursor": None}

    changed = client.put("/api/configurations/c", json={"name": "d", "dependencies": [IN], "clock": "reception"})

    assert changed.json()["uuid"] == made["uuid"]
    assert client.get("/api/configurations/c").status_code == 404
    assert client.delete("/api/configurations/d").json() == {"status": "ok", "uuid": made["uuid"]}
    assert client.get("/api/configurations/d").status_code == 404


def test_bad_configurations_are_refused_with_the_reason(client: TestClient) -> None:
    define(client)
    two_points = {"name": "x", "dependencies": [CRON, {**CRON, "resourceId": "other"}]}
    refusals = [
        ({"name": "c", "dependencies": [IN]}, 409, "already"),
        ({"name": "x", "dependencies": [{**IN, "lifeDuration": -1}]}, 400, "dependencies[0].lifeDuration"),
        ({"name": "x", "dependencies": [{**IN, "lifeDuration": True}]}, 400, "dependencies[0].lifeDuration"),
        ({"name": "x", "dependencies": [{**IN, "lifeDuration": 1.5}]}, 400, "dependencies[0].lifeDuration"),
        ({"name": "x", "dependencies": [IN], "job": {"job_type": "nope"}}, 404, "nope"),
        ({"name": "x", "dependencies": [IN], "job": {"executor": "nope"}}, 400, "executor"),
        (two_points, 400, "can never be met"),
        ([], 400, "configuration"),
    ]

    for body, status, reason in refusals:
        answer = client.post("/api/configurations", json=body)
        assert (answer.status_code, reason in answer.text) == (status, True), answer.text
    assert [one["name"] for one in client.get("/api/configurations").json()["configurations"]] == ["c"]
    for path in ("", "/explain", "/evaluations", "/events"):
        assert client.get(f"/api/configurations/nope{path}").status_code == 404
    assert client.post("/api/configurations/nope/dry_run", json=GOOD).status_code == 404


def test_an_inline_executor_has_a_job_type_that_goes_with_it(client: TestClient) -> None:
    define(client, "c", IN, job={"executor": "log", "metadata": {"message": "hello"}})
    names = [one["name"] for one in client.get("/api/job_types").json()["job_types"]]
    assert "rota.configuration.c" in names

    client.delete("/api/configurations/c")

    names = [one["name"] for one in client.get("/api/job_types").json()["job_types"]]
    assert "rota.configuration.c" not in names


def test_a_dry_run_says_what_would_happen_and_stores_nothing(client: TestClient) -> None:
    define(client)
    client.post("/events", json=GOOD)

    everywhere = client.post("/api/events/dry_run", json=cron("2021-01-01 12:01:00")).json()["evaluations"]
    here = client.post("/api/configurations/c/dry_run", json=cron("2021-01-01 12:01:01")).json()["evaluations"]

    assert [(one["configuration"], one["verdict"]) for one in everywhere] == [("c", "triggered")]
    assert [(one["configuration"], one["verdict"]) for one in here] == [("c", "waiting")]
    assert client.get("/api/configurations/c").json()["triggered"] == 0
    assert len(events_of(client)) == 1


def test_an_explanation_has_a_sentence_and_the_matrix(client: TestClient) -> None:
    define(client)
    client.post("/events", json=GOOD)
    client.post("/events", json=cron("2021-01-01 12:02:00"))

    told = client.get("/api/configurations/c/explain").json()

    assert "FILE /in/ has expired (its last event is 120 s old, its life is 60 s)" in told["explanation"]
    assert told["verdict"] == "waiting"
    matrix = [(row["dependency"], row["age"], row["by_this_event"], row["met"]) for row in told["matrix"]]
    assert matrix == [(IN, 120.0, False, False), (CRON, 0.0, True, True)]
    assert told["matrix"][0]["event"]["timestamp"] == "2021-01-01T12:00:00.000000Z"
    assert told["missing"] == [IN, CRON]
    evaluations = client.get("/api/configurations/c/evaluations").json()["evaluations"]
    assert [one["verdict"] for one in evaluations] == ["waiting", "waiting"]


def test_an_explanation_cites_the_event_that_counted(client: TestClient) -> None:
    table = {"type": "TABLE", "resourceId": "t", "lifeDuration": 60}
    define(client, "c", IN, table)
    for path, second in (("/in/early", "00"), ("/in/late", "59")):
        client.post("/events", json={**GOOD, "eventResourceId": path, "eventTimestamp": f"2021-01-01 12:00:{second}"})
    late = {"eventType": "TABLE", "eventResourceId": "t", "eventTimestamp": "2021-01-01 12:00:30"}

    client.post("/events", json=late)

    told = client.get("/api/configurations/c/explain").json()
    assert "FILE /in/ is valid by /in/early of 2021-01-01T12:00:00.000000Z (30 s of 60 s)" in told["explanation"]
    assert [(row["event"]["resourceId"], row["age"]) for row in told["matrix"]] == [("/in/early", 30.0), ("t", 0.0)]
    (last, *_) = client.get("/api/configurations/c/evaluations").json()["evaluations"]
    assert [row["age"] for row in last["matrix"]] == [30.0, 0.0]


def test_an_answer_tells_how_many_events_matched_nothing(client: TestClient) -> None:
    define(client)
    other = {**GOOD, "eventResourceId": "/elsewhere"}

    one, none, three = (client.post("/events", json=body) for body in (GOOD, other, [GOOD, other, other]))

    assert [answer.headers["Rota-Unmatched"] for answer in (one, none, three)] == ["0", "1", "2"]
    assert none.json() == {"validated": [], "triggered": []}
    twice = [{**GOOD, "eventId": "x"}, {**GOOD, "eventId": "x"}]
    assert client.post("/events", json=twice).headers["Rota-Unmatched"] == "0"


def test_a_report_tells_why_events_did_nothing(client: TestClient) -> None:
    define(client)
    client.post("/events", json=[GOOD, cron("2021-01-01 12:00:30")])
    other = {**GOOD, "eventResourceId": "/elsewhere"}

    report = client.post("/api/events", json=[{}, other, GOOD]).json()

    assert (report["validated"], report["triggered"], report["unmatched"]) == ([], [], [1])
    assert [(one["event"], one["field"]) for one in report["failed"]] == [(0, "eventType")]
    assert report["ignored"] == [
        {"event": 2, "configuration": "c", "verdict": "older", "last_execution": "2021-01-01T12:00:30.000000Z"}
    ]
    assert client.post("/api/events", json=other).json()["unmatched"] == [0]
    assert client.post("/api/events", json=[{}]).status_code == 400


def test_what_validated_a_dependency_that_is_gone_is_shown_without_it(client: TestClient) -> None:
    define(client, "c", CRON, IN)
    client.post("/events", json=GOOD)

    client.put("/api/configurations/c", json={"name": "c", "dependencies": [CRON]})

    (shown,) = events_of(client)
    assert (shown["event"]["resourceId"], shown["dependency"]) == ("/in/a", None)


def test_an_explanation_tells_the_last_event_from_what_holds_now(client: TestClient) -> None:
    define(client, "c", IN, {"type": "TABLE", "resourceId": "t", "lifeDuration": 60}, clock="reception")
    before = client.get("/api/configurations/c/explain").json()
    received = 1_700_000_000_000
    posted = client.post("/events", params={"received_at": received}, json=GOOD)
    assert posted.status_code == 200

    told = client.get("/api/configurations/c/explain").json()

    assert (before["verdict"], before["last_evaluation"], before["matrix"]) == (None, None, before["now"])
    assert [row["met"] for row in told["matrix"]] == [True, False], "when it came"
    assert [row["met"] for row in told["now"]] == [False, False], "its life is over since"
    assert [row["by_this_event"] for row in told["matrix"]] == [True, False]
    assert told["last_evaluation"]["event"]["received_at"] == received
    assert told["matrix"][0]["life"] == 60
