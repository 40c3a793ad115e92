"""Seed 004, the event-based scheduler: its three configurations, its sentences and its scenario table."""

import copy
import multiprocessing
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from rota.model.events.configuration import Configuration, ConfigurationState, Dependency, default_match, first_state
from rota.model.events.evaluation import evaluate
from rota.model.events.event import make_event
from rota.settings import load_settings
from rota.store import Store
from tests.cli.calling import RotaProcess, environment
from tests.contract.racing import in_processes
from tests.engine.events.installation import EventsInstallation, moment
from tests.engine.events.oracle import Dep, Oracle
from tests.patience import LONG_DEADLINE_S
from tests.ports import free_port
from tests.seeds.curling import Curl
from tests.servers import RedisServer, wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "events.yaml"
C1, C2, C3 = (f"SCHEDULING_CONFIGURATION_{n}" for n in (1, 2, 3))
FOLDER = "/scheduling_configuraiton_1/directory/"
FILE = {"type": "FILE", "resourceId": f"{FOLDER}path/", "lifeDuration": 3600}
CRON = {"type": "TIME_BASED", "resourceId": "cron", "lifeDuration": 0}


class Row(NamedTuple):
    """One line of the scenario table, with the event as it stands there."""

    received: str
    event: dict[str, str]
    validates: dict[str, object] | None
    triggers: bool


def file_row(received: str, timestamp: str, path: str, validates: dict[str, object] | None) -> Row:
    event = {"eventType": "FILE", "eventTimestamp": timestamp, "eventResourceId": FOLDER + path}
    return Row(received, event, validates, triggers=False)


def cron_row(received: str, timestamp: str, *, triggers: bool, key: str = "eventResourceId") -> Row:
    event = {"eventType": "TIME_BASED_CRON", "eventTimestamp": timestamp, key: "cron"}
    return Row(received, event, CRON, triggers)


TABLE = [
    file_row("2021-01-01 12:00:00", "2021-01-01 11:59:59", "path/file_1.txt", FILE),
    file_row("2021-01-01 12:05:00", "2021-01-01 12:04:59", "path/file_2.txt", FILE),
    file_row("2021-01-01 12:15:00", "2021-01-01 12:14:50", "path/file_3.txt", FILE),
    file_row("2021-01-01 12:15:30", "2021-01-01 12:15:28", "an_other_path/file_3.txt", None),
    # With the letter l, as the document has it here.
    cron_row("2021-01-01 12:30:01", "2021-01-01 12:30:00", triggers=True, key="eventResourceld"),
    cron_row("2021-01-01 13:10:01", "2021-01-01 13:10:00", triggers=True),
    cron_row("2021-01-01 13:30:01", "2021-01-01 13:30:00", triggers=False),
]


def about_c1(answer: Any) -> tuple[list[object], bool]:
    """The two right columns of the table. A cron event also validates configuration 2."""
    validated = [one["dependency"] for one in answer["validated"] if one["configuration"] == C1]
    triggered = [one["configuration"] for one in answer["triggered"]]
    assert set(triggered) <= {C1}
    return validated, bool(triggered)


def expected(row: Row) -> tuple[list[object], bool]:
    return ([row.validates] if row.validates else []), row.triggers


@contextmanager
def served(folder: Path, store: str) -> Iterator[Curl]:
    """Rota as a process of its own, with the example's configurations."""
    words = ["up", "--no-demo", "--port", "0", "--json", "--config", str(EXAMPLE), "--store", store]
    with RotaProcess(words, folder, HTTP_API_KEY="s3cret") as process:
        yield Curl(process.banner()["address"], "s3cret")
        assert process.stop() == 0


@pytest.fixture(params=["sqlite", "redis"])
def live_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'rota.db'}"
    server: RedisServer = request.getfixturevalue("redis_server")
    server.flush()
    return server.url


def defined(store: Store) -> EventsInstallation:
    """An installation on a store with the example's configurations."""
    installation = EventsInstallation(store)
    for request in load_settings({}, {}, EXAMPLE, Path.cwd()).configurations:
        installation.configurations.create(request)
    return installation


# -- the table -----------------------------------------------------------------------------------------------------


def test_the_table_posted_live_gives_its_columns_and_its_jobs_log_a_line(tmp_path: Path, live_store: str) -> None:
    with served(tmp_path, live_store) as curl:
        answers = [curl.post("/events", row.event) for row in TABLE]

        assert [about_c1(answer) for answer in answers] == [expected(row) for row in TABLE]
        jobs = [one["job"] for answer in answers for one in answer["triggered"]]
        wait_until(
            lambda: all(curl.get(f"/api/jobs/{job}")["state"] == "succeeded" for job in jobs),
            "the jobs to end",
        )
        logs = [curl("GET", f"/api/jobs/{job}/logs").body for job in jobs]
        assert len(logs) == 2
        assert all("job triggered" in log and C1 in log for log in logs)
        told = curl.get(f"/api/configurations/{C1}/explain")["explanation"]
        assert "did not fire" in told
        assert "has expired" in told


def test_the_table_survives_a_restart_between_any_two_rows(tmp_path: Path, live_store: str) -> None:
    answers = []
    for row in TABLE:
        with served(tmp_path, live_store) as curl:
            answers.append(about_c1(curl.post("/events", row.event)))

    assert answers == [expected(row) for row in TABLE]


@pytest.mark.parametrize("clock", ["event", "reception"])
def test_the_table_holds_by_either_clock_when_it_is_received_as_it_says(store: Store, clock: str) -> None:
    installation = EventsInstallation(store)
    installation.define_configuration(C1, FILE, CRON, clock=clock)

    answers = [
        installation.events.post([installation.event(*_words(row), received=moment(row.received))]) for row in TABLE
    ]

    assert [bool(answer.triggered) for answer in answers] == [row.triggers for row in TABLE]


def _words(row: Row) -> tuple[str, str, str]:
    kind, timestamp, resource = row.event.values()
    return kind, resource, timestamp


def test_rows_that_are_repeated_change_nothing(store: Store) -> None:
    installation = defined(store)

    for row in TABLE:
        triggers = [installation.triggers(*_words(row)) for _ in range(3)]

        assert triggers == [row.triggers, False, False]


def test_all_rows_in_any_order_give_what_the_rules_say() -> None:
    wishes = [("FILE", f"{FOLDER}path/", 3600), ("TIME_BASED", "cron", 0)]
    made = Configuration(
        uuid="u",
        name="c",
        queue="q",
        job_type="t",
        dependencies=tuple(
            Dependency(type=kind, resource=place, life_s=life, match=default_match(kind, place))
            for kind, place, life in wishes
        ),
    )
    now = moment("2024-01-01 00:00:00")
    events = [
        (kind.replace("_CRON", ""), place, moment(timestamp) // 1_000) for kind, place, timestamp in map(_words, TABLE)
    ]

    _post_in_any_order(made, events, now, Oracle([Dep(*wish) for wish in wishes]), first_state(made), set())


def _post_in_any_order(
    made: Configuration,
    left: list[tuple[str, str, int]],
    now: int,
    oracle: Oracle,
    state: ConfigurationState,
    seen: set[object],
) -> None:
    """Post each of what is left next, and then the rest. Orders that led to the same go on as one."""
    here = (tuple(left), oracle.last, frozenset(oracle.stored), msgspec.json.encode(state))
    if here in seen:
        return
    seen.add(here)
    for kind, place, second in left:
        branch = copy.deepcopy(oracle)
        hits, triggers = branch.on_event(kind, place, second, now // 1_000)
        event = make_event(id="e", type=kind, resource=place, stated_time=second * 1_000_000, received_at=now)
        after = state
        if made.hits(event):
            judgement = evaluate(made, state, event)
            after = judgement.state
            assert (list(judgement.hits), judgement.evaluation.verdict == "triggered") == (hits, triggers)
        else:
            assert hits == []
        rest = [one for one in left if one != (kind, place, second)]
        _post_in_any_order(made, rest, now, branch, after, seen)


def _post_rows(store: Store, barrier: Barrier, rows: list[Row]) -> list[bool]:
    """One of ten processes: every row at the same moment as the others."""
    installation = EventsInstallation(store)
    answers = []
    for row in rows:
        barrier.wait(LONG_DEADLINE_S)
        answers.append(installation.triggers(*_words(row)))
    return answers


@pytest.mark.stores("sqlite-file", "redis")  # ten interpreters are slow to start
def test_ten_processes_that_post_every_row_at_once_give_the_column_once(
    store: Store, store_url: str, open_again: Callable[[], Store]
) -> None:
    defined(store)
    barrier = multiprocessing.get_context("spawn").Barrier(10)

    answers = in_processes(_post_rows, [(barrier, TABLE)] * 10, url=store_url)

    column = [sum(answer[n] for answer in answers) for n in range(len(TABLE))]
    assert column == [int(row.triggers) for row in TABLE]


# -- the sentences -------------------------------------------------------------------------------------------------


def test_configuration_2_triggers_on_every_cron_event_until_the_first_table_is_a_day_old(store: Store) -> None:
    installation = defined(store)
    installation.post("TABLE", "BIGQUERY_TABLE_NAME_1", "2021-01-01 13:00:00")
    assert not installation.triggers("TIME_BASED", "cron", "2021-01-01 14:00:00")
    installation.post("TABLE", "BIGQUERY_TABLE_NAME_2", "2021-01-01 15:00:00")

    assert installation.triggers("TIME_BASED", "cron", "2021-01-01 15:00:01")
    assert installation.triggers("TIME_BASED", "cron", "2021-01-02 00:00:00")
    assert installation.triggers("TIME_BASED", "cron", "2021-01-02 13:00:00")
    assert not installation.triggers("TIME_BASED", "cron", "2021-01-02 13:00:00.000001")


def test_configuration_3_triggers_on_every_event_of_table_4_for_a_day_after_table_3(store: Store) -> None:
    installation = defined(store)
    assert not installation.triggers("TABLE", "BIGQUERY_TABLE_NAME_4", "2021-01-01 12:00:00")
    assert not installation.triggers("TABLE", "BIGQUERY_TABLE_NAME_3", "2021-01-01 13:00:00")

    times = ["2021-01-01 13:00:01", "2021-01-01 13:00:02", "2021-01-02 13:00:00", "2021-01-02 13:00:01"]

    assert [installation.triggers("TABLE", "BIGQUERY_TABLE_NAME_4", at) for at in times] == [True, True, True, False]


def test_one_cron_event_serves_every_configuration(store: Store) -> None:
    installation = defined(store)
    installation.post("FILE", f"{FOLDER}path/a", "2021-01-01 11:00:00")
    installation.post("TABLE", "BIGQUERY_TABLE_NAME_1", "2021-01-01 11:00:00")
    installation.post("TABLE", "BIGQUERY_TABLE_NAME_2", "2021-01-01 11:00:00")

    answer = installation.post("TIME_BASED", "cron", "2021-01-01 11:30:00")

    assert sorted(one.configuration for one in answer.triggered) == [C1, C2]


def test_an_event_that_is_not_newer_than_the_last_execution_validates_nothing(store: Store) -> None:
    installation = defined(store)
    installation.post("FILE", f"{FOLDER}path/a", "2021-01-01 12:00:00")
    assert installation.triggers("TIME_BASED", "cron", "2021-01-01 12:30:00")

    for at in ("2021-01-01 12:30:00", "2021-01-01 12:29:59.999999"):
        assert installation.post("FILE", f"{FOLDER}path/b", at).validated == []
    assert len(installation.post("FILE", f"{FOLDER}path/b", "2021-01-01 12:30:00.000001").validated) == 1


def test_a_file_that_comes_after_the_clock_does_not_trigger(store: Store) -> None:
    installation = defined(store)
    assert not installation.triggers("TIME_BASED", "cron", "2021-01-01 12:30:00")

    assert not installation.triggers("FILE", f"{FOLDER}path/a", "2021-01-01 12:29:00")
    assert not installation.triggers("FILE", f"{FOLDER}path/a", "2021-01-01 12:31:00")


@pytest.mark.parametrize("kind", ["TIME BASED", "TIME_BASED", "TIME_BASED_CRON", "time-based", " Time Based "])
@pytest.mark.parametrize(
    "timestamp",
    ["2021-01-01T12:30:00.000000Z", "2021-01-01 12:30:00", "2021-01-01T14:30:00+02:00", "2021-01-01 12:30:00.0Z"],
)
def test_every_spelling_of_the_document_is_understood(kind: str, timestamp: str, tmp_path: Path) -> None:
    from rota.engine.events.request import read_event

    for key in ("eventResourceId", "eventResourceld"):
        event = read_event({"eventType": kind, "eventTimestamp": timestamp, key: "cron"}, moment("2024-01-01 00:00:00"))

        assert (event.type, event.resource) == ("TIME_BASED", "cron")
        assert event.time == moment("2021-01-01 12:30:00") * 1_000


# -- Flask ---------------------------------------------------------------------------------------------------------


def test_flask_serves_the_endpoint_on_the_same_store(tmp_path: Path) -> None:
    store, port = f"sqlite:///{tmp_path / 'rota.db'}", free_port()
    variables = environment(ROTA_STORE=store, ROTA_CONFIG=str(EXAMPLE))
    flask = subprocess.Popen(
        [sys.executable, "-m", "flask", "--app", "rota.sdk.flask", "run", "--port", str(port)],
        cwd=tmp_path,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: _listens(port), "Flask to listen")
        curl = Curl(f"http://127.0.0.1:{port}", None)
        answers = [curl.post("/events", row.event) for row in TABLE]
        refusals = [
            curl("GET", "/events").status,
            curl("POST", "/events", "{}", header="Content-Type: text/plain").status,
            curl("POST", "/events", "{").status,
        ]
    finally:
        flask.terminate()
        _, said = flask.communicate(timeout=LONG_DEADLINE_S)

    assert [about_c1(answer) for answer in answers] == [expected(row) for row in TABLE]
    assert refusals == [405, 415, 400]
    assert said.count("job triggered") == 2
    with served(tmp_path, store) as native:
        assert native.get(f"/api/configurations/{C1}")["triggered"] == 2


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_answer_is_the_one_that_clients_rely_on(tmp_path: Path) -> None:
    with served(tmp_path, f"sqlite:///{tmp_path / 'rota.db'}") as curl:
        curl.post("/events", TABLE[0].event)
        body = curl("POST", "/events", TABLE[4].event).body

    answer = msgspec.json.decode(body)
    job = answer["triggered"][0].pop("job")
    assert len(job) == 36
    assert answer == {
        "validated": [{"configuration": C1, "dependency": CRON}, {"configuration": C2, "dependency": CRON}],
        "triggered": [{"configuration": C1}],
    }
