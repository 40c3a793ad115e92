"""The names under which a server answers.

A page on the web can give its own name this machine's address (DNS rebinding), and then speaks to this server as to
its own. The browser still says that name in `Host`, so only known ones are answered. An address cannot be rebound.
"""

import ipaddress
import re
from collections.abc import Iterable

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_EVERYWHERE = ("0.0.0.0", "::")
_HOST = re.compile(r"(?:\[(?P<v6>[0-9a-f:.]+)\]|(?P<name>[^\[\]:@/\s]+?)\.?)(?::[0-9]{1,5})?", re.IGNORECASE)
_MOST_REMEMBERED = 64


class Names:
    """Loopback's names, those that the server is bound to, and those that a setting adds."""

    def __init__(self, bound_to: Iterable[str], allowed: Iterable[str]) -> None:
        bound = {_canonical(one) for one in bound_to}
        given = {one.lower().rstrip(".") for one in allowed}
        self._is_anywhere = not bound.isdisjoint(_EVERYWHERE)
        self._takes_all = "*" in given
        self._suffixes = tuple(one[1:] for one in given if one.startswith("*."))
        self._allowed = {_canonical(one) for one in given if not one.startswith("*")}
        self._names = {*_LOOPBACK, *bound, *self._allowed}
        self._known: set[bytes] = set()
        """Headers that were found to be good, as they came."""

    def has(self, header: bytes) -> bool:
        """Whether a `Host` header says a name of this server."""
        if header in self._known:
            return True
        is_ours = self._has(host_of(header))
        if is_ours and len(self._known) < _MOST_REMEMBERED:
            self._known.add(header)
        return is_ours

    def names(self, host: str | None) -> bool:
        """Whether a setting names this host. One that takes all names none."""
        return host is not None and (host in self._allowed or host.endswith(self._suffixes or ("\0",)))

    def _has(self, host: str | None) -> bool:
        if host is None:
            return False
        is_known = self._takes_all or host in self._names or self.names(host)
        return is_known or (self._is_anywhere and _is_address(host))


def host_of(header: bytes) -> str | None:
    """The host in `HOST:PORT`, in lower case; None if that is no host."""
    found = _HOST.fullmatch(header.decode("latin-1").strip())
    return _canonical(found["v6"] or found["name"]) if found else None


def _canonical(host: str) -> str:
    """One spelling for an address, whatever its own; names in lower case."""
    bare = host.lower().partition("%")[0].strip("[]")
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return bare


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
