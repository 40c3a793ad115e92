"""Making jobs, and waiting for them."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from rota.model.runs.retry import RetryPolicy
from rota.server.app import make_app
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from tests.cli.calling import RotaProcess, call_process, done, rota
from tests.sdk.serving import serving
from tests.server.serving import KEY, make_api

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def hello(folder: Path) -> None:
    """A job type."""
    done("job-type", "create", "hello", "--", "echo", "hello")


@pytest.fixture
def worker(hello: None, folder: Path) -> Iterator[RotaProcess]:
    """A worker on the store of this folder."""
    with RotaProcess(["worker"], folder) as process:
        process.until_said("node")
        yield process
        assert process.stop() == 0


def spec_of(opened: Store, job_id: str) -> dict[str, object]:
    job = opened.find_jobs([job_id.strip()])[0]
    assert job is not None
    return {field: getattr(job.spec, field) for field in job.spec.__struct_fields__}


def test_the_id_of_the_job_is_printed(hello: None, opened: Store) -> None:
    answer = done("enqueue", "hello")

    assert spec_of(opened, answer.stdout)["arguments"] == {}


def test_arguments_are_words_whose_values_are_json_where_they_read_as_such(hello: None, opened: Store) -> None:
    words = ["n=3", 'deep={"a": [1, null]}', "text=hello world", 'quoted="7"', "empty=", "sum=1=2", "nan=NaN"]

    answer = done("enqueue", "hello", *words, "--arguments", '{"n": 1, "m": 2}')

    assert spec_of(opened, answer.stdout)["arguments"] == {
        "n": 3,
        "m": 2,
        "deep": {"a": [1, None]},
        "text": "hello world",
        "quoted": "7",
        "empty": "",
        "sum": "1=2",
        "nan": "NaN",
    }


def test_every_rule_of_a_job_can_be_given(hello: None, opened: Store) -> None:
    rules = ["--priority", "5", "--unique-key", "k", "--timeout", "500ms", "--attempts", "4"]

    answer = done("enqueue", "hello", *rules, "--at", "2030-01-31T12:00:00+01:00", "--json").json

    spec = spec_of(opened, answer["uuid"])
    assert (spec["priority"], spec["unique_key"], spec["timeout_ms"]) == (5, "k", 500)
    assert spec["run_at"] == 1_896_087_600_000
    assert getattr(spec["retry"], "attempts", None) == 4


def test_another_number_of_attempts_leaves_the_rest_of_the_job_types_policy(opened: Store) -> None:
    done("job-type", "create", "flaky", "--attempts", "3", "--retry-delay", "7s", "--", "false")

    job = done("enqueue", "flaky", "--attempts", "5").stdout

    assert spec_of(opened, job)["retry"] == RetryPolicy(attempts=5, delay_ms=7_000)
    assert spec_of(opened, done("enqueue", "flaky").stdout)["retry"] is None


def test_a_job_may_expire(hello: None, opened: Store) -> None:
    job = done("enqueue", "hello", "--expires", "10m").stdout.strip()

    spec = spec_of(opened, job)
    assert spec["expires_at"] == int(str(spec["enqueued_at"])) + 600_000
    assert "expires" in done("job", job).stdout


@pytest.mark.parametrize(("delay", "ms"), [("5s", 5_000), ("500ms", 500), ("1.5m", 90_000), ("1h", 3_600_000)])
def test_a_delay_has_a_unit(hello: None, opened: Store, delay: str, ms: int) -> None:
    spec = spec_of(opened, done("enqueue", "hello", "--delay", delay).stdout)

    assert isinstance(spec["run_at"], int)
    assert isinstance(spec["enqueued_at"], int)
    assert spec["run_at"] - spec["enqueued_at"] == ms


def test_a_job_with_a_taken_unique_key_is_not_made_again(hello: None) -> None:
    first = done("enqueue", "hello", "--unique-key", "k", "--json").json

    second = done("enqueue", "hello", "--unique-key", "k", "--json").json

    assert second == {"uuid": first["uuid"], "is_new": False}
    assert len(done("jobs", "--json").json) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["n"], "'n' is not key=value"),
        (["=1"], "is not key=value"),
        (["n=1", "n=2"], "stands twice"),
        (["--arguments", "[1]"], "must be a JSON object"),
        (["--arguments", '{"n": NaN}'], "not valid JSON"),
        (["--priority", "1000000"], "priority"),
        (["--delay", "soon"], "is not a duration"),
        (["--delay", "5"], '"5" has no unit; write 5s for seconds, 5ms for milliseconds'),
        (["--timeout", "60000"], '"60000" has no unit'),
        (["--delay", "99999999d"], "ten years"),
        (["--delay", "1s", "--at", "2030-01-01T00:00:00Z"], "give one of them"),
        (["--at", "tomorrow"], "neither ISO 8601"),
        (["--attempts", "0"], "attempts"),
        (["--timeout", "0"], "timeout"),
        (["--unique-key", ""], "unique_key"),
        (["--expires", "0s"], "expires"),
        (["x=" + "y" * 300_000], "the limit is 262144"),
        (["x=" + "[" * 70 + "]" * 70], "nested deeper than 64"),
        (["x=\udcff"], "lone surrogate"),
    ],
)
def test_bad_input_is_refused_by_name_and_nothing_is_stored(hello: None, words: list[str], said: str) -> None:
    answer = rota("enqueue", "hello", *words)

    assert answer.exit_code == 2
    assert said in answer.stderr
    assert done("jobs", "--json").json == []


def test_waiting_ends_with_the_job(worker: RotaProcess) -> None:
    answer = done("enqueue", "hello", "--wait", "--timeout-wait", "300s", "--json").json

    assert answer["state"] == "succeeded"
    assert answer["results"] == {"stdout": "hello\n", "stderr": "", "exit_code": 0}
    assert answer["is_new"]


def test_waiting_for_a_job_that_fails_gives_exit_code_1(worker: RotaProcess) -> None:
    done("job-type", "create", "broken", "--command", "echo no luck >&2; exit 3")

    answer = rota("enqueue", "broken", "--wait", "--timeout-wait", "300s")

    assert answer.exit_code == 1
    assert "failed" in answer.stdout
    assert '"exit_code":3' in answer.stdout


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for a slow machine is not told why."""
    monkeypatch.setattr("rota.cli.jobs.why.TELL_AFTER_S", 3_600.0)


def test_following_shows_the_log_and_then_the_outcome(worker: RotaProcess, patient: None) -> None:
    done("job-type", "create", "count", "--command", "for i in 1 2 3; do echo line $i; sleep 0.1; done")

    answer = done("enqueue", "count", "--follow", "--timeout-wait", "300s")

    assert answer.stdout.splitlines()[1:] == ["line 1", "line 2", "line 3"]
    assert answer.stderr.startswith("succeeded after")


def test_following_with_json_keeps_one_document_on_standard_output(worker: RotaProcess, patient: None) -> None:
    answer = done("enqueue", "hello", "--follow", "--timeout-wait", "300s", "--json")

    assert answer.json["state"] == "succeeded"
    assert answer.stderr == "hello\n"


def test_waiting_too_long_gives_exit_code_124(hello: None) -> None:
    answer = rota("enqueue", "hello", "--wait", "--timeout-wait", "50ms")

    assert answer.exit_code == 124
    assert "it goes on without us" in answer.stderr
    assert done("jobs", "--json").json[0]["state"] == "queued"


def test_who_waits_is_told_the_job_although_the_server_goes_away(
    opened: Store, hello: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = make_api(opened)
    app = make_app(api)

    async def without_jobs(scope: Scope, receive: Receive, send: Send) -> None:
        """Takes jobs, and cannot be asked about them."""
        if scope["method"] == "POST" or not scope["path"].startswith("/api/jobs/"):
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    with serving(without_jobs) as address:
        monkeypatch.setenv("ROTA_SERVER", address)
        monkeypatch.setenv("ROTA_API_KEY", KEY)
        answer = rota("enqueue", "hello", "--wait", "--json")
    api.close()

    (job,) = opened.list_jobs(JobQuery(), limit=2).jobs
    assert (answer.exit_code, answer.stdout) == (5, "")
    assert f"The job goes on. Follow it with: rota logs -f {job.id}\n" in answer.stderr


def test_an_interrupted_wait_gives_exit_code_130_and_leaves_the_job_alone(hello: None, folder: Path) -> None:
    with RotaProcess(["enqueue", "hello", "--wait"], folder) as waiting:
        waiting.until(lambda: bool(waiting.stdout), "the id of the job")

        exit_code = waiting.stop(signal.SIGINT)

    assert exit_code == 130
    assert "Traceback" not in "".join(waiting.stderr)
    assert f"rota logs -f {waiting.stdout[0].strip()}" in "".join(waiting.stderr)
    assert done("jobs", "--json").json[0]["state"] == "queued"


def test_the_store_can_come_from_the_environment(folder: Path) -> None:
    url = f"sqlite:///{folder / 'elsewhere.db'}"

    done("job-type", "create", "hello", "--store", url, "--", "true")

    assert call_process("enqueue", "hello", ROTA_STORE=url).exit_code == 0
