"""Whether the other end of a connection is a program of the user who runs this server, on this machine.

The kernel's table of sockets says whose each one is. Only Linux has it as a file; elsewhere nothing can be told.
"""

import ipaddress
import os
import sys
from pathlib import Path

_TABLES = {4: Path("/proc/net/tcp"), 6: Path("/proc/net/tcp6")}
_LOCAL, _REMOTE, _UID, _INODE = 1, 2, 7, 9
Address = tuple[str, int]


def is_own_program(client: Address, server: Address) -> bool:
    """Whether the socket at `client`, connected to `server`, belongs to a living program of this user. Both must be
    addresses of loopback. What cannot be told is no."""
    if not (_is_loopback(client[0]) and _is_loopback(server[0])):
        return False
    wanted = [(version, _place(client, version), _place(server, version)) for version in _versions(client[0])]
    return any(_owner_of(*one) == os.geteuid() for one in wanted)


def _owner_of(version: int, local: str, remote: str) -> int | None:
    """The user whose socket it is. One without an inode has no program any more, and its user is not told."""
    try:
        with _TABLES[version].open("r", encoding="ascii") as table:
            for line in table:
                if local in line and remote in line:
                    fields = line.split()
                    if fields[_LOCAL] == local and fields[_REMOTE] == remote and fields[_INODE] != "0":
                        return int(fields[_UID])
    except OSError:
        return None
    return None


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _versions(host: str) -> tuple[int, ...]:
    """The tables to look in: a program may reach an IPv4 address by a socket for IPv6."""
    return (6,) if ":" in host and not host.startswith("::ffff:") else (4, 6)


def _place(address: Address, version: int) -> str:
    """An address as the table has it: words of 32 bits, each in the byte order of the machine."""
    found = ipaddress.ip_address(address[0].partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address) and version == 4:
        found = found.ipv4_mapped or found
    packed = found.packed
    if version == 6 and len(packed) == 4:
        packed = ipaddress.ip_address(f"::ffff:{found}").packed
    words = [packed[at : at + 4] for at in range(0, len(packed), 4)]
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{address[1]:04X}"
