"""The duty that shows tasks in the document's keys, and takes what others put there."""

from collections.abc import Container, Sequence

from rota.dialects.tasks.entity.view import requested_task, says_completed
from rota.dialects.tasks.names import PREFIX_LABEL, Names
from rota.dialects.tasks.redis.expiries import Expiries
from rota.dialects.tasks.redis.inlet import Inlet
from rota.dialects.tasks.redis.mirror import Mirror
from rota.dialects.tasks.redis.strays import Strays
from rota.dialects.tasks.tasks import Tasks, completed_task
from rota.engine.engine import Engine
from rota.engine.node.dialect import DialectContext
from rota.engine.node.duty import Duty
from rota.engine.node.options import SCHEDULER, WORKER
from rota.errors import InvalidInput
from rota.model.job import FINAL_STATES, LIVE_STATES, Job, JobState
from rota.store.contract.jobs import JobQuery
from rota.store.redis.link.access import RedisAccess

EVERY_S = 0.25
_WITHOUT_TASKS_S = 1.0
_SHARE = 4
"""A round that takes long is followed by a pause so many times as long."""
_TURN_MS = 3_000
_PAGE = 500
_MOST_PAGES = 200
_LOOK_BACK_MS = 3_000
"""Ends are told by nodes, whose reports may arrive in another order."""
_PER_SWEEP = 100


class TaskKeys:
    """The keys for one node."""

    def __init__(self, access: RedisAccess) -> None:
        self._access = access
        self._expiries = Expiries(access)

    def join(self, context: DialectContext) -> Sequence[Duty]:
        """A node that neither runs jobs nor looks after them has nothing to do here."""
        if not context.roles & {WORKER, SCHEDULER}:
            return []
        return [KeyKeeper(self._access, context.engine, context.node, self._expiries)]

    def leave(self) -> None:
        self._expiries.close()


class KeyKeeper:
    """A duty: `run_once` brings the keys of each prefix up to date for which it is this node's turn."""

    def __init__(self, access: RedisAccess, engine: Engine, node: str, expiries: Expiries) -> None:
        self._access = access
        self._engine = engine
        self._node = node
        self._expiries = expiries
        self._kept: dict[str, KeptKeys] = {}

    def run_once(self, now: int) -> float:
        job_types = self._engine.definitions.known_job_types()
        prefixes = {one.labels[PREFIX_LABEL] for one in job_types if PREFIX_LABEL in one.labels}
        began, expired = self._engine.clock.monotonic(), self._expiries.heard() if prefixes else []
        for prefix in sorted(prefixes):
            if prefix not in self._kept:
                if not self._kept:
                    self._expiries.check()
                self._kept[prefix] = KeptKeys(self._access, self._engine, Names(prefix))
            kept = self._kept[prefix]
            if self._access.take_turn(kept.mirror.keys.turn, self._node, for_ms=_TURN_MS):
                kept.bring_up_to_date(expired, now)
        took_s = self._engine.clock.monotonic() - began
        return max(EVERY_S, took_s * _SHARE) if prefixes else _WITHOUT_TASKS_S


class KeptKeys:
    """The keys of one prefix, as this node keeps them."""

    def __init__(self, access: RedisAccess, engine: Engine, names: Names) -> None:
        self._access = access
        self._store = engine.store
        self.mirror = Mirror(access, names)
        self._tasks = Tasks(engine, names, self.mirror)
        self._inlet = Inlet(access, self._tasks, self.mirror)
        self._strays = Strays(access, self.mirror, self._inlet)
        self._seen: dict[str, tuple[JobState, str, int, bool]] = {}
        """State, token and ready time of each run that was live or ended lately, and whether that had come, when it was
        shown."""
        self._sweep_at = 0
        self._gone: set[str] = set()
        """Those that are shown and were not there when the sweep last came by."""

    def bring_up_to_date(self, expired: list[str], now: int) -> None:
        live, (ended, until) = self._live(), self._ended(now)
        jobs = live + self._told_late({job.id for job in live + ended}) + ended
        seen = {job.id: (job.state, job.token, job.available_at, job.available_at <= now) for job in jobs}
        self._show([job for job in jobs if self._seen.get(job.id) != seen[job.id]])
        self._seen = seen
        # Behind the work: whoever dies before is not taken for one who has shown everything.
        self._access.ask("set", self.mirror.keys.shown_until, until)
        for id in filter(None, map(self.mirror.keys.id_of_ttl, expired)):
            self._inlet.wake(id)
        self.mirror.skip_refused(lambda: self._inlet.run_once(now))
        self.mirror.skip_refused(lambda: self._strays.run_once(now))
        self._sweep({_task_id(job) for job in jobs})

    def _show(self, jobs: list[Job]) -> None:
        """The tasks of these runs, as they are now; the latest run of a task that is gone says how it went."""
        latest: dict[str, Job] = {}
        for job in jobs:
            if (known := _task_id(job)) is not None:
                latest[known] = job
        for id, job in latest.items():
            task = self._tasks.find(id)
            if task is not None:
                self.mirror.show(task)
            elif says_completed(job.results):
                self.mirror.show(completed_task(job))
            elif job.state.is_final:
                self.mirror.hide(id)

    def _live(self) -> list[Job]:
        return self._pages(JobQuery(queue=self._tasks.queue(), states=LIVE_STATES), ended_after=None)

    def _told_late(self, found: Container[str]) -> list[Job]:
        """Those that were live and were not found now: a node that was cut off told of their ends long after them."""
        gone = [id for id, (state, *_) in self._seen.items() if not state.is_final and id not in found]
        jobs = self._store.find_jobs(gone) if gone else []
        return [job for job in jobs if job is not None]

    def _ended(self, now: int) -> tuple[list[Job], int]:
        """Those that ended since the last round, oldest first, and when the latest of all did."""
        # Of a clock that was ahead, all that ends from now on would have ended before.
        until = min(int(self._access.ask("get", self.mirror.keys.shown_until) or 0), now)
        query = JobQuery(queue=self._tasks.queue(), states=FINAL_STATES)
        found = self._pages(query, ended_after=until - _LOOK_BACK_MS)
        return found[::-1], min(max([until, *(job.ended_at or 0 for job in found)]), now)

    def _pages(self, query: JobQuery, *, ended_after: int | None) -> list[Job]:
        found: list[Job] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = self._store.list_jobs(query, limit=_PAGE, cursor=cursor)
            new = [job for job in page.jobs if ended_after is None or (job.ended_at or 0) > ended_after]
            found += new
            cursor = page.cursor
            if cursor is None or len(new) < len(page.jobs):
                break
        return found

    def _sweep(self, with_runs: set[str | None]) -> None:
        """Look at some that are shown, in turn, whether they are still there. One that is not, twice, and has had no
        run lately was removed without being hidden; before that its last run tells how it ended."""
        self._sweep_at, some = self._access.ask("hscan", self.mirror.keys.shown, self._sweep_at, count=_PER_SWEEP)
        ids = [raw.decode("utf-8", "replace") for raw in some]
        entries = self._store.find_schedules([self.mirror.names.schedule_uuid(id) for id in ids]) if ids else []
        absent = {id for id, entry in zip(ids, entries, strict=True) if entry is None} - with_runs
        for id in absent & self._gone:
            self.mirror.hide(id)
        self._gone = self._gone - set(ids) | absent - self._gone


def _task_id(job: Job) -> str | None:
    """The task that a job is a run of; None for one that somebody else made of the job type."""
    try:
        return requested_task(job.spec.arguments).id
    except (InvalidInput, KeyError):
        return None
