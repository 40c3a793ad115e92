"""What Dramatiq's programs raise and catch."""


class DramatiqError(Exception):
    """Any of these."""


class Retry(DramatiqError):
    """Raised by an actor: try again, after `delay` milliseconds if they are given."""

    def __init__(self, message: str = "", delay: float | None = None) -> None:
        super().__init__(message or "the actor asked to be tried again")
        self.delay = delay


class ResultError(DramatiqError):
    """Something about a result."""


class ResultMissing(ResultError):
    """The actor has not ended."""


class ResultTimeout(ResultError):
    """The actor has not ended in time."""


class ResultFailure(ResultError):
    """The actor failed."""

    def __init__(self, message: str, orig_exc_type: str = "", orig_exc_msg: str = "") -> None:
        super().__init__(message)
        self.orig_exc_type = orig_exc_type
        self.orig_exc_msg = orig_exc_msg
