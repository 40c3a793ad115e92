"""Executor `http` reaches public addresses and what is allowed, and nothing else, whatever a URL looks like."""

import asyncio
import ipaddress
import re

import pytest

from rota.engine.executors.http.target import AllowList, check_addresses, is_public
from rota.engine.executors.http.url import TargetRefused, join_url, parse_url
from rota.errors import InvalidInput
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors.http.web import WebServer, answer, fetch_by_name
from tests.engine.executors.runs import errors_of, results_of

LOOPBACK = """
http://127.0.0.1:{port}/
http://127.0.0.1.:{port}/
http://127.255.255.254:{port}/
http://127.1:{port}/
http://127.0.1:{port}/
http://2130706433:{port}/
http://0x7f000001:{port}/
http://0X7F000001:{port}/
http://0x7f.0.0.1:{port}/
http://0x7f.1:{port}/
http://0177.0.0.1:{port}/
http://017700000001:{port}/
http://127.000.000.001:{port}/
http://00127.0.0.1:{port}/
http://0:{port}/
http://0.0.0.0:{port}/
http://0x:{port}/
http://localhost:{port}/
http://LOCALHOST:{port}/
http://LocalHost.:{port}/
http://localhost.localdomain:{port}/
http://anything.localhost:{port}/
http://127.0.0.1.nip.io:{port}/
http://localtest.me:{port}/
HTTP://127.0.0.1:{port}/
http://[::1]:{port}/
http://[::]:{port}/
http://[0:0:0:0:0:0:0:1]:{port}/
http://[0000::0001]:{port}/
http://[::ffff:127.0.0.1]:{port}/
http://[::FFFF:7F00:1]:{port}/
http://[::127.0.0.1]:{port}/
http://[64:ff9b::127.0.0.1]:{port}/
http://[64:ff9b::7f00:1]:{port}/
http://[64:ff9b:1::7f00:1]:{port}/
http://[2002:7f00:1::]:{port}/
http://[2001:0:7f00:1::]:{port}/
http://[127.0.0.1]:{port}/
http://[::1]x:{port}/
http://[::1:{port}/
http://example.com@127.0.0.1:{port}/
http://127.0.0.1:{port}@example.com/
http://user:password@localhost:{port}/
http://@127.0.0.1:{port}/
http://127.0.0.1:{port}\\@example.com/
http://example.com\\@127.0.0.1:{port}/
http:\\\\127.0.0.1:{port}/
http://127.0.0.1:{port}:80/
http://%31%32%37.0.0.1:{port}/
http://127.0.0.1%2f.example.com:{port}/
http://127.0.0.1%00.example.com:{port}/
http://①②⑦.⓪.⓪.①:{port}/
http://127\u30020\u30020\u30021:{port}/
http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{port}/
http://local\u00adhost:{port}/
http://127.0.0.1\u200b:{port}/
http://127.0.0.1 .example.com:{port}/
http://127.0.0.1\t:{port}/
http:///127.0.0.1:{port}/
http:127.0.0.1:{port}/
//127.0.0.1:{port}/
127.0.0.1:{port}/
gopher://127.0.0.1:{port}/_x
ftp://127.0.0.1:{port}/
ws://127.0.0.1:{port}/
http+unix://127.0.0.1:{port}/
""".strip().split("\n")

ELSEWHERE = """
http://169.254.169.254/latest/meta-data/
http://169.254.169.254./
http://2852039166/
http://0xa9fea9fe/
http://[::ffff:169.254.169.254]/
http://169.254.170.2/
http://100.100.100.200/
http://168.63.129.16/
http://192.0.0.192/
http://[fd00:ec2::254]/
http://10.0.0.1/
http://172.16.0.1/
http://172.31.255.255/
http://192.168.1.1/
http://100.64.0.1/
http://198.18.0.1/
http://192.0.2.1/
http://192.88.99.1/
http://224.0.0.1/
http://239.255.255.250/
http://240.0.0.1/
http://255.255.255.255/
http://[fe80::1]/
http://[fe80::1%25eth0]/
http://[fc00::1]/
http://[fec0::1]/
http://[ff02::1]/
http://[2001:db8::1]/
http://[3fff::1]/
http://[100::1]/
http://127.0.0.1:0/
http://127.0.0.1:99999/
http://127.0.0.1:-1/
http://127.0.0.1:8o/
http://:80/
http://
http://./
http://-a.example/
http://a..example/
file:///etc/passwd
data:text/plain,x
unix:/run/docker.sock
""".strip().split("\n")


def to_loopback(host: str) -> list[str]:
    """A resolver for which every name is this machine."""
    return ["127.0.0.1"]


@pytest.mark.parametrize(
    ("text", "port", "authority"),
    [
        ("http://a.example/x", 80, "a.example"),
        ("https://a.example/x", 443, "a.example"),
        ("http://a.example:80/x", 80, "a.example"),
        ("http://a.example:443/x", 443, "a.example:443"),
        ("https://[2001:db8::1]:80/x", 80, "[2001:db8::1]:80"),
    ],
)
def test_a_url_without_a_port_has_that_of_its_scheme(text: str, port: int, authority: str) -> None:
    url = parse_url(text)

    assert (url.port, url.authority) == (port, authority)


@pytest.mark.parametrize("url", [*LOOPBACK, *ELSEWHERE])
def test_no_url_leads_to_what_is_not_public(runner: asyncio.Runner, url: str) -> None:
    async def visit() -> tuple[Outcome, int]:
        async with WebServer(is_everywhere=True) as server:
            return await fetch_by_name(url.replace("{port}", str(server.port)), to_loopback), server.connection_count

    outcome, connection_count = runner.run(visit())

    assert connection_count == 0
    assert outcome.kind is OutcomeKind.REFUSED
    assert errors_of(outcome)["type"] == "target"


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("2130706433", "not a plain IPv4 address"),
        ("0x7f000001", "not a plain IPv4 address"),
        ("0x7f.1", "not a plain IPv4 address"),
        ("0177.0.0.1", "not a plain IPv4 address"),
        ("127.1", "not a plain IPv4 address"),
        ("evil.example.0x7f", "not a plain IPv4 address"),
        ("example.com@127.0.0.1", "has a user name"),
        ("①②⑦.0.0.1", "not a plain IPv4 address|not a host name"),
        ("ⓛocalhost", "not a host name"),
        ("127.0.0.1%2f.example.com", "not a host name"),
    ],
)
def test_what_resolvers_read_in_their_own_ways_is_refused_before_one_is_asked(
    runner: asyncio.Runner, host: str, said: str
) -> None:
    asked: list[str] = []

    def to_public(name: str) -> list[str]:
        asked.append(name)
        return ["93.184.216.34"]

    outcome = runner.run(fetch_by_name(f"http://{host}/", to_public))

    assert asked == []
    assert re.search(said, errors_of(outcome)["message"])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"])
def test_the_same_servers_would_be_reached_if_everything_were_allowed(runner: asyncio.Runner, host: str) -> None:
    async def visit() -> int:
        async with WebServer(is_everywhere=True) as server:
            await fetch_by_name(f"http://{host}:{server.port}/", to_loopback, ["0.0.0.0/0", "::/0"])
            return server.connection_count

    assert runner.run(visit()) == 1


@pytest.mark.parametrize(
    "addresses",
    [
        ["10.1.2.3"],
        ["93.184.216.34", "127.0.0.1"],
        ["127.0.0.1", "93.184.216.34"],
        ["::ffff:127.0.0.1"],
        ["2606:4700::1111", "::1"],
        ["fe80::1%1"],
        ["93.184.216.34"] * 50 + ["127.0.0.1"],
    ],
)
def test_a_name_is_refused_if_any_of_its_addresses_is(runner: asyncio.Runner, addresses: list[str]) -> None:
    async def visit() -> tuple[Outcome, int]:
        async with WebServer(is_everywhere=True) as server:
            url = f"http://innocent.example:{server.port}/"
            return await fetch_by_name(url, lambda host: addresses), server.connection_count

    outcome, connection_count = runner.run(visit())

    assert (outcome.kind, connection_count) == (OutcomeKind.REFUSED, 0)


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://127.0.0.2:{port}/",
        "//127.0.0.2:{port}/",
        "http://other.example:{port}/",
        "http://127.0.0.1@127.0.0.2:{port}/",
        "http://2130706434:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.2]:{port}/",
        "/\\127.0.0.2:{port}/",
        "http://[::1",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "gopher://127.0.0.2:{port}/",
    ],
)
def test_a_redirect_is_checked_like_a_first_request(runner: asyncio.Runner, location: str) -> None:
    async def visit() -> tuple[Outcome, int, int]:
        async with WebServer(is_everywhere=True) as private:
            where = location.replace("{port}", str(private.port))
            async with WebServer(lambda seen: answer(302, Location=where)) as public:
                outcome = await fetch_by_name(public.url, lambda host: ["127.0.0.2"], allow_private=["127.0.0.1"])
                return outcome, public.connection_count, private.connection_count

    outcome, public_count, private_count = runner.run(visit())

    assert (public_count, private_count) == (1, 0)
    assert outcome.kind is OutcomeKind.REFUSED
    assert errors_of(outcome)["type"] == "target"


def test_a_redirect_from_https_to_http_is_refused() -> None:
    base = parse_url("https://example.com/a/b?c")

    with pytest.raises(TargetRefused, match="from https to plain http"):
        join_url(base, "http://example.com/")
    assert join_url(base, "../x?ü".encode().decode("latin-1")).target == "/x?%C3%BC"
    assert join_url(parse_url("http://example.com/"), "https://example.com/").scheme == "https"


def test_the_resolver_is_asked_once_and_its_answer_is_used(runner: asyncio.Runner) -> None:
    answers = iter([["127.0.0.1"], ["127.0.0.2"], ["127.0.0.2"]])
    asked = []

    def rebinding(host: str) -> list[str]:
        asked.append(host)
        return next(answers)

    async def visit() -> tuple[Outcome, str]:
        async with WebServer() as server:
            url = f"http://Rebinding.Example.:{server.port}/"
            outcome = await fetch_by_name(url, rebinding, allow_private=["rebinding.example"])
            return outcome, server.seen[0].headers["host"].partition(":")[0]

    outcome, host = runner.run(visit())

    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert asked == [host] == ["rebinding.example"]


def test_another_address_is_tried_when_the_first_does_not_answer(runner: asyncio.Runner) -> None:
    async def visit() -> Outcome:
        async with WebServer() as server:
            url = f"http://two.example:{server.port}/"
            addresses = ["127.0.0.2", "127.0.0.1"]
            return await fetch_by_name(url, lambda host: addresses, allow_private=["two.example"])

    assert results_of(runner.run(visit()))["status"] == 200


def test_of_a_name_with_many_addresses_only_some_are_tried(runner: asyncio.Runner) -> None:
    """Who owns a name must not have a node knock at hundreds of doors for one job."""

    async def visit() -> Outcome:
        async with WebServer() as server:
            closed = [f"127.0.0.{number}" for number in range(2, 11)]
            url = f"http://many.example:{server.port}/"
            return await fetch_by_name(url, lambda host: [*closed, "127.0.0.1"], allow_private=["many.example"])

    outcome = runner.run(visit())

    assert errors_of(outcome)["type"] == "connect"
    assert "127.0.0.9" in errors_of(outcome)["message"]
    assert "127.0.0.10" not in errors_of(outcome)["message"]


def test_a_name_without_addresses_is_a_failure_to_connect(runner: asyncio.Runner) -> None:
    def resolve(host: str) -> list[str]:
        raise OSError(2, "Name or service not known")

    outcome = runner.run(fetch_by_name("http://nowhere.example/", resolve))

    assert outcome.kind is OutcomeKind.FAILED
    assert errors_of(outcome)["type"] == "connect"
    assert "nowhere.example" in errors_of(outcome)["message"]


def test_proxies_of_the_environment_are_not_used(runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    async def visit() -> tuple[Outcome, int]:
        async with WebServer() as proxy, WebServer() as server:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url)
            return await fetch_by_name(server.url, to_loopback, allow_private=["127.0.0.1"]), proxy.connection_count

    outcome, proxy_count = runner.run(visit())

    assert (outcome.kind, proxy_count) == (OutcomeKind.SUCCEEDED, 0)


# -- the allow-lists -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.0/8", "intern.example", "INTERN.example."])
def test_the_job_type_or_the_installation_can_allow_a_private_target(runner: asyncio.Runner, allowed: str) -> None:
    async def visit() -> list[Outcome]:
        async with WebServer() as server:
            url = f"http://intern.example:{server.port}/"
            by_job_type = await fetch_by_name(url, to_loopback, allow_private=[allowed])
            return [by_job_type, await fetch_by_name(url, to_loopback, [allowed])]

    assert [outcome.kind for outcome in runner.run(visit())] == [OutcomeKind.SUCCEEDED] * 2


@pytest.mark.parametrize(
    ("entry", "host", "address", "is_allowed"),
    [
        ("intern.example", "intern.example", "10.0.0.1", True),
        ("intern.example", "other.intern.example", "10.0.0.1", False),
        ("intern.example", "intern.example", "169.254.169.254", False),
        ("intern.example", "intern.example", "fd00:ec2::254", False),
        ("intern.example", "intern.example", "100.100.100.200", False),
        ("intern.example", "intern.example", "0.0.0.0", False),
        ("intern.example", "intern.example", "::ffff:10.0.0.1", False),
        ("intern.example", "intern.example", "fd00::1", True),
        ("10.0.0.0/8", "any.example", "10.9.9.9", True),
        ("10.0.0.0/8", "any.example", "11.0.0.1", True),
        ("10.0.0.0/8", "any.example", "192.168.0.1", False),
        ("10.0.0.0/8", "any.example", "::ffff:10.0.0.1", False),
        ("169.254.169.254", "169.254.169.254", "169.254.169.254", True),
        ("[::1]", "::1", "::1", True),
        ("fd00::/8", "any.example", "fd12::1", True),
    ],
)
def test_a_name_admits_private_addresses_and_a_network_all_of_its_own(
    entry: str, host: str, address: str, is_allowed: bool
) -> None:
    allowed = AllowList("allow", [entry])

    if is_allowed:
        check_addresses(host, [address], [allowed], port=443)
    else:
        with pytest.raises(TargetRefused, match=r"not public; list it in metadata\.allow_private"):
            check_addresses(host, [address], [allowed], port=443)


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_nothing_that_python_calls_private_is_public_here() -> None:
    """Sampled over the whole of IPv4, against a second opinion."""
    for number in range(0, 2**32, 65_537 * 7):
        address = ipaddress.ip_address(number)
        if address.is_private or address.is_multicast or address.is_reserved or address.is_link_local:
            assert not is_public(address), address


@pytest.mark.parametrize(
    ("entry", "host", "address"),
    [
        ("127.0.0.1:8080", "127.0.0.1", "127.0.0.1"),
        ("[::1]:8080", "::1", "::1"),
        ("intern.example:8080", "intern.example", "10.0.0.1"),
        ("10.0.0.0/8:8080", "any.example", "10.9.9.9"),
        ("[fd00::]/8:8080", "any.example", "fd12::1"),
    ],
)
def test_an_entry_with_a_port_admits_that_port_alone(entry: str, host: str, address: str) -> None:
    allowed = AllowList("allow", [entry])

    check_addresses(host, [address], [allowed], port=8080)
    for port in (80, 443, 8081):
        with pytest.raises(TargetRefused, match="not public"):
            check_addresses(host, [address], [allowed], port=port)


@pytest.mark.parametrize("entry", ["127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "a:b", "a:1:2", "[::1]:x", ":80"])
def test_an_entry_with_an_odd_port_is_refused(entry: str) -> None:
    with pytest.raises(InvalidInput, match="no host name, address or network"):
        AllowList("allow", [entry])
