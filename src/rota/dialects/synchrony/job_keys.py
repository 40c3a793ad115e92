"""The duty that shows running and finished jobs in `jobs_in_progress_*` and `jobs_finished_*`.

Synchrony's shape of a job cannot be made in a script: Lua would turn an empty list into an object and lose digits of
numbers. So these keys follow within a second, instead of being written with each move, and a job that is over sooner is
seen as finished only. Finished jobs stay for as long as history keeps them.
"""

from collections.abc import Iterator
from functools import partial

from rota.dialects.synchrony import keys
from rota.dialects.synchrony.shapes import job_text
from rota.engine.definitions.definitions import Definitions
from rota.model.job import FINAL_STATES, Job, JobState
from rota.store.contract.jobs import JobQuery
from rota.store.contract.store import Store
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.link.skip_refused import SkipRefused

EVERY_S = 1.0
_PAGE = 500
_MOST_PAGES = 200
_LOOK_BACK_MS = 3_000
"""Ends are told by nodes, whose reports may arrive in another order."""
_PER_SWEEP = 500
_TURN_MS = 5_000


class JobKeys:
    """A duty: `run_once` brings the keys of all queues up to date."""

    def __init__(self, store: Store, access: RedisAccess, definitions: Definitions, *, node: str) -> None:
        self._store = store
        self._access = access
        self._definitions = definitions
        self._node = node
        self._sweeps: dict[str, int] = {}
        self._skip_refused = SkipRefused("synchrony")

    def run_once(self, now: int) -> float:
        """One round, if it is this node's turn. Returns the seconds until the next."""
        if self._access.take_turn(keys.JOBS_TURN, self._node, for_ms=_TURN_MS):
            for node_type in self._definitions.node_types():
                queue = node_type.uuid
                running, finished = keys.jobs_in_progress(queue), keys.jobs_finished(queue)
                gone = self._skip_refused.do(running, partial(self._show_running, queue)) or set()
                self._skip_refused.do(finished, partial(self._show_finished, queue, gone, now))
                # Only now, so that whoever takes over from a node that died here knows of them too.
                self._skip_refused.do(running, partial(self._hide_running, queue, gone))
                self._skip_refused.do(finished, partial(self._sweep, queue))
        return EVERY_S

    def _show_running(self, queue: str) -> set[str]:
        """Returns those that are shown and do not run any more."""
        key = keys.jobs_in_progress(queue)
        jobs = {job.id: job_text(job) for job in self._jobs(queue, JobState.RUNNING)}
        there = {field.decode(): text for field, text in self._access.ask("hgetall", key).items()}
        if new := {job_id: text for job_id, text in jobs.items() if there.get(job_id) != text}:
            self._access.ask("hset", key, mapping=new)
        return there.keys() - jobs.keys()

    def _hide_running(self, queue: str, gone: set[str]) -> None:
        if gone:
            self._access.ask("hdel", keys.jobs_in_progress(queue), *gone)

    def _jobs(self, queue: str, state: JobState) -> list[Job]:
        found: list[Job] = []
        cursor: str | None = None
        while True:
            query = JobQuery(queue=queue, states=frozenset({state}))
            page = self._store.list_jobs(query, limit=_PAGE, cursor=cursor)
            found += page.jobs
            cursor = page.cursor
            if cursor is None:
                return found

    def _show_finished(self, queue: str, gone: set[str], now: int) -> None:
        """Those that ended since the last round, latest first. Of a long absence only the latest are made up for, and
        those that were shown as running: a node that was cut off told of their ends long after them."""
        # Of a clock that was ahead, all that ends from now on would have ended before.
        shown_until = min(int(self._access.ask("hget", keys.SHOWN_UNTIL, queue) or 0), now)
        latest, late = shown_until, set(gone)
        for jobs in self._ended_after(queue, shown_until - _LOOK_BACK_MS):
            self._show_ended(queue, jobs)
            latest, late = max(latest, jobs[0].ended_at or 0), late - {job.id for job in jobs}
        found = self._store.find_jobs(sorted(late)) if late else []
        self._show_ended(queue, [job for job in found if job is not None and job.state.is_final])
        if latest > shown_until:
            self._access.ask("hset", keys.SHOWN_UNTIL, queue, min(latest, now))

    def _show_ended(self, queue: str, jobs: list[Job]) -> None:
        if jobs:
            self._access.ask("hset", keys.jobs_finished(queue), mapping={job.id: job_text(job) for job in jobs})

    def _ended_after(self, queue: str, instant: int) -> Iterator[list[Job]]:
        """Pages of jobs, none of them empty."""
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            query = JobQuery(queue=queue, states=FINAL_STATES)
            page = self._store.list_jobs(query, limit=_PAGE, cursor=cursor)
            jobs = [job for job in page.jobs if (job.ended_at or 0) > instant]
            if jobs:
                yield jobs
            cursor = page.cursor
            if cursor is None or len(jobs) < len(page.jobs):
                return

    def _sweep(self, queue: str) -> None:
        """Remove some that history has forgotten, or that were brought back; over time all are looked at."""
        key = keys.jobs_finished(queue)
        self._sweeps[queue], some = self._access.ask("hscan", key, self._sweeps.get(queue, 0), count=_PER_SWEEP)
        ids = [field.decode() for field in some]
        jobs = self._store.find_jobs(ids) if ids else []
        gone = [job_id for job_id, job in zip(ids, jobs, strict=True) if job is None or not job.state.is_final]
        if gone:
            self._access.ask("hdel", key, *gone)
