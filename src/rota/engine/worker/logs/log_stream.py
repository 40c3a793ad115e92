"""Log lines on their way from running jobs to the store: gathered from any thread, given out in small shares.

What one job writes is nobody else's trouble: a share is small, goes round among the jobs, and takes no longer than a
claim, which so never waits behind more than one. A job that writes faster than that is slowed down by whoever reads its
output, as long as the store answers; lines are dropped, counted and marked only when there is no room for them.
"""

import threading
from collections.abc import Callable, Iterable, Sequence

from rota.clock import Clock
from rota.model.job import Claim
from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.store.contract.logs import LogBatch

MAX_PENDING_LINES = 40_000
MAX_PENDING_CHARS = 8 * 1024 * 1024
"""What waits while the store is slow or away. Further lines are dropped: memory stays bounded."""
CROWDED_LINES = 4_000
CROWDED_CHARS = 512 * 1024
"""With so much of a job waiting, its output is read slowly."""
CROWDED_IN_ALL = MAX_PENDING_LINES // 4
CROWDED_CHARS_IN_ALL = MAX_PENDING_CHARS // 2
"""With so much of all jobs, that of each of them: what several floods have read at the moment must find room."""
PATIENCE_S = 1.0
"""A store that needs longer for a share has troubles of its own."""
SHARE_LINES = 2_000
SHARE_CHARS = 256 * 1024
"""What is given out at a time, the last line apart."""
_MOST_AHEAD_MICROS = 1_000_000
"""How far the lines of a flood may be ahead of the clock. If they are further ahead, the clock was set back."""

_Key = tuple[str, str]
"""An attempt: the job's id, and the attempt token."""


class _Pending:
    """Lines of one attempt, how many had to be dropped behind them, and how far it has come."""

    __slots__ = ("chars", "claim", "dropped", "entries", "is_under_way", "progress")

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.entries: list[LogEntry] = []
        self.chars = 0
        self.dropped = 0
        self.progress: Progress | None = None
        self.is_under_way = False
        """Some of its lines are being written: those behind them have to wait."""


class LogStream:
    """The log lines of one worker that are not in the store yet."""

    def __init__(self, clock: Clock, on_lines: Callable[[], None] = lambda: None) -> None:
        """`on_lines` is called, from any thread, when there are lines after there were none."""
        self._clock = clock
        self._on_lines = on_lines
        self._lock = threading.Lock()
        self._pending: dict[_Key, _Pending] = {}
        self._lines = 0
        self._chars = 0
        self._last_micros = 0
        """The instant of the last line. Each line has its own."""
        self._taken_at: float | None = None
        """When the share was taken that is not written yet, or the first of those that could not be."""

    def add(self, claim: Claim, message: str, level: str) -> None:
        """A line of a job. Called from any thread."""
        self.add_lines(claim, [message], level)

    def add_lines(self, claim: Claim, messages: Sequence[str], level: str) -> None:
        """Lines of a job, in their order. Called from any thread."""
        with self._lock:
            is_first = not self._pending
            pending = self._of(claim)
            if self._has_room(len(messages), sum(map(len, messages))):
                self._put(pending, messages, level)
            else:
                self._put_what_fits(pending, messages, level)
        if is_first:
            self._on_lines()

    def note(self, claim: Claim, done: float, total: float | None, message: str) -> None:
        """How far a job has come; of several notes in a row the last one counts. Called from any thread."""
        progress = Progress(done=done, total=total, message=message, time=self._clock.now(), attempt=claim.attempt)
        with self._lock:
            is_first = not self._pending
            self._of(claim).progress = progress
        if is_first:
            self._on_lines()

    def has_lines(self) -> bool:
        """Whether any line is not in the store yet."""
        return bool(self._pending)

    def is_crowded(self, claim: Claim) -> bool:
        """Whether whoever adds lines of this job should wait a little. Not while the store does not answer: a job has
        no part in that, and goes on."""
        if self._taken_at is not None and self._clock.monotonic() - self._taken_at > PATIENCE_S:
            return False
        pending = self._pending.get((claim.spec.id, claim.token))
        if pending is None:
            return False
        is_many = len(pending.entries) >= CROWDED_LINES or self._lines >= CROWDED_IN_ALL
        return is_many or pending.chars >= CROWDED_CHARS or self._chars >= CROWDED_CHARS_IN_ALL

    def take(self) -> list[LogBatch]:
        """A share of what waits, a part of it from each job in turn. Each batch has to be told of: `written`, or
        `put_back`."""
        with self._lock:
            free = [key for key, pending in self._pending.items() if not pending.is_under_way]
            batches: list[LogBatch] = []
            lines, chars = SHARE_LINES, SHARE_CHARS
            each = max(SHARE_LINES // max(len(free), 1), 1)
            for key in free:
                if lines <= 0 or chars <= 0:
                    break
                batch = self._cut(self._pending[key], min(each, lines), chars)
                self._pending[key] = self._pending.pop(key)  # the last in turn now
                batches.append(batch)
                lines -= len(batch.entries)
                chars -= _chars(batch.entries)
            if batches and self._taken_at is None:
                self._taken_at = self._clock.monotonic()
            return batches

    def last_lines(self, claims: Iterable[Claim], *, at_once: bool = False) -> tuple[list[LogBatch], set[str]]:
        """What is left of jobs that have ended, up to a share, to be written before their ends are told; and the ids of
        those that have more, whose ends must wait. With `at_once` nobody waits who need not."""
        late: set[str] = set()
        batches: list[LogBatch] = []
        with self._lock:
            lines, chars = SHARE_LINES, SHARE_CHARS
            for claim in claims:
                pending = self._pending.get((claim.spec.id, claim.token))
                if pending is None:
                    continue
                size = pending.chars
                if pending.is_under_way or not (at_once or (len(pending.entries) <= lines and size <= chars)):
                    late.add(claim.spec.id)
                else:
                    lines -= len(pending.entries)
                    chars -= size
                    batches.append(self._cut(pending, len(pending.entries) + 1, size + 1))
        return batches, late

    def written(self, batches: Sequence[LogBatch]) -> None:
        """These are in the store, or will never be."""
        with self._lock:
            self._taken_at = None
            for batch in batches:
                pending = self._pending.get((batch.job_id, batch.token))
                if pending is not None:
                    pending.is_under_way = False
                    if not pending.entries and not pending.dropped and pending.progress is None:
                        del self._pending[batch.job_id, batch.token]

    def put_back(self, batches: Sequence[LogBatch]) -> None:
        """These could not be written: they come before later lines of their jobs."""
        with self._lock:
            for batch in reversed(batches):
                pending = self._pending.get((batch.job_id, batch.token))
                if pending is not None:
                    pending.is_under_way = False
                    pending.entries[:0] = batch.entries
                    pending.progress = pending.progress or batch.progress
                    self._count(pending, len(batch.entries), _chars(batch.entries))

    def _of(self, claim: Claim) -> _Pending:
        key = claim.spec.id, claim.token
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = _Pending(claim)
        return pending

    def _has_room(self, lines: int, chars: int) -> bool:
        return self._lines + lines <= MAX_PENDING_LINES and self._chars + chars <= MAX_PENDING_CHARS

    def _put_what_fits(self, pending: _Pending, messages: Sequence[str], level: str) -> None:
        for message in messages:
            if self._has_room(1, len(message)):
                self._put(pending, [message], level)
            else:
                pending.dropped += 1

    def _put(self, pending: _Pending, messages: Sequence[str], level: str) -> None:
        self._mark_dropped(pending)
        self._count(pending, len(messages), sum(map(len, messages)))
        attempt = pending.claim.attempt
        pending.entries += [
            LogEntry(micros // 1000, message, level, attempt, micros % 1000)
            for micros, message in enumerate(messages, self._instants(len(messages)))
        ]

    def _instants(self, count: int) -> int:
        """So many instants in a row, of which nobody has one yet; the first of them, in microseconds."""
        now, next = self._clock.now() * 1000, self._last_micros + 1
        first = next if now < next <= now + _MOST_AHEAD_MICROS else now
        self._last_micros = first + count - 1
        return first

    def _count(self, pending: _Pending, lines: int, chars: int) -> None:
        self._lines += lines
        self._chars += chars
        pending.chars += chars

    def _mark_dropped(self, pending: _Pending) -> None:
        """Say where lines are missing, once there is room again."""
        if pending.dropped:
            text = f"[{pending.dropped} lines dropped: the store was too slow]"
            pending.dropped = 0
            self._put(pending, [text], "warning")

    def _cut(self, pending: _Pending, lines: int, chars: int) -> LogBatch:
        """The first lines of an attempt, at least one if there are any, and how far it has come."""
        if len(pending.entries) < lines:
            self._mark_dropped(pending)
        entries = pending.entries[:lines]
        if (size := _chars(entries)) > chars:
            entries = _first_chars(entries, chars)
            size = _chars(entries)
        del pending.entries[: len(entries)]
        self._count(pending, -len(entries), -size)
        pending.is_under_way = True
        progress, pending.progress = pending.progress, None
        claim = pending.claim
        return LogBatch(claim.spec.queue, claim.spec.id, claim.token, entries, progress)


class AttemptLog:
    """What one attempt says, on its way into the stream (`LogSink`)."""

    __slots__ = ("_claim", "_stream")

    def __init__(self, stream: LogStream, claim: Claim) -> None:
        self._stream = stream
        self._claim = claim

    @property
    def is_crowded(self) -> bool:
        return self._stream.is_crowded(self._claim)

    def add(self, message: str, level: str) -> None:
        self._stream.add(self._claim, message, level)

    def add_lines(self, messages: Sequence[str], level: str) -> None:
        self._stream.add_lines(self._claim, messages, level)

    def note(self, done: float, total: float | None, message: str) -> None:
        self._stream.note(self._claim, done, total, message)


def _first_chars(entries: list[LogEntry], chars: int) -> list[LogEntry]:
    """The first lines, up to the one with which there are so many characters."""
    size = 0
    for count, entry in enumerate(entries, 1):
        size += len(entry.message)
        if size >= chars:
            return entries[:count]
    return entries


def _chars(entries: Sequence[LogEntry]) -> int:
    return sum(len(entry.message) for entry in entries)
