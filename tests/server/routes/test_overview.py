"""The installation at one glance: figures, durations, what comes next; and the end of a log."""

import pytest
from starlette.testclient import TestClient

from rota.clock import ManualClock
from rota.model.job import JobState
from rota.model.node import Node
from rota.model.runs.log import LogEntry
from rota.model.runs.outcome import succeeded
from rota.server.api import Api
from rota.server.routes import overview
from rota.server.routes.overview import Spread, _spread
from rota.store import Store
from rota.store.contract.logs import LogBatch
from tests.contract.building import beat, claim_one, ended_job, enqueue, finish, new_node, settled, spec
from tests.server.serving import make_api, served

MINUTE = 60_000
NOON = 1_700_049_600_000


def test_the_overview_tells_what_there_is_and_what_is_wrong(kept: Store) -> None:
    clock = ManualClock(NOON + 10_000)
    api = make_api(kept, clock=clock, health=lambda: "the disk is full")
    queue = api.engine.definitions.node_type("default").uuid
    for at, state in ((NOON - MINUTE, JobState.FAILED), (NOON - MINUTE, JobState.SUCCEEDED), (NOON, JobState.FAILED)):
        ended_job(kept, queue, state, now=at)
    ended_job(kept, queue, JobState.FAILED, now=NOON - 61 * MINUTE)
    enqueue(kept, spec(queue, now=NOON), now=NOON)
    kept.pause_queue(queue)
    with served(api) as client:
        before = client.get("/api/overview").json()
        worker = Node(uuid=new_node(), node_type=queue, last_ping=clock.now(), slots=4, roles=("worker",))
        beat(kept, worker)
        after = client.get("/api/overview").json()

    assert before["trouble"] == "the disk is full"
    assert (before["store"], before["time"]) == ("sqlite", NOON + 10_000)
    assert (before["jobs"]["failed"], before["jobs"]["queued"]) == (3, 1)
    assert (before["ended_last_minute"], before["ended_last_hour"], before["failed_last_hour"]) == (2, 3, 2)
    assert (before["paused"], before["unserved"]) == (["default"], ["default"])
    assert (before["nodes"], before["slots"]) == (0, 0)
    assert (after["nodes"], after["slots"], after["unserved"]) == (1, 4, [])


def test_a_node_that_was_silent_for_twenty_seconds_counts_nowhere(kept: Store) -> None:
    clock = ManualClock(NOON)
    api = make_api(kept, clock=clock)
    queue = api.engine.definitions.node_type("default").uuid
    for silence_ms, slots in ((20_000, 1), (19_999, 2)):
        beat(kept, Node(uuid=new_node(), node_type=queue, last_ping=NOON - silence_ms, slots=slots, roles=("worker",)))
    with served(api) as client:
        glance, queues, nodes = (client.get(f"/api/{one}").json() for one in ("overview", "queues", "nodes"))
        metrics = client.get("/metrics").text.splitlines()

    assert (glance["nodes"], glance["slots"]) == (1, 2)
    assert queues["queues"][0]["workers"] == 1
    assert [one["last_ping"] for one in nodes["nodes"]] == [NOON - 19_999]
    assert {'rota_nodes{queue="default"} 1', 'rota_slots{queue="default"} 2'} <= set(metrics)


def test_what_ended_an_hour_ago_or_in_this_very_moment_counts(kept: Store) -> None:
    api = make_api(kept, clock=ManualClock(NOON))
    queue = api.engine.definitions.node_type("default").uuid
    for at in (NOON - 61 * MINUTE, NOON - 60 * MINUTE, NOON - 2 * MINUTE, NOON - MINUTE, NOON):
        ended_job(kept, queue, JobState.FAILED, now=at)
    ended_job(kept, queue, JobState.CANCELLED, now=NOON - MINUTE)
    with served(api) as client:
        found = client.get("/api/overview").json()

    assert (found["ended_last_minute"], found["ended_last_hour"], found["failed_last_hour"]) == (2, 5, 4)


@pytest.mark.parametrize(
    ("values", "median", "p95"),
    [([7], 7, 7), ([1, 2], 1, 1), (range(101), 50, 95), (range(100, 0, -1), 50, 95), (range(21), 10, 19)],
)
def test_half_of_the_jobs_and_all_but_one_in_twenty_were_as_quick(values: list[int], median: int, p95: int) -> None:
    found = _spread(values)

    assert found == Spread(median, p95, max(values))


def test_the_fires_of_the_next_hours_are_planned_of_so_many_schedules(
    kept: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "_MOST_PLANNED", 4)
    api = make_api(kept, clock=ManualClock(NOON + 1))
    with served(api) as client:
        client.post("/api/job_types", json={"name": "a", "executor": "log"})
        for name, cron in (("1", "30 * * * *"), ("2", "15 13 * * *"), ("3", "* * * * *")):
            assert client.post("/api/schedules", json={"name": name, "job_type": "a", "cron": cron}).status_code == 200
        whole = client.get("/api/planned?hours=3").json()
        answers = []
        for name in ("4", "5"):
            client.post("/api/schedules", json={"name": name, "job_type": "a", "cron": "0 13 * * *"})
            answers.append(client.get("/api/planned?hours=3").json())
    exact, cut = answers

    assert not exact["more"], "none is left out"
    assert whole == {"since": NOON, "fires": [1, 2, 1], "schedules": 2, "often": 1, "more": False}
    assert cut == {"since": NOON, "fires": [1, 3, 1], "schedules": 3, "often": 1, "more": True}


def test_durations_are_those_of_the_latest_jobs_that_ran(kept: Store) -> None:
    api = make_api(kept, clock=ManualClock(NOON))
    queue = api.engine.definitions.node_type("default").uuid
    for wait in (10, 30, 20):
        enqueue(kept, spec(queue, now=NOON), now=NOON)
        held = claim_one(kept, queue, now=NOON + wait)
        finish(kept, settled(held, succeeded(), NOON + wait), now=NOON + wait)
    enqueue(kept, waiting := spec(queue, now=NOON), now=NOON)
    kept.cancel_jobs([waiting.id], now=NOON)
    with served(api) as client:
        found = client.get("/api/durations").json()
        latest = client.get("/api/durations?limit=1").json()

    assert [one["wait"] for one in found["jobs"]] == [10, 20, 30]
    assert found["wait"] == {"median": 20, "p95": 20, "most": 30}
    assert found["run"] == {"median": 0, "p95": 0, "most": 0}
    assert [one["wait"] for one in latest["jobs"]] == [30]


def test_a_job_that_began_by_a_clock_that_is_behind_has_not_waited_for_less_than_no_time(kept: Store) -> None:
    api = make_api(kept, clock=ManualClock(NOON))
    queue = api.engine.definitions.node_type("default").uuid
    enqueue(kept, spec(queue, now=NOON), now=NOON)
    finish(kept, settled(claim_one(kept, queue, now=NOON), succeeded(), NOON - 7_000), now=NOON)
    with served(api) as client:
        found = client.get("/api/durations").json()

    assert [(one["wait"], one["run"]) for one in found["jobs"]] == [(0, 0)]


def test_what_fires_next_comes_first_whatever_its_name_and_queue(admin: TestClient) -> None:
    admin.post("/api/node_types/fast", json={"name": "fast", "thread_count": 1})
    admin.post("/api/job_types", json={"name": "slow", "executor": "log"})
    admin.post("/api/job_types", json={"name": "quick", "executor": "log", "node_type": "fast"})
    for name, job_type, every in (
        ("a", "slow", "3h"),
        ("b", "quick", "2h"),
        ("c", "slow", "1h"),
        ("d", "quick", "30m"),
    ):
        fields = {"name": name, "job_type": job_type, "interval": every, "start": "2090-01-01" if name == "d" else None}
        made = admin.post("/api/schedules", json={key: value for key, value in fields.items() if value})
        assert made.status_code == 200, made.text
    admin.post("/api/schedules/c/pause", json={})

    found = [one["name"] for one in admin.get("/api/upcoming").json()["schedules"]]

    assert set(found) == {"a", "b", "d"}, "a paused one has no next time"
    assert found[-1] == "d"
    nexts = [one["next"] for one in admin.get("/api/upcoming").json()["schedules"]]
    assert nexts == sorted(nexts)
    assert len(admin.get("/api/upcoming?limit=2").json()["schedules"]) == 2


def test_the_end_of_a_log_is_read_without_its_beginning(admin: TestClient, api: Api) -> None:
    queue = api.engine.definitions.node_type("default").uuid
    enqueue(api.engine.store, one := spec(queue))
    held = claim_one(api.engine.store, queue)
    lines = [LogEntry(time=NOON, message=str(number)) for number in range(10)]
    api.engine.store.append_logs([LogBatch(queue, one.id, held.token, lines)])

    page = admin.get(f"/api/jobs/{one.id}/logs?last=3").json()
    whole = admin.get(f"/api/jobs/{one.id}/logs?last=30").json()
    behind = admin.get(f"/api/jobs/{one.id}/logs?last=5&after=8").json()

    assert [line["message"] for line in page["logs"]] == ["7", "8", "9"]
    assert (page["next"], page["more"]) == (10, False)
    assert len(whole["logs"]) == 10
    assert [line["message"] for line in behind["logs"]] == ["8", "9"]
