"""Whose program is at the other end: as the kernel's tables say, and no in every doubt."""

import os
import socket
from pathlib import Path

import pytest

from rota.server.gate import own_programs
from rota.server.gate.own_programs import Address, is_own_program
from tests.ports import has_ipv6

CLIENT, SERVER = ("127.0.0.1", 50_000), ("127.0.0.1", 23_071)
CLIENT_AT, SERVER_AT = own_programs._place(CLIENT, 4), own_programs._place(SERVER, 4)
ME = os.geteuid()


def line(local: str, remote: str, user: int, inode: int = 4711) -> str:
    """A line of the kernel's table of sockets."""
    return (
        f"   0: {local} {remote} 01 00000000:00000000 00:00000000 00000000 {user:5}        0 {inode} 1 0 20 4 30 10 -1"
    )


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The table of IPv4, which a test writes; there is none of IPv6."""
    monkeypatch.setattr(own_programs, "_TABLES", {4: tmp_path / "tcp", 6: tmp_path / "tcp6"})
    return tmp_path / "tcp"


def connected(family: socket.AddressFamily, host: str) -> tuple[socket.socket, socket.socket]:
    listener = socket.create_server(("", 0), family=family, dualstack_ipv6=family == socket.AF_INET6)
    with listener:
        client = socket.create_connection((host, listener.getsockname()[1]), timeout=60)
        return client, listener.accept()[0]


@pytest.mark.parametrize(
    ("family", "host"),
    [
        (socket.AF_INET, "127.0.0.1"),
        (socket.AF_INET, "::ffff:127.0.0.1"),
        (socket.AF_INET6, "127.0.0.1"),
        (socket.AF_INET6, "::ffff:127.0.0.1"),
        (socket.AF_INET6, "::1"),
    ],
)
def test_a_program_of_this_user_is_found_by_whatever_address_it_comes(family: socket.AddressFamily, host: str) -> None:
    if not has_ipv6() and (":" in host or family == socket.AF_INET6):
        pytest.skip("this machine has no IPv6")
    client, server = connected(family, host)

    with client, server:
        # As the server's side knows them: IPv4 at a socket for both is `::ffff:127.0.0.1`.
        assert is_own_program(server.getpeername()[:2], server.getsockname()[:2])
        assert not is_own_program((server.getpeername()[0], 1), server.getsockname()[:2]), "another port"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([line(CLIENT_AT, SERVER_AT, ME)], True),
        ([line(CLIENT_AT, SERVER_AT, ME + 1)], False),
        ([line(CLIENT_AT, SERVER_AT, ME, inode=0)], False),
        ([line(SERVER_AT, CLIENT_AT, ME)], False),
        ([line(SERVER_AT, CLIENT_AT, ME), line(CLIENT_AT, SERVER_AT, ME + 1)], False),
        ([line(SERVER_AT, CLIENT_AT, ME + 1), line(CLIENT_AT, SERVER_AT, ME)], True),
        ([line(CLIENT_AT, SERVER_AT, 0, inode=0), line(CLIENT_AT, SERVER_AT, ME)], True),
        ([line(CLIENT_AT, "00000000:0000", ME), line("00000000:0000", SERVER_AT, ME)], False),
        ([], False),
    ],
    ids=[
        "own",
        "another's",
        "gone",
        "the-server's-end",
        "both-ends",
        "both-ends-own",
        "gone-and-own",
        "others",
        "none",
    ],
)
def test_the_end_that_counts_is_the_clients_and_a_living_program_has_it(
    table: Path, lines: list[str], expected: bool
) -> None:
    """The server's own end of the same connection has the same two places, and is always this user's."""
    table.write_text("\n".join(["  sl  local_address rem_address   st", *lines, ""]))

    assert is_own_program(CLIENT, SERVER) is expected


def test_what_cannot_be_told_is_no(table: Path) -> None:
    assert not is_own_program(CLIENT, SERVER), "there is no table"


@pytest.mark.parametrize(
    ("client", "server"),
    [
        (("192.0.2.1", 50_000), SERVER),
        (CLIENT, ("192.0.2.1", 23_071)),
        (("::ffff:192.0.2.1", 50_000), SERVER),
        (("unix", 50_000), SERVER),
    ],
)
def test_both_ends_are_on_this_machine(table: Path, client: Address, server: Address) -> None:
    places = [own_programs._place(one, 4) for one in (client, server) if one[0] != "unix"]
    table.write_text(line(places[0], places[-1], ME))

    assert not is_own_program(client, server)
