"""Seed 000 from top to bottom, with curl and redis-cli against a real node, on SQLite and on Redis."""

import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from tests.cli.calling import RotaProcess
from tests.seeds.curling import Answer, Curl
from tests.servers import RedisServer

TOKEN = "let-me-in"
FIELDS = ["id", "source", "collection", "priority", "created_at", "started_at", "finished_at", "status"]
UTC_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
ALWAYS = {"start": "1970-01-01T00:00:00Z", "end": "2100-01-01T00:00:00Z"}
QUEUE = "sync_tasks_priority_queue"
YAML = """
server: {admin_token: let-me-in}
sources:
  source_id:
    executor: bash
    metadata: {command: "echo began; echo trouble >&2; while [ ! -e go ]; do sleep 0.02; done; echo ended"}
    collections:
      - name: "sample_collection"
        schedule: "0/1 * 0 ? * * 2099" #the document's own has no year: each second of the hour after midnight
      - name: "other"
  "we ird:s#_x":
    executor: bash
    metadata: {command: "echo $ROTA_SOURCE, $ROTA_COLLECTION; exit 3"}
    collections: [{name: "a_b"}, {name: "c d:e#f"}]
  counting:
    executor: bash
    metadata: {command: "seq 5000"}
    collections: [{name: numbers}]
"""


class Site:
    """A node with the document's sources."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder
        (folder / "rota.yaml").write_text(YAML)
        words = ["up", "--port", "0", "--no-demo", "--json", "--store", store]
        self.node = RotaProcess(words, folder)
        self._curl: Curl | None = None

    @property
    def curl(self) -> Curl:
        if self._curl is None:
            self._curl = Curl(str(self.node.banner()["address"]), None)
        return self._curl

    def move_to(self, node: RotaProcess) -> None:
        """Speak to another node from now on."""
        self.node, self._curl = node, None

    def call(self, method: str, path: str, token: str | None = TOKEN, **query: str) -> Answer:
        words = {**query, **({"token": token} if token else {})}
        return self.curl(method, f"{path}?{urlencode(words)}", "")

    def post(self, source: str, collection: str, path: str = "/tasks/") -> tuple[int, str]:
        answer = self.call("POST", path, source=source, collection=collection)
        return answer.status, answer.json["task_id"]

    def task(self, id: str) -> dict[str, Any]:
        answer = self.call("GET", f"/tasks/{quote(id)}")
        assert answer.status == 200, answer
        found: dict[str, Any] = answer.json
        return found

    def tasks(self, **query: str) -> list[dict[str, Any]]:
        answer = self.call("GET", "/tasks", **query)
        assert answer.status == 200, answer
        found: list[dict[str, Any]] = answer.json["tasks"]
        return found

    def logs(self, id: str, **query: str) -> list[dict[str, str]]:
        answer = self.call("GET", f"/tasks/{quote(id)}/logs", **query)
        assert answer.status == 200, answer
        found: list[dict[str, str]] = answer.json["logs"]
        return found

    def until(self, id: str, status: str) -> dict[str, Any]:
        self.node.until(lambda: self.task(id)["status"] == status, f"{id} to be {status}")
        return self.task(id)

    def go(self) -> None:
        (self.folder / "go").touch()


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "redis"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    store = f"sqlite:///{tmp_path / 'rota.db'}"
    if request.param == "redis":
        store = request.getfixturevalue("redis").url
    made = Site(tmp_path, store)
    with made.node:
        yield made


def unix(timestamp: str) -> int:
    assert UTC_TIMESTAMP.fullmatch(timestamp), timestamp
    return int(datetime.fromisoformat(timestamp).astimezone(UTC).timestamp())


def test_the_document_from_top_to_bottom(site: Site) -> None:
    # Manual scheduling: 201 and the new id, then 200 and the one that is there.
    status, id = site.post("source_id", "sample_collection")
    assert status == 201
    assert re.fullmatch(f"source_id_sample_collection_{UUID}", id)
    assert site.post("source_id", "sample_collection") == (200, id)

    # Task execution.
    running = site.until(id, "RUNNING")
    assert list(running) == FIELDS
    assert (running["id"], running["source"], running["collection"]) == (id, "source_id", "sample_collection")
    assert running["priority"] == 300 * 10**12 - unix(running["created_at"])
    assert unix(running["started_at"]) >= unix(running["created_at"])
    assert running["finished_at"] == ""

    # Task logs, while it runs.
    site.node.until(lambda: len(site.logs(id)) == 2, "both lines of the log")
    said = {line["message"]: line["level"] for line in site.logs(id)}
    assert said == {"began": "info", "trouble": "error"}
    assert all(list(line) == ["time", "message", "level"] for line in site.logs(id))
    assert site.post("source_id", "sample_collection") == (200, id)

    site.go()
    ended = site.until(id, "SUCCESS")
    assert unix(ended["finished_at"]) >= unix(ended["started_at"])
    assert [line["message"] for line in site.logs(id)][-1] == "ended"
    last = site.logs(id)[-1]["time"]
    assert [line["message"] for line in site.logs(id, start=last, end=last)] == ["ended"]
    assert "ended" not in [line["message"] for line in site.logs(id, end="2000-01-01T00:00:00Z")]

    # A new one can be made now; both are in history, oldest first.
    status, second = site.post("source_id", "sample_collection", path="/api/v1/tasks")
    assert (status, second == id) == (201, False)
    site.until(second, "SUCCESS")
    assert [one["id"] for one in site.tasks(source="source_id", **ALWAYS)] == [id, second]


def test_a_task_that_waits_has_empty_times(site: Site) -> None:
    site.node.until(lambda: bool(site.curl), "the banner")
    ids = [site.post("source_id", "other")[1]]
    found = site.call("GET", "/tasks", source="source_id", **ALWAYS).json["tasks"][0]

    assert [one["id"] for one in site.tasks(source="source_id", collection="other", **ALWAYS)] == ids
    assert found["finished_at"] == ""
    site.go()


def test_a_long_log_is_whole_and_so_is_each_part_of_it(site: Site) -> None:
    _, id = site.post("counting", "numbers")
    site.until(id, "SUCCESS")

    lines = site.logs(id)

    assert [line["message"] for line in lines] == [str(number) for number in range(1, 5_001)]
    times = [line["time"] for line in lines]
    assert times == sorted(set(times))
    assert site.logs(id, start=times[100], end=times[3_200]) == lines[100:3_201]
    assert site.logs(id, start=times[4_999]) == lines[4_999:]
    assert site.logs(id, end=times[0]) == lines[:1]
    assert site.logs(id, start="2100-01-01T00:00:00Z") == []


def test_tasks_are_listed_by_collection_status_and_period(site: Site) -> None:
    site.go()
    first, second = site.post("source_id", "sample_collection")[1], site.post("source_id", "other")[1]
    created = site.until(first, "SUCCESS")["created_at"]
    site.until(second, "SUCCESS")

    def ids(**query: str) -> list[str]:
        return [one["id"] for one in site.tasks(source="source_id", **{**ALWAYS, **query})]

    assert ids() == [first, second]
    assert ids(collection="other") == [second]
    assert ids(status="SUCCESS") == [first, second]
    assert ids(status="FAILED") == []
    assert ids(limit="1") == [second]
    assert first in ids(start=created, end=created)
    assert ids(end="2000-01-01T00:00:00Z") == []


def test_every_call_needs_the_admin_token(site: Site) -> None:
    refused = '{"message":"Admin token does not match","error":""}'
    calls = [("GET", "/tasks"), ("POST", "/tasks/"), ("GET", "/tasks/x"), ("GET", "/tasks/x/logs")]
    for method, path in [*calls, ("POST", "/tasks/x/cancel")]:
        assert site.call(method, path, token=None) == (401, refused)
        assert site.call(method, path, token="wrong") == (401, refused)
    path = f"/tasks?{urlencode({'source': 'source_id', **ALWAYS})}"
    curl = site.curl

    assert Curl(curl._address, TOKEN)("GET", path).status == 200  # as a Bearer key
    assert curl("POST", "/tasks/?source=source_id&collection=other", "", header=f"X-Admin-Token: {TOKEN}").status == 201
    assert (
        curl("POST", "/tasks/?source=source_id&collection=other&token=no", "", header=f"X-Admin-Token: {TOKEN}")[0]
        == 401
    )  # the query wins
    site.go()


def test_bad_input_is_told_with_the_name_of_the_parameter(site: Site) -> None:
    def message(method: str, path: str, **query: str) -> tuple[int, str]:
        answer = site.call(method, path, **query)
        body = answer.json
        assert list(body) == ["message", "error"]
        return answer.status, body["message"].partition(":")[0]

    good = {"source": "source_id", **ALWAYS}
    assert message("GET", "/tasks") == (400, "source")
    assert message("GET", "/tasks", **{**good, "source": "nobody"}) == (400, "source")
    assert message("GET", "/tasks", source="source_id", end=ALWAYS["end"]) == (400, "start")
    assert message("GET", "/tasks", source="source_id", start=ALWAYS["start"]) == (400, "end")
    assert message("GET", "/tasks", **{**good, "start": "yesterday"}) == (400, "start")
    assert message("GET", "/tasks", **good, status="DONE") == (400, "status")
    assert message("GET", "/tasks", **good, collection="nothing") == (400, "collection")
    assert message("GET", "/tasks", **good, limit="-1") == (400, "limit")
    assert message("POST", "/tasks/", source="source_id") == (400, "collection")
    assert message("POST", "/tasks/", source="nobody", collection="x") == (400, "source")
    assert message("POST", "/tasks/", source="source_id", collection="x") == (400, "collection")
    assert site.call("GET", "/tasks/nothing").status == 404
    assert site.call("GET", "/tasks/nothing/logs").status == 404
    assert site.call("POST", "/tasks/nothing/cancel").status == 404


def test_every_spelling_of_a_path_answers_without_a_redirect(site: Site) -> None:
    site.go()
    _, id = site.post("source_id", "other")
    query = {"source": "source_id", **ALWAYS}
    for prefix in ("", "/api/v1"):
        for slash in ("", "/"):
            assert site.call("GET", f"{prefix}/tasks{slash}", **query).status == 200
            assert site.call("GET", f"{prefix}/tasks/{id}{slash}").status == 200
            assert site.call("GET", f"{prefix}/tasks/{id}/logs{slash}").status == 200
            created = site.call("POST", f"{prefix}/tasks{slash}", source="source_id", collection="other")
            assert created.status in (200, 201)


def test_a_running_task_can_be_cancelled_and_made_anew(site: Site) -> None:
    _, id = site.post("source_id", "other")
    site.until(id, "RUNNING")

    assert site.call("POST", f"/tasks/{id}/cancel") == (200, '{"status":"ok"}')
    assert site.until(id, "CANCELED")["finished_at"] != ""
    assert site.call("POST", f"/tasks/{id}/cancel").status == 409
    status, second = site.post("source_id", "other")
    assert (status, second != id) == (201, True)
    site.go()


def test_names_with_signs_do_no_harm(site: Site) -> None:
    source = "we ird:s#_x"
    for collection in ("a_b", "c d:e#f"):
        status, id = site.post(source, collection)
        assert status == 201
        assert id.startswith(f"{source}_{collection}_")
        failed = site.until(id, "FAILED")  # its command ends with 3
        assert (failed["source"], failed["collection"]) == (source, collection)
        assert site.logs(id)[0]["message"] == f"{source}, {collection}"
        assert [one["id"] for one in site.tasks(source=source, collection=collection, **ALWAYS)] == [id]


def test_changes_of_the_file_are_picked_up_without_a_restart(site: Site) -> None:
    _, running = site.post("source_id", "sample_collection")
    site.until(running, "RUNNING")
    file = site.folder / "rota.yaml"

    file.write_text(YAML.replace('name: "other"', 'name: "newer"').replace("0/1 * 0 ? * * 2099", "* * * * * *"))
    site.node.until(
        lambda: site.call("POST", "/tasks/", source="source_id", collection="newer").status < 300, "the new collection"
    )
    site.node.until(
        lambda: site.call("POST", "/tasks/", source="source_id", collection="other").status == 400, "the old one to go"
    )
    file.write_text(YAML.replace("collections:", "colections:", 1))
    site.node.until(lambda: any("colections" in line for line in site.node.stderr), "the mistake to be told")
    assert any("rota.yaml:" in line and "did you mean 'collections'?" in line for line in site.node.stderr)
    assert site.call("POST", "/tasks/", source="source_id", collection="newer").status < 300  # as it was

    site.go()
    site.until(running, "SUCCESS")
    site.node.until(lambda: len(site.tasks(source="source_id", collection="sample_collection", **ALWAYS)) > 1, "a tick")
    ticked = site.tasks(source="source_id", collection="sample_collection", **ALWAYS)[1]
    assert ticked["priority"] == 200 * 10**12 - unix(ticked["created_at"])


def test_any_number_of_requests_on_two_nodes_make_one_task(site: Site) -> None:
    """The document's double lock: 1,000 requests at once, half of them on another node."""
    address = str(site.node.banner()["address"])
    store = str(site.node.banner()["store"])
    with RotaProcess(["up", "--port", "0", "--no-demo", "--json", "--store", store], site.folder) as other:
        addresses = [address, str(other.banner()["address"])]
        query = urlencode({"source": "source_id", "collection": "other", "token": TOKEN})
        words = ["curl", "-sS", "--parallel", "--parallel-max", "50", "-X", "POST", "-w", "\n%{http_code}\n"]
        urls = [f"{addresses[number % 2]}/tasks/?{query}" for number in range(1000)]
        said = subprocess.run([*words, *urls], capture_output=True, text=True, timeout=300, check=True).stdout

        assert sorted(re.findall(r"^20\d$", said, re.MULTILINE)) == ["200"] * 999 + ["201"]
        (task,) = site.tasks(source="source_id", **ALWAYS)
        assert set(re.findall(r'"task_id":"(.*?)"', said)) == {task["id"]}
        site.go()
        site.until(task["id"], "SUCCESS")
        assert other.stop() == 0


def test_a_task_whose_node_dies_fails_and_says_so(site: Site) -> None:
    """A second node runs it, and is killed."""
    store = str(site.node.banner()["store"])
    (site.folder / "none.yaml").write_text(YAML + "\nsync_tasks: {threads: 0}\n")
    assert site.node.stop() == 0
    words = ["up", "--port", "0", "--no-demo", "--json", "--store", store]
    with (
        RotaProcess([*words, "--config", "none.yaml"], site.folder) as watcher,
        RotaProcess(words, site.folder) as victim,
    ):
        site.move_to(watcher)
        _, id = site.post("source_id", "other")
        site.until(id, "RUNNING")  # not on the watcher, which runs none
        victim.process.kill()

        failed = site.until(id, "FAILED")
        assert failed["finished_at"] > failed["started_at"] > ""
        last = site.logs(id)[-1]
        assert (last["level"], "node" in last["message"], "died" in last["message"]) == ("error", True, True)
        status, second = site.post("source_id", "other")
        assert (status, second == id) == (201, False)
        assert site.task(second)["status"] == "SCHEDULED"
        assert site.task(id)["status"] == "FAILED"
        assert watcher.stop() == 0
