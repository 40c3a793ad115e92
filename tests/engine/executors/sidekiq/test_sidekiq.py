"""Executor `sidekiq` with a real Ruby Sidekiq on the other side."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rota.engine.executors.sidekiq.job import REPORT_PREFIX
from rota.engine.executors.sidekiq.sidekiq import SidekiqExecutor
from rota.errors import InvalidInput
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors.foreign import AS_ANOTHER, await_exec, needs_root, no_right_to_kill
from tests.engine.executors.runs import JOB_ID, LoggedRun, cancel, errors_of, job_type, make_run, results_of, run_until
from tests.engine.executors.sidekiq.ruby import SidekiqServer
from tests.engine.working import until
from tests.servers import RedisServer, raw_command, wait_until

INJECTION = '#{File.write("evil", "")}"; File.write("evil", ""); `touch evil` \' \\ \n__END__\n'


@pytest.fixture(scope="module")
def sidekiq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SidekiqServer]:
    with SidekiqServer(tmp_path_factory.mktemp("sidekiq")) as server:
        yield server


async def execute(run: LoggedRun) -> Outcome:
    executor = SidekiqExecutor()
    try:
        return await executor.run(run)
    finally:
        await executor.close()


def sidekiq_run(
    server: SidekiqServer, name: str, arguments: dict[str, object] | None = None, **metadata: object
) -> LoggedRun:
    return make_run({"class": name, "redis": server.url, "poll_ms": 20, **metadata}, arguments)


# -- push ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timestamps", ["auto", "seconds", "millis"])
def test_ruby_runs_a_job_that_was_pushed(
    runner: asyncio.Runner, sidekiq: SidekiqServer, tmp_path: Path, timestamps: str
) -> None:
    written = tmp_path / "written"
    content = {"text": "grüße", "list": [1, None, True, 1.5], "evil": INJECTION}
    run = sidekiq_run(sidekiq, "Billing::WriteFile", {"args": [str(written), content]}, timestamps=timestamps)

    outcome = runner.run(execute(run))

    assert outcome.kind is OutcomeKind.SUCCEEDED
    wait_until(lambda: written.exists() and written.stat().st_size > 0, "Ruby to write the file")
    assert json.loads(written.read_text()) == content


def test_a_push_is_done_when_the_job_is_in_the_queue(runner: asyncio.Runner, sidekiq: SidekiqServer) -> None:
    run = sidekiq_run(sidekiq, "Fail", {"sidekiq_arguments": {"a": 1}}, queue="nobody", timestamps="seconds")

    outcome = runner.run(execute(run))

    with sidekiq.redis as client:
        payload = json.loads(client.lpop("queue:nobody"))
        assert client.sismember("queues", "nobody")
        now = client.time()[0]
    jid = str(results_of(outcome)["jid"])
    assert results_of(outcome) == {"jid": jid, "queue": "nobody", "state": "pushed"}
    assert len(bytes.fromhex(jid)) == 12
    assert abs(payload.pop("created_at") - now) < 3600
    assert isinstance(payload.pop("enqueued_at"), float)
    assert payload == {
        "class": "Fail",
        "args": [{"a": 1}],
        "queue": "nobody",
        "jid": jid,
        "retry": False,
        "rota_job_id": JOB_ID,
    }
    assert run.messages() == [f"pushed Fail to the queue nobody with the jid {jid}"]


def test_the_clock_of_the_running_sidekiq_is_followed(sidekiq: SidekiqServer) -> None:
    with sidekiq.redis as client:
        wait_until(lambda: any(client.hget(name, "info") for name in client.smembers("processes")), "Sidekiq to tell")
        client.lpush("queue:mixed", '{"enqueued_at": 1700000000250}')
        asyncio.run(execute(sidekiq_run(sidekiq, "Fail", queue="mixed")))
        enqueued_at = json.loads(client.lindex("queue:mixed", 0))["enqueued_at"]
        client.delete("queue:mixed")
        infos = [json.loads(client.hget(name, "info") or "{}") for name in client.smembers("processes")]

    counts_seconds = all(int(str(info.get("version", "6")).partition(".")[0]) < 8 for info in infos)
    assert type(enqueued_at) is (float if counts_seconds else int)


# -- report ----------------------------------------------------------------------------------------------------------


def test_a_success_comes_back_by_report(runner: asyncio.Runner, sidekiq: SidekiqServer, tmp_path: Path) -> None:
    arguments: dict[str, object] = {"args": [str(tmp_path / "written"), 1]}

    outcome = runner.run(execute(sidekiq_run(sidekiq, "Billing::WriteFile", arguments, completion="report")))

    assert outcome.kind is OutcomeKind.SUCCEEDED
    results = results_of(outcome)
    assert results["state"] == "succeeded"
    assert isinstance(results["ms"], int)
    assert (tmp_path / "written").read_text() == "1"
    with sidekiq.redis as client:
        assert not client.exists(f"{REPORT_PREFIX}{results['jid']}")


def test_a_failure_comes_back_by_report_with_its_error(runner: asyncio.Runner, sidekiq: SidekiqServer) -> None:
    outcome = runner.run(execute(sidekiq_run(sidekiq, "Fail", completion="report")))

    assert outcome.kind is OutcomeKind.FAILED
    assert results_of(outcome)["state"] == "failed"
    assert outcome.errors == {"type": "sidekiq", "message": "ArgumentError: no such invoice"}


def test_a_report_is_kept_for_some_days_only(sidekiq: SidekiqServer) -> None:
    """A node that has died reads none."""
    run = sidekiq_run(sidekiq, "Fail", completion="report", poll_ms=3_600_000)

    async def push_and_die() -> str:
        task, rest = await run_until(SidekiqExecutor(), run, "pushed ")
        key = REPORT_PREFIX + rest.split()[-1]
        with sidekiq.redis as client:
            await asyncio.to_thread(wait_until, lambda: client.ttl(key) > 0, "the report")
            life_s = client.ttl(key)
        await cancel(task)
        return str(life_s)

    assert 3600 < int(asyncio.run(push_and_die())) <= 7 * 24 * 3600


# -- observe ---------------------------------------------------------------------------------------------------------


def test_what_left_sidekiq_is_done_and_what_is_dead_has_failed(
    runner: asyncio.Runner, sidekiq: SidekiqServer, tmp_path: Path
) -> None:
    arguments: dict[str, object] = {"args": [str(tmp_path / "written"), 1]}
    quick = sidekiq_run(sidekiq, "Billing::WriteFile", arguments, completion="observe")
    failing = sidekiq_run(sidekiq, "Fail", completion="observe")
    unknown = sidekiq_run(sidekiq, "NoSuchClass", completion="observe")
    unreported = sidekiq_run(sidekiq, "NoSuchClass", completion="report")

    async def run_all() -> list[Outcome]:
        return await asyncio.gather(*(execute(run) for run in (quick, failing, unknown, unreported)))

    done, dead, nameless, silent = runner.run(run_all())

    assert (done.kind, results_of(done)["state"]) == (OutcomeKind.SUCCEEDED, "gone")
    assert (tmp_path / "written").exists()
    assert (dead.kind, results_of(dead)["state"]) == (OutcomeKind.FAILED, "dead")
    assert errors_of(dead)["message"] == "ArgumentError: no such invoice"
    assert errors_of(nameless)["message"].startswith("NameError: ")
    assert (silent.kind, results_of(silent)["state"]) == (OutcomeKind.FAILED, "unreported")


def test_a_job_is_observed_as_long_as_ruby_runs_it(
    runner: asyncio.Runner, sidekiq: SidekiqServer, tmp_path: Path
) -> None:
    begun, awaited = tmp_path / "begun", tmp_path / "awaited"
    run = sidekiq_run(sidekiq, "Wait", {"args": [str(begun), str(awaited)]}, completion="observe")

    async def run_long() -> Outcome:
        task = asyncio.create_task(execute(run))
        process = await run.said("runs in the Sidekiq process ")
        with sidekiq.redis as client:
            beats = {client.hget(process, "beat")}
            await asyncio.to_thread(wait_until, lambda: len(_grown(beats, client.hget(process, "beat"))) > 5, "beats")
        assert not task.done()
        awaited.touch()
        return await task

    outcome = runner.run(run_long())

    assert (outcome.kind, results_of(outcome)["state"]) == (OutcomeKind.SUCCEEDED, "gone")


def _grown(seen: set[bytes], one: bytes) -> set[bytes]:
    seen.add(one)
    return seen


# -- the end of a run ------------------------------------------------------------------------------------------------


def test_a_cancelled_run_takes_its_job_out_of_the_queue(runner: asyncio.Runner, sidekiq: SidekiqServer) -> None:
    run = sidekiq_run(sidekiq, "Fail", queue="nobody", completion="observe")

    async def push_and_cancel() -> None:
        task, _ = await run_until(SidekiqExecutor(), run, "pushed ")
        await cancel(task)

    runner.run(push_and_cancel())

    with sidekiq.redis as client:
        assert client.llen("queue:nobody") == 0
    assert run.messages()[-1] == "taken out of Sidekiq's queue again"
    assert isinstance(run.partial_results, dict)
    assert run.partial_results["state"] == "pushed"


def test_a_run_that_is_cancelled_while_its_job_is_pushed_takes_it_out_of_the_queue(
    runner: asyncio.Runner, redis_server: RedisServer
) -> None:
    redis_server.flush()
    run = make_run({"class": "Any", "redis": redis_server.url, "queue": "slow"})

    async def push_and_cancel() -> None:
        raw_command(redis_server.port, "CLIENT", "PAUSE", 60_000, "WRITE")
        try:
            task = asyncio.create_task(SidekiqExecutor().run(run))
            is_under_way = lambda: redis_server.info("clients")["blocked_clients"] == "1"  # noqa: E731
            await asyncio.to_thread(wait_until, is_under_way, "the push to be under way")
            task.cancel()
            await asyncio.sleep(0)
        finally:
            raw_command(redis_server.port, "CLIENT", "UNPAUSE")
        with pytest.raises(asyncio.CancelledError):
            await task

    runner.run(push_and_cancel())

    assert raw_command(redis_server.port, "LLEN", "queue:slow") == "0"
    assert run.messages() == ["taken out of Sidekiq's queue again"]


def test_a_cancelled_run_says_that_ruby_goes_on(runner: asyncio.Runner, sidekiq: SidekiqServer, tmp_path: Path) -> None:
    begun, awaited = tmp_path / "begun", tmp_path / "awaited"
    run = sidekiq_run(sidekiq, "Wait", {"args": [str(begun), str(awaited)]}, completion="report")

    async def push_and_cancel() -> None:
        task, _ = await run_until(SidekiqExecutor(), run, "pushed ")
        await asyncio.to_thread(wait_until, begun.exists, "Ruby to begin")
        await cancel(task)

    runner.run(push_and_cancel())
    awaited.touch()

    assert "cannot be asked to stop" in run.messages("warning")[-1]


@pytest.mark.parametrize("is_begun", [True, False])
def test_a_run_is_stopped_only_if_its_job_was_still_in_the_queue(
    runner: asyncio.Runner, redis_server: RedisServer, is_begun: bool
) -> None:
    run = make_run({"class": "Any", "redis": redis_server.url, "queue": "begun", "completion": "observe"})

    async def push_and_cancel() -> None:
        task, _ = await run_until(SidekiqExecutor(), run, "pushed ")
        if is_begun:
            raw_command(redis_server.port, "RPOP", "queue:begun")
        await cancel(task)

    runner.run(push_and_cancel())

    assert run.can_be_stopped is not is_begun


def test_a_run_whose_job_cannot_be_taken_back_is_not_stopped(runner: asyncio.Runner) -> None:
    with RedisServer() as server:
        run = make_run({"class": "Any", "redis": server.url, "completion": "observe"})

        async def push_and_cancel() -> None:
            task, _ = await run_until(SidekiqExecutor(), run, "pushed ")
            await asyncio.to_thread(server.kill9)
            await cancel(task)

        runner.run(push_and_cancel())

    assert not run.can_be_stopped
    assert "could not be taken out of Sidekiq's queue" in run.messages("warning")[-1]


def test_a_run_whose_push_fails_while_it_is_stopped_has_left_nothing_and_may_be_tried_again(
    runner: asyncio.Runner,
) -> None:
    async def push_cancel_and_fail() -> None:
        is_asked, may_go = asyncio.Event(), asyncio.Event()

        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            is_asked.set()
            await may_go.wait()
            writer.close()

        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        address = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
        run = make_run({"class": "Any", "redis": address, "completion": "observe"})
        task = asyncio.create_task(SidekiqExecutor().run(run))
        await is_asked.wait()

        task.cancel()
        await until(lambda: not run.can_be_stopped, "the run to wait for the end of its push")
        may_go.set()

        with pytest.raises(asyncio.CancelledError):
            await task
        assert (run.can_be_stopped, run.partial_results) == (True, None)
        server.close()

    runner.run(push_cancel_and_fail())


def test_a_run_can_be_stopped_as_long_as_its_job_is_seen_in_the_queue(
    runner: asyncio.Runner, redis_server: RedisServer
) -> None:
    metadata = {"redis": redis_server.url, "queue": "seen", "completion": "observe", "poll_ms": 10}
    run = make_run({"class": "Any", **metadata})

    seen: list[bool] = []

    async def push_and_look() -> None:
        task, jid = await run_until(SidekiqExecutor(), run, "pushed Any to the queue seen with the jid ")
        seen.append(run.can_be_stopped)
        raw_command(redis_server.port, "SADD", "processes", "ruby")
        raw_command(redis_server.port, "HSET", "ruby:work", "thread", jid)
        raw_command(redis_server.port, "RPOP", "queue:seen")
        await run.said("runs in the Sidekiq process ruby")
        seen.append(run.can_be_stopped)
        await cancel(task)

    try:
        runner.run(push_and_look())
    finally:
        raw_command(redis_server.port, "DEL", "processes", "ruby:work")

    assert seen == [True, False]


def test_a_redis_that_is_not_there_is_a_failure_that_hides_the_password(runner: asyncio.Runner) -> None:
    with RedisServer() as server:
        port = server.port
    run = make_run({"class": "Fail", "redis": f"redis://:canary@127.0.0.1:{port}/0"})

    outcome = runner.run(execute(run))

    assert outcome.kind is OutcomeKind.FAILED
    assert errors_of(outcome)["type"] == "redis"
    assert "canary" not in repr((outcome, run.lines))


def test_a_url_from_a_variable_that_is_none_is_refused_without_its_password(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIDEKIQ_URL", "redis://shop:canary/2@127.0.0.1:6379/0")
    run = make_run({"class": "Fail", "redis": "env:SIDEKIQ_URL"})

    outcome = runner.run(execute(run))

    assert (outcome.kind, errors_of(outcome)["type"]) == (OutcomeKind.REFUSED, "arguments")
    assert "must be a URL such as" in errors_of(outcome)["message"]
    assert "canary" not in repr((outcome, run.lines))


def test_a_redis_that_goes_away_for_a_while_does_not_end_the_run(runner: asyncio.Runner) -> None:
    with RedisServer({"appendonly": "yes", "appendfsync": "always"}) as server:
        run = make_run({"class": "Fail", "redis": server.url, "completion": "observe", "poll_ms": 20})

        async def outlive() -> str:
            task, _ = await run_until(SidekiqExecutor(), run, "pushed ")
            await asyncio.to_thread(server.kill9)
            said = await run.said("Sidekiq's Redis: ")
            await asyncio.to_thread(server.restart)
            await cancel(task)
            return said

        assert "looking for the job goes on" in runner.run(outlive())
    assert run.messages()[-1] == "taken out of Sidekiq's queue again"


def test_without_the_driver_the_job_fails_and_says_what_to_install(
    runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "rota.engine.executors.sidekiq.redis", raising=False)

    outcome = runner.run(execute(make_run({"class": "Fail"})))

    assert outcome.kind is OutcomeKind.FAILED
    assert "pip install 'rota[redis]'" in errors_of(outcome)["message"]


# -- job types and arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({}, "metadata.class"),
        ({"class": "lower"}, "metadata.class"),
        ({"class": "A; system('x')"}, "metadata.class"),
        ({"class": "A::"}, "metadata.class"),
        ({"class": 7}, "metadata.class"),
        ({"class": "A", "queue": ""}, "metadata.queue"),
        ({"class": "A", "queue": "a b"}, "metadata.queue"),
        ({"class": "A", "redis": "http://canary@x"}, "metadata.redis"),
        ({"class": "A", "redis": "redis://:canary@x:port/0"}, "metadata.redis"),
        ({"class": "A", "redis": "redis://:canary@x:0/0"}, "metadata.redis"),
        ({"class": "A", "redis": "redis://"}, "metadata.redis"),
        ({"class": "A", "redis": "unix://"}, "metadata.redis"),
        ({"class": "A", "redis": 7}, "metadata.redis"),
        ({"class": "A", "retry": "yes"}, "metadata.retry"),
        ({"class": "A", "retry": -1}, "metadata.retry"),
        ({"class": "A", "retry": 3, "completion": "report"}, "metadata.retry"),
        ({"class": "A", "timestamps": "micros"}, "metadata.timestamps"),
        ({"class": "A", "completion": ["push"]}, "metadata.completion"),
        ({"class": "A", "poll_ms": 0}, "metadata.poll_ms"),
        ({"class": "A", "at": 1}, "metadata.at"),
        ({"class": "A", "retry_beside": "yes"}, "metadata.retry_beside"),
        ({"rails_dir": "/srv", "class": "A"}, "metadata.class"),
        ({"rails_dir": "/srv"}, "metadata.sidekiq_worker"),
        ({"rails_dir": "/srv", "sidekiq_worker": "A.new"}, "metadata.sidekiq_worker"),
        ({"rails_dir": "", "sidekiq_worker": "A"}, "metadata.rails_dir"),
        ({"rails_dir": "/srv", "sidekiq_worker": "A", "ruby_executable": 7}, "metadata.ruby_executable"),
    ],
)
def test_a_job_type_that_cannot_be_meant_is_refused_by_field(metadata: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        SidekiqExecutor().check(job_type("sidekiq", metadata))

    assert caught.value.field == field
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("url", ["redis://x", "redis://x/1", "rediss://u:p@x:6380/0", "unix:///run/redis.sock"])
def test_a_job_type_may_leave_open_what_its_redis_has_a_usual_value_for(url: str) -> None:
    SidekiqExecutor().check(job_type("sidekiq", {"class": "A", "redis": url}))


@pytest.mark.parametrize(
    "arguments",
    [{"args": {"a": 1}}, {"args": [], "sidekiq_arguments": 1}, {"user": 7}, {"environment": {"A": "b"}}],
)
def test_arguments_that_would_not_reach_sidekiq_are_refused(
    runner: asyncio.Runner, arguments: dict[str, object]
) -> None:
    outcome = runner.run(execute(make_run({"class": "A"}, arguments)))

    assert outcome.kind is OutcomeKind.REFUSED
    assert errors_of(outcome)["type"] == "arguments"


def test_a_broken_job_type_is_refused_when_it_runs(runner: asyncio.Runner) -> None:
    assert errors_of(runner.run(execute(make_run({"class": "a"}))))["type"] == "job_type"


# -- by way of Rails -------------------------------------------------------------------------------------------------


@pytest.fixture
def rails_dir(sidekiq: SidekiqServer, tmp_path: Path) -> Path:
    """A folder that looks to Ruby like that of a Rails application."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "environment.rb").write_text(f'require "{sidekiq.app}"\nputs ENV["GREETING"]\n')
    return tmp_path


def rails_run(server: SidekiqServer, folder: Path, worker: str, arguments: dict[str, object]) -> LoggedRun:
    environment = {"REDIS_URL": server.url, "GREETING": "hello"}
    return make_run({"rails_dir": str(folder), "sidekiq_worker": worker, "environment": environment}, arguments)


def test_ruby_itself_pushes_a_job_that_names_a_rails_folder(
    runner: asyncio.Runner, sidekiq: SidekiqServer, rails_dir: Path
) -> None:
    written = rails_dir / "written"
    content = [INJECTION, "x" * 200_000]
    run = rails_run(sidekiq, rails_dir, "Billing::WriteFile", {"args": [str(written), content]})

    outcome = runner.run(execute(run))

    assert outcome.kind is OutcomeKind.SUCCEEDED, outcome
    assert results_of(outcome)["stdout"] == "hello\n"
    assert results_of(outcome)["exit_code"] == 0
    wait_until(lambda: written.exists() and written.stat().st_size > 200_000, "Ruby to write the file")
    assert json.loads(written.read_text()) == content
    assert not (rails_dir / "evil").exists()


def test_a_class_that_rails_does_not_know_is_an_exit_code(
    runner: asyncio.Runner, sidekiq: SidekiqServer, rails_dir: Path
) -> None:
    outcome = runner.run(execute(rails_run(sidekiq, rails_dir, "NoSuchClass", {"sidekiq_arguments": 1})))

    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.errors is None
    assert results_of(outcome)["exit_code"] == 1
    assert "NameError" in str(results_of(outcome)["stderr"])


@needs_root
def test_a_ruby_of_another_user_that_may_not_be_killed_ends_its_run_and_is_named(
    runner: asyncio.Runner, tmp_path: Path
) -> None:
    ruby = tmp_path / "ruby"
    ruby.write_text(f"#!/bin/sh\nexec {' '.join(AS_ANOTHER)} sh -c 'echo pid $$; exec sleep 600'\n")
    ruby.chmod(0o755)
    metadata = {"rails_dir": str(tmp_path), "sidekiq_worker": "A", "ruby_executable": str(ruby)}

    async def scenario() -> None:
        run = make_run({**metadata}, grace_s=0.05)
        task, pid = await run_until(SidekiqExecutor(), run, "pid")
        await_exec(int(pid), "sleep")

        with no_right_to_kill():
            await cancel(task)

        os.kill(int(pid), signal.SIGKILL)
        assert (run.can_be_stopped, run.survivors) == (False, f"{pid} (sleep)")

    runner.run(scenario())


def test_a_rails_folder_that_is_not_there_is_an_error(runner: asyncio.Runner, tmp_path: Path) -> None:
    outcome = runner.run(execute(make_run({"rails_dir": str(tmp_path / "missing"), "sidekiq_worker": "A"})))

    assert errors_of(outcome)["type"] == "spawn"
    assert str(tmp_path / "missing") in errors_of(outcome)["message"]
