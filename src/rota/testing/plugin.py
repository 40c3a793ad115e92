"""The pytest plugin. Whoever installs Rota has it, so it imports nothing before a test asks for a fixture."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from rota.clock import ManualClock
    from rota.testing.faults import Faults
    from rota.testing.installation import Installation


@pytest.fixture
def rota_installation() -> "Iterator[Installation]":
    """An empty installation in memory, whose time stands still until the test moves it."""
    from rota.testing.installation import Installation

    with Installation() as installation:
        yield installation


@pytest.fixture
def rota_clock(rota_installation: "Installation") -> "ManualClock":
    """The clock of `rota_installation`."""
    return rota_installation.clock


@pytest.fixture
def rota_faults(rota_installation: "Installation") -> "Faults":
    """What goes wrong in the store of `rota_installation`; nothing, before the test says so."""
    return rota_installation.faults
