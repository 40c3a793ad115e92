"""The socket of the server, and serving on it."""

import asyncio
import http.client
import signal
import ssl
import subprocess
import urllib.request
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from rota.errors import InvalidInput
from rota.server.listen import Tls, address_of, is_loopback, listen, serve
from tests.ports import has_ipv6


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


def fetch(url: str, context: ssl.SSLContext | None = None) -> bytes:
    with urllib.request.urlopen(url, timeout=60, context=context) as answer:
        return bytes(answer.read())


def test_a_server_answers_until_it_is_told_to_stop_and_leaves_signals_alone() -> None:
    async def scene() -> tuple[bytes, bool]:
        stopping = asyncio.Event()
        listener = listen("127.0.0.1", 0)
        address = address_of(listener)
        serving = asyncio.create_task(serve(hello, listener, stopping))
        said = await asyncio.to_thread(fetch, address)
        is_untouched = signal.getsignal(signal.SIGTERM) is before
        stopping.set()
        await serving
        with pytest.raises(OSError, match="refused"):
            await asyncio.to_thread(fetch, address)
        return said, is_untouched

    before = signal.getsignal(signal.SIGTERM)

    assert asyncio.run(scene()) == (b"hello", True)


def test_streams_are_let_go_before_the_server_waits_for_them() -> None:
    async def scene() -> bytes:
        stopping, let_go = asyncio.Event(), asyncio.Event()

        async def stream(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await let_go.wait()
            await send({"type": "http.response.body", "body": b"the end"})

        listener = listen("127.0.0.1", 0)
        serving = asyncio.create_task(serve(stream, listener, stopping, before_end=let_go.set))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        await reader.readline()
        stopping.set()
        said = await reader.read()
        await serving
        writer.close()
        return said

    assert b"the end" in asyncio.run(scene())


def test_a_taken_port_is_refused_in_words() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]

        with pytest.raises(InvalidInput, match=f"{port} on 127.0.0.1 is taken"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "a" * 300])
def test_an_address_that_is_not_ours_is_refused(host: str) -> None:
    with pytest.raises(InvalidInput):
        listen(host, 0)


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)])
def test_loopback_is_told_by_the_socket_itself(host: str, expected: bool) -> None:
    with listen(host, 0) as listener:
        assert is_loopback(listener) is expected


def test_the_address_can_be_opened_in_a_browser() -> None:
    with listen("0.0.0.0", 0) as listener:
        assert address_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_ipv6_works_too() -> None:
    with listen("::1", 0) as listener:
        assert is_loopback(listener)
        assert address_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"


def test_a_server_with_a_certificate_speaks_https_only(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=certificate)

    async def scene() -> bytes:
        stopping = asyncio.Event()
        listener = listen("127.0.0.1", 0)
        tls = Tls(certificate, key)
        tls.check()
        serving = asyncio.create_task(serve(hello, listener, stopping, tls=tls))
        said = await asyncio.to_thread(fetch, address_of(listener, has_tls=True), trusting)
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            await asyncio.to_thread(fetch, address_of(listener))
        stopping.set()
        await serving
        return said

    assert asyncio.run(scene()) == b"hello"


def test_files_that_are_no_certificate_are_told_before_the_start(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "text").write_text("canary")

    for one in (
        Tls(str(tmp_path / "none"), key),
        Tls(str(tmp_path / "text"), key),
        Tls(certificate, make_certificate(other)[1]),
        Tls(certificate),
    ):
        with pytest.raises(InvalidInput, match=r"tls_certificate: .* cannot be used: ") as refused:
            one.check()
        assert "canary" not in str(refused.value)


def test_a_key_with_a_password_is_told_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    locked = str(tmp_path / "locked.pem")
    command = ["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:canary", "-out", locked]
    subprocess.run(command, check=True, capture_output=True)

    with pytest.raises(InvalidInput, match="the key needs a password; write it to the file without one"):
        Tls(certificate, locked).check()


def make_certificate(folder: Path) -> tuple[str, str]:
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    certificate, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*command, "-keyout", key, "-out", certificate, "-days", "2", *names], check=True, capture_output=True
    )
    return certificate, key
