"""Watching a job from outside: its log as it grows, and its end.

A store wakes nodes only, so a watcher asks again and again, often at first and less often when nothing happens.
"""

import time
from collections.abc import Callable, Iterator

from rota.clock import Clock
from rota.errors import NotFound
from rota.model.job import Job
from rota.model.runs.log import LogEntry
from rota.store.contract.store import Store

_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.5
_PAGE = 1_000


class WaitedTooLong(Exception):
    """The time was over before the job ended."""


class Watch:
    """Watches one job until it ends, or until the time that was given is over."""

    def __init__(self, store: Store, job_id: str, clock: Clock, timeout_s: float | None = None) -> None:
        self._store = store
        self._job_id = job_id
        self._clock = clock
        self._end = None if timeout_s is None else clock.monotonic() + timeout_s
        self._position = 0
        self._pause_s = _FIRST_PAUSE_S

    def until_ended(
        self, show: Callable[[LogEntry], None] | None = None, *, meanwhile: Callable[[Job], None] | None = None
    ) -> Job:
        """The job after its end. `show` gets every log line as soon as it is there, `meanwhile` the job whenever it was
        looked at and had not ended."""
        while not (job := self.look(show)).state.is_final:
            if meanwhile:
                meanwhile(job)
            time.sleep(self.next_pause_s())
        return job

    def until_made(self, *, may_come: Callable[[], bool] = lambda: True) -> None:
        """Wait for a job that is yet to be made; `NotFound` once `may_come` says that it will not be."""
        while self._store.find_jobs([self._job_id])[0] is None:
            # Looked for once more after that: it may have been made meanwhile.
            if not may_come() and self._store.find_jobs([self._job_id])[0] is None:
                raise NotFound("job", self._job_id, "it was deleted, history forgot it, or it could not be made")
            time.sleep(self.next_pause_s())

    def look(self, show: Callable[[LogEntry], None] | None = None) -> Job:
        """The job now: one look, for whoever waits in another way between two of them."""
        # The state is read before the lines: whatever a job logged is there when it has ended.
        job = self._find()
        for entry in self.new_entries() if show else ():
            show(entry)  # type: ignore[misc]
            self._pause_s = 0.0
        return job

    def next_pause_s(self) -> float:
        """How long the next look can wait; `WaitedTooLong` when the time is over."""
        self._pause_s = min(max(self._pause_s * 1.5, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)
        if self._end is None:
            return self._pause_s
        left_s = self._end - self._clock.monotonic()
        if left_s <= 0:
            raise WaitedTooLong
        return min(self._pause_s, left_s)

    def new_entries(self) -> Iterator[LogEntry]:
        """Log lines that were not given before."""
        while True:
            page = self._store.read_logs(self._job_id, after=self._position, limit=_PAGE)
            self._position = page.next
            yield from page.entries
            if len(page.entries) < _PAGE:
                return

    def _find(self) -> Job:
        job = self._store.find_jobs([self._job_id])[0]
        if job is None:
            raise NotFound("job", self._job_id, "it was deleted, history forgot it, or it never was")
        return job
