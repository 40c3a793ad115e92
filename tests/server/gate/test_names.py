"""The names under which a server answers: those it has, however they are written, and no others."""

import pytest

from rota.server.gate import names
from rota.server.gate.names import Names, host_of


@pytest.mark.parametrize(
    ("header", "host"),
    [
        (b"Rota.Example", "rota.example"),
        (b"rota.example.:443", "rota.example"),
        (b" rota.example:8080 ", "rota.example"),
        (b"[::1]:80", "::1"),
        (b"[0:0:0:0:0:0:0:1]", "::1"),
        (b"127.0.0.1:1", "127.0.0.1"),
        (b"", None),
        (b":80", None),
        (b"a b", None),
        (b"a:b", None),
        (b"a:123456", None),
        (b"user@rota.example", None),
        (b"rota.example/path", None),
        (b"::1", None),
        (b"[rota.example]", None),
    ],
)
def test_a_header_says_a_host_in_one_spelling_or_none(header: bytes, host: str | None) -> None:
    assert host_of(header) == host


@pytest.mark.parametrize(
    ("bound_to", "allowed", "good", "bad"),
    [
        ((), (), ["localhost", "127.0.0.1", "[::1]"], ["rota.example", "192.0.2.1", "127.0.0.2", "[::2]"]),
        (("Rota.Example", "192.0.2.1"), (), ["rota.example", "192.0.2.1", "localhost"], ["192.0.2.2", "b.example"]),
        (("0.0.0.0",), (), ["192.0.2.1", "[2001:db8::1]"], ["rota.example", "192.0.2.1.evil.example"]),
        (("::",), (), ["192.0.2.1", "[2001:db8::1]"], ["rota.example"]),
        (("fe80::1%eth0",), (), ["[fe80::1]"], ["[fe80::2]"]),
        ((), ("ROTA.example.",), ["rota.example", "Rota.Example.:80"], ["a.rota.example", "192.0.2.1"]),
        ((), ("*.internal",), ["a.internal", "a.b.Internal"], ["internal", "evilinternal", "a.internal.evil.example"]),
        ((), ("*",), ["anything.example", "192.0.2.1"], ["a b", ""]),
    ],
    ids=["alone", "bound", "everywhere", "everywhere-v6", "zone", "allowed", "below", "all"],
)
def test_a_server_answers_for_the_names_that_it_has(
    bound_to: tuple[str, ...], allowed: tuple[str, ...], good: list[str], bad: list[str]
) -> None:
    ours = Names(bound_to, allowed)

    for _ in range(2):  # whatever was remembered of the first time
        assert [one for one in good if not ours.has(one.encode())] == []
        assert [one for one in bad if ours.has(one.encode())] == []


def test_what_is_remembered_of_headers_has_an_end_and_is_good() -> None:
    ours = Names((), ("*.internal",))

    for number in range(2 * names._MOST_REMEMBERED):
        assert ours.has(b"a%d.internal" % number)
        assert not ours.has(b"a%d.example" % number)

    assert len(ours._known) == names._MOST_REMEMBERED
    assert all(one.endswith(b".internal") for one in ours._known)


@pytest.mark.parametrize(
    ("allowed", "host", "expected"),
    [
        (("rota.example",), "rota.example", True),
        (("*.internal",), "a.internal", True),
        (("*.internal",), "localhost", False),
        (("*",), "rota.example", False),
        ((), "localhost", False),
        (("rota.example",), None, False),
    ],
)
def test_a_setting_names_what_it_spells_out(allowed: tuple[str, ...], host: str | None, expected: bool) -> None:
    assert Names(("localhost",), allowed).names(host) is expected
