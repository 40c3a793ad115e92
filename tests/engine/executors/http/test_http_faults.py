"""Executor `http` against servers that are slow, endless, broken or not who they say they are."""

import asyncio
import ssl
import subprocess
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rota.engine.executors.http.http import HttpExecutor, tls_context
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors.http.web import Serve, WebServer, answer, fetch, http_run, read_request
from tests.engine.executors.runs import cancel, errors_of, make_run, results_of, run_until

GIBIBYTE = 1024**3
PART = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"
"""The beginning of an answer."""


def visit(runner: asyncio.Runner, serve: Serve, **metadata: object) -> Outcome:
    """Run one job against a server; the server must see the connection end."""

    async def visited() -> Outcome:
        async with WebServer(serve=serve) as server:
            outcome = await fetch(server.url, None, **metadata)
            await server.wait_until_idle()
            return outcome

    return runner.run(visited())


def saying(raw: bytes, *, ends: bool = False) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(raw)
        if ends:
            writer.write_eof()

    return serve


# -- time ------------------------------------------------------------------------------------------------------------


def dripping(start: bytes) -> Serve:
    """Sends a byte now and then, for ever."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.001)

    return serve


@pytest.mark.parametrize(
    "start",
    [b"", b"HTTP/1.1 200 ", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"],
)
def test_a_server_that_drips_runs_into_the_timeout(runner: asyncio.Runner, start: bytes) -> None:
    outcome = visit(runner, dripping(start), timeout_ms=100)

    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.errors == {
        "type": "timeout",
        "message": "there was no whole answer after 100 milliseconds",
        "timeout_ms": 100,
    }


def test_a_timeout_within_the_body_keeps_what_there_was(runner: asyncio.Runner) -> None:
    for timeout_ms in (50, 500, 5000, 50_000):  # on a slow machine the first may end before the answer begins
        outcome = visit(runner, saying(PART), timeout_ms=timeout_ms)
        if outcome.results:
            break

    assert errors_of(outcome)["type"] == "timeout"
    assert results_of(outcome)["status"] == 200
    assert results_of(outcome)["body"] == "abc"


def test_a_server_that_says_nothing_runs_into_the_timeout(runner: asyncio.Runner) -> None:
    outcome = visit(runner, saying(b""), timeout_ms=50)

    assert errors_of(outcome)["type"] == "timeout"
    assert outcome.results is None


def test_redirects_share_one_timeout(runner: asyncio.Runner) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await read_request(reader)).line.startswith("POST / "):
            writer.write(answer(307, Location="/silent"))

    outcome = visit(runner, serve, timeout_ms=100)

    assert errors_of(outcome)["type"] == "timeout"


def test_a_run_cancelled_before_an_answer_closes_its_connection(runner: asyncio.Runner) -> None:
    async def visited() -> object:
        async with WebServer(serve=serve) as server:
            run = http_run(server.url)
            task, _ = await run_until(HttpExecutor(), run, "POST ")
            await was_asked.wait()
            await cancel(task)
            await server.was_closed.wait()
            return run.partial_results

    was_asked = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        was_asked.set()

    assert runner.run(visited()) is None


def test_a_run_cancelled_within_the_body_shows_the_part_that_came(runner: asyncio.Runner) -> None:
    async def visited() -> object:
        async with WebServer(serve=saying(PART)) as server:
            run = http_run(server.url)
            task, _ = await run_until(HttpExecutor(), run, "POST ")
            while run.partial_results is None:  # noqa: ASYNC110 - nothing tells when it is set
                await asyncio.sleep(0)
            await cancel(task)
            await server.was_closed.wait()
            return run.partial_results

    results = runner.run(visited())

    assert isinstance(results, dict)
    assert (results["status"], results["body"]) == (200, "abc")


# -- size ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_gibibyte_is_cut_and_leaves_memory_flat(runner: asyncio.Runner, is_chunked: bool) -> None:
    piece = b"x" * 65_536
    sent = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await read_request(reader)
        framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {GIBIBYTE}"
        writer.write(f"HTTP/1.1 200 OK\r\n{framing}\r\n\r\n".encode())
        while sent < GIBIBYTE:
            writer.write(b"10000\r\n" + piece + b"\r\n" if is_chunked else piece)
            sent += len(piece)
            await writer.drain()

    tracemalloc.start()
    outcome = visit(runner, serve)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert str(results_of(outcome)["body"]).endswith("[... cut after 262144 bytes ...]")
    assert peak < 8 * 1024 * 1024
    assert sent < GIBIBYTE / 4


@pytest.mark.parametrize("line", [b"x" * 1000, b"X-A: b\r\n"])
def test_headers_without_end_are_refused_and_leave_memory_flat(runner: asyncio.Runner, line: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while not writer.is_closing():
            writer.write(line * 100)
            await writer.drain()

    tracemalloc.start()
    outcome = visit(runner, serve)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert errors_of(outcome)["type"] == "response"
    assert peak < 8 * 1024 * 1024


def test_a_compressed_answer_is_not_unpacked(runner: asyncio.Runner) -> None:
    packed = b"\x1f\x8b\x08\x00" + b"\xff" * 20

    outcome = visit(runner, saying(answer(body=packed, Content_Encoding="gzip")))

    assert results_of(outcome)["body_encoding"] == "base64"


# -- malformed answers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0" * 100,
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 2xx OK\r\n\r\n",
        b"HTTP/1.1 99 No\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabcde",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nabcdef",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nabcde",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"0" * 40_000,
        b"HTTP/1.1 200 OK\r\nNo colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nBad name: b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 11,
        b"HTTP/1.1 101 Switching Protocols\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 11 + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    ],
)
def test_a_malformed_answer_fails_and_says_so(runner: asyncio.Runner, raw: bytes) -> None:
    outcome = visit(runner, saying(raw, ends=True))

    assert outcome.kind is OutcomeKind.FAILED
    assert errors_of(outcome)["type"] == "response"


def test_a_connection_that_is_reset_fails_and_says_so(runner: asyncio.Runner) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.transport.abort()

    outcome = visit(runner, serve, body="x" * 500_000)

    assert errors_of(outcome)["type"] == "response"


def test_an_answer_before_the_request_is_read_is_an_answer(runner: asyncio.Runner) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(413))

    outcome = visit(runner, serve, body="x" * 200_000)

    assert results_of(outcome)["status"] == 413


def test_a_port_where_nobody_listens_is_a_failure_to_connect(runner: asyncio.Runner) -> None:
    async def visited() -> Outcome:
        async with WebServer() as server:
            url = server.url
        return await fetch(url)

    outcome = runner.run(visited())

    assert outcome.kind is OutcomeKind.FAILED
    assert errors_of(outcome)["type"] == "connect"
    assert "127.0.0.1" in errors_of(outcome)["message"]


# -- TLS -------------------------------------------------------------------------------------------------------------


class Certificate(NamedTuple):
    """A certificate that signs itself, for secure.example and 127.0.0.1."""

    path: Path
    context: ssl.SSLContext


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    names = "subjectAltName=DNS:secure.example,IP:127.0.0.1"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=secure.example", "-addext", names]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)
    return Certificate(cert, context)


@pytest.fixture
def trusted(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Certificate]:
    """The certificate, trusted by the whole system while the test runs."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))
    tls_context.cache_clear()
    yield certificate
    tls_context.cache_clear()


def visit_tls(runner: asyncio.Runner, certificate: Certificate, host: str, **metadata: object) -> tuple[Outcome, int]:
    """The outcome, and how many requests the server has read."""

    async def visited() -> tuple[Outcome, int]:
        async with WebServer(lambda seen: answer(body=b"safe"), tls=certificate.context) as server:
            run = make_run({"url": f"https://{host}:{server.port}/", "allow_private": ["127.0.0.1"], **metadata})
            outcome = await HttpExecutor(resolve=lambda name: ["127.0.0.1"]).run(run)
            return outcome, len(server.seen)

    return runner.run(visited())


@pytest.mark.parametrize("host", ["secure.example", "Secure.Example.", "127.0.0.1"])
def test_a_trusted_certificate_for_the_name_is_accepted(
    runner: asyncio.Runner, trusted: Certificate, host: str
) -> None:
    outcome, _ = visit_tls(runner, trusted, host)

    assert results_of(outcome)["body"] == "safe"


def test_a_certificate_that_nobody_trusts_is_refused(runner: asyncio.Runner, certificate: Certificate) -> None:
    tls_context.cache_clear()

    outcome, request_count = visit_tls(runner, certificate, "secure.example")

    assert outcome.kind is OutcomeKind.FAILED
    assert errors_of(outcome)["type"] == "tls"
    assert "self-signed" in errors_of(outcome)["message"].replace("self signed", "self-signed")
    assert request_count == 0


def test_a_trusted_certificate_for_another_name_is_refused(runner: asyncio.Runner, trusted: Certificate) -> None:
    outcome, request_count = visit_tls(runner, trusted, "other.example")

    assert errors_of(outcome)["type"] == "tls"
    assert request_count == 0


def test_a_job_type_can_do_without_the_check(runner: asyncio.Runner, certificate: Certificate) -> None:
    outcome, _ = visit_tls(runner, certificate, "other.example", verify_tls=False)

    assert results_of(outcome)["body"] == "safe"


def test_a_server_that_does_not_speak_tls_fails_and_says_so(runner: asyncio.Runner) -> None:
    async def visited() -> Outcome:
        async with WebServer(serve=saying_at_once) as server:
            return await fetch(server.url.replace("http:", "https:"))

    async def saying_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer(400))

    assert errors_of(runner.run(visited()))["type"] == "tls"


def test_a_server_that_is_silent_in_the_handshake_runs_into_the_timeout(runner: asyncio.Runner) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)

    async def visited() -> Outcome:
        async with WebServer(serve=serve) as server:
            outcome = await fetch(server.url.replace("http:", "https:"), timeout_ms=100)
            await server.wait_until_idle()
            return outcome

    assert errors_of(runner.run(visited()))["type"] == "timeout"
