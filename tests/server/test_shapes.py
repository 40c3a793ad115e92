"""The native JSON, field by field: every value stands under its own name."""

from typing import Any

import msgspec
from starlette.testclient import TestClient

from rota.engine.observation.happenings import ClaimsTaken
from rota.engine.schedules.backfill import BackfillPlan
from rota.model.job import Cause, Job, JobSpec, JobState, PastAttempt
from rota.model.job_type import JobType, OnNodeDeath, Unique
from rota.model.node import Node, NodeType
from rota.model.rate import Rate
from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.model.runs.retry import RetryPolicy
from rota.model.schedules.schedule import Backfill, Overlap, ScheduleState, Tick, TickStatus
from rota.model.triggers.interval import Anchor
from rota.model.triggers.trigger import IntervalTrigger
from rota.server import metrics
from rota.server.api import Api
from rota.shapes.definitions import job_type_shape, node_type_shape
from rota.shapes.jobs import job_shape, log_shape
from rota.shapes.nodes import node_shape, queue_shape
from rota.shapes.schedules import backfill_plan_shape, fire_shape, schedule_shape, tick_shape
from rota.store import Store
from rota.store.contract.schedules import ScheduleEntry
from tests.contract.building import beat, enqueue, spec
from tests.shapes.whole import whole_schedule

RETRY = RetryPolicy(attempts=3, delay_ms=4, factor=5.0, max_delay_ms=6, jitter=0.7)
RETRIES = {"attempts": 3, "delay_ms": 4, "factor": 5.0, "max_delay_ms": 6, "jitter": 0.7}


def shown(shape: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(shape))


def test_a_job() -> None:
    asked = JobSpec(
        id="id",
        job_type="jt",
        queue="q",
        enqueued_at=1,
        arguments={"a": 2},
        priority=3,
        run_at=4,
        unique_key="u",
        lock_key="l",
        timeout_ms=5,
        retry=RETRY,
        cause=Cause("schedule", "nightly", 6),
    )
    job = Job(
        spec=asked,
        state=JobState.FAILED,
        attempts=7,
        deaths=8,
        token="node/1",
        available_at=9,
        started_at=10,
        ended_at=11,
        results={"r": 12},
        errors={"e": 13},
        cancel_requested=True,
        past=(PastAttempt(number=6, started_at=14, ended_at=15, node="other", error="exit code 3"),),
    )

    progress = Progress(done=1, total=3, message="m", time=16, attempt=7)

    assert shown(job_shape(job, {"jt": "report"}, {"q": "default"}, progress)) == {
        "uuid": "id",
        "job_type_uuid": "jt",
        "job_type": "report",
        "node_type_uuid": "q",
        "node_type": "default",
        "state": "failed",
        "arguments": {"a": 2},
        "priority": 3,
        "executing_node": "node",
        "enqueued_at": 1,
        "run_at": 4,
        "expires_at": None,
        "available_at": 9,
        "started_at": 10,
        "ended_at": 11,
        "attempt": 7,
        "attempts": [
            {"attempt": 6, "node": "other", "started_at": 14, "ended_at": 15, "error": "exit code 3"},
            {"attempt": 7, "node": "node", "started_at": 10, "ended_at": 11, "error": '{"e":13}'},
        ],
        "deaths": 8,
        "timeout": 5,
        "retries": RETRIES,
        "unique_key": "u",
        "cancel_requested": True,
        "cause": {"kind": "schedule", "name": "nightly", "instant": 6},
        "progress": {"done": 1, "total": 3, "percent": 33, "message": "m", "time": 16, "attempt": 7},
        "results": {"r": 12},
        "errors": {"e": 13},
        "error": '{"e":13}',
    }


def test_a_bare_job() -> None:
    job = Job(spec=JobSpec(id="id", job_type="jt", queue="q", enqueued_at=1, run_at=9), state=JobState.DELAYED)

    found = shown(job_shape(job, {}, {}))

    assert {name for name, value in found.items() if value is None} == {
        *("job_type", "node_type", "executing_node", "started_at", "ended_at", "timeout", "retries", "unique_key"),
        *("expires_at", "cause", "progress", "results", "errors", "error"),
    }
    assert (found["attempt"], found["attempts"]) == (0, [])
    assert (found["available_at"], found["cancel_requested"], found["arguments"]) == (9, False, {})


def test_a_job_type() -> None:
    job_type = JobType(
        uuid="id",
        name="report",
        executor="bash",
        metadata={"command": "true"},
        unique=Unique.WHILE_PENDING,
        node_type="fast",
        timeout_ms=5,
        retry=RETRY,
        on_node_death=OnNodeDeath.FAIL,
        rate=Rate(10, 60_000),
        rate_key="{host}",
        managed_by="file",
    )

    assert shown(job_type_shape(job_type)) == {
        "uuid": "id",
        "name": "report",
        "executor": "bash",
        "metadata": {"command": "true"},
        "unique": "while_pending",
        "node_type": "fast",
        "timeout": 5,
        "retries": RETRIES,
        "on_node_death": "fail",
        "rate": "10/m",
        "rate_key": "{host}",
        "managed_by": "file",
        "version": 1,
    }
    for unique, word in ((Unique.NONE, False), (Unique.WHILE_RUNNING, True)):
        assert job_type_shape(msgspec.structs.replace(job_type, unique=unique)).unique is word


def test_a_node_type_and_its_queue() -> None:
    fast = NodeType(uuid="q", name="fast", thread_count=3, managed_by="file")
    nodes = [Node(uuid=name, node_type=kind, last_ping=1, slots=n) for name, kind, n in QUEUE_NODES]

    assert shown(node_type_shape(fast)) == {"uuid": "q", "name": "fast", "thread_count": 3, "managed_by": "file"}
    counts = {JobState.QUEUED: 4, JobState.FAILED: 5}
    assert shown(queue_shape(fast, counts, nodes, is_paused=True)) == {
        "uuid": "q",
        "name": "fast",
        "thread_count": 3,
        "paused": True,
        "workers": 2,
        "jobs": {"queued": 4, "failed": 5},
    }


QUEUE_NODES = [("a", "q", 1), ("b", "q", 9), ("c", "other", 5), ("server", "q", 0)]


def test_a_node() -> None:
    node = Node(
        uuid="id",
        node_type="q",
        last_ping=100_000,
        started_at=2,
        host="h",
        pid=3,
        version="v",
        roles=("worker", "server"),
        slots=4,
        running=5,
        draining=True,
        trouble="no room",
    )

    assert shown(node_shape(node, {"q": "fast"}, 119_999)) == {
        "uuid": "id",
        "node_type_uuid": "q",
        "node_type": "fast",
        "last_ping": 100_000,
        "started_at": 2,
        "host": "h",
        "pid": 3,
        "version": "v",
        "roles": ["worker", "server"],
        "slots": 4,
        "running": 5,
        "alive": True,
        "draining": True,
        "trouble": "no room",
    }
    assert node_shape(node, {}, 120_000).alive is False


def test_a_line_of_a_log() -> None:
    assert shown(log_shape(LogEntry(time=1, message="m", level="error", attempt=2))) == {
        "time": 1,
        "level": "error",
        "message": "m",
        "attempt": 2,
    }


BACKFILL = Backfill(
    id="b", start=1, end=2, made_at=3, count=4, overlap=Overlap.ALLOW, priority=5, force=True, cancelled=True
)
BACKFILL_SHOWN = {
    "id": "b",
    "start": 1,
    "end": 2,
    "made_at": 3,
    "count": 4,
    "overlap": "allow",
    "priority": 5,
    "force": True,
    "cancelled": True,
}


def test_a_schedule() -> None:
    schedule = whole_schedule(IntervalTrigger(every_ms=60_000, anchor=Anchor.EPOCH))
    state = ScheduleState(
        version=7,
        cursor=8,
        nominal=9,
        due=10,
        runs=11,
        last_scheduled_at=12,
        last_scheduled_by="node",
        last_ended=13,
        jobs=("old",),
        counts={"fired": 14},
        backfills=(BACKFILL,),
    )

    assert shown(schedule_shape(ScheduleEntry(schedule, state, ("live",)), {"jt": "report"})) == {
        "uuid": "id",
        "name": "nightly",
        "interval": 60_000,
        "last_scheduled_by": "node",
        "last_scheduled_at": 12,
        "job_type_uuid": "jt",
        "job_type": "report",
        "job_arguments": {"a": 1},
        "trigger": {"kind": "interval", "every_ms": 60_000, "anchor": "epoch"},
        "words": "every minute, in step with the clock",
        "zone": "UTC",
        "next": 9,
        "next_due": 10,
        "cursor": 8,
        "runs": 11,
        "max_runs": 3,
        "counts": {"fired": 14},
        "live_jobs": ["live"],
        "overlap": "buffer_one",
        "catch_up": {"mode": "all", "window": 40_000, "max": 5},
        "exclude": ["2030-01-01"],
        "priority": 2,
        "paused": True,
        "note": "why",
        "pause_on_failure": True,
        "backfills": [BACKFILL_SHOWN],
        "created_at": 6,
        "version": 7,
        "managed_by": "file",
    }


def test_a_tick() -> None:
    tick = Tick(
        nominal=1, status=TickStatus.SKIPPED, decided_at=2, reason="overlap", job="j", until=3, count=4, by="node"
    )

    assert shown(tick_shape(tick)) == {
        "nominal": 1,
        "until": 3,
        "count": 4,
        "status": "skipped",
        "reason": "overlap",
        "job": "j",
        "decided_at": 2,
        "by": "node",
    }


def test_a_plan_of_a_backfill() -> None:
    plan = BackfillPlan(BACKFILL, jobs=3, first=10, last=30, already_fired=6, already_made=2, excluded=7, known_from=8)
    empty = BackfillPlan(BACKFILL, 0, None, None, already_fired=0, already_made=0, excluded=0, known_from=None)

    assert shown(backfill_plan_shape(plan)) == {
        **BACKFILL_SHOWN,
        "jobs": 3,
        "first": 10,
        "last": 30,
        "already_fired": 6,
        "already_made": 2,
        "excluded": 7,
        "known_from": 8,
    }
    assert shown(backfill_plan_shape(empty)) == {
        **BACKFILL_SHOWN,
        "jobs": 0,
        "first": None,
        "last": None,
        "already_fired": 0,
        "already_made": 0,
        "excluded": 0,
        "known_from": None,
    }


def test_a_fire_in_two_zones() -> None:
    assert shown(fire_shape(1_700_000_000_000, "Europe/Berlin", "odd")) == {
        "instant": 1_700_000_000_000,
        "utc": "2023-11-14T22:13:20Z",
        "local": "2023-11-14T23:13:20+01:00",
        "zone": "Europe/Berlin",
        "note": "odd",
    }
    assert fire_shape(1_700_000_000_005, "UTC").utc == "2023-11-14T22:13:20.005Z"


# -- metrics -------------------------------------------------------------------------------------------------------


def test_a_label_is_escaped_as_prometheus_wants_it() -> None:
    labels = {"a": 'back\\slash "quote"\nline', "b": 5}

    assert metrics._line("m", labels, 7) == r'm{a="back\\slash \"quote\"\nline",b="5"} 7'
    assert metrics._line("m", {}, 7) == "m 7"


def test_the_metrics_of_two_queues(admin: TestClient, api: Api, kept: Store) -> None:
    default = api.engine.definitions.node_type("default").uuid
    fast = "01920000-0000-7000-8000-000000000003"
    api.engine.definitions.define_node_type(NodeType(uuid=fast, name="fast"))
    now = kept.now()
    waiting, cancelled = (spec(fast, now=now) for _ in range(2))
    enqueue(kept, waiting, cancelled, now=now)
    kept.cancel_jobs([cancelled.id], now=now)
    kept.pause_queue(default)
    alive = api.engine.clock.now() + 60_000
    beat(kept, *(Node(uuid=f"{fast[:-1]}{n}", node_type=fast, last_ping=alive, slots=n) for n in (4, 5)))
    beat(kept, Node(uuid=f"{fast[:-1]}6", node_type=fast, last_ping=api.engine.clock.now() - 20_000, slots=6))

    found = [line for line in admin.get("/metrics").text.splitlines() if not line.startswith("#")]

    assert sorted(line for line in found if not line.startswith(("rota_info", "rota_http", "rota_node_"))) == [
        'rota_jobs_enqueued_total{queue="default"} 0',
        'rota_jobs_enqueued_total{queue="fast"} 2',
        'rota_jobs_finished_total{queue="default",state="cancelled"} 0',
        'rota_jobs_finished_total{queue="default",state="failed"} 0',
        'rota_jobs_finished_total{queue="default",state="succeeded"} 0',
        'rota_jobs_finished_total{queue="fast",state="cancelled"} 1',
        'rota_jobs_finished_total{queue="fast",state="failed"} 0',
        'rota_jobs_finished_total{queue="fast",state="succeeded"} 0',
        'rota_jobs{queue="default",state="cancelled"} 0',
        'rota_jobs{queue="default",state="delayed"} 0',
        'rota_jobs{queue="default",state="failed"} 0',
        'rota_jobs{queue="default",state="queued"} 0',
        'rota_jobs{queue="default",state="running"} 0',
        'rota_jobs{queue="default",state="succeeded"} 0',
        'rota_jobs{queue="fast",state="cancelled"} 1',
        'rota_jobs{queue="fast",state="delayed"} 0',
        'rota_jobs{queue="fast",state="failed"} 0',
        'rota_jobs{queue="fast",state="queued"} 1',
        'rota_jobs{queue="fast",state="running"} 0',
        'rota_jobs{queue="fast",state="succeeded"} 0',
        'rota_nodes{queue="default"} 0',
        'rota_nodes{queue="fast"} 2',
        'rota_queue_paused{queue="default"} 1',
        'rota_queue_paused{queue="fast"} 0',
        'rota_slots{queue="default"} 0',
        'rota_slots{queue="fast"} 9',
        "rota_store_troubles 0",
    ]


def test_the_metrics_of_what_this_process_did(admin: TestClient, api: Api) -> None:
    api.engine.observers.tell(ClaimsTaken("queue", "dead", 2))

    lines = admin.get("/metrics").text.splitlines()

    assert "# HELP rota_node_claims_taken_total Jobs that this node took back from dead ones." in lines
    assert "# TYPE rota_node_claims_taken_total counter" in lines
    assert sorted(line for line in lines if line.startswith("rota_node_")) == [
        "rota_node_claims_taken_total 2",
        'rota_node_events_judged_total{verdict="duplicate"} 0',
        'rota_node_events_judged_total{verdict="older"} 0',
        'rota_node_events_judged_total{verdict="triggered"} 0',
        'rota_node_events_judged_total{verdict="unique"} 0',
        'rota_node_events_judged_total{verdict="waiting"} 0',
        "rota_node_faults_total 0",
        "rota_node_jobs_claimed_total 0",
        'rota_node_jobs_ended_total{state="cancelled"} 0',
        'rota_node_jobs_ended_total{state="failed"} 0',
        'rota_node_jobs_ended_total{state="succeeded"} 0',
        "rota_node_jobs_returned_total 0",
        "rota_node_store_failures_total 0",
        'rota_node_ticks_total{status="fired"} 0',
        'rota_node_ticks_total{status="missed"} 0',
        'rota_node_ticks_total{status="skipped"} 0',
    ]
