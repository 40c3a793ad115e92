"""Errors are one line that says what to do, and an exit code for scripts."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.cli.calling import call_process, done, rota
from tests.ports import free_port


@pytest.mark.parametrize("verb", [["jobs"], ["nodes"], ["queues"], ["job-type", "list"], ["enqueue", "hello"]])
def test_a_verb_that_only_looks_makes_no_store(verb: list[str], folder: Path) -> None:
    answer = rota(*verb)

    assert answer.exit_code == 5
    assert answer.stderr == "error: there is no store at rota.db yet; `rota up` makes one, --store names another\n"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "verb", [["jobs"], ["up", "--port", "0"], ["worker"], ["job-type", "create", "a", "--command", "b"]]
)
def test_a_store_that_is_down_is_one_line_and_exit_code_5(verb: list[str]) -> None:
    port = free_port()

    answer = call_process(*verb, "--store", f"redis://:secret@127.0.0.1:{port}/0")

    assert answer.exit_code == 5
    assert len(answer.stderr.splitlines()) == 1
    assert answer.stderr.startswith("error: ")
    assert str(port) in answer.stderr
    assert "secret" not in answer.stderr


def test_a_file_that_is_no_store_is_refused(folder: Path) -> None:
    (folder / "rota.db").write_text("This is a letter, and no database at all. " * 50)

    answer = rota("jobs")

    assert answer.exit_code == 5
    assert "not a usable SQLite database" in answer.stderr


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["jobs", "--store", "mysql://there"], 2, "has no known scheme"),
        (["jobs", "--store", "rota.db"], 2, "is not a URL"),
        (["jobs", "--config", "missing.yaml"], 2, "there is no file"),
        (["job", "not-an-id"], 2, "no id"),
        (["job", "01890000-0000-7000-8000-000000000000"], 3, "no job"),
        (["job-type", "show", "hallo"], 3, "did you mean 'hello'?"),
        (["enqueue", "hallo"], 3, "did you mean 'hello'?"),
        (["jobs", "--type", "hallo"], 3, "did you mean 'hello'?"),
        (["jobs", "--queue", "fast"], 3, "no node type 'fast'"),
        (["job-type", "create", "hello", "--", "true"], 4, "--replace"),
    ],
)
def test_exit_codes_tell_kinds_of_errors_apart(words: list[str], exit_code: int, said: str) -> None:
    done("job-type", "create", "hello", "--", "echo", "hello")

    answer = rota(*words)

    assert answer.exit_code == exit_code
    assert answer.stderr.startswith("error: ")
    assert said in answer.stderr
    assert answer.stdout == ""


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["logs", "export", "--output", "missing/jobs.jsonl"], "missing/jobs.jsonl"),
        (["simulate", "--svg", "missing/year.svg"], "missing/year.svg"),
    ],
)
def test_a_file_that_cannot_be_written_is_bad_input_and_no_fault_of_rota(words: list[str], file: str) -> None:
    done("job-type", "create", "hello", "--", "echo", "hello")

    answer = rota(*words)

    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: ")
    assert answer.stderr.endswith(f"{file}: No such file or directory\n")


@pytest.mark.parametrize(
    ("server", "key", "exit_code"),
    [
        ("http://user:sesame@127.0.0.1:1", "k", 5),
        ("http://user:sesame@127.0.0.1:1", "", 6),
        ("http://user:ses/sesame@127.0.0.1:1", "k", 2),
        ("http://127.0.0.1:1", "sesame\n", 6),
    ],
)
def test_no_error_shows_a_key_or_a_password(server: str, key: str, exit_code: int) -> None:
    answer = rota("jobs", "--server", server, "--key", key)

    assert answer.exit_code == exit_code
    assert answer.stderr.startswith("error: ")
    assert "sesame" not in answer.stderr


def test_a_stack_trace_is_shown_only_on_request() -> None:
    assert "Traceback" not in call_process("job", "nonsense").stderr
    assert "Traceback" in call_process("job", "nonsense", ROTA_DEBUG="1").stderr


class Evil(BaseHTTPRequestHandler):
    """A server whose errors would steer a terminal."""

    def do_GET(self) -> None:
        body = b'{"status":"error","error":"no \\u001b[2J\\u009b2J\\u202egnp"}'
        self.send_response(404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nobody wants to know."""


def test_what_a_server_says_of_an_error_cannot_steer_the_terminal() -> None:
    with HTTPServer(("127.0.0.1", 0), Evil) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            ended = rota("queues", "--server", f"http://127.0.0.1:{server.server_port}", "--key", "k")
        finally:
            server.shutdown()
            thread.join()

    assert ended.exit_code == 3
    assert r"no \x1b[2J\x9b2J\u202egnp" in ended.stderr
