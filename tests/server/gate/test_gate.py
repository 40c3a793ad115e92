"""What passes the gate, by its headers alone."""

from urllib.parse import unquote

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from rota.server.gate.gate import IS_DIRECT, Gate
from rota.server.gate.names import Names
from rota.server.gate.proxies import Proxies


def status(
    headers: list[tuple[bytes, bytes]], *, allowed: tuple[str, ...] = (), version: str = "1.1", method: str = "GET"
) -> int:
    """Of the answer to a request that has these headers and no others."""
    gate = Gate(PlainTextResponse("in"), Names(("127.0.0.1",), allowed), Proxies(()))

    async def with_headers(scope, receive, send):  # type: ignore[no-untyped-def]
        await gate({**scope, "headers": headers, "http_version": version}, receive, send)

    return TestClient(with_headers).request(method, "/").status_code


class Inside:
    """What is behind the gate: keeps the scopes that pass it."""

    def __init__(self, trusted: tuple[str, ...] = ()) -> None:
        self.scopes: list[Scope] = []
        self.gate = Gate(self, Names(("127.0.0.1",), ()), Proxies(trusted))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        await PlainTextResponse("in")(scope, receive, send)

    def ask(self, headers: list[tuple[bytes, bytes]], **scope: object) -> Scope:
        """The scope of a request from `10.0.0.1` that has these headers; it may have more."""

        async def with_scope(asked: Scope, receive: Receive, send: Send) -> None:
            given = [(b"host", b"127.0.0.1"), *headers]
            await self.gate({**asked, "headers": given, "client": ("10.0.0.1", 5), **scope}, receive, send)

        assert TestClient(with_scope).get("/").status_code == 200
        return self.scopes[-1]


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


FOLLOWED = {b"sec-fetch-site": b"cross-site", b"sec-fetch-mode": b"navigate", b"sec-fetch-dest": b"document"}


@pytest.mark.parametrize(
    ("method", "said", "expected"),
    [
        ("GET", {}, 200),
        ("GET", FOLLOWED, 200),
        ("HEAD", FOLLOWED, 200),
        ("POST", FOLLOWED, 403),
        ("DELETE", FOLLOWED, 403),
        ("GET", {**FOLLOWED, b"sec-fetch-dest": b"iframe"}, 403),
        ("GET", {**FOLLOWED, b"sec-fetch-mode": b"no-cors"}, 403),
        ("GET", {**FOLLOWED, b"sec-fetch-site": b"same-site"}, 200),
        ("GET", {**FOLLOWED, b"origin": b"https://evil.example"}, 403),
        ("GET", {b"sec-fetch-site": b"cross-site"}, 403),
        ("POST", {b"sec-fetch-site": b"same-site"}, 403),
        ("POST", {b"sec-fetch-site": b"same-origin"}, 200),
        ("POST", {b"sec-fetch-site": b"none"}, 200),
        ("POST", {b"origin": b"http://127.0.0.1:23071"}, 200),
        ("POST", {b"origin": b"https://127.0.0.1:23071"}, 200),
        ("POST", {b"origin": b"http://127.0.0.1"}, 403),
        ("POST", {b"origin": b"ftp://127.0.0.1:23071"}, 403),
        ("POST", {b"origin": b"127.0.0.1:23071"}, 403),
        ("POST", {b"origin": b"https://ROTA.example"}, 200),
        ("POST", {b"origin": b"https://rota.example.evil.example"}, 403),
    ],
)
def test_a_page_of_another_site_asks_nothing_and_a_person_follows_its_links(
    method: str, said: dict[bytes, bytes], expected: int
) -> None:
    headers = [(b"host", b"127.0.0.1:23071"), *said.items()]

    assert status(headers, allowed=("rota.example",), method=method) == expected


def test_a_name_that_is_not_ours_is_told_within_bounds() -> None:
    gate = Gate(PlainTextResponse("in"), Names((), ()), Proxies(()))

    answer = TestClient(gate, f"http://{'a' * 200}.example").get("/")

    assert answer.status_code == 421
    assert f"for '{'a' * 80}';" in answer.json()["error"]
    assert answer.headers["connection"] == "close"


def test_a_request_is_direct_unless_somebody_says_that_it_was_passed_on() -> None:
    inside = Inside()

    assert inside.ask([])[IS_DIRECT] is True
    assert inside.ask([(b"accept", b"*/*"), (b"origin", b"http://127.0.0.1")])[IS_DIRECT] is True
    assert inside.ask([(b"x-real-ip", b"192.0.2.1")])[IS_DIRECT] is False


@pytest.mark.parametrize(
    ("trusted", "hops", "client"),
    [
        (("10.0.0.1",), [b"192.0.2.1"], ("192.0.2.1", 0)),
        (("10.0.0.1",), [b"192.0.2.1", b"192.0.2.9"], ("192.0.2.9", 0)),
        (("10.0.0.0/8",), [b"192.0.2.1, 192.0.2.9", b"10.0.0.7"], ("192.0.2.9", 0)),
        (("10.0.0.1",), [], ("10.0.0.1", 5)),
        ((), [b"192.0.2.1"], ("10.0.0.1", 5)),
        (("10.9.9.9",), [b"192.0.2.1"], ("10.0.0.1", 0)),
    ],
)
def test_who_asks_is_what_trusted_proxies_say_in_however_many_headers(
    trusted: tuple[str, ...], hops: list[bytes], client: tuple[str, int]
) -> None:
    inside = Inside(trusted)

    assert inside.ask([(b"x-forwarded-for", hop) for hop in hops])["client"] == client


def test_whom_nobody_knows_stays_unknown_behind_a_proxy() -> None:
    """A server on a socket of the file system knows no address."""
    assert Inside(("10.0.0.1",)).ask([(b"x-forwarded-for", b"192.0.2.1")], client=None)["client"] is None


@pytest.mark.parametrize(
    ("raw_path", "expected"), [(b"/%EF%BF%BD", 200), (b"/%ff", 400), (b"/a%c3%28", 400), (b"/%c3%a4", 200)]
)
def test_a_path_is_text(raw_path: bytes, expected: int) -> None:
    gate = Gate(PlainTextResponse("in"), Names((), ()), Proxies(()))
    asked = {"path": unquote(raw_path.decode()), "raw_path": raw_path, "headers": [(b"host", b"127.0.0.1")]}

    async def with_path(scope: Scope, receive: Receive, send: Send) -> None:
        await gate({**scope, **asked}, receive, send)

    assert TestClient(with_path).get("/").status_code == expected
