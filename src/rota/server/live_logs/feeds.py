"""Live logs: any number of followers of a job share one poller, and none misses a line.

The feed of a job keeps its latest lines. A follower has a place of its own; one that is behind what the feed keeps,
because it came late or reads slowly, reads the store until it has caught up. So a slow one costs no memory and no line.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from rota.errors import StoreError
from rota.model.job import Job, JobState
from rota.model.runs.log_pages import LETTERS_PER_PAGE, PageSize
from rota.server.live_logs.latest import Latest, Line, letters_per_feed, lines_of
from rota.store.contract.store import Store

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.1
"""A line is in the store within 0.1 s: so its followers have it within 0.3 s, unless the machine is overloaded."""
_MOST_LOOKS_PER_S = 1_000
"""Of all feeds together: with more than a hundred each looks less often."""
_PAGE = 200

InThread = Callable[..., Awaitable[Any]]


class LogFeeds:
    """The feeds of one server, one per followed job."""

    def __init__(self, store: Store, in_thread: InThread) -> None:
        self._store = store
        self._in_thread = in_thread
        self._feeds: dict[str, _Feed] = {}
        """By job."""
        self._followed: set[_Feed] = set()
        """Also those of jobs that have ended, which nobody joins any more."""
        self._is_closed = False

    async def follow(self, job_id: str, *, after: int, idle_s: float) -> AsyncGenerator[list[Line] | None, None]:
        """Lines behind `after` as they come, until the job has ended and all were given. None when nothing came for
        `idle_s` seconds."""
        feed, size = self._join(job_id), PageSize(_PAGE)
        try:
            while True:
                changed = feed.changed
                is_last = feed.is_over
                lines = feed.lines_behind(after)
                if lines is None:
                    lines = await feed.read(after, size)
                if lines:
                    lines = _beginning(lines)  # what is not given is not held for one who does not read
                    after = lines[-1].next
                    yield lines
                elif is_last or self._is_closed:
                    return
                elif not await within(changed.wait(), idle_s):
                    yield None
        finally:
            self._leave(job_id, feed)

    @property
    def followers(self) -> int:
        return sum(feed.followers for feed in self._followed)

    async def final_state(self, job_id: str) -> JobState | None:
        """How the job ended; None if it did not, or is forgotten."""
        job: Job | None = (await self._in_thread(self._store.find_jobs, [job_id]))[0]
        return job.state if job is not None and job.state.is_final else None

    async def has_more(self, job_id: str, after: int) -> bool:
        """Whether there are lines behind `after`, or may come some. Unlike to follow it, to ask costs no more for a
        long log."""
        is_so: bool = await self._in_thread(self._has_more, job_id, after)
        return is_so

    def _has_more(self, job_id: str, after: int) -> bool:
        job = self._store.find_jobs([job_id])[0]
        return job is not None and (not job.state.is_final or self._store.count_logs(job_id) > after)

    def close(self) -> None:
        """Let all followers go."""
        self._is_closed = True
        for feed in self._followed:
            feed.announce()

    def _join(self, job_id: str) -> "_Feed":
        feed = self._feeds.get(job_id)
        if feed is None or feed.is_over:
            feed = self._feeds[job_id] = _Feed(self._store, self._in_thread, job_id)
            self._followed.add(feed)
            self._share()
        feed.followers += 1
        return feed

    def _share(self) -> None:
        """Room, and looks at the store, among all feeds."""
        most, pause_s = letters_per_feed(len(self._followed)), longest_pause_s(len(self._followed))
        for feed in self._followed:
            feed.longest_pause_s = pause_s
            feed.most_letters = most
            feed.latest.shrink(most)

    def _leave(self, job_id: str, feed: "_Feed") -> None:
        feed.followers -= 1
        if not feed.followers:
            feed.stop()
            self._followed.discard(feed)
            self._share()
            if self._feeds.get(job_id) is feed:
                del self._feeds[job_id]


class _Feed:
    """The latest lines of one job, read by one task."""

    def __init__(self, store: Store, in_thread: InThread, job_id: str) -> None:
        self._store = store
        self._in_thread = in_thread
        self._job_id = job_id
        self.latest = Latest()
        self.most_letters = 0
        """That it may keep."""
        self.longest_pause_s = LONGEST_PAUSE_S
        self._position = 0
        self.followers = 0
        self.is_over = False
        self.changed = asyncio.Event()
        self._task = asyncio.create_task(self._poll())

    def lines_behind(self, after: int) -> list[Line] | None:
        """Lines from a position on; None if they are no longer, or not yet, kept here."""
        if after >= self._position:
            return [] if after == self._position or not self.is_over else None
        kept = self.latest.lines
        first = self._position - len(kept)
        if after < first:
            return None
        return [kept[index] for index in range(after - first, len(kept))]

    async def read(self, after: int, size: PageSize) -> list[Line]:
        """A page of lines from the store, for a follower who is behind."""
        lines: list[Line] = await self._in_thread(self._read, after, size)
        return lines

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
                is_final, lines = False, ()
            self.latest.add(lines, self.most_letters)
            self._position = lines[-1].next if lines else self._position
            self.is_over = is_final
            if lines or is_final:
                self.announce()
            pause_s = FIRST_PAUSE_S if lines else min(pause_s * 1.5, self.longest_pause_s)
            if not self.is_over:
                await asyncio.sleep(pause_s)

    def _look(self) -> tuple[bool, Sequence[Line]]:
        """Whether the job is over, and new lines. The state is read first: what a job logged is there when it ended. A
        long log is passed over: who wants its beginning reads the store."""
        job = self._store.find_jobs([self._job_id])[0]
        new, size = Latest(), PageSize(_PAGE)
        while True:
            asked = size.lines
            lines = self._read(new.lines[-1].next if new.lines else self._position, size)
            new.add(lines, self.most_letters)
            if len(lines) < asked:  # whoever still writes is not chased
                return job is None or job.state.is_final, new.lines

    def _read(self, after: int, size: PageSize) -> list[Line]:
        page = self._store.read_logs(self._job_id, after=after, limit=size.lines)
        if page.entries:
            size.learn([one.message for one in page.entries])
        return lines_of(page)


def longest_pause_s(feeds: int) -> float:
    return max(LONGEST_PAUSE_S, feeds / _MOST_LOOKS_PER_S)


def _beginning(lines: list[Line]) -> list[Line]:
    """As many as are given at a time, at least one."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line.entry.message)
        if size > LETTERS_PER_PAGE and number:
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
