"""Who reaches a real server that nobody has set up: what a page on the web, another user of the machine and a proxy's
visitors would try."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.calling import RotaProcess, call_process
from tests.cli.run.test_up import get
from tests.server.gate.raw_http import Server, asked

DEV_KEY = {"Authorization": "Bearer dev_key"}
ASK_AS = r"""
import os, socket, sys
user, port, key = sys.argv[1:]
os.setuid(int(user))
with socket.socket() as asking:
    asking.connect(("127.0.0.1", int(port)))
    asking.sendall(f"GET /api HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    print(asking.recv(1000).split()[1].decode())
"""
NOBODY = 65_534


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Server]:
    """A server as it is without any setting, and the key that it made."""
    with RotaProcess(["server", "--port", "0", "--json"], tmp_path) as process:
        banner = process.banner()
        yield Server(banner["address"], banner["api_key"])
        assert process.stop() == 0


def status(up: Server, headers: dict[str, str], method: str = "GET", path: str = "/api") -> int:
    return asked(up, method, path, headers)[0]


def test_a_page_that_gives_its_own_name_this_address_is_not_answered(up: Server) -> None:
    body = json.dumps({"name": "evil", "executor": "bash", "metadata": {"command": "id > pwned"}})

    for host in (
        "evil.example",
        f"evil.example:{up.port}",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "a b",
    ):
        for headers in ({**DEV_KEY, "Host": host}, {**up.bearer, "Host": host}):
            found, text = asked(up, "POST", "/api/job_types", {**headers, "Content-Type": "application/json"}, body)
            assert (found, "server.allowed_hosts" in text) == (421, True), host

    assert b'"evil"' not in asked(up, "GET", "/api/job_types", up.bearer)[1].encode()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:23071", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:80"])
def test_loopback_is_asked_by_any_of_its_names(up: Server, host: str) -> None:
    assert status(up, {**up.bearer, "Host": host}) == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    ],
)
def test_a_foreign_page_neither_reads_nor_changes(up: Server, headers: dict[str, str]) -> None:
    for key in (DEV_KEY, up.bearer, {}):
        for method, path in (("GET", "/api"), ("GET", "/metrics"), ("DELETE", "/api/jobs/x"), ("POST", "/api/jobs")):
            assert status(up, {**key, **headers}, method, path) == 403


def test_own_pages_programs_and_followed_links_are_answered(up: Server) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    assert status(up, {**up.bearer, "Origin": up.address}) == 200
    assert status(up, {**up.bearer, "Sec-Fetch-Site": "same-origin", "Origin": up.address}) == 200
    assert status(up, {**up.bearer, "Sec-Fetch-Site": "none"}) == 200
    assert status(up, link, path="/docs") == 200
    assert status(up, link, method="POST", path="/docs") == 403


@pytest.mark.parametrize(
    "header",
    ["X-Forwarded-For", "X-Real-IP", "Forwarded", "Via", "X-Forwarded-Proto", "CF-Connecting-IP", "X-Amzn-Trace-Id"],
)
def test_visitors_of_a_proxy_do_not_get_in_with_the_well_known_key(up: Server, header: str) -> None:
    assert status(up, {**DEV_KEY, header: "127.0.0.1"}) == 401
    assert status(up, {**up.bearer, header: "127.0.0.1"}) == 200
    assert status(up, DEV_KEY) == 200


def test_only_a_browser_that_a_person_uses_is_let_in_without_a_key(up: Server) -> None:
    page = {"Accept": "text/html"}
    opened = {**page, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}

    for path in ("/", "/keys", "/audit"):
        assert status(up, page, path=path) == 303, "a program that was led to fetch an address says nothing"
        assert status(up, {**page, "Sec-Fetch-Mode": "cors", "Sec-Fetch-Site": "same-origin"}, path=path) == 303
        assert status(up, {**opened, "Sec-Fetch-Site": "cross-site"}, path=path) == 303
        assert status(up, {**opened, "Sec-Fetch-Site": "none"}, path=path) == 200
        assert status(up, {**opened, "Sec-Fetch-Site": "same-origin"}, path=path) == 200
    assert status(up, page, path="/live?at=/keys") == 401
    assert status(up, {**opened, "Sec-Fetch-Site": "none", "X-Forwarded-For": "127.0.0.1"}, path="/keys") == 303


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")
def test_another_user_of_the_machine_does_not_get_in_with_the_well_known_key(up: Server) -> None:
    def status_as(user: int, key: str) -> int:
        words = [sys.executable, "-c", ASK_AS, str(user), str(up.port), key]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    assert status_as(os.geteuid(), "dev_key") == 200
    assert status_as(NOBODY, "dev_key") == 401
    assert status_as(NOBODY, up.key) == 200


def test_the_well_known_key_ends_at_once_when_a_person_makes_one(tmp_path: Path, up: Server) -> None:
    store = f"sqlite:///{tmp_path / 'rota.db'}"
    assert get(f"{up.address}/api", "dev_key")[0] == 200
    assert "dev_key, which everybody knows, works" in call_process("doctor", "--store", store).stdout

    made = call_process("key", "create", "mine", "--store", store).stdout.split()[0]

    assert get(f"{up.address}/api", made)[0] == 200
    assert get(f"{up.address}/api", "dev_key")[0] == 401
    assert "dev_key" not in call_process("doctor", "--store", store).stdout


def guesses_from(up: Server, address: str, count: int) -> list[int]:
    """What is said to so many guesses, a hundred of which are free, and then five a second. Several at once, so that
    they are more than that on a slow machine as well."""
    headers = {"Authorization": "Bearer no", "X-Forwarded-For": address}
    with ThreadPoolExecutor(8) as threads:
        return list(threads.map(lambda _: status(up, headers), range(count)))


def test_names_and_proxies_that_settings_give_are_believed(tmp_path: Path) -> None:
    settings = {"ROTA_ALLOWED_HOSTS": "rota.example.com, *.internal", "ROTA_TRUSTED_PROXIES": "127.0.0.0/8"}
    with RotaProcess(["server", "--port", "0", "--json"], tmp_path, **settings) as process:
        banner = process.banner()
        up = Server(banner["address"], banner["api_key"])

        for host in ("rota.example.com", "ROTA.example.com.:443", "a.b.internal", "127.0.0.1"):
            assert status(up, {**up.bearer, "Host": host}) == 200
        assert status(up, {**up.bearer, "Host": "example.com"}) == 421
        assert status(up, {**up.bearer, "Host": "127.0.0.1", "Origin": "https://rota.example.com"}) == 200
        assert status(up, {**DEV_KEY, "X-Forwarded-For": "127.0.0.1"}) == 401
        assert any(429 in guesses_from(up, "192.0.2.9", 150) for _ in range(10))
        assert status(up, {"Authorization": "Bearer no", "X-Forwarded-For": "192.0.2.1"}) == 401
        assert any(429 in guesses_from(up, "192.0.2.1, 192.0.2.9", 150) for _ in range(10))
        assert process.stop() == 0
