"""`rota doctor` finds what is wrong and says what to do."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import Node
from rota.store import Store, open_store
from rota.store.contract.schedules import ScheduleChange
from tests.cli.calling import call_process, done, rota
from tests.contract.building import beat
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


@pytest.mark.usefixtures("place")
def test_a_schedule_that_a_wrong_clock_sent_into_the_future_is_found_and_set_back(folder: Path) -> None:
    done("job-type", "create", "hello", "--", "true")
    done("schedule", "create", "nightly", "-t", "hello", "--cron", "30 2 * * *", "--tz", "Europe/Berlin")
    with closing(open_store("sqlite:///rota.db")) as store:
        (entry,) = store.list_schedules(limit=1).entries
        in_2090 = 3_786_912_000_000
        state = structs.replace(entry.state, version=2, cursor=in_2090, nominal=in_2090 + 5_400_000)
        assert store.put_schedules([ScheduleChange(entry.schedule, state, 1)]) == [True]

    (found,) = [one for one in findings() if one["check"] == "schedules"]
    assert rota("doctor", "--forget-unreadable").exit_code == 7
    assert [one for one in findings() if one["check"] == "schedules"] == [found]
    healed = done("doctor", "--set-back")

    assert "nightly, which waits until 2090-01-01 02:30:00 +01:00" in found["message"]
    assert found["fix"] == "rota schedule resume 'nightly', or all of them: rota doctor --set-back"
    assert "ok       schedules: nightly was in the future and goes on from now" in healed.stdout
    assert [one for one in findings(exit_code=0) if one["check"] == "schedules"] == []
    assert "2090" not in done("schedule", "show", "nightly").stdout
