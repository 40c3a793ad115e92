"""Other programs may use Synchrony's plain key names for something else. That is not a store that is away."""

import logging
from collections.abc import Callable

from rota.errors import StoreError, StoreFull, StoreUnavailable

_MOST_SAID = 100
_logger = logging.getLogger("rota.synchrony")


class SkipRefused:
    """Takes steps; one that the server refuses is left out and named once."""

    def __init__(self) -> None:
        self._said: set[tuple[str, str]] = set()

    def do(self, key: str, step: Callable[[], object]) -> None:
        """Do something with a key. Errors that may pass are not refusals and go to the caller."""
        try:
            step()
        except (StoreUnavailable, StoreFull):
            raise
        except StoreError as error:
            if (key, str(error)) not in self._said and len(self._said) < _MOST_SAID:
                self._said.add((key, str(error)))
                extra = {"key": key, "reason": str(error)}
                _logger.warning("a key of Synchrony's cannot be used", extra=extra)
