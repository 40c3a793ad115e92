"""Which store a verb opens, and how."""

import pytest

from rota.engine.engine import store_file, store_url
from rota.settings import Settings


@pytest.mark.parametrize(
    ("store", "synchronous", "url"),
    [
        ("sqlite:///rota.db", "FULL", "sqlite:///rota.db?synchronous=FULL"),
        ("sqlite:///rota.db", "NORMAL", "sqlite:///rota.db?synchronous=NORMAL"),
        ("sqlite:///rota.db?synchronous=NORMAL", "FULL", "sqlite:///rota.db?synchronous=NORMAL"),
        ("redis://127.0.0.1:6379/0", "NORMAL", "redis://127.0.0.1:6379/0"),
    ],
)
def test_how_durable_a_file_is_comes_from_the_settings_unless_its_address_says_it(
    store: str, synchronous: str, url: str
) -> None:
    assert store_url(Settings(store=store, sqlite_synchronous=synchronous)) == url


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///rota.db", "rota.db"),
        ("sqlite:////var/rota.db?synchronous=NORMAL", "/var/rota.db"),
        ("sqlite://:memory:", None),
        ("redis://127.0.0.1:6379/0", None),
    ],
)
def test_only_a_store_on_disk_has_a_file(url: str, file: str | None) -> None:
    found = store_file(url)

    assert (found if found is None else str(found)) == file
