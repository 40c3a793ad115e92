"""`rota doctor` finds what is wrong and says what to do."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rota.clock import ManualClock
from rota.engine.doctor.machine_checks import is_loopback_name
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import Node
from rota.model.runs.outcome import refused
from rota.store import Store, open_store
from rota.store.contract.jobs import JobQuery
from rota.store.contract.schedules import ScheduleChange
from rota.store.records.unreadable import UNREADABLE
from tests.cli.calling import call_process, done, rota
from tests.contract.building import beat, claim_one, finish, settled
from tests.contract.raw_records import change_records
from tests.ports import free_port


def findings(*words: str, exit_code: int = 7) -> list[Any]:
    """What is not well; each has a fix. That nobody has made a key yet is true of every new store."""
    answer = rota("doctor", "--json", *words)
    assert answer.exit_code == exit_code, answer
    assert answer.json["healthy"] is (exit_code == 0)
    found = [one for one in answer.json["findings"] if one["level"] != "ok" and one["check"] != "key"]
    assert all(one["fix"] for one in found)
    return found


@pytest.fixture
def queue(folder: Path) -> str:
    """A queue with one waiting job."""
    done("job-type", "create", "hello", "--", "true")
    done("enqueue", "hello")
    return str(done("node-type", "show", "default", "--json").json["uuid"])


def test_a_fresh_store_is_healthy() -> None:
    done("job-type", "create", "hello", "--", "true")
    with_dev_key = done("doctor")
    done("key", "create", "mine")

    answer = done("doctor")

    assert "warning  key: dev_key" in with_dev_key.stdout
    assert with_dev_key.stderr == "Warnings: 1.\n"
    assert answer.stderr == "No problems.\n"
    for check in ("python", "sqlite", "disk", "store", "clock"):
        assert f"ok       {check}: " in answer.stdout


def test_a_missing_store_is_worth_a_word_and_is_not_made(folder: Path) -> None:
    found = findings(exit_code=0)

    assert [one["check"] for one in found] == ["store"]
    assert done("doctor").stderr == "Warnings: 1.\n"
    assert list(folder.iterdir()) == []


def test_a_store_that_does_not_answer_is_found() -> None:
    found = findings("--store", f"redis://127.0.0.1:{free_port()}/0")

    assert [(one["check"], one["level"]) for one in found] == [("store", "problem")]


def test_a_missing_folder_is_found(folder: Path) -> None:
    found = findings("--store", f"sqlite:///{folder / 'not' / 'there' / 'rota.db'}")

    assert "does not exist" in found[0]["message"]


def test_a_store_that_forgets_is_found() -> None:
    found = findings("--store", "sqlite://:memory:")

    assert "in memory" in found[0]["message"]


@pytest.mark.usefixtures("place")
def test_waiting_jobs_that_nobody_serves_are_found(queue: str, opened: Store) -> None:
    only_ticks = Node(uuid=new_id(opened.now()), node_type=queue, last_ping=opened.now() + 3_600_000, slots=0)
    beat(opened, only_ticks)

    found = findings()

    assert [one["message"] for one in found] == ["1 job waits in 'default', but no node serves it"]
    assert found[0]["fix"] == "rota worker --type default"

    beat(opened, Node(uuid=new_id(opened.now()), node_type=queue, last_ping=opened.now() + 3_600_000, slots=1))
    assert findings(exit_code=0) == []


@pytest.mark.usefixtures("place")
def test_a_paused_queue_with_waiting_jobs_is_worth_a_word(queue: str, opened: Store) -> None:
    beat(opened, Node(uuid=new_id(opened.now()), node_type=queue, last_ping=opened.now() + 3_600_000, slots=1))
    done("queues", "pause", "default")
    done("enqueue", "hello")

    (found,) = findings(exit_code=0)

    assert found["message"] == "2 jobs wait in 'default', which is paused"
    assert found["fix"] == "rota queues resume default"


@pytest.mark.usefixtures("place")
def test_jobs_in_dead_hands_and_dead_nodes_are_found(queue: str, opened: Store) -> None:
    past = opened.now() - 60_000
    node = Node(uuid=new_id(past), node_type=queue, last_ping=past, slots=1, host="there", pid=7)
    beat(opened, node)
    opened.claim_jobs(queue, token=f"{node.uuid}/1", limit=1, now=past + 60_000 - 20_001)

    found = findings()

    assert [(one["check"], one["level"]) for one in found] == [("nodes", "warning"), ("queues", "problem")]
    assert "dead nodes" in found[1]["message"]


@pytest.mark.usefixtures("place")
def test_job_types_that_cannot_run_are_found(opened: Store) -> None:
    done("job-type", "create", "hello", "--", "true")
    opened.put_job_types(
        [
            JobType(uuid=new_id(1), name="a", executor="teleport"),
            JobType(uuid=new_id(1), name="b", executor="log", node_type="nowhere"),
        ]
    )

    messages = [one["message"] for one in findings()]

    assert "'a' cannot run" in messages[0]
    assert "teleport" in messages[0]
    assert "'nowhere'" in messages[1]


def test_the_well_known_key_is_a_problem_where_others_can_connect() -> None:
    answer = call_process("doctor", HTTP_API_KEY="dev_key", HTTP_BIND_ADDRESS="0.0.0.0:23071")

    assert answer.exit_code == 7
    assert "problem  key: HTTP_API_KEY is dev_key, but the server is to listen on 0.0.0.0" in answer.stdout
    assert call_process("doctor", HTTP_API_KEY="dev_key").exit_code == 0


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("192.0.2.1", False),
        ("not a host", False),
        ("a..b", False),
    ],
)
def test_a_name_is_this_machine_s_alone_only_if_that_is_certain(host: str, is_own: bool) -> None:
    assert is_loopback_name(host) is is_own


@pytest.mark.parametrize(
    ("variables", "works"),
    [
        ({}, True),
        ({"HTTP_API_KEY": "dev_key"}, True),
        ({"HTTP_API_KEY": "a key of our own, and long"}, False),
        ({"HTTP_SERVER_ENABLED": "false"}, False),
        ({"HTTP_BIND_ADDRESS": "0.0.0.0:23071"}, False),
    ],
)
def test_the_well_known_key_is_worth_a_word_only_where_it_works(
    monkeypatch: pytest.MonkeyPatch, opened: Store, variables: dict[str, str], works: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert ("warning  key: dev_key" in done("doctor").stdout) is works


@pytest.mark.parametrize(
    ("ahead_ms", "told"),
    [
        (900, "agrees with the store's"),
        (5_000, "is 5 seconds ahead of the store's"),
        (-5_000, "is 5 seconds behind the store's"),
    ],
)
def test_a_clock_that_differs_is_told_which_way(
    opened: Store, monkeypatch: pytest.MonkeyPatch, ahead_ms: int, told: str
) -> None:
    now = 1_700_000_000_000
    monkeypatch.setattr("rota.store.sqlite.store.SqliteStore.now", lambda store: now)
    monkeypatch.setattr("rota.engine.doctor.store_checks.SystemClock", lambda: ManualClock(now + ahead_ms))

    assert f"clock: this machine's clock {told}" in done("doctor").stdout


def test_a_disk_that_is_nearly_full_is_found(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota.engine.doctor.machine_checks.LEAST_FREE_BYTES", 1 << 60)

    (found,) = findings()

    assert (found["check"], found["level"]) == ("disk", "problem")
    assert " MiB are free at " in found["message"]


@pytest.mark.usefixtures("place")
def test_a_job_that_failed_because_it_cannot_be_read_is_named_too(queue: str, opened: Store) -> None:
    (waiting,) = opened.list_jobs(JobQuery(), limit=1).jobs
    held = claim_one(opened, queue, now=opened.now())
    finish(opened, settled(held, refused(UNREADABLE, "it is broken")))

    (found,) = [one for one in findings() if one["check"] == "records"]
    rota("doctor", "--forget-unreadable")

    assert found["message"] == f"job {waiting.id} cannot be read: it is broken"
    assert opened.find_jobs([waiting.id]) == [None]


@pytest.mark.usefixtures("place")
def test_records_that_cannot_be_read_are_named_listed_and_forgotten(opened: Store) -> None:
    done("job-type", "create", "hello", "--", "true")
    done("schedule", "create", "nightly", "--job-type", "hello", "--cron", "0 2 * * *")
    job_id = done("enqueue", "hello", "--json").json["uuid"]
    places = {
        "spec": job_id,
        "job type": opened.list_job_types()[0].uuid,
        "schedule": opened.schedule_uuid("nightly") or "",
    }
    for kind, key in places.items():
        change_records(opened, kind, key, lambda record: b"{")

    assert [one["uuid"] for one in done("jobs", "--json").json] == [job_id]
    assert done("schedule", "list", "--json").exit_code == 0
    found = [one for one in findings() if one["check"] == "records"]
    assert [one["message"].split(" cannot")[0] for one in found] == [
        "job type hello",
        f"schedule {places['schedule']}",
        f"job {job_id}",
    ]

    assert rota("doctor", "--set-back").exit_code == 7
    assert [one["uuid"] for one in done("jobs", "--json").json] == [job_id]
    rota("doctor", "--forget-unreadable")
    done("job-type", "create", "hello", "--replace", "--", "true")
    assert findings(exit_code=0) == []
    assert done("jobs", "--json").json == []


def send_into_the_future() -> None:
    """As a wrong clock does with every schedule that there is."""
    in_2090 = 3_786_912_000_000
    with closing(open_store("sqlite:///rota.db")) as store:
        for entry in store.list_schedules(limit=1_000).entries:
            state = structs.replace(entry.state, version=2, cursor=in_2090, nominal=in_2090 + 5_400_000)
            assert store.put_schedules([ScheduleChange(entry.schedule, state, 1)]) == [True]


@pytest.mark.usefixtures("place")
def test_a_schedule_that_a_wrong_clock_sent_into_the_future_is_found_and_set_back(folder: Path) -> None:
    done("job-type", "create", "hello", "--", "true")
    done("schedule", "create", "nightly", "-t", "hello", "--cron", "30 2 * * *", "--tz", "Europe/Berlin")
    send_into_the_future()

    (found,) = [one for one in findings() if one["check"] == "schedules"]
    assert rota("doctor", "--forget-unreadable").exit_code == 7
    assert [one for one in findings() if one["check"] == "schedules"] == [found]
    healed = done("doctor", "--set-back")

    assert "nightly, which waits until 2090-01-01 02:30:00 +01:00" in found["message"]
    assert found["fix"] == "rota schedule resume 'nightly', or all of them: rota doctor --set-back"
    assert "ok       schedules: nightly was in the future and goes on from now" in healed.stdout
    assert [one for one in findings(exit_code=0) if one["check"] == "schedules"] == []
    assert "2090" not in done("schedule", "show", "nightly").stdout


def test_of_very_many_schedules_in_the_future_some_are_named_and_all_are_set_back(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.engine.doctor.schedule_checks._PAGE", 3)
    monkeypatch.setattr("rota.engine.doctor.schedule_checks._MOST_NAMED", 4)
    done("job-type", "create", "hello", "--", "true")
    for number in range(7):
        done("schedule", "create", f"s{number}", "-t", "hello", "--cron", "30 2 * * *")
    send_into_the_future()

    told = [one["message"] for one in findings() if one["check"] == "schedules"]
    healed = done("doctor", "--set-back")

    assert [message.partition(",")[0].rpartition(" ")[2] for message in told[:-1]] == ["s0", "s1", "s2", "s3"]
    assert told[-1] == "so it is with 3 more"
    assert healed.stdout.count("was in the future and goes on from now") == 7
    assert "more" not in healed.stdout
    assert [one for one in findings(exit_code=0) if one["check"] == "schedules"] == []
