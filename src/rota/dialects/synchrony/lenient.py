"""Other programs may use Synchrony's plain key names for something else. That is not a store that is away."""

import logging
from collections.abc import Callable

from rota.errors import StoreError, StoreFull, StoreUnavailable

_logger = logging.getLogger("rota.synchrony")


class Lenient:
    """Takes steps; one that the server refuses is left out and named once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def do(self, step: Callable[[], object]) -> None:
        """Errors that may pass are not refusals and go to the caller."""
        try:
            step()
        except (StoreUnavailable, StoreFull):
            raise
        except StoreError as error:
            if str(error) not in self._said and len(self._said) < 100:
                self._said.add(str(error))
                _logger.warning("a key of Synchrony's cannot be used", extra={"reason": str(error)})
