"""The duty that shows running and finished jobs in `jobs_in_progress_*` and `jobs_finished_*`.

The seed's shape of a job cannot be made in a script: Lua would turn an empty list into an object and lose digits of
numbers. So these keys follow within a second, instead of being written with each move, and a job that is over sooner is
seen as finished only. Finished jobs stay for as long as history keeps them.
"""

from functools import partial

from rota.dialects.synchrony import keys
from rota.dialects.synchrony.exchange import EVERY_S
from rota.dialects.synchrony.lenient import Lenient
from rota.dialects.synchrony.shapes import job_text
from rota.engine.definitions import Definitions
from rota.model.job import FINAL_STATES, Job, JobState
from rota.store.redis.access import RedisAccess
from rota.store.redis.scripts import load_scripts
from rota.store.store import JobQuery, Store

_PAGE = 500
_LOOK_BACK_MS = 3_000
"""Ends are told by nodes, whose reports may arrive in another order."""
_PER_SWEEP = 500
_TURN_MS = 5_000
_TAKE_TURN = load_scripts("rota.dialects.synchrony")["take_turn"]


class JobKeys:
    """A duty: `run_once` brings the keys of all queues up to date."""

    def __init__(self, store: Store, access: RedisAccess, definitions: Definitions, *, node: str) -> None:
        self._store = store
        self._access = access
        self._definitions = definitions
        self._node = node
        self._shown_until: dict[str, int] = {}
        self._sweeps: dict[str, int] = {}
        self._lenient = Lenient()

    def run_once(self, now: int) -> float:
        """One round, if it is this node's turn. Returns the seconds until the next."""
        if self._access.run(_TAKE_TURN, [keys.JOBS_TURN], [self._node, _TURN_MS]):
            for node_type in self._definitions.node_types():
                queue = node_type.uuid
                for step in (self._show_running, self._show_finished, self._sweep):
                    self._lenient.do(partial(step, queue))
        else:
            self._shown_until.clear()  # when the turn comes, everything is looked through once
        return EVERY_S

    def _show_running(self, queue: str) -> None:
        key = keys.jobs_in_progress(queue)
        jobs = {job.id: job_text(job) for job in self._jobs(queue, JobState.RUNNING)}
        there = {field.decode(): text for field, text in self._access.ask("hgetall", key).items()}
        if new := {job_id: text for job_id, text in jobs.items() if there.get(job_id) != text}:
            self._access.ask("hset", key, mapping=new)
        if gone := there.keys() - jobs.keys():
            self._access.ask("hdel", key, *gone)

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

    def _show_finished(self, queue: str) -> None:
        """Those that ended since the last round, latest first."""
        until = self._shown_until.get(queue, 0) - _LOOK_BACK_MS
        latest, cursor = until, None
        while True:
            query = JobQuery(queue=queue, states=FINAL_STATES)
            page = self._store.list_jobs(query, limit=_PAGE, cursor=cursor)
            new = [job for job in page.jobs if (job.ended_at or 0) > until]
            if new:
                texts = {job.id: job_text(job) for job in new}
                self._access.ask("hset", keys.jobs_finished(queue), mapping=texts)
                latest = max(latest, new[0].ended_at or 0)
            cursor = page.cursor
            if cursor is None or len(new) < len(page.jobs):
                break
        self._shown_until[queue] = max(latest, self._shown_until.get(queue, 0))

    def _sweep(self, queue: str) -> None:
        """Remove some that history has forgotten, or that were brought back; over time all are looked at."""
        key = keys.jobs_finished(queue)
        self._sweeps[queue], some = self._access.ask("hscan", key, self._sweeps.get(queue, 0), count=_PER_SWEEP)
        ids = [field.decode() for field in some]
        jobs = self._store.find_jobs(ids) if ids else []
        gone = [job_id for job_id, job in zip(ids, jobs, strict=True) if job is None or not job.state.is_final]
        if gone:
            self._access.ask("hdel", key, *gone)
