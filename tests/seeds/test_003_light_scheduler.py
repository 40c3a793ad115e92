"""Seed 003 from top to bottom, with curl against a real node, on SQLite and on Redis.

The numbers are those of the features (L) and traps (T) of the seed; what needs brokers is tested with them.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import rota.model.topics.light
from tests.cli.calling import RotaProcess, environment
from tests.seeds.curling import Answer, Curl
from tests.servers import RedisServer, wait_until

CONSUMER = Path(__file__).parents[2] / "examples" / "light" / "consumer.py"
SCHEMAS = Path(rota.model.topics.light.__file__).parent / "avro"
FAR = 4_000_000_000_000
"""A start that no test lives to see."""
EVERY_TEN_SECONDS = {"timeUnit": "SECONDS", "time": 10}
EVERY_TWO_MINUTES = {"timeUnit": "MINUTES", "time": 2}
FIELDS = ["host", "name", "action", "frequency", "topic", "start", "data"]
_hosts = count()


class Site:
    """A node, and one host and one topic of its own for each test."""

    def __init__(self, node: RotaProcess) -> None:
        banner = node.banner()
        self.address, self.key = str(banner["address"]), str(banner["api_key"])
        self.curl = Curl(self.address, self.key)
        self.host = self.topic = ""

    def move_on(self) -> None:
        number = next(_hosts)
        self.host, self.topic = f"tenant-{number}.networknt.com", f"tasks-{number}"

    def send(self, **fields: object) -> Answer:
        """POST a command. A field that is `...` is left out."""
        given = {"host": self.host, "name": "report", "topic": self.topic} | fields
        return self.curl("POST", "/schedulers", {name: value for name, value in given.items() if value is not ...})

    def get(self, **query: str) -> Answer:
        return self.curl("GET", f"/schedulers?{urlencode({'host': self.host, 'name': 'report'} | query)}")

    def tasks(self) -> list[dict[str, Any]]:
        """What is on the topic."""
        answer = self.curl("GET", f"/api/topics/{self.topic}?limit=1000")
        return [] if answer.status == 404 else [record["value"] for record in answer.json["records"]]

    def await_tasks(self, number: int) -> list[dict[str, Any]]:
        wait_until(lambda: len(self.tasks()) >= number, f"{number} tasks")
        return self.tasks()


@pytest.fixture(scope="module", params=["sqlite", "redis"])
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("light")
    store = f"sqlite:///{folder / 'rota.db'}"
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        server.flush()
        store = server.url
    words = ["up", "--port", "0", "--no-demo", "--json", "--store", store]
    with RotaProcess(words, folder, ROTA_RATE_LIMIT="0") as process:
        yield Site(process)


@pytest.fixture
def site(node: Site) -> Site:
    node.move_on()
    return node


def test_insert_update_and_delete_answer_200(site: Site) -> None:
    """L2, L10, L13, T1."""
    for action, frequency in (("INSERT", EVERY_TEN_SECONDS), ("UPDATE", EVERY_TWO_MINUTES), ("DELETE", None)):
        assert site.send(action=action, frequency=frequency, start=FAR).status == 200

    assert site.get(unit="MINUTES").json == []


@pytest.mark.parametrize("unit", ["MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS"])
def test_there_are_five_units_and_a_definition_is_found_in_its_own(site: Site, unit: str) -> None:
    """L4, L5, L8, L14."""
    site.send(frequency={"timeUnit": unit, "time": 10}, start=FAR, data={"key": "value"})

    answer = site.get(unit=unit)

    assert answer.status == 200
    (definition,) = answer.json
    assert list(definition) == FIELDS
    assert definition["frequency"] == {"timeUnit": unit, "time": 10}
    assert (definition["start"], definition["data"], definition["action"]) == (FAR, {"key": "value"}, "INSERT")
    assert site.get(unit="DAYS" if unit != "DAYS" else "HOURS").json == []


def test_a_due_task_goes_to_its_topic_and_says_its_instant(site: Site) -> None:
    """L4, L6, L12, T6: S + k * P; S is the next exact unit."""
    site.send(frequency={"timeUnit": "SECONDS", "time": 2}, data={"region": "eu"})

    first, second = site.await_tasks(2)[:2]

    assert list(first) == FIELDS
    assert (first["host"], first["name"], first["data"]) == (site.host, "report", {"region": "eu"})
    assert first["start"] % 1_000 == 0
    assert second["start"] - first["start"] == 2_000
    (definition,) = site.get(unit="SECONDS").json
    assert definition["start"] == first["start"]


def test_a_start_counts_to_the_millisecond(site: Site) -> None:
    """L11, T5, T6: a start in the past is the anchor of the series, and nothing is caught up on."""
    site.send(frequency={"timeUnit": "SECONDS", "time": 1}, start=1_000_000_000_777)

    tasks = site.await_tasks(2)

    assert {task["start"] % 1_000 for task in tasks} == {777}
    assert tasks[1]["start"] - tasks[0]["start"] == 1_000


def test_a_definition_is_the_one_of_its_host_and_name(site: Site) -> None:
    """L9, T12: without an action it is INSERT, which takes the place of what is there."""
    site.send(frequency=EVERY_TEN_SECONDS, start=FAR)
    site.send(frequency=EVERY_TEN_SECONDS, start=FAR + 1)
    site.send(frequency=EVERY_TEN_SECONDS, start=FAR + 2, host=f"other.{site.host}")

    (definition,) = site.get(unit="SECONDS").json

    assert definition["start"] == FAR + 1


def test_update_moves_a_definition_to_another_unit(site: Site) -> None:
    """T4: it is in one unit at a time."""
    site.send(frequency={"timeUnit": "MILLISECONDS", "time": 100})
    site.await_tasks(1)
    assert site.send(action="UPDATE", frequency={"timeUnit": "DAYS", "time": 1}, start=FAR).status == 200
    left = site.get(unit="MILLISECONDS").json

    assert left == []
    assert len(site.get(unit="DAYS").json) == 1


def test_delete_needs_no_frequency(site: Site) -> None:
    """T4."""
    site.send(frequency=EVERY_TEN_SECONDS, start=FAR)

    assert site.send(action="DELETE", topic=...).status == 200
    assert site.get(unit="SECONDS").json == []


def test_a_task_without_a_frequency_is_sent_once(site: Site) -> None:
    """T10."""
    site.send(data={"order": "7"})

    (task,) = site.await_tasks(1)

    assert (task["frequency"], task["data"]) == (None, {"order": "7"})
    wait_until(lambda: site.get(unit="SECONDS").json == [], "the definition to go")
    assert site.send(action="DELETE").status == 404
    assert len(site.tasks()) == 1


def test_commands_do_not_go_to_the_topic(site: Site) -> None:
    """T8."""
    for action in ("INSERT", "UPDATE", "DELETE"):
        assert site.send(action=action, frequency=EVERY_TEN_SECONDS, start=FAR).status == 200

    site.send(name="last")  # what is sent after them is there alone

    assert [task["name"] for task in site.await_tasks(1)] == ["last"]


@pytest.mark.parametrize("missing", ["host", "name", "unit"])
def test_every_parameter_is_required(site: Site, missing: str) -> None:
    """L14, T2, T15."""
    given = {"host": "a", "name": "b", "unit": "DAYS"}
    query = {name: value for name, value in given.items() if name != missing}

    answer = site.curl("GET", f"/schedulers?{urlencode(query)}")

    assert answer.status == 400
    assert list(answer.json) == ["statusCode", "code", "message", "description"]
    assert answer.json["statusCode"] == 400
    assert answer.json["code"].startswith("ERR11")
    assert missing in answer.json["description"]


def test_a_unit_that_there_is_not_is_a_400(site: Site) -> None:
    """T2."""
    assert site.get(unit="WEEKS").status == 400


@pytest.mark.parametrize("action", ["UPDATE", "DELETE"])
def test_to_change_nothing_is_a_404(site: Site, action: str) -> None:
    """T3."""
    answer = site.send(action=action, frequency=EVERY_TEN_SECONDS)

    assert answer.status == 404
    assert (answer.json["statusCode"], answer.json["code"]) == (404, "ERR11637")


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"host": ...}, "host"),
        ({"name": ...}, "name"),
        ({"topic": ...}, "topic"),
        ({"action": "REPLACE"}, "action"),
        ({"frequency": {"timeUnit": "YEARS", "time": 1}}, "frequency.timeUnit"),
        ({"frequency": {"timeUnit": "DAYS", "time": 0}}, "frequency.time"),
        ({"data": {"pages": 5}}, "data.pages"),
    ],
)
def test_bad_input_is_named_and_nothing_is_sent(site: Site, fields: dict[str, object], named: str) -> None:
    """T10, T11, T15."""
    answer = site.send(**fields)

    assert answer.status == 400
    assert answer.json["description"].startswith(f"{named}: ")
    site.send(name="last")
    assert [task["name"] for task in site.await_tasks(1)] == ["last"]


def test_a_key_needs_the_scopes(site: Site) -> None:
    """L13, L14."""
    anonymous = Curl(site.address, None)

    assert anonymous("POST", "/schedulers", {}).status == 401
    assert anonymous("GET", "/schedulers?host=a&name=b&unit=DAYS").json["statusCode"] == 401


def test_the_document_has_both_operations(site: Site) -> None:
    """L15."""
    path = site.curl.get("/openapi.json")["paths"]["/schedulers"]

    assert path["post"]["operationId"] == "sendScheduleTask"
    assert path["get"]["operationId"] == "getScheduleTaskDefinitions"
    assert [one["name"] for one in path["get"]["parameters"] if one["required"]] == ["host", "name", "unit"]


def test_the_schemas_are_there(site: Site) -> None:
    """L8."""
    schema = json.loads((SCHEMAS / "TaskDefinition.avsc").read_text())

    assert [field["name"] for field in schema["fields"]] == FIELDS
    assert len(list(SCHEMAS.glob("*.avsc"))) == 5


def test_a_program_reads_the_topic_and_does_the_work(site: Site, tmp_path: Path) -> None:
    """L6: the consumer of `examples/light`; a second run goes on where the first ended."""

    def consume() -> list[str]:
        variables = environment(ROTA_URL=site.address, ROTA_API_KEY=site.key)
        words = [sys.executable, str(CONSUMER), site.topic, "--once"]
        ended = subprocess.run(words, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True)
        return ended.stdout.split("\n")[:-1]

    assert consume() == []
    site.send(name="a", data={"n": "1"})
    site.await_tasks(1)
    first = consume()
    site.send(name="b")
    site.await_tasks(2)

    assert [line.split()[:2] for line in [*first, *consume()]] == [[site.host, "a"], [site.host, "b"]]
    assert consume() == []
