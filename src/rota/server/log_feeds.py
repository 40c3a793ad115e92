"""Live logs: any number of followers of a job share one poller, and none misses a line.

The feed of a job keeps its latest lines. A follower has a place of its own; one that is behind what the feed keeps,
because it came late or reads slowly, reads the store until it has caught up. So a slow one costs no memory and no line.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Any

from msgspec import Struct

from rota.errors import StoreError
from rota.model.job import Job, JobState
from rota.model.runs.log import LogEntry
from rota.store.contract.logs import LogPage
from rota.store.contract.store import Store

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5
_KEPT = 2_000
_KEPT_SIZE = 2 * 1024 * 1024
"""Letters of the messages that a feed keeps."""
_GIVEN_SIZE = 64 * 1024
"""Letters that a follower is given at a time: no more waits in memory for one who does not read."""
_PAGE = 200

InThread = Callable[..., Awaitable[Any]]


class Line(Struct, frozen=True):
    """One line, and the position behind it, from which a reader goes on."""

    next: int
    entry: LogEntry


class LogFeeds:
    """The feeds of one server, one per followed job."""

    def __init__(self, store: Store, in_thread: InThread) -> None:
        self._store = store
        self._in_thread = in_thread
        self._feeds: dict[str, _Feed] = {}
        self._is_closed = False

    async def follow(self, job_id: str, *, after: int, idle_s: float) -> AsyncGenerator[list[Line] | None, None]:
        """Lines behind `after` as they come, until the job has ended and all were given. None when nothing came for
        `idle_s` seconds."""
        feed = self._join(job_id)
        try:
            while True:
                changed = feed.changed
                is_last = feed.is_over
                lines = feed.lines_behind(after)
                if lines is None:
                    lines = await feed.read(after)
                if lines:
                    given = _beginning(lines)
                    after = given[-1].next
                    yield given
                elif is_last or self._is_closed:
                    return
                elif not await within(changed.wait(), idle_s):
                    yield None
        finally:
            self._leave(job_id, feed)

    @property
    def followers(self) -> int:
        return sum(feed.followers for feed in self._feeds.values())

    async def final_state(self, job_id: str) -> JobState | None:
        """How the job ended; None if it did not, or is forgotten."""
        job: Job | None = (await self._in_thread(self._store.find_jobs, [job_id]))[0]
        return job.state if job is not None and job.state.is_final else None

    def close(self) -> None:
        """Let all followers go."""
        self._is_closed = True
        for feed in self._feeds.values():
            feed.announce()

    def _join(self, job_id: str) -> "_Feed":
        feed = self._feeds.get(job_id)
        if feed is None or feed.is_over:
            feed = self._feeds[job_id] = _Feed(self._store, self._in_thread, job_id)
        feed.followers += 1
        return feed

    def _leave(self, job_id: str, feed: "_Feed") -> None:
        feed.followers -= 1
        if not feed.followers:
            feed.stop()
            if self._feeds.get(job_id) is feed:
                del self._feeds[job_id]


class _Feed:
    """The latest lines of one job, read by one task."""

    def __init__(self, store: Store, in_thread: InThread, job_id: str) -> None:
        self._store = store
        self._in_thread = in_thread
        self._job_id = job_id
        self._kept: deque[Line] = deque()
        self._kept_size = 0
        self._position = 0
        self.followers = 0
        self.is_over = False
        self.changed = asyncio.Event()
        self._task = asyncio.create_task(self._poll())

    def lines_behind(self, after: int) -> list[Line] | None:
        """Lines from a position on; None if they are no longer, or not yet, kept here."""
        if after >= self._position:
            return [] if after == self._position or not self.is_over else None
        first = self._position - len(self._kept)
        if after < first:
            return None
        return [self._kept[index] for index in range(after - first, len(self._kept))]

    async def read(self, after: int) -> list[Line]:
        """A page of lines from the store, for a follower who is behind."""
        page: LogPage = await self._in_thread(self._read, after)
        return _lines(page)

    def announce(self) -> None:
        """Wake all followers; those who wait from now on wait for the next time."""
        before, self.changed = self.changed, asyncio.Event()
        before.set()

    def stop(self) -> None:
        self._task.cancel()

    async def _poll(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self.is_over:
            try:
                is_final, lines = await self._in_thread(self._look)
            except StoreError:
                # It may come back; followers keep their places meanwhile.
                is_final, lines = False, deque()
            self._keep(lines)
            self._position = lines[-1].next if lines else self._position
            self.is_over = is_final
            if lines or is_final:
                self.announce()
            pause_s = FIRST_PAUSE_S if lines else min(pause_s * 1.5, LONGEST_PAUSE_S)
            if not self.is_over:
                await asyncio.sleep(pause_s)

    def _keep(self, lines: Iterable[Line]) -> None:
        """The latest ones, as many as there is room for; the last one in any case."""
        for line in lines:
            self._kept.append(line)
            self._kept_size += len(line.entry.message)
            while len(self._kept) > _KEPT or (self._kept_size > _KEPT_SIZE and len(self._kept) > 1):
                self._kept_size -= len(self._kept.popleft().entry.message)

    def _look(self) -> tuple[bool, deque[Line]]:
        """Whether the job is over, and new lines. The state is read first: what a job logged is there when it ended."""
        job = self._store.find_jobs([self._job_id])[0]
        lines: deque[Line] = deque(maxlen=_KEPT)  # a long log is passed over: who wants its beginning reads the store
        while True:
            page = self._read(lines[-1].next if lines else self._position)
            lines += _lines(page)
            if len(page.entries) < _PAGE:
                break
        return job is None or job.state.is_final, lines

    def _read(self, after: int) -> LogPage:
        return self._store.read_logs(self._job_id, after=after, limit=_PAGE)


def _lines(page: LogPage) -> list[Line]:
    first = page.next - len(page.entries)
    return [Line(first + number + 1, entry) for number, entry in enumerate(page.entries)]


def _beginning(lines: list[Line]) -> list[Line]:
    """As many as are given at a time, at least one."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line.entry.message)
        if size > _GIVEN_SIZE and number:
            return lines[:number]
    return lines


async def within(waiting: Awaitable[object], seconds: float) -> bool:
    """Whether it came in time."""
    # `wait_for` of older Pythons forgets that it was cancelled, if what it waits for comes at the same moment.
    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        return False
    return True
