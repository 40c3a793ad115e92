"""Whom a client trusts, in both colours: with TLS whom this machine trusts, without it nobody is asked."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from rota.errors import StoreUnavailable
from rota.sdk.client import AsyncClient, Client
from rota.server.app import make_app
from rota.store import open_store
from tests.sdk.serving import serving
from tests.server.serving import KEY, make_api
from tests.server.test_listen import make_certificate


@pytest.fixture
def app() -> Iterator[ASGIApp]:
    store = open_store("sqlite://:memory:")
    api = make_api(store)
    yield make_app(api)
    api.close()
    store.close()


def is_heard(url: str) -> bool:
    """Whether the server answers in both colours."""

    async def ask() -> object:
        async with AsyncClient(url, key=KEY) as client:
            return await client.list_node_types()

    with Client(url, key=KEY) as client:
        return client.list_node_types() == asyncio.run(ask())


@pytest.mark.parametrize("scheme", ["http", "HTTP"])
def test_without_tls_no_certificates_are_read(app: ASGIApp, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/there/is/no/such/file")

    with serving(app) as url:
        assert is_heard(url.replace("http", scheme))


def test_a_server_is_trusted_if_the_machine_trusts_its_certificate(
    app: ASGIApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", certificate)

    with serving(app, certificate, key) as url:
        assert is_heard(url)


def test_a_server_whose_certificate_nobody_vouches_for_is_refused(
    app: ASGIApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trusted, served = tmp_path / "trusted", tmp_path / "served"
    trusted.mkdir()
    served.mkdir()
    monkeypatch.setenv("SSL_CERT_FILE", make_certificate(trusted)[0])

    with (
        serving(app, *make_certificate(served)) as url,
        pytest.raises(StoreUnavailable, match="certificate verify failed"),
    ):
        is_heard(url)
