"""Tools to test programs that use Rota with: an installation whose time stands still until a test moves it, and a store
that fails on demand. As a pytest plugin they are fixtures: `rota_installation`, `rota_clock`, `rota_faults`."""

from typing import TYPE_CHECKING

from rota.lazy_names import lazy_names

if TYPE_CHECKING:
    from rota.clock import ManualClock
    from rota.testing.faults import Faults
    from rota.testing.installation import Installation

__all__ = ["Faults", "Installation", "ManualClock"]

_HOMES = {
    "Faults": "rota.testing.faults",
    "Installation": "rota.testing.installation",
    "ManualClock": "rota.clock",
}


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # type checkers would take every misspelt name for one of ours
    __getattr__ = lazy_names(__name__, _HOMES)
