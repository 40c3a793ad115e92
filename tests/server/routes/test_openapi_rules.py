"""Rules that the server enforces are in the OpenAPI document, where that can say them."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from rota.model.events.configuration import MAX_LIFE_S


@pytest.fixture
def schemas(admin: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = admin.get("/openapi.json").json()["components"]["schemas"]
    return found


def alternatives(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return list(schema.get("anyOf", [schema]))


def rule(schema: dict[str, Any], name: str) -> Any:
    """What any of the alternatives says."""
    return next((one[name] for one in alternatives(schema) if name in one), None)


CHOICES = [
    ("overlap", ["skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow"]),
    ("catch_up", ["none", "last", "all"]),
    ("dialect", ["auto", "unix", "quartz"]),
    ("days", ["either", "both"]),
    ("dst", ["vixie", "literal", "skip"]),
    ("anchor", None),
]


@pytest.mark.parametrize("body", ["NewSchedule", "WholeSchedule", "ScheduleChange"])
@pytest.mark.parametrize(("field", "words"), CHOICES)
def test_words_of_a_schedule_are_listed_and_others_are_refused(
    admin: TestClient, schemas: dict[str, Any], body: str, field: str, words: list[str] | None
) -> None:
    listed = rule(schemas[body]["properties"][field], "enum")

    assert listed is not None
    assert words is None or sorted(listed) == sorted(words)
    base = {
        "job_type": "report",
        "interval" if field == "anchor" else "cron": "5m" if field == "anchor" else "* * * * *",
    }
    admin.post("/api/job_types", json={"name": "report", "executor": "log"})
    assert admin.post("/api/schedules", json={**base, field: "sometimes"}).status_code == 400
    for number, word in enumerate(listed):
        assert admin.post("/api/schedules", json={**base, "name": f"s{number}", field: word}).status_code == 200, word


def test_bounds_of_a_schedule_are_told(schemas: dict[str, Any]) -> None:
    fields = schemas["NewSchedule"]["properties"]

    assert (rule(fields["priority"], "minimum"), rule(fields["priority"], "maximum")) == (-10_000, 10_000)
    assert rule(fields["max_runs"], "minimum") == 1
    assert rule(fields["exclude"], "maxItems") == 1_000
    assert rule(fields["name"], "maxLength") == 128
    assert rule(fields["jitter"], "minimum") == 0


def test_rules_of_events_and_configurations_are_told(admin: TestClient, schemas: dict[str, Any]) -> None:
    dependency, event = schemas["NewDependency"]["properties"], schemas["NewEvent"]["properties"]

    assert rule(dependency["lifeDuration"], "maximum") == MAX_LIFE_S
    assert rule(dependency["resourceId"], "maxLength") == rule(event["eventResourceId"], "maxLength") == 1_024
    assert rule(event["eventId"], "maxLength") == 256
    assert rule(dependency["outcome"], "enum") == rule(event["outcome"], "enum") == ["cancelled", "failed", "succeeded"]
    for body in ("NewDependency", "NewJobOfConfiguration", "NewConfiguration", "NewEvent"):
        assert schemas[body]["additionalProperties"] is False
    needed = {"type": "FILE", "resourceId": "a", "lifeDuration": MAX_LIFE_S + 1}
    assert admin.post("/api/configurations", json={"name": "c", "dependencies": [needed]}).status_code == 400
    assert admin.post("/api/configurations", json={"name": "c", "dependencies": [], "more": 1}).status_code == 400


def test_the_words_of_the_cron_preview_are_listed(admin: TestClient) -> None:
    parameters = admin.get("/openapi.json").json()["paths"]["/api/cron"]["get"]["parameters"]
    listed = {one["name"]: one["schema"].get("enum") for one in parameters}

    assert sorted(listed["dst"]) == ["literal", "skip", "vixie"]
    assert admin.get("/api/cron", params={"cron": "* * * * *", "dst": "sometimes"}).status_code == 400
