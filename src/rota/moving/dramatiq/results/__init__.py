"""Results. They are in the store whether this is added to a broker or not."""

from rota.moving.dramatiq.broker import Middleware
from rota.moving.dramatiq.errors import ResultError, ResultFailure, ResultMissing, ResultTimeout

__all__ = ["ResultError", "ResultFailure", "ResultMissing", "ResultTimeout", "Results"]


class Results(Middleware):
    """Without effect: every actor's result is kept, for as long as history keeps its job."""

    def __init__(self, *, backend: object = None, store_results: bool = False, result_ttl: int | None = None) -> None:
        """Nothing of it is needed."""
