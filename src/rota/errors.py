"""Every error Rota raises, in one tree. Surfaces turn them into exit codes and HTTP statuses.

RotaError
├── InvalidInput          a value that cannot be accepted; names the field
├── MissingExtra          something that needs a package which is not installed
├── NotFound              no such thing
├── Conflict              the thing is there, but not in a state that allows this
├── JobFailed             the job that was waited for did not succeed
├── TryAgain, GiveUp      what the code of a job raises to be tried again in its own time, or not again
├── AuthError             no key, or a wrong one
│   └── NotAllowed        a good key, but not for this
├── NodeStrained          this process lacks descriptors, processes or memory to begin a job, or the store has no
│                         room for what one of Rota's own writes
└── StoreError
    ├── StoreUnavailable  the store cannot be reached now; trying again may help
    ├── StoreFull         the store has no room
    └── StoreRefused      the store must not be used as it is (settings, version)
"""


class RotaError(Exception):
    """Something Rota can explain. The message says what happened, to what, and what to do next."""

    exit_code = 1


class InvalidInput(RotaError):
    """A value that cannot be accepted. Nothing was stored."""

    exit_code = 2

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class MissingExtra(RotaError):
    """Something that was asked for needs packages which are not installed."""

    exit_code = 2

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs more packages; install them with: pip install 'rota[{extra}]'")
        self.extra = extra


class NotFound(RotaError):
    """No such thing."""

    exit_code = 3

    def __init__(self, kind: str, name: str, hint: str = "", *, suggestion: str = "") -> None:
        super().__init__("; ".join(part for part in (f"no {kind} {name!r}", hint, suggestion) if part))
        self.kind = kind
        self.name = name
        self._hint = hint

    @property
    def without_suggestion(self) -> "NotFound":
        """For those who may not list what there is: `suggestion` names other things of the kind."""
        return NotFound(self.kind, self.name, self._hint)


class Conflict(RotaError):
    """The thing is there, but not in a state that allows this."""

    exit_code = 4


class JobFailed(RotaError):
    """The job whose result was asked for failed, or was cancelled."""

    def __init__(self, job_id: str, state: str, errors: object) -> None:
        reason = errors.get("message") if isinstance(errors, dict) else errors
        kind = errors.get("type") if isinstance(errors, dict) else None
        why = ": ".join(str(part) for part in (kind, reason) if part)
        super().__init__(f"job {job_id} {state}{f': {why}' if why else ''}; `rota logs {job_id}` shows its log")
        self.job_id = job_id
        self.state = state
        """`failed` or `cancelled`."""
        self.errors = errors
        """What is kept of the failure: of an exception its `type`, `message` and `traceback`."""


class TryAgain(RotaError):
    """Raised by the code of a job: this attempt failed, and the next one, if it has one left, is to begin after
    `delay_ms`; without that, when its retry policy says. What it is raised from is what the job failed with."""

    def __init__(self, reason: str = "it asked to be tried again", *, delay_ms: float | None = None) -> None:
        super().__init__(reason)
        self.delay_ms = None if delay_ms is None else _whole_ms(delay_ms)


def _whole_ms(value: object) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return round(value)
    raise InvalidInput("delay_ms", f"must be milliseconds, a number from 0, got {value!r:.100}")


class GiveUp(RotaError):
    """Raised by the code of a job: it failed, and is not tried again, whatever its retry policy says. What it is raised
    from is what the job failed with."""


class AuthError(RotaError):
    """No key, or a wrong one."""

    exit_code = 6


class NotAllowed(AuthError):
    """The key is good, but not for this. Nothing was stored."""


class NodeStrained(RotaError):
    """This process has no descriptor, process, thread or memory left for a job, or the store does not take what the job
    is there to write. Nothing of the job was begun that a repetition could double; it goes back, and no attempt is
    counted."""

    def __init__(self, what: str, message: str = "") -> None:
        super().__init__(message or f"this process has run out of {what}; raise its limits, or give it fewer slots")
        self.what = what


class StoreError(RotaError):
    """The store did not do what was asked."""

    exit_code = 5


class StoreUnavailable(StoreError):
    """The store cannot be reached now; the same call may succeed later."""


class StoreFull(StoreError):
    """The store has no room; free space and try again. Of many jobs some may be accepted, and it says how many."""


class StoreRefused(StoreError):
    """The store must not be used as it is; the message says what to change."""
