"""What the settings of a node make of its server."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rota.engine.access.keys.admin_key import prepare_key
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.engine.node.options import NodeOptions
from rota.engine.observation.happenings import JobsClaimed, StoreFailed
from rota.errors import InvalidInput, MissingExtra, NotFound, StoreUnavailable
from rota.host.file_watch import apply_file
from rota.host.host import Host, _node_options, tls_of
from rota.model.flows.flow import Flow, FlowCall, Stage
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.server.app import make_app
from rota.settings import Settings, load_settings
from rota.store import Store
from rota.testing import Faults
from rota.testing.faults import away
from tests.contract.building import NOW, claim_one, finish, succeed
from tests.engine.working import until
from tests.patience import DEADLINE_S
from tests.server.serving import BASE
from tests.shortage import no_threads

EVENT = {"eventType": "SHIPMENT", "eventTimestamp": "2026-01-01T00:00:00", "eventResourceId": "42"}


def settings_of(folder: Path, text: str) -> Settings:
    (folder / "rota.yaml").write_text(text)
    return load_settings({}, {}, None, folder)


def statuses(settings: Settings, store: Store, *paths: str) -> list[int]:
    """What a client without a key is answered, and then one with the key of the settings who posts an event."""
    plan = prepare_key(store, configured=settings.api_key, is_loopback=True)
    api = Host.open(settings, store, frozenset({"server"})).make_api(plan)
    client = TestClient(make_app(api), BASE)
    found = [client.get(path).status_code for path in paths]
    key = {"Authorization": f"Bearer {plan.configured or plan.made}"}
    found += [client.post("/events", json=EVENT, headers=key).status_code for _ in range(5)]
    api.close()
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("log_level: INFO\n", [401, 401, 400, 400, 400, 400, 400]),
        ("server:\n  metrics_open: true\n", [200, 401, 400, 400, 400, 400, 400]),
        ("server:\n  rate_limit: 0.01\n", [401, 401, 400, 429, 429, 429, 429]),
        ("server:\n  api_key: secret\n", [401, 401, 400, 400, 400, 400, 400]),
        ("event_types: [SHIPMENT]\n", [401, 401, 200, 200, 200, 200, 200]),
    ],
)
def test_each_setting_reaches_the_server(folder: Path, opened: Store, text: str, expected: list[int]) -> None:
    assert statuses(settings_of(folder, text), opened, "/metrics", "/api/jobs") == expected


def test_the_metrics_count_what_the_node_of_this_process_does(folder: Path, opened: Store) -> None:
    settings = settings_of(folder, "server:\n  metrics_open: true\n")
    host = Host.open(settings, opened, frozenset({"server"}))
    api = host.make_api(prepare_key(opened, configured=None, is_loopback=True))

    host.engine.observers.tell(StoreFailed(StoreUnavailable("away")))

    lines = TestClient(make_app(api), BASE).get("/metrics").text.splitlines()
    api.close()
    assert "rota_node_store_failures_total 1" in lines
    assert "# TYPE rota_node_store_failures_total counter" in lines
    assert 'rota_node_jobs_ended_total{state="succeeded"} 0' in lines


@pytest.mark.parametrize(
    ("text", "listens"), [("otel: true\n", True), ("otel: false\n", False), ("roles: [server]\n", False)]
)
def test_opentelemetry_hears_of_the_node_if_the_settings_say_so(
    folder: Path, opened: Store, text: str, listens: bool
) -> None:
    settings = settings_of(folder, text)

    host = Host.open(settings, opened, frozenset({"server"}))

    assert host.engine.observers.wants(JobsClaimed) is listens


def test_opentelemetry_without_its_extra_is_refused_at_the_start(
    folder: Path, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rota.engine.observation.opentelemetry", None)

    with pytest.raises(MissingExtra, match=r"rota\[otel\]"):
        Host.open(settings_of(folder, "otel: true\n"), opened, frozenset({"server"}))


def test_what_looks_like_a_slip_in_the_file_is_said_in_the_log(
    folder: Path, opened: Store, caplog: pytest.LogCaptureFixture
) -> None:
    text = """
job_types: [{name: report, executor: log}]
schedules: [{name: nightly, job_type: report, cron: "0/1 * 0 ? * * *"}]
"""
    settings = settings_of(folder, text)
    engine = Host.open(settings, opened, frozenset({"scheduler"})).engine

    with caplog.at_level("WARNING"):
        apply_file(engine.file, settings, engine.clock.now())
    assert "schedule nightly: 3600 fires between 00:00 and 00:59 each day" in caplog.text

    caplog.clear()
    apply_file(engine.file, settings, engine.clock.now())
    assert caplog.text == "", "it was said when the schedule was new"


def test_what_only_an_executor_finds_wrong_is_told_with_its_place_in_the_file(folder: Path, opened: Store) -> None:
    text = """
job_types:
  - name: report
    executor: bash
    metadata: {comand: "true"}
"""
    settings = settings_of(folder, text)
    engine = Host.open(settings, opened, frozenset({"scheduler"})).engine

    with pytest.raises(InvalidInput, match=r"rota.yaml:5: job_types\[0\].metadata.comand: unknown, did you mean"):
        apply_file(engine.file, settings, engine.clock.now())


def test_a_burst_goes_on_while_a_job_waits_for_its_time_or_runs(folder: Path, opened: Store) -> None:
    host = Host.open(settings_of(folder, "log_level: INFO\n"), opened, frozenset({"worker"}))
    queue = host.engine.definitions.ensure_node_type(NodeType(uuid=new_id(NOW), name="default")).uuid
    host.engine.definitions.define_job_type(JobType(uuid=new_id(NOW), name="count", executor="log"))
    assert host.is_empty(queue)

    [delayed] = host.engine.intake.enqueue([JobRequest(job_type="count", delay_ms=3_600_000)])
    assert not host.is_empty(queue)
    opened.cancel_jobs([delayed.job_id], now=host.engine.clock.now())
    assert host.is_empty(queue)

    host.engine.intake.enqueue([JobRequest(job_type="count")])
    assert not host.is_empty(queue)
    running = claim_one(opened, queue, now=host.engine.clock.now())
    assert not host.is_empty(queue)
    finish(opened, succeed(running))
    assert host.is_empty(queue)


def end_first_stage(host: Host) -> None:
    """A flow of two jobs whose first one has ended; nothing of it is live."""
    queue = host.engine.definitions.node_type("default").uuid
    for name in ("count", "add"):
        host.engine.definitions.define_job_type(JobType(uuid=new_id(NOW), name=name, executor="log"))
    flow = Flow(id=new_id(NOW), made_at=NOW, rest=(Stage(calls=(FlowCall(job_type="add"),)),))
    host.engine.intake.enqueue([JobRequest(id=flow.job_id(0), job_type="count", flow=flow)])
    finish(host.engine.store, succeed(claim_one(host.engine.store, queue, now=host.engine.clock.now())))


@pytest.mark.parametrize("call", ["count_jobs", "read_outbox", "find_jobs", "enqueue_jobs", "clear_outbox"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_burst_goes_on_while_another_process_makes_the_next_stage_of_a_flow(
    folder: Path, opened: Store, call: str, when: str
) -> None:
    faults = Faults(opened)
    host = Host.open(settings_of(folder, "log_level: INFO\n"), faults.store, frozenset({"worker"}))
    queue = host.engine.definitions.ensure_node_type(NodeType(uuid=new_id(NOW), name="default")).uuid
    end_first_stage(host)
    other = Engine(opened, host.engine.clock)
    (faults.before if when == "before" else faults.after)(call, lambda: other.outbox.take(queue, other.clock.now()))

    assert not host.is_empty(queue)

    finish(opened, succeed(claim_one(opened, queue, now=host.engine.clock.now())))
    assert host.is_empty(queue)


def test_a_process_that_does_not_find_its_queue_announces_nothing(folder: Path, opened: Store) -> None:
    host = Host.open(settings_of(folder, "node_type: gpu\n"), opened, frozenset({"worker"}))
    host.may_end_process = False  # this one runs tests
    announced: list[str] = []

    with pytest.raises(NotFound, match="gpu"):
        host.run(lambda: announced.append("begun"))

    assert announced == []


def test_a_burst_goes_on_while_nobody_knows_whether_something_is_left(folder: Path, opened: Store) -> None:
    faults = Faults(opened)
    host = Host.open(settings_of(folder, "log_level: INFO\n"), faults.store, frozenset({"worker"}))
    queue = host.engine.definitions.ensure_node_type(NodeType(uuid=new_id(NOW), name="default")).uuid

    faults.before("count_jobs", away)

    assert not host.is_empty(queue)
    assert host.is_empty(queue)


def test_each_setting_reaches_the_node() -> None:
    settings = Settings(
        node_type="gpu",
        thread_count=7,
        stop_grace_s=3.5,
        history_max_age_days=0.5,
        audit_max_age_days=2,
        history_max_count=11,
    )

    assert _node_options(settings, frozenset({"worker"})) == NodeOptions(
        node_type="gpu",
        roles=frozenset({"worker"}),
        threads=7,
        stop_grace_s=3.5,
        history_max_age_ms=43_200_000,
        audit_max_age_ms=172_800_000,
        history_max_count=11,
    )


def test_a_key_of_tls_without_its_certificate_is_refused() -> None:
    with pytest.raises(InvalidInput, match="tls_key: needs tls_certificate beside it"):
        tls_of(Settings(tls_key="key.pem"))

    assert tls_of(Settings()) is None


def test_a_worker_serves_further_queues_each_once_and_only_such_as_there_are(folder: Path, opened: Store) -> None:
    host = Host.open(settings_of(folder, "thread_count: 3\n"), opened, frozenset({"worker"}))
    for name in ("default", "mail"):
        host.engine.definitions.ensure_node_type(NodeType(uuid=new_id(NOW), name=name))
    before = len(host.side_nodes)

    host.serve_also(["default", "mail", "mail"])
    with pytest.raises(NotFound, match="print"):
        host.serve_also(["print"])

    assert host.node_types == ["default", "mail"]
    assert [one._options.threads for one in host.side_nodes[before:]] == [3]


@pytest.mark.parametrize(("role", "served"), [("worker", True), ("server", False), ("scheduler", False)])
def test_queues_beside_its_own_are_served_by_workers_only(folder: Path, opened: Store, role: str, served: bool) -> None:
    host = Host.open(settings_of(folder, "log_level: INFO\n"), opened, frozenset({role}))

    assert bool(host.side_nodes) is served


def test_a_worker_of_a_queue_that_others_serve_beside_theirs_serves_it_once(folder: Path, opened: Store) -> None:
    default = Host.open(settings_of(folder, "node_type: default\n"), opened, frozenset({"worker"}))
    (name, *_) = [one.node_type for one in default.side_nodes]

    host = Host.open(settings_of(folder, f"node_type: {name}\n"), opened, frozenset({"worker"}))

    assert name not in [one.node_type for one in host.side_nodes]


class Failing:
    """A duty that fails at first and is over when it did not."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        self._error: Callable[[], Exception] | None = error
        self.is_over = False

    def run_once(self, now: int) -> float:
        if self._error is not None:
            error, self._error = self._error, None
            raise error()
        self.is_over = True
        return 0.0


class LastOne:
    """A duty that ends its host when another one is over."""

    is_over = False

    def __init__(self, host: Host, other: Failing) -> None:
        self._host, self._other = host, other

    def run_once(self, now: int) -> float:
        if self._other.is_over:
            self._host.request_stop()
        return 0.01


def test_a_duty_that_failed_is_tried_again_and_ends_nothing(
    folder: Path, opened: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rota.host.host._AFTER_ERROR_S", 0.001)
    host = Host.open(settings_of(folder, "log_level: INFO\n"), opened, frozenset({"worker"}))
    duty = Failing(lambda: StoreUnavailable("away"))
    host.duties += [duty, LastOne(host, duty)]

    asyncio.run(host.serve())

    assert duty.is_over
    assert "duty failed" in caplog.messages


def test_a_duty_for_which_there_is_no_thread_is_tried_again_and_ends_nothing(
    folder: Path, opened: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rota.host.host._AFTER_ERROR_S", 0.001)
    host = Host.open(settings_of(folder, "log_level: INFO\n"), opened, frozenset({"worker"}))
    duty = Failing(lambda: StoreUnavailable("away"))

    async def scene() -> None:
        with no_threads():
            driving = asyncio.create_task(host._drive(duty, asyncio.Event()))
            await until(lambda: "duty failed" in caplog.messages, "the duty to find no thread")
        await driving

    asyncio.run(scene())

    assert duty.is_over


def test_a_burst_that_finds_no_thread_to_count_in_goes_on_until_there_is_one(folder: Path, opened: Store) -> None:
    host = Host.open(settings_of(folder, "log_level: INFO\n"), opened, frozenset({"worker"}))
    host.engine.definitions.ensure_node_type(NodeType(uuid=new_id(NOW), name="default"))

    async def scene() -> None:
        with no_threads():
            looking = asyncio.create_task(host._stop_when_empty(asyncio.Event()))
            await asyncio.wait([looking], timeout=0.3)
            assert not looking.done()
        await asyncio.wait_for(looking, DEADLINE_S)

    asyncio.run(scene())


def test_a_fault_beside_the_node_ends_it_and_is_told(folder: Path, opened: Store) -> None:
    """Otherwise the process would look well, and a part of it would be dead."""
    host = Host.open(settings_of(folder, "log_level: INFO\n"), opened, frozenset({"worker"}))
    host.duties.append(Failing(lambda: ZeroDivisionError("a fault")))

    with pytest.raises(ZeroDivisionError, match="a fault"):
        asyncio.run(host.serve())

    assert opened.list_nodes(since=0) == []


def test_what_several_nodes_of_a_process_find_wrong_is_told_once(
    folder: Path, opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = Host.open(settings_of(folder, "log_level: INFO\n"), opened, frozenset({"worker"}))
    for one in (host.node, *host.side_nodes):
        monkeypatch.setattr(one, "health", lambda: "the store is away")

    assert host.health() == "the store is away"
