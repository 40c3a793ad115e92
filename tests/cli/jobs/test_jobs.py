"""Looking at jobs, cancelling and retrying them, reading their logs."""

import re
from pathlib import Path

import pytest
from msgspec import structs

from rota.model.job import JobState
from rota.model.runs.log import LogEntry
from rota.model.runs.outcome import Outcome, failed, succeeded
from rota.model.runs.progress import Progress
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import settle
from rota.store import Store
from rota.store.contract.logs import LogBatch
from tests.cli.calling import RotaProcess, call_process, done, rota

pytestmark = pytest.mark.usefixtures("place")

TOKEN = "01890000-0000-7000-8000-00000000000a/1"


@pytest.fixture(autouse=True)
def _hello(folder: object) -> None:
    done("job-type", "create", "hello", "--", "echo", "hello")


def enqueue(*words: str) -> str:
    return done("enqueue", "hello", *words).stdout.strip()


def run_next(opened: Store, outcome: Outcome | None, lines: list[LogEntry] | None = None) -> str:
    """Claim the next job as a node does, log something, and end it unless there is no outcome."""
    queue = opened.list_node_types()[0].uuid
    now = opened.now()
    claim = opened.claim_jobs(queue, token=TOKEN, limit=1, now=now).claims[0]
    if lines:
        assert opened.append_logs([LogBatch(queue, claim.spec.id, TOKEN, lines)]) == frozenset()
    if outcome is not None:
        ended = settle(claim, outcome, policy=RetryPolicy(), started_at=now, now=now + 40, chance=0.0)
        assert opened.finish_jobs(queue, [ended], now=now) == frozenset()
    return claim.spec.id


def test_jobs_are_listed_waiting_ones_first(opened: Store) -> None:
    ended, waiting = enqueue(), enqueue()
    run_next(opened, succeeded({"answer": 42}))

    listed = done("jobs", "--json").json

    assert [(one["uuid"], one["state"]) for one in listed] == [(waiting, "queued"), (ended, "succeeded")]
    assert listed[1]["results"] == {"answer": 42}
    assert listed[1]["ended_at"] - listed[1]["started_at"] == 40


def test_jobs_are_a_plain_table_when_nobody_looks() -> None:
    job_id = enqueue()

    header, row = done("jobs").stdout.splitlines()

    assert header.split()[:4] == ["ID", "TYPE", "STATE", "QUEUE"]
    assert row.split()[:4] == [job_id, "hello", "queued", "default"]


def test_a_job_shows_how_far_it_has_come(opened: Store) -> None:
    job_id = enqueue()
    queue = opened.list_node_types()[0].uuid
    claim = opened.claim_jobs(queue, token=TOKEN, limit=1, now=opened.now()).claims[0]
    progress = Progress(done=3, total=8, message="reading", time=opened.now())
    opened.append_logs([LogBatch(queue, claim.spec.id, TOKEN, [], progress)])

    assert "3 of 8 (37 %): reading" in done("job", job_id).stdout
    assert done("jobs", "--json").json[0]["progress"]["percent"] == 37


def test_no_jobs_are_said_to_be_none() -> None:
    answer = done("jobs")

    assert (answer.stdout, answer.stderr) == ("", "No jobs.\n")
    assert done("jobs", "--json").json == []


def test_a_listing_is_cut_and_says_so() -> None:
    for _ in range(5):
        enqueue()

    cut = done("jobs", "--limit", "3", "--json")

    assert len(cut.json) == 3
    assert "more than 3" in cut.stderr
    whole = done("jobs", "--limit", "5", "--json")
    assert (len(whole.json), whole.stderr) == (5, "")
    assert len(done("jobs", "--limit", "3", "--all", "--json").json) == 5


def test_jobs_can_be_chosen_by_state_type_and_queue() -> None:
    done("node-type", "create", "fast")
    done("job-type", "create", "other", "--node-type", "fast", "--", "true")
    first, second = enqueue(), done("enqueue", "other", "--delay", "1h").stdout.strip()

    def chosen(*words: str) -> list[str]:
        return [one["uuid"] for one in done("jobs", "--json", *words).json]

    assert chosen("--state", "delayed") == [second]
    assert chosen("--state", "delayed", "--state", "queued") == [second, first]
    assert chosen("--type", "hello") == [first]
    assert chosen("--queue", "fast") == [second]
    assert chosen("--queue", "fast", "--type", "hello") == []


def test_a_job_is_shown_with_what_came_of_it(opened: Store) -> None:
    job_id = enqueue("n=1")
    run_next(opened, failed({"type": "oops", "message": "it broke"}))

    said = done("job", job_id).stdout

    facts = dict(line.split(maxsplit=1) for line in said.splitlines())
    assert (facts["type"], facts["state"], facts["attempts"], facts["took"]) == ("hello", "failed", "1", "40ms")
    assert facts["arguments"] == '{"n":1}'
    assert facts["error"] == "it broke"
    assert done("job", job_id, "--json").json["errors"] == {"type": "oops", "message": "it broke"}


def test_the_beginning_or_end_of_an_id_is_enough() -> None:
    job_id = enqueue()

    assert done("job", job_id[:13], "--json").json["uuid"] == job_id
    assert done("job", job_id[-6:].upper(), "--json").json["uuid"] == job_id


def test_a_part_that_fits_several_ids_is_refused() -> None:
    first, _ = enqueue(), enqueue()

    answer = rota("job", first[:6])

    assert answer.exit_code == 2
    assert "fits several jobs" in answer.stderr


def test_a_part_is_not_taken_for_an_id_where_not_all_jobs_were_looked_at(
    opened: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.cli.jobs.job_ids._MOST_LOOKED_AT", 500)
    spec = opened.find_jobs([enqueue()])[0]
    assert spec is not None
    more = [structs.replace(spec.spec, id=f"00000000-0000-7000-8000-{n:012}") for n in range(500)]
    opened.enqueue_jobs(more, now=opened.now())

    answer = rota("cancel", spec.id[-12:])

    assert answer.exit_code == 2
    assert "there are too many jobs to look for" in answer.stderr
    assert rota("cancel", more[0].id[-12:]).exit_code == 2
    assert done("cancel", spec.id, "--json").json == [{"uuid": spec.id, "answer": "cancelled"}]


def test_a_job_that_is_named_twice_is_cancelled_and_brought_back_once() -> None:
    job_id = enqueue()

    assert done("cancel", job_id, job_id[-12:], "--json").json == [{"uuid": job_id, "answer": "cancelled"}]
    assert done("retry", job_id[-12:], job_id, "--json").json == [{"uuid": job_id, "answer": "queued"}]


def test_a_waiting_job_is_cancelled_at_once() -> None:
    job_id = enqueue()

    assert done("cancel", job_id, "--json").json == [{"uuid": job_id, "answer": "cancelled"}]
    assert done("job", job_id, "--json").json["state"] == "cancelled"


def test_a_running_job_is_asked_to_end(opened: Store) -> None:
    job_id = enqueue()
    run_next(opened, None)

    assert done("cancel", job_id, "--json").json == [{"uuid": job_id, "answer": "requested"}]
    assert "to be cancelled" in done("job", job_id).stdout


def test_cancelling_an_ended_job_is_a_conflict_and_an_unknown_one_is_not_found() -> None:
    ended, waiting = enqueue(), enqueue()
    done("cancel", ended)

    answer = rota("cancel", ended, waiting, "--json")

    assert answer.exit_code == 4
    assert [one["answer"] for one in answer.json] == ["final", "cancelled"]
    assert rota("cancel", "01890000-0000-7000-8000-000000000000").exit_code == 3


def test_a_failed_job_is_brought_back(opened: Store) -> None:
    job_id = enqueue()
    run_next(opened, failed("no luck"))

    assert done("retry", job_id, "--json").json == [{"uuid": job_id, "answer": "queued"}]
    job = opened.find_jobs([job_id])[0]
    assert job is not None
    assert (job.state, job.attempts) == (JobState.QUEUED, 0)


def test_a_job_that_did_not_fail_is_not_brought_back() -> None:
    job_id = enqueue()

    answer = rota("retry", job_id, "--json")

    assert answer.exit_code == 4
    assert answer.json == [{"uuid": job_id, "answer": "still queued"}]
    assert rota("retry", "01890000-0000-7000-8000-000000000000").exit_code == 3


def test_of_several_jobs_it_is_said_which_was_not_brought_back(opened: Store) -> None:
    failing = enqueue()
    run_next(opened, failed("no luck"))
    waiting = enqueue()

    answer = rota("retry", failing, waiting, "--json")

    assert answer.exit_code == 4
    assert [one["answer"] for one in answer.json] == ["queued", "still queued"]
    assert "only failed and cancelled jobs can be brought back" in answer.stderr


LINES = [LogEntry(1_000, "one"), LogEntry(2_000, "two", "error"), LogEntry(3_000, "three", "debug", 2)]


def test_the_log_of_a_job_is_bare_text_for_other_programs(opened: Store) -> None:
    job_id = enqueue()
    run_next(opened, succeeded(), LINES)

    assert done("logs", job_id).stdout == "one\ntwo\nthree\n"
    assert done("logs", job_id, "-f").stdout == "one\ntwo\nthree\n"
    assert done("logs", job_id, "--level", "error").stdout == "two\n"


def test_the_log_of_a_job_steers_no_terminal_behind_a_pipe_unless_it_is_wanted(opened: Store) -> None:
    job_id = enqueue()
    run_next(opened, succeeded(), [LogEntry(1_000, "\x1b[2Jone\u202e")])

    assert done("logs", job_id).stdout == "\\x1b[2Jone\\u202e\n"
    assert done("logs", job_id, "--raw").stdout == "\x1b[2Jone\u202e\n"
    assert done("logs", job_id, "--raw", "-f").stdout == "\x1b[2Jone\u202e\n"


def test_the_log_of_a_job_can_be_had_as_json(opened: Store) -> None:
    job_id = enqueue()
    run_next(opened, succeeded(), LINES)

    assert done("logs", job_id, "--json").json[2] == {"time": 3_000, "level": "debug", "message": "three", "attempt": 2}
    assert len(done("logs", job_id, "-f", "--json").stdout.splitlines()) == 3


def test_a_long_log_is_read_to_its_end(opened: Store) -> None:
    job_id = enqueue()
    run_next(opened, succeeded(), [LogEntry(n, f"line {n}") for n in range(2_500)])

    assert len(done("logs", job_id).stdout.splitlines()) == 2_500


def test_the_log_of_an_unknown_job_is_not_found() -> None:
    assert rota("logs", "01890000-0000-7000-8000-000000000000").exit_code == 3


def test_what_a_python_job_failed_with_is_shown_in_words_and_its_traceback_line_by_line(folder: Path) -> None:
    (folder / "shop.py").write_text("def fail() -> None:\n    raise ValueError('no such thing')\n")
    done("job-type", "create", "fail", "--function", "shop:fail")
    with RotaProcess(["worker", "--store", f"sqlite:///{folder}/rota.db"], folder):
        followed = rota("enqueue", "fail", "--follow")
    job_id = followed.stdout.splitlines()[0]

    shown = done("job", job_id).stdout

    assert re.search(r"^failed after \S+: ValueError: no such thing$", followed.stderr, re.MULTILINE)
    assert "error      ValueError: no such thing\n" in shown
    assert re.search(r"^traceback  Traceback .*\n +File .*line 2, in fail\n", shown, re.MULTILINE)
    assert "\\n" not in shown


def test_a_job_shows_how_each_of_its_attempts_ended(folder: Path) -> None:
    command = "exit $((ROTA_JOB_ATTEMPT + 2))"
    done("job-type", "create", "flaky", "--attempts", "2", "--retry-delay", "1ms", "--command", command)
    job_id = done("enqueue", "flaky").stdout.strip()
    call_process("worker", "--burst", "--store", f"sqlite:///{folder}/rota.db")

    shown, document = done("job", job_id).stdout, done("job", job_id, "--json").json

    assert "exit code 3" in shown
    assert "error      exit code 4" in shown
    assert [(one["attempt"], one["error"]) for one in document["attempts"]] == [(1, "exit code 3"), (2, "exit code 4")]
    assert (document["attempt"], document["error"], document["errors"]) == (2, "exit code 4", None)
