"""Who asks, behind proxies: what trusted ones say, and nobody else."""

import pytest

from rota.server.gate.proxies import Proxies

TRUSTED = ("10.0.0.0/8", "::1")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1, 192.0.2.9", "192.0.2.9"),
        ("192.0.2.1, 192.0.2.9, 10.0.0.7", "192.0.2.9"),
        ("10.0.0.8 ,10.0.0.7", "10.0.0.8"),
        ("192.0.2.1, [::1]", "192.0.2.1"),
        ("", "10.0.0.1"),
        (", ,", "10.0.0.1"),
    ],
)
def test_the_last_hop_that_is_none_of_the_trusted_ones_own_asks(given: str, expected: str) -> None:
    """What stands before it anybody can have written."""
    assert Proxies(TRUSTED).client_of("10.0.0.1", {b"x-forwarded-for": given.encode()}) == expected


@pytest.mark.parametrize("peer", ["192.0.2.7", "::2", "unix"])
def test_what_somebody_else_says_of_it_is_nothing(peer: str) -> None:
    assert Proxies(TRUSTED).client_of(peer, {b"x-forwarded-for": b"192.0.2.1"}) == peer


@pytest.mark.parametrize("address", ["10.1.2.3", "::ffff:10.1.2.3", "::1", "::1%lo"])
def test_an_address_is_trusted_in_whatever_way_it_is_written(address: str) -> None:
    assert Proxies(TRUSTED).trusts(address)
    assert not Proxies(()).trusts(address)


def test_a_network_may_be_named_by_any_of_its_addresses() -> None:
    assert Proxies(("10.1.2.3/8",)).trusts("10.9.9.9")
    assert not Proxies(("10.1.2.3/16",)).trusts("10.9.9.9")
