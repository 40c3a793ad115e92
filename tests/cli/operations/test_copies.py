"""`rota backup`, `restore` and `migrate`: what every verb that reads says is the same of a copy."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rota.engine.housekeeping.copies.copying import Copying
from rota.errors import StoreUnavailable
from rota.model.ids import new_id
from rota.model.job import JobState, make_token
from rota.store import Store, open_store
from rota.store.contract.schedules import MAX_TICKS
from rota.testing import Faults
from rota.testing.faults import away
from tests.cli.calling import Answer, RotaProcess, done, rota
from tests.servers import RedisServer

FILE = """
event_types: [PARTNER]
job_types: [{name: load, executor: bash, metadata: {command: ["true"]}, unique: while_running}]
configurations:
  - name: both
    job: {job_type: load}
    dependencies:
      - {type: FILE, resourceId: /in/, lifeDuration: 3600}
      - {type: TABLE, resourceId: sales, lifeDuration: 3600}
  - {name: after, dependencies: [{type: JOB, resourceId: load, lifeDuration: 3600}]}
"""


@pytest.fixture
def filled(folder: Path) -> list[str]:
    """A store with something of everything; gives the ids of all jobs."""
    (folder / "more.yaml").write_text(FILE)
    done("node-type", "create", "big", "--threads", "3")
    done("job-type", "create", "say", "--attempts", "2", "--retry-delay", "10ms", "--command", "echo hello; exit")
    done("job-type", "create", "fail", "--attempts", "2", "--retry-delay", "10ms", "--", "sh", "-c", "echo no; exit 3")
    done("job-type", "create", "later", "--node-type", "big", "--unique", "while_pending", "--", "true")
    done("job-type", "create", "one", "--node-type", "big", "--unique", "while_running", "--", "true")
    done("job-type", "create", "publish", "--executor", "topic", "--metadata", '{"topic": "orders"}')
    done("apply", "-f", "more.yaml")
    done("key", "create", "reader", "--role", "viewer")
    done("schedule", "create", "often", "-t", "say", "--every", "200ms", "--overlap", "allow", "command=you")
    done("schedule", "create", "nightly", "-t", "later", "--cron", "30 2 * * *", "--tz", "Europe/Berlin")
    _run_for_a_while(folder)
    done("schedule", "pause", "often", "--note", "enough")
    done("schedule", "backfill", "nightly", "--from", "2024-01-01", "--to", "2024-01-04")
    for words in (["one"], ["one", "--priority", "7"], ["one", "--delay", "1h"], ["later", "n=1"]):
        done("enqueue", *words)
    done("cancel", *[one["uuid"] for one in done("jobs", "--type", "later", "--limit", "1", "--json").json])
    done("queues", "pause", "big")
    return [one["uuid"] for one in done("jobs", "--limit", "1000", "--json").json]


def _run_for_a_while(folder: Path) -> None:
    with RotaProcess(["up", "--port", "0", "--no-demo"], folder) as up:
        up.until(lambda: len(done("schedule", "ticks", "often", "--json").json) > 3, "some ticks")
        rota("enqueue", "fail", "--wait")
        done("enqueue", "publish", "n=1", "--wait")
        done("event", "post", "FILE", "/in/a.csv", "--id", "a")
        done("event", "post", "TABLE", "sales")
        up.until(lambda: done("configuration", "show", "after", "--json").json["triggered"] == 1, "the end of the load")
        assert up.stop() == 0


def said_of(url: str, ids: list[str]) -> dict[str, Any]:
    """What every verb that reads says."""
    verbs: list[list[str]] = [
        ["jobs", "--limit", "1000"],
        ["node-type", "list"],
        ["job-type", "list"],
        ["schedule", "list"],
        ["schedule", "show", "often"],
        ["schedule", "show", "nightly"],
        ["schedule", "ticks", "often", "--limit", "1000"],
        ["schedule", "ticks", "nightly"],
        ["configuration", "list"],
        ["configuration", "show", "both"],
        ["explain", "both"],
        ["explain", "after"],
        ["event", "list"],
        ["topic", "list"],
        ["topic", "tail", "orders"],
        ["queues"],
        ["key", "list"],
        ["audit", "--limit", "1000"],
        ["diff", "-f", "more.yaml"],
        *(["job", one] for one in ids),
        *(["logs", one] for one in ids),
    ]
    return {" ".join(verb): _lasting(done(*verb, "--store", url, "--json").json) for verb in verbs}


def _lasting(said: Any) -> Any:
    """Without what changes by itself, the age of an event, and without when an ended job had become ready: that is
    known to the millisecond in Redis, and in SQLite to the step of a rank."""
    for one in said if isinstance(said, list) else [said]:
        if isinstance(one, dict) and one.get("ended_at") is not None:
            one.pop("available_at", None)
        for row in one.get("now", []) if isinstance(one, dict) else []:
            row.pop("age")
    return said


def without_copying(said: dict[str, Any]) -> dict[str, Any]:
    """The audit log of a copy has one line more for each time it was copied."""
    audit = [one for one in said["audit --limit 1000"] if one["kind"] != "store"]
    return said | {"audit --limit 1000": audit}


def test_everything_is_the_same_after_moving_to_redis_and_back(
    filled: list[str], folder: Path, redis_server: RedisServer
) -> None:
    redis_server.flush()
    first, second, third = "sqlite:///rota.db", redis_server.url, "sqlite:///back.db"
    before = said_of(first, filled)

    answer = done("migrate", first, second, "--json").json
    done("migrate", second, third)

    assert (answer["jobs"], answer["schedules"], answer["configurations"]) == (len(filled), 2, 2)
    assert (answer["given_back"], answer["unreadable"]) == (0, 0)
    for url in (second, third):
        after = without_copying(said_of(url, filled))
        for verb, said in before.items():
            assert after[verb] == said, f"{verb} of {url}"


def test_a_backup_is_a_store_and_is_restored_as_it_was(filled: list[str], folder: Path) -> None:
    before = said_of("sqlite:///rota.db", filled)

    done("backup", "copy.db")
    looked_at = said_of("sqlite:///copy.db", filled)
    done("restore", "copy.db", "--store", "sqlite:///new.db")

    assert looked_at == before
    assert without_copying(said_of("sqlite:///new.db", filled)) == before
    assert {path.name for path in folder.glob("copy.db*")} == {"copy.db"}


def test_what_works_in_a_copy_works_as_before(filled: list[str], folder: Path) -> None:
    done("backup", "copy.db")
    done("restore", "copy.db", "--store", "sqlite:///new.db")
    at = ["--store", "sqlite:///new.db"]

    assert rota("node-type", "create", "big", *at).exit_code == 4
    assert done("event", "post", "FILE", "/in/a.csv", "--id", "a", *at, "--json").json["validated"] == []
    done("queues", "resume", "big", *at)
    with RotaProcess(["worker", "--type", "big", *at], folder) as worker:
        waiting = ("jobs", "--state", "queued", "--queue", "big", *at, "--json")
        worker.until(lambda: done(*waiting).json == [], "all that waits there to be run")
        assert worker.stop() == 0
    assert len(done("jobs", "--state", "delayed", "--queue", "big", *at, "--json").json) == 1


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_a_backup_is_made_while_nodes_run(
    folder: Path, redis_server: RedisServer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis_server.flush()
    monkeypatch.setenv("ROTA_STORE", redis_server.url if kind == "redis" else "sqlite:///rota.db")
    done("job-type", "create", "wait", "--", "sleep", "600")
    done("job-type", "create", "often", "--", "true")
    done("schedule", "create", "tick", "-t", "often", "--every", "50ms", "--overlap", "allow")
    running = done("enqueue", "wait", "--json").json["uuid"]
    with RotaProcess(["up", "--port", "0", "--no-demo", "--store", os.environ["ROTA_STORE"]], folder) as up:
        up.until(lambda: done("job", running, "--json").json["state"] == "running", "the job to run")
        for number in range(5):
            answer = done("backup", f"{number}.db", "--json").json
            assert answer["given_back"] >= 1
            _assert_consistent(folder / f"{number}.db", running)


def _assert_consistent(file: Path, running: str) -> None:
    """Every job of a tick is there, and every job of the schedule has its tick."""
    with closing(open_store(f"sqlite:///{file}")) as store:
        (entry,) = store.list_schedules(limit=9).entries
        ticks = store.list_ticks(entry.schedule.uuid, limit=10_000)
        made = {tick.job for tick in ticks if tick.job}
        jobs = {job.id: job for job in store.find_jobs(sorted(made)) if job}
        # Of a schedule only the latest ticks are kept.
        oldest = min(tick.nominal for tick in ticks) if len(ticks) >= MAX_TICKS else 0
        rows = done("jobs", "--store", store.url, "--limit", "10000", "--json").json
        there = {one["uuid"] for one in rows if one["uuid"] == running or one["cause"]["instant"] >= oldest}
        waiting = store.find_jobs([running])[0]

        assert made == set(jobs) == there - {running}
        assert waiting is not None
        assert (waiting.state, waiting.attempts, waiting.token) == (JobState.QUEUED, 0, "")


def in_the_hands_of_a_dead_node(store: Store) -> None:
    queue = store.list_queues()[0]
    assert store.claim_jobs(queue, token=make_token(new_id(store.now()), 1), limit=9, now=store.now()).claims


def test_what_ran_waits_in_a_copy_and_what_was_to_be_cancelled_is(opened: Store) -> None:
    done("job-type", "create", "one", "--unique", "while_running", "--", "true")
    ids = [done("enqueue", "one", "--json").json["uuid"] for _ in range(2)]
    done("job-type", "create", "other", "--", "true")
    ids.append(done("enqueue", "other", "--json").json["uuid"])
    in_the_hands_of_a_dead_node(opened)
    done("cancel", ids[2])

    said = done("migrate", "sqlite:///rota.db", "sqlite:///new.db").stderr

    assert "2 of the jobs ran; in the copy they wait to be run again." in said
    states = [done("job", one, "--store", "sqlite:///new.db", "--json").json["state"] for one in ids]
    assert states == ["queued", "queued", "cancelled"]


def test_nothing_is_migrated_from_under_a_living_node(folder: Path) -> None:
    with RotaProcess(["up", "--port", "0", "--no-demo"], folder) as up:
        up.until_said("/api")
        up.until(lambda: bool(done("nodes", "--json").json), "the node to be known")

        refused = rota("migrate", "sqlite:///rota.db", "sqlite:///new.db")

    assert refused.exit_code == 4
    assert "stop them first" in refused.stderr
    with closing(open_store("sqlite:///new.db")) as untouched:
        assert untouched.list_settings("") == {}


@pytest.mark.parametrize(
    ("words", "exit_code", "told"),
    [
        (["backup", "there.db"], 4, "give --replace"),
        (["backup", "what?.db"], 2, "? or #"),
        (["restore", "nowhere.db", "--store", "sqlite:///new.db"], 3, "no backup 'nowhere.db'"),
        (["restore", "there.db"], 4, "is not empty"),
        (["restore", "empty.db", "--store", "sqlite:///new.db"], 2, "nothing in it"),
        (["restore", "text.db", "--store", "sqlite:///new.db"], 5, "not a usable SQLite database"),
        (["migrate", "sqlite:///nowhere.db", "sqlite:///new.db"], 5, "there is no store at nowhere.db"),
        (["migrate", "sqlite:///rota.db", "sqlite:///there.db"], 4, "name another store"),
        (["migrate", "rota.db", "sqlite:///new.db"], 2, "no known scheme"),
    ],
)
def test_a_copy_that_cannot_be_made_says_why(words: list[str], exit_code: int, told: str) -> None:
    done("node-type", "create", "big")
    done("backup", "there.db")
    Path("text.db").write_text("no database at all, but text of some length" * 100)
    open_store("sqlite:///empty.db").close()

    answer = rota(*words)

    assert (answer.exit_code, told in answer.stderr) == (exit_code, True), answer


def test_a_backup_takes_the_place_of_another_only_when_it_is_whole(opened: Store) -> None:
    done("node-type", "create", "big")
    done("backup", "there.db")
    done("node-type", "create", "small")

    done("backup", "there.db", "--replace")

    names = [one["name"] for one in done("node-type", "list", "--store", "sqlite:///there.db", "--json").json]
    assert names == ["big", "small"]


def test_a_copy_that_broke_off_is_not_used_and_goes_on_when_it_is_done_again(opened: Store) -> None:
    done("node-type", "create", "big")
    with closing(open_store("sqlite:///new.db")) as part:
        faults = Faults(part)
        faults.before("put_job_types", away)
        with pytest.raises(StoreUnavailable):
            Copying(opened, faults.store).run("sqlite:///rota.db")

    refused: list[Answer] = [
        rota("queues", "--store", "sqlite:///new.db"),
        rota("worker", "--store", "sqlite:///new.db"),
    ]
    done("migrate", "sqlite:///rota.db", "sqlite:///new.db")

    assert [(one.exit_code, "do the same again" in one.stderr) for one in refused] == [(5, True)] * 2
    assert done("queues", "--store", "sqlite:///new.db", "--json").json[0]["name"] == "big"


def test_what_is_left_of_an_older_backup_is_not_taken_for_a_part_of_the_new_one(folder: Path) -> None:
    done("job-type", "create", "hello", "--", "true")
    done("backup", "copy.db")
    for left in ("-wal", "-shm"):
        (folder / f"copy.db{left}").write_bytes(b"of the older one")

    done("backup", "copy.db", "--replace")

    assert not (folder / "copy.db-wal").exists()
    assert done("job-type", "list", "--store", "sqlite:///copy.db", "--json").json[0]["name"] == "hello"
