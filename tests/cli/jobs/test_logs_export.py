"""`rota logs export`."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from rota.cli.jobs.exported_logs import read_progress
from rota.model.job import Claim, JobSpec
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.runs.log import LogEntry
from rota.model.runs.outcome import succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import Settlement, settle
from rota.store import Store, open_store
from rota.store.contract.logs import LogBatch
from tests.cli.calling import RotaProcess, call_process, done, rota
from tests.servers import RedisServer

QUEUE = "1bd2bf95-868a-4212-8a0a-82c7f442848e"
TYPE = "80d1c95a-a9cc-4dbb-a3fb-ff0f6b7d2c06"
START = 1_700_000_000_000


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{folder}/some.db"
    else:
        server: RedisServer = request.getfixturevalue("redis_server")
        server.flush()
        yield server.url


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as opened:
        opened.put_node_types([NodeType(uuid=QUEUE, name="default")])
        opened.put_job_types([JobType(uuid=TYPE, name="speak", executor="bash", metadata={"command": "true"})])
        yield opened


def run_jobs(store: Store, numbers: range, lines: int = 2) -> None:
    """Three of them end each second: number 7 ends two seconds after the start."""
    ends = {f"00000000-0000-7000-8000-{number:012}": START + number // 3 * 1000 for number in numbers}
    specs = [JobSpec(id=job_id, job_type=TYPE, queue=QUEUE, enqueued_at=START) for job_id in ends]
    store.enqueue_jobs(specs, now=START)
    claims = store.claim_jobs(QUEUE, token="n/1", limit=len(specs), now=START).claims
    store.append_logs([LogBatch(QUEUE, one.spec.id, one.token, _entries(one, ends, lines)) for one in claims])
    store.finish_jobs(QUEUE, [_settlement(one, ends[one.spec.id]) for one in claims], now=max(ends.values()))


def _entries(claim: Claim, ends: dict[str, int], lines: int) -> list[LogEntry]:
    job_id = claim.spec.id
    return [LogEntry(ends[job_id], f"{int(job_id[-12:])}: line {line}") for line in range(lines)]


def _settlement(claim: Claim, now: int) -> Settlement:
    return settle(claim, succeeded(), policy=RetryPolicy(), started_at=now, now=now, chance=0.5)


def messages(text: str) -> list[str]:
    return [msgspec.json.decode(line)["message"] for line in text.splitlines()]


def expected(numbers: range) -> list[str]:
    return sorted(f"{number}: line {line}" for number in numbers for line in (0, 1))


def test_the_logs_of_a_time_range_come_as_json_lines(store: Store, url: str) -> None:
    run_jobs(store, range(12))

    said = done("logs", "export", "--store", url, "--since", str(START + 1000), "--until", str(START + 3000))

    assert sorted(messages(said.stdout)) == expected(range(3, 9))
    assert msgspec.json.decode(said.stdout.splitlines()[0]) == {
        "job_uuid": "00000000-0000-7000-8000-000000000008",
        "job_type_uuid": TYPE,
        "job_type": "speak",
        "node_type_uuid": QUEUE,
        "state": "succeeded",
        "ended_at": START + 2000,
        "line": 1,
        "attempt": 1,
        "time": START + 2000,
        "level": "info",
        "message": "8: line 0",
    }
    assert said.stderr == "12 lines of 6 jobs.\n"


def test_a_long_log_comes_whole_and_in_order(store: Store, url: str) -> None:
    run_jobs(store, range(2), lines=2_001)

    lines = [msgspec.json.decode(line) for line in done("logs", "export", "--store", url).stdout.splitlines()]

    assert [line["message"] for line in lines[:2_001]] == [f"1: line {number}" for number in range(2_001)]
    assert [line["line"] for line in lines] == [*range(1, 2_002), *range(1, 2_002)]


def test_an_export_that_broke_off_goes_on_without_losing_or_repeating_a_line(
    store: Store, url: str, folder: Path
) -> None:
    run_jobs(store, range(450))
    output, state = folder / "out.jsonl", folder / "out.jsonl.state"
    done("logs", "export", "--store", url, "--output", str(output))
    whole = output.read_text()
    # What a process leaves that was killed in its second page: the progress of the first, and some bytes behind it.
    progress = msgspec.json.decode(state.read_bytes())
    first = _progress_after_one_page(store, url, progress)
    state.write_bytes(msgspec.json.encode(first))
    output.write_text(whole[: first["size"] + 100])
    run_jobs(store, range(450, 460))

    done("logs", "export", "--store", url, "--resume-from", str(state))

    assert output.read_text() == whole
    assert sorted(messages(whole)) == expected(range(450))


def _progress_after_one_page(store: Store, url: str, progress: dict[str, object]) -> dict[str, int]:
    from rota.cli.jobs.exported_logs import LogExport, Progress
    from rota.store.records.listing import cursor_before

    begin = {**progress, "cursor": cursor_before(int(str(progress["until"]))), "size": 0, "jobs": 0, "lines": 0}
    run = LogExport(store, msgspec.convert(begin, Progress), {TYPE: "speak"})
    assert run.progress.cursor is not None
    after = run.write_page(run.progress.cursor, lambda line: None)
    assert after.cursor is not None
    found: dict[str, int] = msgspec.to_builtins(after)
    return found


def test_a_complete_export_goes_on_with_what_ended_since(url: str, folder: Path) -> None:
    done("job-type", "create", "speak", "--store", url, "--", "echo", "hello")
    output, state = folder / "out.jsonl", folder / "out.jsonl.state"
    for word in ("one", "two"):
        done("enqueue", "speak", f'command=["{word}"]', "--store", url)
        assert call_process("worker", "--burst", "--store", url).exit_code == 0

        if word == "one":
            done("logs", "export", "--store", url, "-o", str(output))
        else:
            said = done("logs", "export", "--store", url, "--resume-from", str(state)).stderr

    assert messages(output.read_text()) == ["hello one", "hello two"]
    assert said == "1 lines of 1 jobs.\n"


def test_an_export_is_for_its_owner_only_and_one_that_lost_lines_is_not_gone_on_with(
    store: Store, url: str, folder: Path
) -> None:
    run_jobs(store, range(3))
    output, state = folder / "out.jsonl", folder / "out.jsonl.state"
    done("logs", "export", "--store", url, "-o", str(output))
    whole = output.read_bytes()

    assert [one.stat().st_mode & 0o777 for one in (output, state)] == [0o600, 0o600]
    output.write_bytes(whole[:-1])
    shorter = rota("logs", "export", "--store", url, "--resume-from", str(state))
    output.unlink()
    gone = rota("logs", "export", "--store", url, "--resume-from", str(state))
    for answer in (shorter, gone):
        assert answer.exit_code == 2
        assert "out.jsonl is shorter than it was; it cannot be gone on with" in answer.stderr
    output.write_bytes(whole)
    done("logs", "export", "--store", url, "--resume-from", str(state))
    assert output.read_bytes() == whole


def test_an_export_that_is_killed_can_be_taken_up(store: Store, url: str, folder: Path) -> None:
    run_jobs(store, range(900))
    words = ["logs", "export", "--store", url, "--state", str(folder / "state"), "--until", str(START + 10_000_000)]

    with RotaProcess(words, folder) as export:
        export.until(lambda: len(export.stdout) > 500, "some lines")
        export.stop(signal.SIGKILL)
    kept = msgspec.json.decode((folder / "state").read_bytes())
    rest = done("logs", "export", "--store", url, "--resume-from", str(folder / "state")) if kept["cursor"] else None

    done_before = messages("".join(export.stdout)[: kept["size"]])
    assert sorted([*done_before, *messages(rest.stdout if rest else "")]) == expected(range(900))


def test_what_the_kept_progress_counts_is_on_the_disk_before_it(
    store: Store, url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever moment the machine stops at."""
    run_jobs(store, range(600))
    output, begun_state = folder / "logs.jsonl", folder / "logs.jsonl.state.new"
    on_disk = [0]
    kept: list[tuple[int, int]] = []

    def sync(descriptor: int, real: Callable[[int], None] = os.fsync) -> None:
        real(descriptor)
        synced = os.fstat(descriptor)
        if output.exists() and os.path.samestat(synced, output.stat()):
            on_disk.append(synced.st_size)
        elif begun_state.exists() and os.path.samestat(synced, begun_state.stat()):
            kept.append((read_progress(begun_state).size, on_disk[-1]))

    monkeypatch.setattr(os, "fsync", sync)
    done("logs", "export", "--store", url, "--output", str(output))

    assert kept == [(size, size) for size in on_disk]
    assert len(kept) > 3


def test_what_cannot_be_meant_is_refused(store: Store, url: str, folder: Path) -> None:
    (folder / "there").write_text("mine")
    (folder / "state").write_text('{"store":"sqlite:///other.db","since":0,"until":1,"cursor":null}')
    (folder / "broken").write_text("{}")

    def refusal(*words: str) -> str:
        answer = rota("logs", "export", "--store", url, *words)
        assert answer.exit_code == 2, answer
        return answer.stderr

    assert "is there already" in refusal("--output", "there")
    assert (folder / "there").read_text() == "mine"
    assert "is after --until" in refusal("--since", "2030-01-01", "--until", "2020-01-01")
    assert "is of the store" in refusal("--resume-from", "state")
    assert "is not the progress of an export" in refusal("--resume-from", "broken")
    assert "cannot be read" in refusal("--resume-from", "nowhere")
    assert "give it alone" in refusal("--resume-from", "state", "--since", "2020-01-01")


def test_help_shows_it(folder: Path) -> None:
    assert "JSON lines" in done("logs", "export", "--help").stdout
    assert "rota logs export" in done("logs", "--help").stdout


def test_an_export_follows_no_link(store: Store, url: str, folder: Path) -> None:
    run_jobs(store, range(3))
    victim = folder / "victim"
    victim.write_text("precious")
    for name in ("out.jsonl", "new.jsonl.state.new"):
        (folder / name).symlink_to(victim)
    (folder / "dangling.jsonl").symlink_to(folder / "nowhere")

    for name in ("out.jsonl", "dangling.jsonl", "new.jsonl"):
        assert rota("logs", "export", "--store", url, "--output", name).exit_code != 0, name
    done("logs", "export", "--store", url, "--output", "mine.jsonl")
    (folder / "mine.jsonl").unlink()
    (folder / "mine.jsonl").symlink_to(victim)
    again = rota("logs", "export", "--store", url, "--resume-from", "mine.jsonl.state")

    assert again.exit_code == 2
    assert victim.read_text() == "precious"
    assert not (folder / "nowhere").exists()
