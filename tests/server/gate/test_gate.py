"""What passes the gate, by its headers alone."""

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from rota.server.gate.gate import Gate
from rota.server.gate.names import Names
from rota.server.gate.proxies import Proxies


def status(headers: list[tuple[bytes, bytes]], *, allowed: tuple[str, ...] = (), version: str = "1.1") -> int:
    """Of the answer to a request that has these headers and no others."""
    gate = Gate(PlainTextResponse("in"), Names(("127.0.0.1",), allowed), Proxies(()))

    async def with_headers(scope, receive, send):  # type: ignore[no-untyped-def]
        await gate({**scope, "headers": headers, "http_version": version}, receive, send)

    return TestClient(with_headers).get("/").status_code


@pytest.mark.parametrize(
    ("origin", "expected"), [(b"http://evil.example", 403), (b"http://anything.example", 200), (b"null", 403)]
)
def test_a_server_of_any_name_is_still_asked_by_no_foreign_page(origin: bytes, expected: int) -> None:
    headers = [(b"host", b"anything.example"), (b"origin", origin)]

    assert status(headers, allowed=("*",)) == expected


def test_a_request_without_a_host_is_no_request_of_today() -> None:
    assert status([], version="1.1") == 400
    assert status([], version="1.0") == 200
    assert status([(b"host", b"127.0.0.1")]) == 200
    assert status([(b"host", b"127.0.0.1"), (b"host", b"127.0.0.1")]) == 400
