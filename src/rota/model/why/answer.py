"""The shape of an answer to "why": a code for programs, a sentence for people, and the facts behind both."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct, structs

from rota.model.events.configuration import Dependency


class Code(StrEnum):
    """Every reason that there is. The same in the API, on the command line and in pages."""

    # Anything may have these.
    PAUSED = "paused"
    NOT_DUE = "not_due"
    PREVIOUS_RUNNING = "previous_running"
    NO_LIVE_NODE = "no_live_node"
    DEFINITION_MISSING = "definition_missing"
    ENDED = "ended"
    STARTING = "starting"
    """Nothing is in the way: it begins within moments."""

    # Jobs.
    BACKING_OFF = "backing_off"
    LOCK_HELD = "lock_held"
    RATE_LIMITED = "rate_limited"
    AT_CAPACITY = "at_capacity"
    BEHIND = "behind"
    RUNNING = "running"
    CANCELLING = "cancelling"
    NODE_SILENT = "node_silent"

    # Schedules.
    BEFORE_START = "before_start"
    EXCLUDED_DAY = "excluded_day"
    TICK_SKIPPED = "tick_skipped"
    TICK_MISSED = "tick_missed"

    # Configurations.
    DEPENDENCY_MISSING = "dependency_missing"
    DEPENDENCY_EXPIRED = "dependency_expired"
    STALE_EVENT = "stale_event"
    DUPLICATE_EVENT = "duplicate_event"
    UNIQUE_KEY_TAKEN = "unique_key_taken"
    FIRED = "fired"
    EVENT_MISSING = "event_missing"


class Reason(Struct, frozen=True, kw_only=True):
    """One thing that holds. Instants are epoch milliseconds; what a reason does not know is None."""

    code: Code
    sentence: str
    since: int | None = None
    until: int | None = None
    """When it ends by itself, or is looked at again."""
    job: str | None = None
    """The job that is in the way, or that was made."""
    job_type: str | None = None
    node: str | None = None
    node_type: str | None = None
    nodes: tuple[str, ...] = ()
    """Nodes that are concerned."""
    running: int | None = None
    slots: int | None = None
    ahead: int | None = None
    """Jobs before it."""
    attempts: int | None = None
    state: str | None = None
    """Of an end: how."""
    error: object = None
    """What the last attempt ended with."""
    note: str | None = None
    """What somebody said when it was paused."""
    dependency: Dependency | None = None
    event: str | None = None
    """The id of an event."""


class Answer(Struct, frozen=True):
    """The reason that must end first, and the others that hold too."""

    lead: Reason
    also: tuple[Reason, ...] = ()


def answer(reasons: Sequence[Reason], otherwise: Reason) -> Answer:
    """Of reasons in the order in which they must end the first leads. `otherwise` holds if there is none."""
    if not reasons:
        return Answer(otherwise)
    return Answer(reasons[0], tuple(reasons[1:]))


def facts_of(reason: Reason) -> dict[str, object]:
    """What a reason knows beside its code and its sentence."""
    known = structs.asdict(reason)
    return {
        name: value for name, value in known.items() if name not in ("code", "sentence") and value not in (None, ())
    }
