"""Which addresses the http executor may connect to: public ones, and those that are allowed by name or network.

Whoever may enqueue jobs must not reach what only the node can reach. So a host is resolved once, all its addresses are
checked, and the connection goes to a checked address; asking the resolver again could give another answer.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from rota.engine.executors.http.url import TargetRefused, read_host
from rota.engine.executors.threads import Threads
from rota.errors import InvalidInput

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str], list[str]]
"""From a host name to its addresses; `OSError` when there are none. It may block."""

_WITH_PORT = re.compile(r"(?P<place>\[[^\]]*\](?:/[0-9]+)?|[^:]*):(?P<port>[0-9]{1,5})")
_MAX_PORT = 65_535
_MAX_ADDRESSES = 8
_MAX_RESOLVING = 32


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(word) for word in text.split())


# Written out instead of asking `ipaddress`, whose answers differ between versions of Python.
_PRIVATE = _networks("127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 ::1/128 fc00::/7")
_METADATA = _networks("169.254.169.254/32 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32 fd00:ec2::/32")
"""Where clouds tell a machine its secrets; some of them look like private or even public addresses."""
_NOT_PUBLIC = (
    *_PRIVATE,
    *_METADATA,
    *_networks(
        "0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24"
        " 224.0.0.0/4 240.0.0.0/4"
    ),
    *_networks("2001::/23 2001:db8::/32 2002::/16 3fff::/20"),
)
_GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")
"""Everything public in IPv6. Outside are mapped and translated IPv4, link-local and multicast addresses."""


class AllowList:
    """Names and networks that may be reached although they are not public.

    A name admits private and loopback addresses; anything else, such as a link-local address, only a network admits.
    With a port (`127.0.0.1:8080`, `[::1]:8080`, `intern.example:443`, `10.0.0.0/8:443`) an entry admits that one alone.
    """

    __slots__ = ("_names", "_networks")

    def __init__(self, field: str, entries: object) -> None:
        if not isinstance(entries, list | tuple):
            raise InvalidInput(field, "must be an array of host names, addresses and networks")
        self._names: set[tuple[str, int | None]] = set()
        self._networks: list[tuple[Network, int | None]] = []
        for entry in entries:
            self._add(field, entry)

    def admits(self, host: str, address: Address, port: int) -> bool:
        if any(address in network and only in (None, port) for network, only in self._networks):
            return True
        is_named = not self._names.isdisjoint({(host, None), (host, port)})
        return is_named and _is_in(address, _PRIVATE) and not _is_in(address, _METADATA)

    def _add(self, field: str, entry: object) -> None:
        if not isinstance(entry, str):
            raise InvalidInput(field, f"must be an array of strings, got {entry!r}")
        place, port = _split_port(entry)
        try:
            self._networks.append((ipaddress.ip_network(place.replace("[", "", 1).replace("]", "", 1)), port))
        except ValueError:
            try:
                self._names.add((read_host(place), port))
            except TargetRefused:
                raise InvalidInput(field, f"{entry!r} is no host name, address or network") from None


def _split_port(entry: str) -> tuple[str, int | None]:
    """An entry and its port, if it has one. Of an IPv6 address without brackets the last part is none."""
    found = _WITH_PORT.fullmatch(entry)
    if found is None or not 1 <= int(found["port"]) <= _MAX_PORT:
        return entry, None
    return found["place"], int(found["port"])


def check_addresses(host: str, addresses: Iterable[str], allow_lists: Iterable[AllowList], *, port: int) -> None:
    """Refuse a host if any of its addresses may not be reached: `TargetRefused`."""
    allow_lists = tuple(allow_lists)
    for text in addresses:
        address = ipaddress.ip_address(text)
        if not is_public(address) and not any(allowed.admits(host, address, port) for allowed in allow_lists):
            name = f"{host!r} has the address {text}, which" if host != text else f"{text}"
            raise TargetRefused(f"{name} is not public; list it in metadata.allow_private if it may be reached")


def is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and address not in _GLOBAL_IPV6:
        return False
    return not _is_in(address, _NOT_PUBLIC)


class Resolver:
    """Finds the addresses of hosts, away from the loop and not too many at a time."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._threads = Threads()
        self._slots = asyncio.Semaphore(_MAX_RESOLVING)

    async def addresses_of(self, host: str) -> list[str]:
        """All addresses of a host, first the preferred; `OSError` when there are none."""
        if _is_address(host):
            return [host]
        async with self._slots:
            return await self._threads.call(lambda: self._resolve(host))

    def close(self) -> None:
        self._threads.close()


def resolve(host: str) -> list[str]:
    """Ask the system's resolver."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for _, _, _, _, address in found))


def to_try(addresses: list[str]) -> list[str]:
    """The addresses worth a connection. All of them were checked; a name with hundreds does not get hundreds."""
    return addresses[:_MAX_ADDRESSES]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)
