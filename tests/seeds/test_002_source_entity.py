"""Seed 002's sample source entity as a running program: a service is watched, and alerts say what is wrong with it."""

import json
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue

from tests.patience import DEADLINE_S
from tests.ports import free_port

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLE = json.loads((EXAMPLES / "services.json").read_text())[0]


class Service(BaseHTTPRequestHandler):
    """Answers at once, or after a while."""

    latency_s = 0.0

    def do_GET(self) -> None:
        time.sleep(self.latency_s)
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@contextmanager
def serving(port: int) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", port), Service)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def watching(folder: Path, **changes: object) -> Iterator["Queue[str]"]:
    """What the program says while it watches a service like the sample's."""
    (folder / "services.json").write_text(json.dumps([SAMPLE | changes]))
    command = [sys.executable, str(EXAMPLES / "watch_services.py"), "services.json"]
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    said: Queue[str] = Queue()
    assert child.stdout is not None
    reader = threading.Thread(target=lambda: deque(map(said.put, map(str.strip, child.stdout or [])), maxlen=0))
    reader.start()
    try:
        yield said
    finally:
        child.terminate()
        child.wait(DEADLINE_S)
        reader.join()
        child.stdout.close()


def test_a_service_that_does_not_answer_is_told_once_and_then_that_it_answers_again(tmp_path: Path) -> None:
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}/health"

    with watching(tmp_path, endpoint=endpoint, interval=100, errorAlterThreshold=2) as said:
        assert said.get(timeout=DEADLINE_S).startswith(f"{endpoint} does not answer: ")
        with serving(port):
            assert said.get(timeout=DEADLINE_S) == f"{endpoint} answers again"


def test_a_slow_service_is_told(tmp_path: Path) -> None:
    port = free_port()
    Service.latency_s = 0.05
    with serving(port), watching(tmp_path, endpoint=f"http://127.0.0.1:{port}/health", latencyLimit=10) as said:
        assert said.get(timeout=DEADLINE_S).endswith("/health is slow: more than 10 ms")


def test_a_service_that_is_not_active_is_not_watched(tmp_path: Path) -> None:
    port = free_port()
    with watching(tmp_path, endpoint=f"http://127.0.0.1:{port}/health", active=False) as said:
        try:
            told = said.get(timeout=2)
        except Empty:
            told = ""

    assert told == ""
