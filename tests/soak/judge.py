"""The judge: from the ledger, from what was done to the nodes and from what the store shows, to what is wrong.

Everything here is a plain function of values, so that the judge itself can be tested. A second start of a job is
allowed if something took the job from its node: the node was killed, told to stop, or silent for longer than the dead
time *while others watched*. An outage of the store, a suspension of everybody, or a busy machine excuses nothing, but
for runs under a lock: a node that cannot renew stops those before others may take over, and gives them back.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct, field

from rota.model.job import JobState
from tests.soak.ledger import Run

DEAD_AFTER_MS = 20_000
BEAT_MS = 5_000
SILENT_MS = DEAD_AFTER_MS - BEAT_MS
"""A node's last sign of life may be one beat older than the fault that silenced it."""
GIVES_UP_MS = DEAD_AFTER_MS * 3 // 4 - BEAT_MS
"""A fault of this length may keep a node from renewing for so long that it stops its runs under a lock."""
LOOKS_ON_MS = DEAD_AFTER_MS // 2
"""Where a store can be read and not written, others go on judging for so long after the last write of their own."""
WAKE_MS = 5_000
"""A node that was suspended for long may begin a job that it had claimed before, until it has heard that it lost it."""


class Stretch(Struct, frozen=True):
    """From one instant of `boot_ms` to another."""

    since: int
    until: int
    is_partial: bool = False
    """Only a part of the store was away, of which nobody knows here which queues are in it; or only those nodes were
    suspended that had begun before."""
    can_look: bool = False
    """The store could be read all the time, and not written."""


class Life(Struct):
    """What was done to one process of a node."""

    node: str
    started_at: int
    killed_at: int | None = None
    asked_at: int | None = None
    """When it was told to stop."""
    ended_at: int | None = None
    exit_code: int | None = None
    suspended: list[Stretch] = field(default_factory=list)


class JobFact(Struct, frozen=True, kw_only=True):
    """What the store shows of one job."""

    id: str
    type: str
    state: JobState
    attempts: int = 1
    failures: int = 0
    """How many attempts were to fail."""
    error: str = ""
    """The type of its error."""
    keeps_ledger: bool = True
    """False for those of Rota's own, which may fail while the store is away, and are tried again."""
    holds_lock: bool = False
    may_be_cancelled: bool = False
    must_fail: bool = False


class TickRow(Struct, frozen=True):
    """A row of a schedule: one nominal instant, or several in a row."""

    nominal: int
    until: int
    count: int
    job: str | None = None


class Excuse(StrEnum):
    """What allows a job to be started again."""

    RETRY = "a failed attempt"
    KILLED = "its node was killed"
    STOPPED = "its node was told to stop"
    SUSPENDED = "its node was silent beyond the dead time"
    WOKEN = "a node that had been silent began it late"
    GIVEN_UP = "it held a lock, and its node could not renew"


class Court:
    """Knows the faults."""

    def __init__(self, lives: Iterable[Life], blind: Sequence[Stretch], locked: Collection[str] = ()) -> None:
        self._lives = {life.node: life for life in lives}
        self._locked = locked
        """Jobs that run under a lock."""
        self._blind = sorted(blind, key=lambda stretch: stretch.since)
        """When nobody could watch: the store was away, or everybody was suspended."""

    def excuse(self, first: Run, second: Run) -> Excuse | None:
        """What allows the second run of a job, after the first."""
        if first.has_failed and second.attempt > first.attempt:
            return Excuse.RETRY
        life = self._lives[first.node]
        if _is_within(life.killed_at, first, second):
            return Excuse.KILLED
        if self._was_interrupted(life, first, second):
            return Excuse.STOPPED
        if first.job in self._locked and self._could_not_renew(life, first, second):
            return Excuse.GIVEN_UP
        return self.excuse_for_overlap(first, second)

    def excuse_for_overlap(self, first: Run, second: Run) -> Excuse | None:
        """What allows two runs beside each other. No node can stop its runs while it is suspended."""
        if self._was_silent(self._lives[first.node], first.started_at, second.started_at):
            return Excuse.SUSPENDED
        woken = self._lives[second.node]
        if self._was_silent(woken, second.started_at - WAKE_MS, second.started_at):
            return Excuse.WOKEN
        return None

    def _was_interrupted(self, life: Life, first: Run, second: Run) -> bool:
        """Told to stop while it ran. A run that came to its end is settled, unless the store was away meanwhile."""
        if life.asked_at is None or life.asked_at > second.started_at:
            return False
        stop = Stretch(life.asked_at, life.ended_at or second.started_at)
        return not first.has_ended or any(_meet(stop, blind) for blind in self._blind)

    def _was_silent(self, life: Life, since: int, until: int) -> bool:
        silences = (one for one in life.suspended if one.since <= until and one.until >= since)
        return any(self._longest_watch(one) >= SILENT_MS for one in silences)

    def _could_not_renew(self, life: Life, first: Run, second: Run) -> bool:
        """For so long that it gave up its locks. It notices that when it wakes, which may be just after the start."""
        time = Stretch(first.started_at - WAKE_MS, second.started_at)
        silences = (one for one in (*self._blind, *life.suspended) if one.until - one.since >= GIVES_UP_MS)
        return any(_meet(one, time) and (not first.has_ended or first.last_at >= one.since) for one in silences)

    def _longest_watch(self, silence: Stretch) -> int:
        """For how long it was watched without a gap, or may have been."""
        longest, since = 0, silence.since
        for blind in self._blind:
            if not blind.is_partial and _meet(blind, silence):
                looked_on = min(blind.since + LOOKS_ON_MS, blind.until) if blind.can_look else blind.since
                longest = max(longest, min(looked_on, silence.until) - since)
                since = max(since, blind.until)
        return max(longest, silence.until - since)


def _is_within(instant: int | None, first: Run, second: Run) -> bool:
    return instant is not None and first.started_at <= instant <= second.started_at


def _meet(one: Stretch, other: Stretch) -> bool:
    return one.since <= other.until and other.since <= one.until


class Repeats(Struct):
    """Second starts, and what allows them."""

    excused: Counter[Excuse] = field(default_factory=Counter)
    beyond: list[str] = field(default_factory=list)
    after_kills: list[tuple[Run, Run]] = field(default_factory=list)
    """The run that was killed with its node, and the next."""


def judge_repeats(court: Court, runs: Iterable[Run]) -> Repeats:
    """Look at every start of a job after its first."""
    found = Repeats()
    for first, second in _in_turn(runs):
        excuse = court.excuse(first, second)
        if excuse is None:
            found.beyond.append(
                f"job {second.job}: attempt {first.attempt} on {first.node} at {first.started_at}, "
                f"attempt {second.attempt} on {second.node} at {second.started_at}"
            )
            continue
        found.excused[excuse] += 1
        if excuse is Excuse.KILLED:
            found.after_kills.append((first, second))
    return found


def _in_turn(runs: Iterable[Run]) -> Iterator[tuple[Run, Run]]:
    """Each run of a job with the run before it."""
    latest: dict[str, Run] = {}
    for run in sorted(runs, key=lambda run: run.first_place):
        if run.job in latest:
            yield latest[run.job], run
        latest[run.job] = run


class Overlaps(Struct):
    """Runs that wrote to the ledger after the next one under the same lock had begun."""

    excused: int = 0
    wrong: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By the kind of lock."""


def judge_overlaps(court: Court, runs: Iterable[Run]) -> Overlaps:
    """Compare all runs that a lock must keep apart. The order of lines decides, so clocks do not matter."""
    found, by_lock = Overlaps(), defaultdict(list)
    for run in sorted(runs, key=lambda run: run.first_place):
        if run.lock != "-":
            by_lock[run.lock].append(run)
    for lock, ordered in by_lock.items():
        for first, second in _overlapping(ordered):
            if court.excuse_for_overlap(first, second):
                found.excused += 1
            else:
                found.wrong[lock.partition(":")[0]].append(
                    f"{lock}: job {first.job} on {first.node} wrote until {first.last_at}, "
                    f"job {second.job} on {second.node} began at {second.started_at}"
                )
    return found


def _overlapping(ordered: Sequence[Run]) -> Iterator[tuple[Run, Run]]:
    for place, first in enumerate(ordered):
        for second in ordered[place + 1 :]:
            if second.first_place > first.last_place:
                break
            yield first, second


def judge_ends(jobs: Iterable[JobFact]) -> list[str]:
    """Jobs that ended otherwise than they were made to."""
    return [
        f"job {job.id} ({job.type}): {job.state} after {job.attempts} attempts, error {job.error or 'none'}"
        for job in jobs
        if job.state.is_final and job.error != "poison" and not _ended_well(job)
    ]


def _ended_well(job: JobFact) -> bool:
    if job.state is JobState.CANCELLED:
        return job.may_be_cancelled
    if job.must_fail:
        return job.state is JobState.FAILED
    return job.state is JobState.SUCCEEDED and (job.attempts == job.failures + 1 or not job.keeps_ledger)


def succeeded_without_end(jobs: Iterable[JobFact], runs: Iterable[Run]) -> list[str]:
    """Jobs that the store calls done, and no run of theirs came to its end."""
    ended = {run.job for run in runs if run.has_ended}
    return [job.id for job in jobs if job.keeps_ledger and job.state is JobState.SUCCEEDED and job.id not in ended]


def judge_ticks(rows: Sequence[TickRow], step_ms: int) -> tuple[int, int]:
    """Instants of a schedule that stand in more than one row, and those that stand in none."""
    covered: Counter[int] = Counter()
    for row in rows:
        covered.update(range(row.nominal, row.until + 1, step_ms))
    if not covered:
        return 0, 0
    expected = (max(covered) - min(covered)) // step_ms + 1
    return sum(count - 1 for count in covered.values()), expected - len(covered)
