"""The dialect as a node speaks it: the duty that shows tasks in the keys and takes what others put there."""

from collections.abc import Container, Sequence

from rota.dialects.sync_tasks.redis import keys
from rota.dialects.sync_tasks.redis.adoption import Adoption
from rota.dialects.sync_tasks.redis.mirror import Mirror
from rota.dialects.sync_tasks.task import collection_of_job, task_id
from rota.dialects.sync_tasks.tasks import queue_of_tasks
from rota.engine.engine import Engine
from rota.engine.node.dialect import DialectContext
from rota.engine.node.duty import Duty
from rota.engine.node.options import SCHEDULER, WORKER
from rota.model.job import FINAL_STATES, LIVE_STATES, Job, JobState
from rota.store.contract.jobs import JobQuery
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.link.skip_refused import SkipRefused

EVERY_S = 0.25
_WITHOUT_SOURCES_S = 1.0
_TURN_MS = 3_000
_PAGE = 500
_MOST_PAGES = 200
_LOOK_BACK_MS = 3_000
"""Ends are told by nodes, whose reports may arrive in another order."""
_LOG_LINES = 30_000
"""Of one task in one round: a flood must not keep the keys of the others waiting."""
_BEHIND_S = 0.02
_PER_SWEEP = 200


class SyncTaskKeys:
    """The keys for one node."""

    def __init__(self, access: RedisAccess) -> None:
        self._access = access

    def join(self, context: DialectContext) -> Sequence[Duty]:
        """A node that neither runs jobs nor looks after them has nothing to do here."""
        if not context.roles & {WORKER, SCHEDULER}:
            return []
        return [KeyKeeper(self._access, context.engine, context.node)]

    def leave(self) -> None:
        """Nothing was begun that goes on."""


class KeyKeeper:
    """A duty: `run_once` brings the keys up to date, if it is this node's turn."""

    def __init__(self, access: RedisAccess, engine: Engine, node: str) -> None:
        self._access = access
        self._engine = engine
        self._node = node
        self._mirror = Mirror(engine.store, access)
        self._adoption = Adoption(access, engine, self._mirror)
        self._skip_refused = SkipRefused("sync_tasks")
        self._shown: dict[str, tuple[JobState, str]] = {}
        """State and token of each task that was live or ended lately, as it is shown."""
        self._behind: dict[str, Job] = {}
        """Tasks whose logs are not shown whole yet."""
        self._sweep_at = 0

    def run_once(self, now: int) -> float:
        queue = queue_of_tasks(self._engine)
        if queue is None:
            return _WITHOUT_SOURCES_S
        if not self._access.take_turn(keys.TURN, self._node, for_ms=_TURN_MS):
            return EVERY_S
        # Of a clock that was ahead, all that ends from now on would have ended before.
        until = min(int(self._access.ask("get", keys.SHOWN_UNTIL) or 0), now)
        live = self._live(queue)
        ended = self._ended(queue, until)
        found = {job.id: job for job in [*live, *ended]}
        self._show({**self._behind, **self._told_late(found), **found})
        self._note_shown(ended, until)
        self._skip_refused.do(keys.QUEUE, lambda: self._adoption.run_once(now, map(collection_of_job, live)))
        self._sweep(queue, now)
        return _BEHIND_S if self._behind else EVERY_S

    def _show(self, jobs: dict[str, Job]) -> None:
        """Those that changed, and what those have written that run or ended lately."""
        shown: dict[str, tuple[JobState, str]] = {}
        behind: dict[str, Job] = {}
        for job in jobs.values():
            if self._shown.get(job.id) != (job.state, job.token):
                job = self._mirror.show([job])[0]
            has_begun = job.state not in (JobState.QUEUED, JobState.DELAYED)
            if has_begun and not self._mirror.show_log(job, task_id(job), most=_LOG_LINES):
                behind[job.id] = job
            shown[job.id] = (job.state, job.token)
        self._shown, self._behind = shown, behind

    def _live(self, queue: str) -> list[Job]:
        found: list[Job] = []
        cursor: str | None = None
        while True:
            page = self._engine.store.list_jobs(JobQuery(queue=queue, states=LIVE_STATES), limit=_PAGE, cursor=cursor)
            found += page.jobs
            cursor = page.cursor
            if cursor is None:
                return found

    def _ended(self, queue: str, until: int) -> list[Job]:
        """Those that ended since then, oldest first. Of a long absence only the latest are made up for."""
        found: list[Job] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = self._engine.store.list_jobs(JobQuery(queue=queue, states=FINAL_STATES), limit=_PAGE, cursor=cursor)
            new = [job for job in page.jobs if (job.ended_at or 0) > until - _LOOK_BACK_MS]
            found += new
            cursor = page.cursor
            if cursor is None or len(new) < len(page.jobs):
                break
        return found[::-1]

    def _told_late(self, found: Container[str]) -> dict[str, Job]:
        """Those that were live and were not found now: a node that was cut off told of their ends long after them."""
        gone = [id for id, (state, _) in self._shown.items() if not state.is_final and id not in found]
        jobs = self._engine.store.find_jobs(gone) if gone else []
        return {job.id: job for job in jobs if job is not None}

    def _note_shown(self, ended: Sequence[Job], until: int) -> None:
        """How far ended tasks are shown, each with all of its log. Only once they are: whoever takes over from a node
        that died, or goes on after an error, begins there."""
        latest = max((job.ended_at or 0 for job in ended), default=until)
        first_behind = min((job.ended_at for job in self._behind.values() if job.ended_at), default=latest + 1)
        if (shown := min(latest, first_behind - 1)) > until:
            self._access.ask("set", keys.SHOWN_UNTIL, shown)

    def _sweep(self, queue: str, now: int) -> None:
        """Look at some that are shown, in turn, whether history has forgotten them, or their logs."""
        self._sweep_at, some = self._access.ask("hscan", keys.SHOWN, self._sweep_at, count=_PER_SWEEP)
        if some:
            ids = [id.decode() for id in some]
            kept = self._mirror.hide_forgotten(ids, [job.decode() for job in some.values()], queue)
            self._mirror.hide_logs([task_id(job) for job in kept if not self._keeps_log(job, now)])

    def _keeps_log(self, job: Job, now: int) -> bool:
        job_type = self._engine.definitions.known_job_type(job.spec.job_type)
        return job_type is None or job_type.keeps_log(job.ended_at, now)
