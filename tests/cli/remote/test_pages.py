"""What a server tells in several answers, and by its own clock, is told as on the store."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rota.cli.events import events as event_verbs
from rota.cli.remote import store as remote_store
from rota.cli.remote.engine import open_remote_engine
from rota.cli.target import Target
from rota.clock import ManualClock
from rota.engine.access.audit import reading
from rota.engine.engine import Engine
from rota.errors import InvalidInput
from rota.model.events.event import ANY_TYPE
from rota.model.ids import new_id
from rota.model.node import Node
from rota.model.runs.log import LogEntry
from rota.server.app import make_app
from rota.server.routes import pages
from rota.server.routes.jobs import logs
from rota.store import Store, open_store
from rota.store.contract.logs import LogBatch
from tests.cli.calling import done, rota
from tests.contract.building import beat
from tests.ports import free_port
from tests.sdk.serving import serving
from tests.server.serving import KEY, make_api

LONG_AGO = 1_700_000_000_000


@pytest.fixture
def clock() -> ManualClock:
    """That of the server, which is years behind the one of this machine."""
    return ManualClock(LONG_AGO)


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with closing(open_store("sqlite:///rota.db")) as opened:
        yield opened


@pytest.fixture
def address(store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server which the environment names. Its answers have one entry each, or two lines, as if all were long."""
    monkeypatch.setattr(pages, "MAX_PAGE_BYTES", 1)
    monkeypatch.setattr(pages, "_FIRST_STEP", 1)
    monkeypatch.setattr(logs, "_MAX_PAGE_SIZE", len("a line") + 1)
    api = make_api(store, clock=clock)
    with serving(make_app(api)) as found:
        monkeypatch.setenv("ROTA_SERVER", found)
        monkeypatch.setenv("ROTA_API_KEY", KEY)
        yield found
    api.close()


@pytest.fixture
def engine(address: str) -> Iterator[Engine]:
    found = open_remote_engine(address, KEY)
    yield found
    found.store.close()


def names(*words: str) -> list[str]:
    return [one["name"] for one in done(*words, "--json").json]


@pytest.mark.usefixtures("address")
def test_all_job_types_are_there_however_many_answers_they_take() -> None:
    for name in ("a", "b", "c"):
        done("job-type", "create", name, "--", "true")

    assert names("job-type", "list") == ["a", "b", "c"]
    assert rota("enqueue", "c").exit_code == 0


def test_all_schedules_and_jobs_are_there_up_to_the_limit(engine: Engine) -> None:
    done("job-type", "create", "a", "--", "true")
    for name in ("x", "y", "z"):
        done("schedule", "create", name, "-t", "a", "--every", "1h")
        done("enqueue", "a")

    assert names("schedule", "list") == names("schedule", "list", "--limit", "3") == ["x", "y", "z"]
    cut = done("schedule", "list", "--limit", "2", "--json")
    assert [one["name"] for one in cut.json] == ["x", "y"]
    assert "There are more" in cut.stderr
    assert len(engine.store.list_schedules(limit=2).entries) == 2
    assert len(done("jobs", "--json").json) == 3
    assert len(done("jobs", "--limit", "2", "--json").json) == 2


@pytest.mark.parametrize("place", ["store", "server"])
def test_all_configurations_are_there_up_to_the_limit_and_it_is_said_that_there_are_more(
    engine: Engine, folder: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [{"type": "FILE", "resourceId": "/in/", "lifeDuration": 60}]
    written = [{"name": name, "dependencies": parts} for name in ("a", "b", "c")]
    (folder / "in.yaml").write_text(json.dumps({"configurations": written}))
    done("configuration", "create", "-f", "in.yaml")
    if place == "store":
        monkeypatch.delenv("ROTA_SERVER")

    whole = done("configuration", "list", "--limit", "3")
    cut = done("configuration", "list", "--limit", "2", "--json")

    assert names("configuration", "list") == ["a", "b", "c"]
    assert "There are more" not in whole.stderr
    assert [one["name"] for one in cut.json] == ["a", "b"]
    assert "There are more than 2" in cut.stderr
    assert len(engine.store.list_configurations(limit=2).entries) == 2


@pytest.mark.usefixtures("address")
def test_the_events_of_some_configurations_are_not_taken_for_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_verbs, "_MOST_CONFIGURATIONS", 2)
    parts = [{"type": "FILE", "resourceId": "/in/", "lifeDuration": 60}]
    for number, name in enumerate(("a", "b", "c"), 1):
        (folder / "in.yaml").write_text(json.dumps({"configurations": [{"name": name, "dependencies": parts}]}))
        done("configuration", "create", "-f", "in.yaml")
        done("event", "post", "FILE", "/in/x", "--at", f"2020-01-01T00:00:0{number}Z")

        shown = done("event", "list", "--json")

        assert {one["configuration"] for one in shown.json} == {"a", "b"} - ({"b"} if number == 1 else set())
        assert ("Only the first 2 configurations" in shown.stderr) == (number == 3)
    assert {one["configuration"] for one in done("event", "list", "c", "--json").json} == {"c"}


@pytest.mark.usefixtures("address")
def test_all_running_jobs_are_watched(store: Store) -> None:
    done("job-type", "create", "a", "--", "true")
    ids = {done("enqueue", "a").stdout.strip() for _ in range(3)}
    store.claim_jobs(store.list_node_types()[0].uuid, token="n/1", limit=3, now=LONG_AGO)

    assert {one["uuid"] for one in done("top", "--json").json["jobs"]} == ids
    assert len(done("top", "--limit", "2", "--json").json["jobs"]) == 2


@pytest.mark.usefixtures("address")
def test_all_changes_are_in_the_audit_log_once() -> None:
    for name in ("a", "b", "c"):
        done("node-type", "create", name)

    assert names("audit", "--kind", "node type", "--action", "create")[:3] == ["c", "b", "a"]
    assert names("audit", "--limit", "2") == ["c", "b"]
    assert names("audit").count("a") == 1


@pytest.mark.usefixtures("address")
def test_changes_that_lie_far_back_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many answers it takes, and however many entries one call looks at."""
    monkeypatch.setattr(reading, "_PAGE", 4)
    monkeypatch.setattr(reading, "_MOST_READ", 8)
    every = [f"n{number:02}" for number in range(20)]
    for name in every:
        done("node-type", "create", name)

    assert names("audit", "--kind", "node type", "--action", "create")[:20] == every[::-1]
    assert names("audit", "--name", "n00") == ["n00"]


@pytest.mark.usefixtures("address")
def test_no_more_changes_are_told_than_were_asked_for_however_many_looks_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "_PAGE", 4)
    monkeypatch.setattr(reading, "_MOST_READ", 8)
    for number in range(16):
        if number % 4:
            done("node-type", "create", f"n{number}")
        else:
            done("job-type", "create", f"j{number}", "--", "true")

    found = names("audit", "--kind", "job type", "--limit", "3")
    monkeypatch.delenv("ROTA_SERVER")

    assert found == names("audit", "--kind", "job type", "--limit", "3") == ["j12", "j8", "j4"]


def test_more_events_of_a_configuration_than_a_server_tells_are_not_cut_in_silence(
    folder: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_store, "_MOST_ROWS", 3)
    parts = [{"type": "FILE", "resourceId": "/in/", "lifeDuration": 60}]
    (folder / "in.yaml").write_text(json.dumps({"configurations": [{"name": "a", "dependencies": parts}]}))
    done("configuration", "create", "-f", "in.yaml")
    for number in range(3):
        shown = rota("event", "list", "a", "--limit", "5")
        assert (shown.exit_code, shown.stdout.count("/in/")) == (0, number)
        done("event", "post", "FILE", f"/in/{number}", "--at", f"2020-01-01T00:00:0{number}Z")

    assert len(done("event", "list", "a", "--limit", "3", "--json").json) == 3
    cut = rota("event", "list", "a", "--limit", "4")
    assert (cut.exit_code, cut.stdout) == (2, "")
    assert "--limit: a server tells at most 3" in cut.stderr


def test_all_lines_of_a_log_are_there_up_to_the_limit(engine: Engine, store: Store) -> None:
    done("job-type", "create", "a", "--", "true")
    job_id = done("enqueue", "a").stdout.strip()
    queue = store.list_node_types()[0].uuid
    store.claim_jobs(queue, token="n/1", limit=1, now=LONG_AGO)
    lines = [LogEntry(LONG_AGO, f"line {number}") for number in range(6)]
    store.append_logs([LogBatch(queue, job_id, "n/1", lines)])

    assert done("logs", job_id).stdout == "".join(f"{one.message}\n" for one in lines)
    cut = engine.store.read_logs(job_id, after=1, limit=3)
    assert (cut.entries, cut.next) == (lines[1:4], 4)


def test_what_is_alive_and_when_something_is_made_is_judged_by_the_clock_of_the_server(
    engine: Engine, store: Store
) -> None:
    queue = store.list_node_types()[0].uuid
    worker, scheduler = (
        Node(uuid=new_id(LONG_AGO), node_type=queue, last_ping=LONG_AGO + 3_600_000, slots=slots) for slots in (4, 0)
    )
    beat(store, worker, scheduler)

    nodes = {one["uuid"]: one["alive"] for one in done("nodes", "--json").json}

    assert nodes == {worker.uuid: True, scheduler.uuid: True}
    assert [one["workers"] for one in done("queues", "--json").json] == [1]
    assert LONG_AGO <= engine.clock.now() < LONG_AGO + 3_600_000


def test_of_several_events_the_server_names_those_that_it_refuses_and_tells_what_the_others_did(
    engine: Engine, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A verb reads events by the types that the server takes; one that does not tell them refuses some itself."""
    engine.event_types = (ANY_TYPE,)
    (folder / "in.yaml").write_text(
        "configurations: [{name: in, dependencies: [{type: FILE, resourceId: /in/, lifeDuration: 60}]}]"
    )
    done("configuration", "create", "-f", "in.yaml")
    unknown, file, elsewhere = (
        {"eventTimestamp": "2020-01-01T00:00:00Z", "eventType": kind, "eventResourceId": resource}
        for kind, resource in (("PARCEL", "/in/b"), ("FILE", "/in/a"), ("FILE", "/out/a"))
    )

    event_verbs._post(Target(store=None, config=None, as_json=False), engine, [{}, unknown, file, unknown, elsewhere])

    told = capsys.readouterr()
    assert told.out.startswith("validated  in  FILE /in/\ntriggered  in  job ")
    assert [line.split(":")[0] for line in told.err.splitlines()] == [
        "Event [4] matched no configuration; rota configuration list shows what is waited for.",
        "Refused [0].eventType",
        "Refused [1].eventType",
        "Refused [3].eventType",
    ]
    assert [one["event"]["resourceId"] for one in done("event", "list", "--json").json] == ["/in/a"]

    event_verbs._post(Target(store=None, config=None, as_json=True), engine, [unknown, elsewhere, {}])
    shown = json.loads(capsys.readouterr().out)
    assert [(one["event"], one["field"]) for one in shown["failed"]] == [(0, "eventType"), (2, "eventType")]
    with pytest.raises(InvalidInput, match="eventType"):
        event_verbs._post(Target(store=None, config=None, as_json=False), engine, [unknown, unknown])


def test_what_the_command_line_names_beats_what_the_environment_names(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"

    assert rota("job-type", "list", "--server", nobody).exit_code == 5
    assert rota("job-type", "list", "--key", "wrong").exit_code == 6
    monkeypatch.setenv("ROTA_SERVER", nobody)
    monkeypatch.setenv("ROTA_API_KEY", "wrong")
    assert rota("job-type", "list").exit_code == 5
    assert rota("job-type", "list", "--server", address).exit_code == 6
    done("job-type", "list", "--server", address, "--key", KEY)


def test_a_file_that_names_a_store_is_applied_at_the_server_that_is_named(address: str, folder: Path) -> None:
    (folder / "jobs.yaml").write_text("store: sqlite:///other.db\nnode_types: [{name: big}]\n")

    assert done("diff", "-f", "jobs.yaml").stdout == "+ node type big\n"
    done("apply", "-f", "jobs.yaml", "--server", address)

    assert "big" in names("node-type", "list", "--store", "sqlite:///rota.db")
    assert not (folder / "other.db").exists()
