"""Everything that can happen in a process, one value for each kind.

What happens to jobs, ticks and events is told once per exchange with the store and not once per job. Nothing has a time
of its own but what it is about: whoever is told, is told at once.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from rota.model.events.evaluation import Evaluation
from rota.model.job import Claim
from rota.model.runs.settlement import Settlement
from rota.model.schedules.schedule import Tick


class Happening(Struct, frozen=True):
    """One thing that happened, or several of a kind that happened together."""


# -- jobs ----------------------------------------------------------------------------------------------------------


class JobsClaimed(Happening, frozen=True):
    """A worker took jobs in hand."""

    queue: str
    node: str
    claims: Sequence[Claim]


class JobsSettled(Happening, frozen=True):
    """The store knows what became of jobs that a worker had in hand: they ended, or returned to their queue."""

    queue: str
    node: str
    settlements: Sequence[Settlement]
    job_types: Mapping[str, str]
    """Names by uuid, as far as they are known."""

    @property
    def ended(self) -> list[Settlement]:
        return [one for one in self.settlements if one.ending is not None]

    @property
    def returned(self) -> list[Settlement]:
        return [one for one in self.settlements if one.ending is None]


class AttemptsFailed(Happening, frozen=True):
    """Attempts of a worker failed; their jobs failed too, or are tried again."""

    settlements: Sequence[Settlement]
    job_types: Mapping[str, str]
    """Names by uuid, as far as they are known."""


class SettlementRefused(Happening, frozen=True):
    """Another attempt has the job."""

    job_id: str


class ClaimLost(Happening, frozen=True):
    """The store says that another has the job; the run is stopped and not recorded."""

    job_id: str
    node: str


class LockedRunStopped(Happening, frozen=True):
    """The store was not reached for so long that others may soon begin the job, which promises to run alone."""

    job_id: str


class RunLeftBehind(Happening, frozen=True):
    """A run did not end although it was told to, and the node goes without it."""

    job_id: str


class ExecutorFailed(Happening, frozen=True):
    """An executor raised, where an outcome was due."""

    job_id: str
    error: str
    """The class of what was raised."""


class LogLinesDropped(Happening, frozen=True):
    """The store has no room for the log lines of jobs. Told once, when it begins."""

    error: Exception


class LogLinesWritten(Happening, frozen=True):
    """Log lines are written again."""

    dropped: int


class ClaimsTaken(Happening, frozen=True):
    """Jobs of a dead node were taken back by this process's watchdog."""

    queue: str
    node: str
    """The dead one."""
    jobs: int


class OrphansFound(Happening, frozen=True):
    """Claims of nodes that nobody knows were found."""

    queue: str


class HistoryTrimmed(Happening, frozen=True):
    """Ended jobs beyond the bounds were forgotten."""

    queue: str
    jobs: int


class QueueForgotten(Happening, frozen=True):
    """What was left of the queue of a deleted node type was forgotten."""

    queue: str


# -- triggers ------------------------------------------------------------------------------------------------------


class TicksDecided(Happening, frozen=True):
    """Ticks of a schedule were fired, skipped or missed, and the store has their rows."""

    schedule: str
    """Its name."""
    queue: str
    ticks: Sequence[Tick]


class SchedulePaused(Happening, frozen=True):
    """A schedule that asks for it stopped because a job of it failed."""

    schedule: str
    note: str


class ScheduleUndecided(Happening, frozen=True):
    """A schedule is due and cannot be decided."""

    schedule: str
    error: Exception


class EventsJudged(Happening, frozen=True):
    """Events hit a configuration, and the store has the verdicts."""

    configuration: str
    """Its name."""
    evaluations: Sequence[Evaluation]
    survivors: Mapping[str, str]
    """For jobs that were not made, because their unique key is taken: the live job that has it."""

    @property
    def jobs(self) -> list[str]:
        """The jobs that were triggered."""
        return [self.survivors.get(one.job, one.job) for one in self.evaluations if one.job is not None]


# -- nodes ---------------------------------------------------------------------------------------------------------


class NodeJoined(Happening, frozen=True):
    """This process is a node now."""

    node: str
    queue: str
    roles: frozenset[str]


class NodeLeft(Happening, frozen=True):
    """It left nothing behind."""

    node: str
    queue: str


class LeaveFailed(Happening, frozen=True):
    """It could not take leave of the store; others will clean up."""

    node: str
    error: Exception


class DrainRequested(Happening, frozen=True):
    """Somebody asked the node, through the store, to stop after the running jobs."""


class StoreFailed(Happening, frozen=True):
    """The store does not answer. Told once, when it begins."""

    error: Exception


class StoreAnswered(Happening, frozen=True):
    """The store answers again."""


class StoreReplaced(Happening, frozen=True):
    """The store was emptied or replaced; jobs accepted before may be lost."""


class TroubleBegan(Happening, frozen=True):
    """Something is wrong, and was not before: with the store, or with the node, which is strained."""

    finder: str
    """`store` or `node`."""
    trouble: str


class TroubleEnded(Happening, frozen=True):
    """All that a finder had found is over."""

    finder: str


class ClockJumped(Happening, frozen=True):
    """The store's clock is not where it was expected; a second look decides."""

    ms: int


class ClockFollowed(Happening, frozen=True):
    """The node's clock was set by the store's."""

    ms: int


class DutyFailed(Happening, frozen=True):
    """A round of a background duty failed; there will be another."""

    duty: str
    error: Exception


class Fault(Happening, frozen=True):
    """An error that nobody expected: a fault of this program. The process goes on."""

    part: str
    """The logger's name, without `rota.`."""
    what: str
    error: Exception
