"""Whether a node is well. One object per node; the surfaces read it."""

import logging

from rota.errors import NodeStrained

_logger = logging.getLogger("rota.node")


class Health:
    """Remembers whether the store answers, and whether this process is short of something. Says so once when either
    begins and once when it is over."""

    def __init__(self) -> None:
        self._store_trouble: str | None = None
        self._strain: str | None = None

    @property
    def trouble(self) -> str | None:
        """What is wrong, in one line; None when all is well."""
        return self._store_trouble or self._strain

    def store_failed(self, error: Exception) -> None:
        if self._store_trouble is None:
            _logger.error("store unavailable, trying again", extra={"error": str(error)})
        self._store_trouble = f"store unavailable: {error}"

    def store_answered(self) -> None:
        if self._store_trouble is not None:
            _logger.info("store available again")
            self._store_trouble = None

    def strained(self, error: NodeStrained) -> None:
        """A job could not be started, and went back."""
        if self._strain is None:
            _logger.error("short of resources, claiming fewer jobs", extra={"error": str(error)})
        self._strain = f"claiming fewer jobs: {error}"

    def strain_ended(self) -> None:
        if self._strain is not None:
            _logger.info("resources suffice again")
            self._strain = None
