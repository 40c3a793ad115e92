"""A Django project on an empty store, in an empty folder, and databases of it with an outbox."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import folder
from tests.sdk.outbox.conftest import postgres_address

__all__ = ["folder", "postgres_address"]

MakeBackend = Callable[..., Any]
SHOP = "shop"
"""The name of the database with an outbox."""


@pytest.fixture
def make_backend(folder: Path, store_url: str) -> Iterator[MakeBackend]:
    """The backend `default` on the test's store, with these options."""
    from django.tasks import task_backends
    from django.test import override_settings

    from rota.sdk.django.installation import app_of_store

    with ExitStack() as changes:

        def make(*, queues: list[str] | None = None, **options: object) -> Any:
            entry = {
                "BACKEND": "rota.sdk.django.RotaBackend",
                "QUEUES": queues or ["default"],
                "OPTIONS": {"store": store_url, **options},
            }
            changes.enter_context(override_settings(TASKS={"default": entry, "other": entry}))
            return task_backends["default"]

        yield make
        app_of_store(store_url).rota.close()


@pytest.fixture
def backend(make_backend: MakeBackend) -> Any:
    return make_backend()


@pytest.fixture
def zone_is_given_back() -> Iterator[None]:
    """Django gives the whole process the zone of its settings, and after `override_settings` another than it had."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        yield
    time.tzset()


@pytest.fixture(params=["postgres", "sqlite"])
def database(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """A database of the project that has no tables yet."""
    from django.db import connections

    if request.param == "postgres":
        words = dict(word.split("=") for word in request.getfixturevalue("postgres_address").split())
        entry = {"ENGINE": "django.db.backends.postgresql", "NAME": words["dbname"], "USER": words["user"]}
        entry |= {"HOST": words["host"], "PORT": words["port"]}
    else:
        entry = {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{folder}/shop.db", "OPTIONS": {"timeout": 60}}
    connections.settings[SHOP] = connections.configure_settings({"default": {}, SHOP: entry})[SHOP]
    yield SHOP
    with connections[SHOP].cursor() as cursor:
        for table in ("orders", "django_migrations", "rota_django_outbox"):
            cursor.execute(f"DROP TABLE IF EXISTS {table}")
    connections[SHOP].close()
    del connections[SHOP], connections.settings[SHOP]


@pytest.fixture
def shop(database: str) -> str:
    """A database of the project, with an outbox and a table of its own."""
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", "rota", database=database, verbosity=0)
    with connections[database].cursor() as cursor:
        cursor.execute("CREATE TABLE orders (number INTEGER)")
    return database


@pytest.fixture
def broken_tasks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the project that cannot be imported at this moment."""
    monkeypatch.syspath_prepend(folder)
    (folder / "broken_tasks.py").write_text("raise RuntimeError('the setting is not there')\n")


def move_to_broken_module(shop: str) -> None:
    """Have all tasks that wait in the outbox be of that module."""
    from django.db import connections

    with connections[shop].cursor() as cursor:
        cursor.execute(
            "UPDATE rota_django_outbox SET request = replace(request, 'tests.sdk.django.functions', 'broken_tasks')"
        )
