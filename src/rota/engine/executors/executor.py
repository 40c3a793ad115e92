"""The contract of an executor. Third parties register theirs under the entry point group `rota.executors`."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.job import JobSpec
from rota.model.job_type import JobType
from rota.model.limits import MAX_RESULT_BYTES, encode_json
from rota.model.runs.outcome import Outcome, OutcomeKind, failed

RETRY_BESIDE = "retry_beside"
"""The key of the metadata that lets a job be tried again beside an attempt that could not be stopped."""


class ExecutorOptions(Struct, frozen=True, omit_defaults=True):
    """What the executors of a process are told beside the job types: the same for all nodes of an installation, as a
    rule. It can be handed to another process."""

    http_allow: tuple[str, ...] = ()
    """Hosts and networks that every http job may reach although they are not public."""
    pass_environment: tuple[str, ...] = ("*",)
    """Variables of this process that its children inherit; a `*` at the end stands for any rest."""


class Run:
    """One attempt at a job, as its executor sees it."""

    __slots__ = (
        "attempt",
        "can_be_stopped",
        "fencing_number",
        "job_type",
        "log",
        "partial_results",
        "should_stop",
        "signal",
        "spec",
        "stop_grace_s",
        "survivors",
    )

    def __init__(
        self,
        spec: JobSpec,
        job_type: JobType,
        attempt: int,
        log: Callable[[str, str], None],
        stop_grace_s: float = 5.0,
        *,
        fencing_number: int = 0,
    ) -> None:
        self.spec = spec
        self.job_type = job_type
        self.attempt = attempt
        self.log = log
        """`log(message, level)` adds a line to the job's live log. Call it from any thread; it never blocks for
        long."""
        self.stop_grace_s = stop_grace_s
        """How long work may take to end after it was asked to, before it is killed."""
        self.fencing_number = fencing_number
        """For a job that must not run twice at a time (`unique: while_running`) a number greater than that of any run
        before it; 0 for others. What the job writes to can refuse a smaller number than it has seen, and so be sure
        that no older run writes after a newer one, whatever was suspended or cut off meanwhile."""
        self.can_be_stopped = True
        """False while the work would go on after a stop, as a thread does; set by the executor."""
        self.survivors = ""
        """Processes that a stop could not kill, in words; set by the executor, with `can_be_stopped`."""
        self.should_stop = False
        """Whether the run was asked to end; code that nobody can stop, as in a thread, may look at it."""
        self.signal: Callable[[int], None] | None = None
        """Sends a signal to the processes that do the work, if there are any, and does nothing once they are over; set
        by the executor. Called from any thread: it ends work in time although the event loop is blocked."""
        self.partial_results: object = None
        """What there is to show when the run is stopped from outside; set by the executor before it re-raises."""


class Executor(Protocol):
    """Runs jobs of one kind."""

    def check(self, job_type: JobType) -> None:
        """Refuse a job type whose metadata this executor cannot use: `InvalidInput` naming the field."""
        ...

    async def run(self, run: Run) -> Outcome:
        """Run one attempt to its end.

        Timeouts, cancellation and a stopping node reach it as `asyncio.CancelledError`: stop the work, leave nothing
        behind, put what there is into `run.partial_results`, and re-raise. `NodeStrained` says that this process lacks
        something for it, or the store, and that nothing was begun that would be there twice: the job goes back. Any
        other exception becomes a failed outcome.
        """
        ...

    async def close(self) -> None:
        """The node stops; give up threads and processes."""
        ...


def checked(outcome: object) -> Outcome:
    """An outcome that the store can carry: a third-party executor may return anything."""
    if not isinstance(outcome, Outcome) or not isinstance(outcome.kind, OutcomeKind):
        return failed({"type": "outcome", "message": f"the executor returned {outcome!r:.200}, which is no outcome"})
    if outcome.results is None and outcome.errors is None:
        return outcome
    try:
        encode_json("results", outcome.results, MAX_RESULT_BYTES)
        encode_json("errors", outcome.errors, MAX_RESULT_BYTES)
    except InvalidInput as error:
        return failed({"type": "result", "message": str(error)})
    return outcome
