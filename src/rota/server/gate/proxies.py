"""Proxies in front of the server: who asks is what a trusted one says, and what anybody else says of it is nothing."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

FORWARDING = frozenset(
    {
        b"cdn-loop",
        b"cf-connecting-ip",
        b"cf-ray",
        b"client-ip",
        b"fastly-client-ip",
        b"fly-client-ip",
        b"forwarded",
        b"forwarded-for",
        b"true-client-ip",
        b"via",
        b"x-amzn-trace-id",
        b"x-appengine-user-ip",
        b"x-azure-clientip",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-envoy-external-address",
        b"x-forwarded",
        b"x-forwarded-by",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-port",
        b"x-forwarded-prefix",
        b"x-forwarded-proto",
        b"x-forwarded-scheme",
        b"x-forwarded-server",
        b"x-forwarded-ssl",
        b"x-original-forwarded-for",
        b"x-original-host",
        b"x-original-url",
        b"x-proxyuser-ip",
        b"x-real-ip",
    }
)
"""Headers that proxies and tunnels add. A request that has one did not come directly."""


class Proxies:
    """The addresses that a setting trusts."""

    def __init__(self, trusted: Iterable[str]) -> None:
        self._networks: list[IPv4Network | IPv6Network] = [ip_network(one, strict=False) for one in trusted]

    def __bool__(self) -> bool:
        return bool(self._networks)

    def trusts(self, address: str) -> bool:
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        found = getattr(found, "ipv4_mapped", None) or found
        return any(found in network for network in self._networks)

    def client_of(self, peer: str, headers: Mapping[bytes, bytes]) -> str:
        """The address that asks: the last in `X-Forwarded-For` that is none of the trusted ones' own."""
        address = peer
        given = headers.get(b"x-forwarded-for", b"").decode("latin-1")
        hops = [hop.strip().strip("[]") for hop in given.split(",") if hop.strip()]
        while hops and self.trusts(address):
            address = hops.pop()
        return address
