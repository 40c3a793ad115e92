"""The events that were taken, over HTTP."""

from starlette.testclient import TestClient

EVENT = {"eventType": "FILE", "eventTimestamp": "2026-01-01T00:00:00", "eventResourceId": "/in/a"}


def post(admin: TestClient, **fields: str) -> None:
    assert admin.post("/events", json=EVENT | fields).status_code == 200


def test_events_are_listed_with_who_told_of_them(admin: TestClient) -> None:
    post(admin)

    (one,) = admin.get("/api/events").json()["events"]

    assert (one["type"], one["resourceId"], one["timestamp"]) == ("FILE", "/in/a", "2026-01-01T00:00:00.000000Z")
    assert (one["by"], one["outcome"], one["matched"], one["meanings"]) == ("admin", None, 0, [])


def test_each_event_of_a_list_is_told_with_its_own_sender(admin: TestClient) -> None:
    assert admin.post("/api/events", json=[EVENT, EVENT | {"eventResourceId": "/in/b"}]).status_code == 200

    assert [one["resourceId"] for one in admin.get("/api/events").json()["events"]] == ["/in/b", "/in/a"]
    assert {one["by"] for one in admin.get("/api/events").json()["events"]} == {"admin"}


def test_they_come_page_by_page_and_by_type_and_beginning(admin: TestClient) -> None:
    for number in range(5):
        post(admin, eventResourceId=f"/in/{number}")
    post(admin, eventType="table", eventResourceId="/in/table")

    first = admin.get("/api/events?limit=2").json()
    second = admin.get("/api/events", params={"limit": 2, "cursor": first["cursor"]}).json()

    assert [one["resourceId"] for one in first["events"] + second["events"]] == ["/in/table", "/in/4", "/in/3", "/in/2"]
    assert [one["type"] for one in admin.get("/api/events?type=Table").json()["events"]] == ["TABLE"]
    found = admin.get("/api/events?resource=/in/1").json()
    assert ([one["resourceId"] for one in found["events"]], found["cursor"]) == (["/in/1"], None)
    assert admin.get("/api/events?type=nonsense").status_code == 400
    assert admin.get("/api/events?resource=/in%25").json()["events"] == [], "no letter means another one"
