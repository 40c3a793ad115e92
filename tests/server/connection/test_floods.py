"""Requests that are meant to stop a server: each on a real node, which goes on answering, beating and running jobs."""

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.calling import RotaProcess
from tests.server.attacks.watching import memory_of
from tests.server.gate.raw_http import Server, asked
from tests.servers import wait_until

MIB = 1024 * 1024
HEAD = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
ANSWER = b"HTTP/1.1 "
"""Whatever it is: on a slow machine a node may be unwell for a moment."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RotaProcess]:
    folder = tmp_path_factory.mktemp("node")
    with RotaProcess(["up", "--port", "0", "--json"], folder, ROTA_MAX_CONNECTIONS="100") as process:
        process.banner()
        yield process
        assert process.stop() == 0
    (folder / "rota.db").unlink()


@pytest.fixture(scope="module")
def up(node: RotaProcess) -> Server:
    banner = node.banner()
    return Server(banner["address"], banner["api_key"])


@pytest.fixture(autouse=True)
def unharmed(node: RotaProcess, up: Server) -> Iterator[None]:
    """After each attack the very process still answers, and its memory is what it was, give or take."""
    before = memory_of(node.process.pid)
    yield
    wait_until(lambda: asked(up, "GET", "/health", {})[:2] == (200, "ok"), "the process to be well")
    assert memory_of(node.process.pid) - before < 64 * MIB


JSON = {"Content-Type": "application/json"}


def connected(up: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", up.port), timeout=60)


def said(connection: socket.socket) -> bytes:
    """All that the server says until it ends the connection."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionError:
        pass  # it is ended with data under way
    return b"".join(parts)


def sent_in_full(connection: socket.socket, parts: Iterator[bytes]) -> int:
    """Bytes that were sent before the server ended the connection."""
    count = 0
    try:
        for part in parts:
            connection.sendall(part)
            count += len(part)
    except (ConnectionError, TimeoutError):
        pass
    return count


@pytest.mark.parametrize(
    ("begin", "part", "status"),
    [
        (b"GET /", b"a" * 65_536, b"414"),
        (HEAD + b"X: ", b"a" * 65_536, b"431"),
        (HEAD, b"".join(b"X-%d: 1\r\n" % number for number in range(200)), b"431"),
        (HEAD, b"X: " + b"a" * 30_000 + b"\r\n", b"431"),
        (b"\r\n", b"\r\n" * 10_000, b"431"),
    ],
)
def test_a_head_that_never_ends_is_refused(up: Server, begin: bytes, part: bytes, status: bytes) -> None:
    with connected(up) as connection:
        count = sent_in_full(connection, iter([begin, *[part] * 1_000]))
        answer = said(connection)

    assert count < 16 * MIB, "no more was taken than what the buffers between the two hold"
    assert answer[:12] in (b"HTTP/1.1 " + status, b""), "the answer may be lost with what was still under way"


@pytest.mark.parametrize(("size", "status"), [(16_000, 404), (17_000, 414)])
def test_the_longest_url(up: Server, size: int, status: int) -> None:
    found, text = asked(up, "GET", "/" + "a" * size, {})

    assert found == status
    assert status != 414 or "the URL is longer than 16384 bytes" in text


def test_a_request_has_at_most_so_many_headers(up: Server) -> None:
    assert asked(up, "GET", "/docs", {f"X-{number}": "1" for number in range(120)})[0] == 200
    assert asked(up, "GET", "/docs", {f"X-{number}": "1" for number in range(130)})[0] == 431
    assert asked(up, "GET", "/docs", {"X": "a" * 60_000})[0] == 200
    assert asked(up, "GET", "/docs", {"X": "a" * 70_000})[0] == 431


def test_requests_that_do_not_wait_for_answers_are_few_on_one_connection(up: Server) -> None:
    with connected(up) as connection:
        connection.sendall((HEAD + b"\r\n") * 9 + HEAD + b"Connection: close\r\n\r\n")
        assert said(connection).count(ANSWER) == 10
    with connected(up) as connection:
        sending = threading.Thread(target=sent_in_full, args=[connection, iter([(HEAD + b"\r\n") * 10_000] * 20)])
        sending.start()
        answers = said(connection)
        sending.join()

    assert 0 < answers.count(ANSWER) <= 18


def test_a_client_that_goes_on_sending_a_refused_body_hears_why_and_can_ask_again(up: Server) -> None:
    head = f"POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {up.key}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {30 * MIB}\r\n\r\n"
    with connected(up) as connection:
        assert sent_in_full(connection, iter([head.encode(), *[b" " * MIB] * 30])) == len(head) + 30 * MIB
        connection.sendall(HEAD + b"Connection: close\r\n\r\n")
        answers = said(connection)

    assert [answers.count(b"HTTP/1.1 413"), answers.count(ANSWER)] == [1, 2]


@pytest.mark.parametrize(("size", "count", "status"), [(1, 5_000, b"400"), (1, 1_000, b"404"), (100, 5_000, b"404")])
def test_a_body_does_not_come_in_crumbs(up: Server, size: int, count: int, status: bytes) -> None:
    head = f"POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {up.key}\r\nConnection: close\r\n"
    head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    job = b'{"job_type": "nothing"}'
    pieces = b"%x\r\n%s\r\n" % (size, b" " * size) * count + b"%x\r\n%s\r\n0\r\n\r\n" % (len(job), job)
    with connected(up) as connection:
        sent_in_full(connection, iter([head.encode() + pieces]))
        answer = said(connection)

    assert answer[9:12] in ((status, b"") if status == b"400" else (status,)), "a refusal may be lost on its way"


def test_a_client_that_is_gone_leaves_no_request_behind(up: Server, node: RotaProcess) -> None:
    """Requests that waited when the connection broke are not begun, and nothing is written to it."""
    for _ in range(20):
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.connect(("127.0.0.1", up.port))
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 16)
            assert connection.recv(1)

    assert asked(up, "GET", "/docs", {})[0] == 200
    assert node.log_errors() == []


def test_half_requests_make_room_for_whole_ones(up: Server, node: RotaProcess) -> None:
    halves = []
    for _ in range(300):
        half = connected(up)
        half.sendall(HEAD)
        halves.append(half)
        if len(halves) % 50 == 0:
            assert asked(up, "GET", "/docs", {})[0] == 200

    descriptors = len(list(Path(f"/proc/{node.process.pid}/fd").iterdir()))
    for half in halves:
        half.close()
    assert descriptors < 200


def test_those_who_do_not_read_make_room_for_those_who_do(up: Server) -> None:
    """Without a key, each with more answers than the kernel takes for it; there are 100 connections."""
    silent = []
    for _ in range(130):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(("127.0.0.1", up.port))
        one.sendall(b"GET /docs HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 16)
        assert one.recv(1)
        silent.append(one)

    found, _ = asked(up, "GET", "/docs", {})
    for one in silent:
        one.close()
    assert found == 200


def test_a_node_beats_and_runs_jobs_while_it_is_flooded(up: Server, node: RotaProcess) -> None:
    over = threading.Event()

    def flood() -> None:
        while not over.is_set():
            with connected(up) as connection:
                sent_in_full(connection, iter([(b"GET /api HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") * 5_000]))
                said(connection)

    attackers = [threading.Thread(target=flood) for _ in range(4)]
    for attacker in attackers:
        attacker.start()
    try:
        ended = sum(line["message"] == "job ended" for line in node.log_lines())
        for _ in range(3):  # the demo's own jobs end after a minute
            assert asked(up, "POST", "/api/jobs", {**up.bearer, **JSON}, '{"job_type_uuid": "demo.hello"}')[0] == 200
        node.until(lambda: sum(line["message"] == "job ended" for line in node.log_lines()) > ended + 2, "jobs to end")
        wait_until(lambda: asked(up, "GET", "/health", {})[0] == 200, "the process to be well")
    finally:
        over.set()
        for attacker in attackers:
            attacker.join()
    assert not [line for line in node.log_lines() if "dead" in line["message"]]


@pytest.mark.parametrize(
    "body", [b"[%s0]", b'{"jobs": [%s0]}', b'{"jobs": [{"job_type_uuid": "x", "arguments": {"a": [%s0]}}]}']
)
def test_a_body_of_millions_of_values_is_refused_before_it_is_decoded(up: Server, body: bytes) -> None:
    zeros = (body % (b"0," * (30 * MIB))).decode()

    status, text = asked(up, "POST", "/api/jobs/bulk", {**up.bearer, "Content-Type": "application/json"}, zeros)

    assert (status, "more than 500,000 values" in text) == (400, True)
