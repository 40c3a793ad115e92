"""URLs of the http executor, read strictly: what two programs could read in two ways is refused.

No user names, no escapes or letters beyond ASCII in host names, and numbers only as proper IPv4 addresses: `0x7f.1`,
`2130706433` and `127.1` all mean 127.0.0.1 to some resolvers.
"""

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import quote, urljoin

_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^#]*)(?:#.*)?", re.DOTALL)
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(?::([0-9]{1,5}))?")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNFIT = re.compile(r"[\x00-\x20\x7f\\]")
_MAX_NAME = 253
_KEPT = "!\"$%&'()*+,-./:;<=>?@[]^_`{|}~"
"""ASCII that stays as it is in a path and query; the rest of Unicode is escaped."""


class TargetRefused(Exception):
    """A request must not be sent there. The message says why, and gives away no more than the host."""


class Url(NamedTuple):
    """Where a request goes. The host is lower case, without brackets or final dot."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query, as sent."""

    @property
    def authority(self) -> str:
        """As the header `Host` has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def shown(self) -> str:
        """For logs: without the query, where tokens often are."""
        path, has_query, _ = self.target.partition("?")
        return f"{self.scheme}://{self.authority}{path}{'?...' if has_query else ''}"

    def shares_origin_with(self, other: "Url") -> bool:
        """Whether credentials for the one may go to the other; an upgrade to https of the same host is no change."""
        is_upgrade = (self.scheme, self.port, other.scheme, other.port) == ("http", 80, "https", 443)
        return self.host == other.host and (is_upgrade or self[:3] == other[:3])


def parse_url(text: str) -> Url:
    """A URL of the one reading that everybody agrees on; otherwise `TargetRefused`."""
    if _UNFIT.search(text):
        raise TargetRefused("the URL has a space, a backslash or a control character")
    match = _URL.fullmatch(text)
    if not match:
        raise TargetRefused("the URL must be http:// or https:// with a host")
    scheme = match[1].lower()
    if scheme not in _PORTS:
        raise TargetRefused(f"the URL has the scheme {scheme!r}; only http and https are possible")
    host, port = _read_authority(match[2])
    target = match[3] if match[3].startswith("/") else f"/{match[3]}"
    return Url(scheme, host, port or _PORTS[scheme], quote(target, safe=_KEPT))


def join_url(base: Url, location: str) -> Url:
    """Where a redirect leads."""
    try:
        # Header values are read as Latin-1; many servers write UTF-8.
        escaped = quote(location.encode("latin-1"), safe=_KEPT + "#\\ ")
        joined = urljoin(f"{base.scheme}://{base.authority}{base.target}", escaped)
    except ValueError:
        raise TargetRefused("the redirect leads to a malformed URL") from None
    url = parse_url(joined)
    if base.scheme == "https" and url.scheme != "https":
        raise TargetRefused(f"the redirect leads from https to plain http ({url.host})")
    return url


def read_host(text: str) -> str:
    """A host name or address in its one form; otherwise `TargetRefused`."""
    if text.startswith("["):
        try:
            return str(ipaddress.IPv6Address(text[1:-1]))
        except ValueError:
            raise TargetRefused(f"the host {text!r} is not an IPv6 address") from None
    host = text.lower().removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _read_ipv4(host)
    if len(host) > _MAX_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise TargetRefused(f"the host {text!r} is not a host name; write an international one in its xn-- form")
    return host


def _read_authority(text: str) -> tuple[str, int | None]:
    if "@" in text:
        raise TargetRefused("the URL has a user name; put credentials into the header Authorization")
    match = _AUTHORITY.fullmatch(text)
    if not match or not match[1]:
        raise TargetRefused("the URL must be http:// or https:// with a host, and perhaps a port")
    port = int(match[2]) if match[2] else None
    if port is not None and not 1 <= port <= 65_535:
        raise TargetRefused(f"the URL has the port {port}")
    return read_host(match[1]), port


def _read_ipv4(host: str) -> str:
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError:
        raise TargetRefused(f"the host {host!r} is a number that is not a plain IPv4 address") from None
