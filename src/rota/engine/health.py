"""Whether a node is well. One object per node; the surfaces read it."""

import logging

_logger = logging.getLogger("rota.node")


class Health:
    """Remembers whether the store answers. Says so once when it stops and once when it is back."""

    def __init__(self) -> None:
        self._trouble: str | None = None

    @property
    def trouble(self) -> str | None:
        """What is wrong, in one line; None when all is well."""
        return self._trouble

    def store_failed(self, error: Exception) -> None:
        if self._trouble is None:
            _logger.error("store unavailable, trying again", extra={"error": str(error)})
        self._trouble = f"store unavailable: {error}"

    def store_answered(self) -> None:
        if self._trouble is not None:
            _logger.info("store available again")
            self._trouble = None
