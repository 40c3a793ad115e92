"""`rota up`, `worker`, `scheduler` and `server` as the processes that they are."""

import contextlib
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest

from rota.model.ids import new_id
from rota.model.job import JobSpec
from rota.store import Store, open_store
from tests.cli.calling import RotaProcess, call_process, done
from tests.processes import is_alive
from tests.servers import RedisServer, wait_until

AT_ONCE = (0, 1)
"""How a node ends that is told twice: in order or, if a slow machine takes too long over that, all the same."""


def get(url: str, key: str | None = None) -> tuple[int, str]:
    """Status and body of a request."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


def ended_jobs(process: RotaProcess) -> list[str]:
    return [line["job_type"] for line in process.log_lines() if line["message"] == "job ended"]


def test_up_shows_a_demo_and_stops_without_leaving_anything_behind(folder: Path) -> None:
    with RotaProcess(["up", "--port", "0", "--json"], folder) as up:
        banner = up.banner()
        up.until(lambda: {"demo.hello", "demo.count"} <= set(ended_jobs(up)), "the demo's jobs to end")

        wait_until(lambda: get(f"{banner['address']}/health") == (200, "ok"), "it to be well")
        assert get(f"{banner['address']}/api", banner["api_key"])[0] == 200
        assert get(f"{banner['address']}/api", "another")[0] == 401
        assert up.stop() == 0

    assert len(up.stdout) == up.stdout.index("}\n") + 1, "standard output has one document"
    # SQLite's own files are left by a process that is too slow to close its store in time.
    assert {"rota.db"} == {path.name for path in folder.iterdir()} - {"rota.db-wal", "rota.db-shm"}
    with contextlib.closing(open_store("sqlite:///rota.db")) as store:
        assert store.list_nodes(since=0) == []
        assert done("jobs", "--state", "running", "--json").json == []


def test_the_key_is_shown_once_to_people(folder: Path) -> None:
    with RotaProcess(["up", "--port", "0", "--no-demo"], folder) as first:
        first.until_said("/api")
        assert first.stop() == 0
    with RotaProcess(["up", "--port", "0", "--no-demo"], folder) as second:
        second.until_said("rota doctor")
        assert second.stop() == 0

    said = "".join(first.stdout)
    key = said.split("API key")[1].split()[0]
    assert len(key) > 40
    assert "shown this once" in said
    assert f"Bearer {key}" in said
    assert key not in "".join(second.stdout)
    assert "rota key create" in "".join(second.stdout)


def said_by(folder: Path, *words: str, **variables: str) -> str:
    """What a node tells people when it starts."""
    with RotaProcess([*words, "--port", "0"], folder, **variables) as node:
        node.until_said("  curl ")
        assert node.stop() == 0
    return "".join(node.stdout)


@pytest.mark.parametrize("verb", ["up", "server"])
def test_what_to_try_next_fits_what_was_started(folder: Path, verb: str) -> None:
    first = said_by(folder, verb, "--store", "sqlite:///other.db")
    second = said_by(folder, verb, HTTP_API_KEY="chosen", ROTA_STORE="sqlite:///third.db")

    assert ("rota enqueue demo.hello" in first) is (verb == "up"), "only where there is a demo"
    assert "  export ROTA_STORE=sqlite:///other.db\n" in first
    assert "export" not in second, "other terminals have the variable too, or can have it"
    assert "the one from HTTP_API_KEY" in second


@pytest.mark.parametrize("words", [["up", "--port", "0"], ["scheduler"], ["worker"], ["worker", "--processes", "1"]])
def test_a_node_of_any_kind_says_at_its_start_what_its_store_may_lose(folder: Path, words: list[str]) -> None:
    with RedisServer() as server, RotaProcess([*words, "--json", "--store", server.url], folder) as node:
        node.until_said("the store's set-up: nothing is persisted")
        assert node.stop() == 0


def test_the_demo_stays_away_from_a_store_with_job_types_of_its_own(folder: Path) -> None:
    done("job-type", "create", "mine", "--", "true")

    with RotaProcess(["up", "--port", "0"], folder) as up:
        up.until_said("rota jobs")
        assert up.stop() == 0

    assert [one["name"] for one in done("job-type", "list", "--json").json] == ["mine"]


def test_a_taken_port_is_one_clear_line_and_exit_code_2(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        answer = call_process("up", "--port", str(port))

    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr == (
        f"error: port: {port} on 127.0.0.1 is taken by another program; choose another with --port, or 0 for any\n"
    )


def test_the_well_known_key_is_refused_where_others_can_connect() -> None:
    answer = call_process("up", "--host", "0.0.0.0", "--port", "0", HTTP_API_KEY="dev_key")

    assert answer.exit_code == 2
    assert "is known to everybody" in answer.stderr


def test_the_well_known_key_works_on_loopback_with_a_warning(folder: Path) -> None:
    with RotaProcess(["server", "--port", "0", "--json"], folder) as server:
        address = server.banner()["address"]

        assert get(f"{address}/api", "dev_key")[0] == 200
        server.until_said("dev_key is accepted")
        assert server.stop() == 0


def test_a_key_of_ones_own_takes_the_place_of_the_others(folder: Path) -> None:
    with RotaProcess(["server", "--port", "0", "--json"], folder, HTTP_API_KEY="chosen") as server:
        banner = server.banner()

        assert banner["api_key"] is None
        assert get(f"{banner['address']}/api", "chosen")[0] == 200
        assert get(f"{banner['address']}/api", "dev_key")[0] == 401
        assert server.stop() == 0
    assert "chosen" not in "".join(server.stdout + server.stderr)


def test_a_server_can_be_switched_off(folder: Path) -> None:
    with RotaProcess(["up", "--json", "--no-demo"], folder, HTTP_SERVER_ENABLED="false") as up:
        banner = up.banner()
        assert up.stop() == 0

    assert (banner["address"], banner["roles"]) == (None, ["scheduler", "worker"])


def test_an_unknown_node_type_is_not_found_and_no_key_is_lost(folder: Path) -> None:
    answer = call_process("up", "--port", "0", NODE_TYPE="nowhere")

    assert (answer.exit_code, answer.stdout) == (3, "")
    assert answer.stderr.startswith("error: no node type 'nowhere'")
    with RotaProcess(["up", "--port", "0", "--json", "--no-demo"], folder) as up:
        assert up.banner()["api_key"]
        assert up.stop() == 0


@pytest.mark.parametrize(("verb", "role"), [("worker", "worker"), ("scheduler", "scheduler"), ("server", "server")])
def test_roles_can_be_split(verb: str, role: str, folder: Path, opened: Store) -> None:
    words = [verb, "--json", *(["--port", "0"] if verb == "server" else [])]

    with RotaProcess(words, folder) as process:
        node = process.banner()["node"]
        process.until(lambda: [one.uuid for one in opened.list_nodes(since=0)] == [node], "its first beat")
        assert opened.list_nodes(since=0)[0].roles == (role,)
        assert process.stop(signal.SIGINT) == 0

    assert opened.list_nodes(since=0) == []


def test_the_definitions_of_a_file_are_there_after_the_start(folder: Path) -> None:
    (folder / "rota.yaml").write_text(
        "node_types: [{name: fast, thread_count: 2}]\n"
        "job_types: [{name: report, executor: bash, metadata: {command: [echo, done]}, node_type: fast}]\n"
    )

    with RotaProcess(["worker", "--type", "fast", "--json"], folder) as worker:
        worker.banner()
        answer = done("enqueue", "report", "--wait", "--timeout-wait", "300s", "--json").json
        assert worker.stop() == 0

    assert answer["results"]["stdout"] == "done\n"
    assert answer["node_type"] == "fast"


def test_python_jobs_find_modules_of_the_working_directory(folder: Path) -> None:
    (folder / "shop.py").write_text("def total(prices):\n    return sum(prices)\n")
    done("job-type", "create", "total", "--function", "shop:total")
    done("enqueue", "total", "prices=[1, 2, 3]")

    with RotaProcess(["worker", "--burst"], folder) as worker:
        assert worker.wait() == 0

    assert done("jobs", "--json").json[0]["results"] == 6


def test_a_burst_ends_when_nothing_is_left_to_run(folder: Path) -> None:
    done("job-type", "create", "hello", "--", "echo", "hello")
    for delay in ("0", "2s"):
        done("enqueue", "hello", "--delay", delay)

    with RotaProcess(["worker", "--burst"], folder) as worker:
        assert worker.wait() == 0

    assert [one["state"] for one in done("jobs", "--json").json] == ["succeeded", "succeeded"]


def test_history_is_kept_for_the_days_of_the_settings(folder: Path, opened: Store) -> None:
    """0.02 days are 28.8 minutes."""
    done("job-type", "create", "hello", "--", "echo", "hello")
    old, young = (ended_minutes_ago(opened, minutes) for minutes in (30, 10))

    with RotaProcess(["scheduler"], folder, ROTA_HISTORY_MAX_AGE_DAYS="0.02") as scheduler:
        scheduler.until(lambda: opened.find_jobs([old]) == [None], "the older job to be forgotten")
        assert scheduler.stop() == 0

    assert opened.find_jobs([young]) != [None]


def ended_minutes_ago(store: Store, minutes: int) -> str:
    """The id of a job that was cancelled so long ago."""
    then = store.now() - minutes * 60_000
    queue, job_type = store.list_node_types()[0].uuid, store.list_job_types()[0].uuid
    spec = JobSpec(id=new_id(then), job_type=job_type, queue=queue, enqueued_at=then)
    store.enqueue_jobs([spec], now=then)
    store.cancel_jobs([spec.id], now=then)
    return spec.id


def running_sleeper(folder: Path, words: Sequence[str], **variables: str) -> tuple[RotaProcess, str, int]:
    """A worker with a long job under way, its id and the process of its command."""
    done("job-type", "create", "sleeper", "--command", "echo $$; exec sleep 600")
    job_id = done("enqueue", "sleeper").stdout.strip()
    worker = RotaProcess(words, folder, **variables)
    wait_until(lambda: bool(done("logs", job_id).stdout), "the job to say something")
    return worker, job_id, int(done("logs", job_id).stdout)


def test_a_second_signal_interrupts_running_jobs_and_burns_no_attempt(folder: Path) -> None:
    worker, job_id, pid = running_sleeper(folder, ["worker", "--json"], ROTA_STOP_GRACE_S="600")
    with worker:
        worker.process.send_signal(signal.SIGTERM)
        worker.until_said("a second signal interrupts")
        assert worker.process.poll() is None

        assert worker.stop() in AT_ONCE

    job = done("job", job_id, "--json").json
    assert (job["state"], job["attempt"]) == ("queued", 0)
    wait_until(lambda: not is_alive(pid), "the end of the job's command")


def test_hanging_up_lets_running_jobs_end_however_often_it_is_said(folder: Path) -> None:
    done("job-type", "create", "patient", "--command", "echo begun; until [ -e go ]; do sleep 0.05; done")
    job_id = done("enqueue", "patient").stdout.strip()
    with RotaProcess(["worker", "--json"], folder, ROTA_STOP_GRACE_S="600") as worker:
        wait_until(lambda: bool(done("logs", job_id).stdout), "the job to begin")

        worker.process.send_signal(signal.SIGHUP)
        worker.until_said("a second signal interrupts")
        worker.process.send_signal(signal.SIGHUP)
        (folder / "go").touch()

        assert worker.wait() == 0
    job = done("job", job_id, "--json").json
    assert (job["state"], job["attempt"]) == ("succeeded", 1)


def test_hanging_up_is_ignored_by_a_node_that_was_started_so(folder: Path) -> None:
    done("job-type", "create", "hello", "--", "echo", "hello")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        worker = RotaProcess(["worker", "--json"], folder)
    finally:
        signal.signal(signal.SIGHUP, before)
    with worker:
        worker.banner()

        worker.process.send_signal(signal.SIGHUP)

        done("enqueue", "hello", "--wait", "--timeout-wait", "300s")
        assert worker.stop() == 0


STUBBORN = """
import asyncio, pathlib, threading, time

def begin(): pathlib.Path("begun").touch()

async def block_loop():
    begin()
    time.sleep(600)

async def swallow():
    begin()
    while True:
        try: await asyncio.sleep(600)
        except asyncio.CancelledError: pass

async def block_thread():
    begin()
    await asyncio.to_thread(time.sleep, 600)

async def leave_thread_of_loop():
    await asyncio.to_thread(len, "")  # the loop waits for the end of its thread
    await take_threads()

async def take_threads():
    threading.stack_size(1 << 47)  # of those that begin from here on: there is room for none
    begin()
    await asyncio.sleep(600)

async def take_threads_and_block_loop():
    threading.stack_size(1 << 47)
    await block_loop()

def leave_thread():
    threading.Thread(target=time.sleep, args=[600]).start()
    begin()
    time.sleep(600)
"""


def stubborn_worker(folder: Path, function: str, *words: str, verb: str = "worker", **variables: str) -> RotaProcess:
    """A worker whose job will not let it go."""
    done("job-type", "create", "stubborn", "--function", f"stubborn_jobs:{function}")
    done("enqueue", "stubborn")
    (folder / "stubborn_jobs.py").write_text(STUBBORN)
    worker = RotaProcess([verb, "--json", *words], folder, **variables)
    worker.until(lambda: (folder / "begun").exists(), "the job to begin")
    return worker


@pytest.mark.parametrize("function", ["block_loop", "swallow"])
def test_the_second_signal_ends_a_node_whose_job_blocks_it(folder: Path, function: str) -> None:
    with stubborn_worker(folder, function) as worker:
        # Two signals of one kind may arrive as one.
        worker.process.send_signal(signal.SIGTERM)

        assert worker.stop(signal.SIGINT) in AT_ONCE


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["TERM", "HUP"])
def test_one_signal_ends_a_node_whose_job_blocks_its_loop_when_the_grace_is_over(
    folder: Path, number: signal.Signals
) -> None:
    with stubborn_worker(folder, "block_loop", ROTA_STOP_GRACE_S="0") as worker:
        assert worker.stop(number) == 1


def test_one_signal_ends_a_supervisor_although_a_job_blocks_the_loop_of_a_process(folder: Path) -> None:
    with stubborn_worker(folder, "block_loop", "--processes", "2", ROTA_STOP_GRACE_S="0") as supervisor:
        assert supervisor.stop() == 1


def test_a_process_whose_job_blocks_its_loop_ends_after_its_supervisor_was_killed(folder: Path) -> None:
    with stubborn_worker(folder, "block_loop", "--processes", "1", ROTA_STOP_GRACE_S="0") as supervisor:
        (process,) = supervisor.banner()["processes"]

        supervisor.process.kill()

        wait_until(lambda: not is_alive(process), "the end of the process")


@pytest.mark.parametrize(
    ("function", "verb", "words"),
    [
        ("take_threads", "worker", []),
        ("leave_thread_of_loop", "worker", []),
        ("take_threads", "up", ["--port", "0", "--no-demo"]),
    ],
)
def test_a_node_that_can_start_no_thread_ends_by_a_signal(
    folder: Path, function: str, verb: str, words: list[str]
) -> None:
    with stubborn_worker(folder, function, *words, verb=verb, ROTA_STOP_GRACE_S="0") as node:
        assert node.stop() == 0


@pytest.mark.parametrize(("grace_s", "signals"), [("0", [signal.SIGTERM]), ("600", [signal.SIGTERM, signal.SIGINT])])
def test_a_node_that_can_start_no_thread_ends_although_a_job_blocks_its_loop(
    folder: Path, grace_s: str, signals: list[signal.Signals]
) -> None:
    with stubborn_worker(folder, "take_threads_and_block_loop", ROTA_STOP_GRACE_S=grace_s) as worker:
        for number in signals:
            worker.process.send_signal(number)

        assert worker.wait() == 1

    (job,) = done("jobs", "--json").json
    assert (job["state"], job["attempt"]) == ("queued", 0)


def test_a_process_that_can_start_no_thread_ends_after_its_supervisor_although_a_job_blocks_its_loop(
    folder: Path,
) -> None:
    words = ("--processes", "1")
    with stubborn_worker(folder, "take_threads_and_block_loop", *words, ROTA_STOP_GRACE_S="0") as supervisor:
        (process,) = supervisor.banner()["processes"]

        supervisor.process.kill()

        wait_until(lambda: not is_alive(process), "the end of the process")


@pytest.mark.parametrize("function", ["block_thread", "leave_thread"])
def test_threads_that_jobs_leave_behind_do_not_hold_the_process(folder: Path, function: str) -> None:
    with stubborn_worker(folder, function) as worker:
        worker.process.send_signal(signal.SIGTERM)

        assert worker.stop(signal.SIGINT) in AT_ONCE

    (job,) = done("jobs", "--json").json
    assert (job["state"], job["attempt"]) == ("queued", 0)


def test_a_signal_to_a_forked_copy_of_a_node_is_not_for_the_node(folder: Path) -> None:
    (folder / "forking_jobs.py").write_text(
        "import multiprocessing, time\n"
        "def fork():\n"
        "    copy = multiprocessing.get_context('fork').Process(target=time.sleep, args=[600])\n"
        "    copy.start()\n"
        "    copy.terminate()\n"
        "    copy.join()\n"
        "    return copy.exitcode\n"
    )
    done("job-type", "create", "fork", "--function", "forking_jobs:fork")

    with RotaProcess(["worker", "--json"], folder) as worker:
        worker.banner()
        answers = [done("enqueue", "fork", "--wait", "--timeout-wait", "300s", "--json").json for _ in range(2)]
        assert worker.stop() == 0

    assert [one["results"] for one in answers] == [-signal.SIGTERM, -signal.SIGTERM]


def test_running_jobs_are_interrupted_when_the_grace_is_over(folder: Path) -> None:
    worker, job_id, pid = running_sleeper(folder, ["worker"], ROTA_STOP_GRACE_S="0.2")
    with worker:
        assert worker.stop() == 0

    assert done("job", job_id, "--json").json["state"] == "queued"
    wait_until(lambda: not is_alive(pid), "the end of the job's command")


def test_a_running_job_is_cancelled_from_outside(folder: Path) -> None:
    worker, job_id, pid = running_sleeper(folder, ["worker"])
    with worker:
        done("cancel", job_id)
        wait_until(lambda: done("job", job_id, "--json").json["state"] == "cancelled", "the end of the job")
        assert worker.stop() == 0

    wait_until(lambda: not is_alive(pid), "the end of the job's command")


def test_the_log_of_a_running_job_is_followed_live(folder: Path) -> None:
    done("job-type", "create", "pair", "--command", "echo one; until [ -e go ]; do sleep 0.05; done; echo two")
    job_id = done("enqueue", "pair").stdout.strip()

    with RotaProcess(["worker"], folder) as worker, RotaProcess(["logs", "-f", job_id], folder) as logs:
        logs.until(lambda: logs.stdout == ["one\n"], "the first line")
        (folder / "go").touch()
        assert logs.wait() == 0
        assert worker.stop() == 0

    assert logs.stdout == ["one\n", "two\n"]


def test_a_store_that_goes_away_shows_in_the_health_and_loses_nothing(folder: Path) -> None:
    # Otherwise a server that waits for its disk says yes before it has written anything.
    with RedisServer({"appendonly": "yes", "appendfsync": "always"}) as redis:
        store = ["--store", redis.url]
        done("job-type", "create", "hello", *store, "--", "echo", "hello")
        with RotaProcess(["up", "--port", "0", "--json", *store], folder) as up:
            health = f"{up.banner()['address']}/health"
            up.until(lambda: get(health, up.banner()["api_key"]) == (200, "ok"), "a healthy start")
            job_id = done("enqueue", "hello", "--delay", "1s", *store).stdout.strip()

            redis.kill9()
            up.until(lambda: get(health)[0] == 503, "the health to tell of the outage")
            assert get(health)[1] == "not ok"
            assert get(health, up.banner()["api_key"])[1].startswith("store unavailable")
            redis.restart()

            up.until(lambda: get(health) == (200, "ok"), "the health to be good again")
            up.until(lambda: done("job", job_id, "--json", *store).json["state"] == "succeeded", "the job to end")
            assert up.stop() == 0
