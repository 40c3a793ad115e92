"""A job type: what to run, where, and by which rules."""

from enum import StrEnum

import msgspec
from msgspec import Struct, structs

from rota.errors import InvalidInput
from rota.model.limits import check_name, check_payload
from rota.model.rate import Rate, check_key_template, rate_key
from rota.model.runs.retry import RetryPolicy
from rota.model.triggers.durations import check_duration

MAX_TIMEOUT_MS = 365 * 24 * 3600 * 1000


class Unique(StrEnum):
    """Whether jobs of a type get in each other's way. The answer to an enqueue always names the surviving job."""

    NONE = "none"
    WHILE_RUNNING = "while_running"
    """At most one executes in the whole network; the others wait in order (Synchrony's `unique`)."""
    WHILE_PENDING = "while_pending"
    """While a job with equal arguments is live, enqueueing another returns the one that is there, as in sync tasks."""


class OnNodeDeath(StrEnum):
    """What becomes of a running job when its node dies."""

    REQUEUE = "requeue"
    FAIL = "fail"


class JobType(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What to run. Jobs refer to it by uuid, people by name."""

    uuid: str
    name: str
    executor: str
    metadata: dict[str, object] = {}
    """The executor's own settings, such as the command of `bash`."""
    unique: Unique = Unique.NONE
    node_type: str = "default"
    """Name of the node type whose nodes run it."""
    timeout_ms: int | None = None
    retry: RetryPolicy = RetryPolicy()
    on_node_death: OnNodeDeath = OnNodeDeath.REQUEUE
    rate: Rate | None = None
    """How many of its jobs may start within a period, in the whole network; the others wait in order."""
    rate_key: str = ""
    """What its rate is for, with arguments in braces: `{customer}` has a rate for each customer. Job types with the
    same key and the same rate share it. Without it, the rate is for all jobs of the type."""
    managed_by: str = ""
    """`file` when it is defined in a configuration file, which then owns it."""
    series: tuple[str, ...] = ()
    """Lists in which its jobs are found, by the time of their making; the last one is its own."""
    history_max_count: int | None = None
    """How many jobs its last series keeps; the oldest ended ones go first. Absent means as many as the queue."""
    log_max_age_ms: int | None = None
    """How long after a job's end its log is kept, if it is in a series. Absent means as long as the job."""
    labels: dict[str, str] = {}
    """What it is to whoever defined it, by name: a dialect finds its own again by these."""
    version: int = 1
    """Grows with every change, which the store counts; whoever changes it can say which version they saw."""

    def check(self) -> None:
        """Refuse what cannot be meant; the executor checks its metadata itself."""
        check_name("name", self.name)
        check_name("executor", self.executor)
        check_name("node_type", self.node_type)
        check_payload("metadata", self.metadata)
        check_payload("labels", self.labels)
        if self.timeout_ms is not None:
            check_duration("timeout", self.timeout_ms, 1, MAX_TIMEOUT_MS)
        self.retry.check("retry")
        self._check_rate()

    @property
    def unversioned(self) -> "JobType":
        """What it says, whichever version that is."""
        return structs.replace(self, version=1)

    def _check_rate(self) -> None:
        check_key_template("rate_key", self.rate_key)
        if self.rate is not None:
            self.rate.check("rate")
        elif self.rate_key:
            raise InvalidInput("rate_key", "says what a rate is for; give rate too, such as 10/m")

    def unique_key_for(self, arguments: dict[str, object]) -> str | None:
        """The key that admits one live job at a time, if this type has such a rule."""
        if self.unique is not Unique.WHILE_PENDING:
            return None
        return f"{self.uuid}:{msgspec.json.encode(arguments, order='sorted').decode()}"

    def rate_key_for(self, arguments: dict[str, object]) -> str | None:
        """The key by which starts are counted, if this type has a rate."""
        return rate_key(self.rate, self.rate_key or self.uuid, arguments) if self.rate else None

    def keeps_log(self, ended_at: int | None, now: int) -> bool:
        """Whether the log of a job that ended then, or has not ended, is still kept."""
        return ended_at is None or self.log_max_age_ms is None or ended_at >= now - self.log_max_age_ms

    @property
    def lock_key(self) -> str | None:
        """The key that lets one job run at a time, if this type has such a rule."""
        return self.uuid if self.unique is Unique.WHILE_RUNNING else None


def check_unique_key(field: str, key: str) -> str:
    """A caller's own unique key."""
    if not 1 <= len(key) <= 512:
        raise InvalidInput(field, f"must have 1 to 512 characters, got {len(key)}")
    return key
