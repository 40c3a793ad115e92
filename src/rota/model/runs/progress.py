"""How far a running job has come, as its own code says it."""

import math

from msgspec import Struct

from rota.errors import InvalidInput

MAX_PROGRESS_MESSAGE = 500


class Progress(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The latest word of a job about itself."""

    done: float
    """How much is done, in whatever is counted."""
    time: int
    total: float | None = None
    """How much there is, if that is known."""
    message: str = ""
    attempt: int = 1

    @property
    def percent(self) -> int | None:
        """How much of the whole is done, rounded down: 100 is said only of what is done."""
        return None if self.total is None else int(min(self.done / self.total, 1) * 100)


def check_progress(done: object, total: object) -> None:
    """Refuse what is no amount."""
    if not _is_amount(done):
        raise InvalidInput("done", f"must be a number of 0 or more, got {done!r:.100}")
    if total is not None and (not _is_amount(total) or total == 0):
        raise InvalidInput("total", f"must be a number above 0, got {total!r:.100}")


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
