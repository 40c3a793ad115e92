"""Tasks on an empty store."""

import pytest

from rota.store import Store
from tests.dialects.tasks.installation import TasksInstallation


@pytest.fixture
def tasks(store: Store) -> TasksInstallation:
    return TasksInstallation(store)
