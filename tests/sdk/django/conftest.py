"""A Django project on an empty store, in an empty folder."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import folder

__all__ = ["folder"]

MakeBackend = Callable[..., Any]


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
