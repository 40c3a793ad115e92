"""How a run ended. A value, not an exception: executors return one, the worker settles it."""

from enum import StrEnum

from msgspec import Struct

from rota.model.triggers.durations import duration_words


class OutcomeKind(StrEnum):
    """The closed list of ways a run can end."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """The attempt failed; the retry policy decides whether there is another."""
    REFUSED = "refused"
    """It can never succeed (no such function, a command that cannot be built): failed without another attempt."""
    CANCELLED = "cancelled"
    """Somebody asked for it."""
    INTERRUPTED = "interrupted"
    """The node is stopping: the job goes back to its queue and the attempt is not counted."""


class Outcome(Struct, frozen=True):
    """What one attempt came to. `results` and `errors` are the executor's own, or None."""

    kind: OutcomeKind
    results: object = None
    errors: object = None
    retry_in_ms: int | None = None
    """Of one that failed: how long to wait before the next attempt, instead of what the retry policy says."""


def succeeded(results: object = None) -> Outcome:
    return Outcome(OutcomeKind.SUCCEEDED, results)


def failed(errors: object, results: object = None) -> Outcome:
    return Outcome(OutcomeKind.FAILED, results, errors)


def refused(kind: str, message: str) -> Outcome:
    return Outcome(OutcomeKind.REFUSED, None, {"type": kind, "message": message})


def expired() -> Outcome:
    """It was not begun in time, and nobody needs it any more."""
    return Outcome(OutcomeKind.CANCELLED, None, {"type": "expired", "message": "it was not begun before it expired"})


def timed_out(timeout_ms: int, results: object = None) -> Outcome:
    message = f"ran longer than its timeout of {duration_words(timeout_ms)} and was stopped"
    return Outcome(OutcomeKind.FAILED, results, {"type": "timeout", "timeout_ms": timeout_ms, "message": message})


def runs_on(timeout_ms: int, results: object = None, *, survivors: str = "") -> Outcome:
    """Over its time, and it could not be stopped: another attempt would run beside it, so there is none. `survivors`
    names the processes that could not be killed, if it is some."""
    start = f"ran longer than its timeout of {duration_words(timeout_ms)} and could not be stopped"
    if survivors:
        message = (
            f"{start}: its node's user may not kill {survivors}. It runs on, and the job is not tried again beside it"
        )
    else:
        message = (
            f"{start}, so it runs on, and the job is not tried again beside it; with retry_beside: true in its job "
            "type it is, and a Python function with process: true can be stopped"
        )
    return Outcome(OutcomeKind.REFUSED, results, {"type": "timeout", "timeout_ms": timeout_ms, "message": message})


def cancelled(results: object = None) -> Outcome:
    return Outcome(OutcomeKind.CANCELLED, results, {"type": "cancelled", "message": "cancelled on request"})


INTERRUPTED = Outcome(OutcomeKind.INTERRUPTED)
