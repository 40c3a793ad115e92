"""An app on an empty store, in an empty folder and with none of the tester's own settings."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rota import Rota
from tests.cli.conftest import folder

__all__ = ["folder"]

MakeApp = Callable[[str], Rota]


@pytest.fixture
def make_app(folder: Path, store_url: str) -> Iterator[MakeApp]:
    """Makes an app of this name on the test's store, as another program or another version of it would."""
    with ExitStack() as apps:
        yield lambda name: apps.enter_context(Rota(store_url, name=name))


@pytest.fixture
def app(make_app: MakeApp) -> Rota:
    return make_app("shop")
