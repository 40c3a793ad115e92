"""Jobs of killed nodes: how long each waited for its next start, and for how long of that it could have begun.

It could not while the store was away, everybody was suspended, its queue was paused, no node served the queue, or
another run held its lock. Whatever else happened to a node of the queue may have met the job again, in a claim that had
not begun: from there the time is counted anew, as from the first kill.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from tests.soak.definitions import LONE
from tests.soak.judge import Life, Stretch
from tests.soak.ledger import Run

SOON_MS = 25_000
"""Promised from a kill to the next start."""
_NO_END = 2**62


class Recovery(Struct, frozen=True, order=True):
    """A job whose node was killed began again."""

    waited_ms: int
    """From the kill."""
    could_ms: int
    """For how long without a break it could have begun."""
    job: str
    killed: str
    """The node."""

    @property
    def text(self) -> str:
        return (
            f"job {self.job} of {self.killed} began again {self.waited_ms / 1000:.1f} s after the kill, and could have "
            f"begun for {self.could_ms / 1000:.1f} s"
        )


def queue_of(node: str) -> str:
    """The queue that a node serves, by its name."""
    return LONE if node.startswith(LONE) else "default"


class Scene:
    """What happened to everybody."""

    def __init__(
        self, lives: Iterable[Life], blind: Sequence[Stretch], paused: Mapping[str, Sequence[Stretch]], runs: list[Run]
    ) -> None:
        self._blind, self._paused = blind, paused
        self._killed_at: dict[str, int] = {}
        self._serving: dict[str, list[Stretch]] = defaultdict(list)
        self._mishaps: dict[str, list[int]] = defaultdict(list)
        """When something happened to a node of the queue."""
        self._runs: dict[str, list[Run]] = defaultdict(list)
        for life in lives:
            queue = queue_of(life.node)
            self._killed_at[life.node] = life.killed_at or life.started_at
            self._serving[queue] += _serving(life)
            self._mishaps[queue] += _mishaps(life)
        for run in runs:
            self._runs[run.lock].append(run)

    def recovery(self, first: Run, second: Run) -> Recovery:
        """Of a job that ran when its node was killed, and its next run."""
        queue, wait = queue_of(first.node), Stretch(self._killed_at[first.node], second.started_at)
        hindrances = [
            *self._blind,
            *self._paused.get(queue, ()),
            *_gaps(self._serving[queue], wait),
            *self._held_by_others(second),
            *(Stretch(instant, instant) for instant in self._mishaps[queue]),
        ]
        return Recovery(wait.until - wait.since, longest_free(wait, hindrances), second.job, first.node)

    def _held_by_others(self, waiting: Run) -> Iterator[Stretch]:
        if waiting.lock != "-":
            for run in self._runs[waiting.lock]:
                if run.job != waiting.job:
                    yield Stretch(run.started_at, run.last_at)


def _serving(life: Life) -> Iterator[Stretch]:
    ends = [end for end in (life.killed_at, life.asked_at, life.ended_at) if end is not None]
    since = life.started_at
    for silence in sorted(life.suspended, key=_since):
        yield Stretch(since, silence.since)
        since = silence.until
    yield Stretch(since, min(ends, default=_NO_END))


def _mishaps(life: Life) -> Iterator[int]:
    yield from (instant for instant in (life.killed_at, life.asked_at) if instant is not None)
    yield from (silence.since for silence in life.suspended)


def _gaps(covered: Iterable[Stretch], within: Stretch) -> Iterator[Stretch]:
    """What of a stretch is in none of the others."""
    at = within.since
    for one in sorted(covered, key=_since):
        if one.since > at:
            yield Stretch(at, one.since)
        at = max(at, one.until)
    if at < within.until:
        yield Stretch(at, within.until)


def longest_free(wait: Stretch, hindrances: Iterable[Stretch]) -> int:
    """The longest time without a hindrance; one of no length ends it too."""
    longest, since = 0, wait.since
    for one in sorted(hindrances, key=_since):
        if one.since >= wait.until:
            break
        if one.until >= since:
            longest, since = max(longest, one.since - since), one.until
    return max(longest, wait.until - since)


def _since(stretch: Stretch) -> int:
    return stretch.since
