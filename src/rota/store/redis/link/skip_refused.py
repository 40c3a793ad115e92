"""Other programs may use the plain key names of a dialect for something else. That is not a store that is away."""

import logging
from collections.abc import Callable
from typing import TypeVar

from rota.errors import StoreError, StoreFull, StoreUnavailable

_MOST_SAID = 100
Answer = TypeVar("Answer")


class SkipRefused:
    """Takes steps; one that the server refuses is left out and named once."""

    def __init__(self, dialect: str) -> None:
        self._logger = logging.getLogger(f"rota.{dialect}")
        self._said: set[tuple[str, str]] = set()

    def do(self, key: str, step: Callable[[], Answer]) -> Answer | None:
        """Do something with a key; None if it was refused. Errors that may pass are not refusals and go to the
        caller."""
        try:
            return step()
        except (StoreUnavailable, StoreFull):
            raise
        except StoreError as error:
            if (key, str(error)) not in self._said and len(self._said) < _MOST_SAID:
                self._said.add((key, str(error)))
                extra = {"key": key, "reason": str(error)}
                self._logger.warning("a Redis key cannot be used; another program has something there", extra=extra)
            return None
