"""Shows tasks in the original's keys.

A task is written as it was read only if it is still so, which one script sees to; otherwise it is read again. So of any
number of processes that show one task none can overwrite what is newer. Log lines have times of their own, the same
whoever counts them, so adding them twice changes nothing.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import Struct, structs

from rota.dialects.sync_tasks.names import Collection
from rota.dialects.sync_tasks.redis import keys
from rota.dialects.sync_tasks.task import collection_of_job, created_at, task_of
from rota.dialects.sync_tasks.task_log import LogLine, LogLines
from rota.model.job import Job, JobState
from rota.store.contract.store import Store
from rota.store.records.codec import encode_lines
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import load_scripts
from rota.store.redis.link.skip_refused import SkipRefused

_SCRIPTS = load_scripts("rota.dialects.sync_tasks.redis")
_TRIES = 20
_PAGE = 500
"""Lines in one step: longer ones would keep others waiting for Redis."""
_MOST_FOLLOWED = 1_000
"""Logs whose place is remembered; others are read from their beginning again."""
_PLACES = {JobState.RUNNING: "running", JobState.DELAYED: "waiting", JobState.QUEUED: "waiting"}


class _Place(Struct):
    """How far a log is shown."""

    lines: LogLines
    position: int = 0
    end: int | None = None
    """The end of its job, once it is shown with all that was said before. A job that is brought back has another."""


class Mirror:
    """Shows tasks and their logs. Used by several threads; what one of them shows twice does no harm. What Redis
    refuses, because somebody else has such a key, goes unseen."""

    def __init__(self, store: Store, access: RedisAccess) -> None:
        self._store = store
        self._access = access
        self._skip_refused = SkipRefused("sync_tasks")
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._lock = threading.Lock()

    def show(self, jobs: Sequence[Job]) -> list[Job]:
        """Bring the keys of these tasks up to date; returns the jobs as they are shown. One that history forgot
        meanwhile is shown no more, and returned as it was."""
        return [self._show(job) for job in jobs]

    def _show(self, job: Job) -> Job:
        for _ in range(_TRIES):
            if self._write(job):
                break
            found = self._store.find_jobs([job.id])[0]
            if found is None:
                break
            job = found
        return job

    def _write(self, job: Job) -> bool:
        task = task_of(job)
        queue = QueueKeys(job.spec.queue)
        names = [keys.QUEUE, keys.index(collection_of_job(job)), keys.task(task.id), keys.SHOWN]
        names += [queue.jobs, queue.running, queue.ended]
        created = created_at(job) // 1000
        args: list[Value] = [_PLACES.get(job.state, "ended"), job.id, task.id, task.priority, created]
        for name in task.__struct_fields__:
            args += [name, str(getattr(task, name))]
        return self._skip_refused.do(keys.ANY, lambda: self._access.run(_SCRIPTS["show_task"], names, args)) != 0

    def show_log(self, job: Job, task_id: str, until: int | None = None, *, most: int | None = None) -> bool:
        """Show the log of a task up to the position `until`, by default its end, but no more than so many lines more;
        whether it is shown that far. `job` was read before the lines were counted: then an ended one's log is whole."""
        place = self._place_of(job.id)
        if place.end is not None and place.end == job.ended_at:
            return True
        until = self._store.count_logs(job.id) if until is None else until
        self._show_lines(job, task_id, place, until if most is None else min(until, place.position + most))
        if place.position < until:
            return False
        self._add(job, task_id, place.lines.copy().last_words(job))
        place.end = job.ended_at
        self._remember(job.id, place)
        return True

    def _show_lines(self, job: Job, task_id: str, place: _Place, until: int) -> None:
        while place.position < until:
            page = self._store.read_logs(job.id, after=place.position, limit=min(_PAGE, until - place.position))
            self._add(job, task_id, place.lines.read(page.entries))
            place.position = page.next if page.entries else until  # nothing is there: history has forgotten it
            self._remember(job.id, place)

    def _place_of(self, job_id: str) -> _Place:
        """A copy: another thread may be at the same log, and each counts from where it read."""
        with self._lock:
            place = self._places.get(job_id, _Place(LogLines()))
            return _Place(place.lines.copy(), place.position, place.end)

    def _remember(self, job_id: str, place: _Place) -> None:
        with self._lock:
            self._places[job_id] = structs.replace(place, lines=place.lines.copy())
            self._places.move_to_end(job_id)
            while len(self._places) > _MOST_FOLLOWED:
                self._places.popitem(last=False)

    def _add(self, job: Job, task_id: str, lines: Iterable[tuple[int, LogLine]]) -> None:
        by_second: dict[int, list[LogLine]] = {}
        for micros, line in lines:
            by_second.setdefault(micros // 1_000_000, []).append(line)
        if by_second:
            args: list[Value] = [job.id]
            for second, some in by_second.items():
                args += [second, encode_lines(some)]
            names = [keys.logs(task_id), QueueKeys(job.spec.queue).jobs]
            self._skip_refused.do(keys.ANY, lambda: self._access.run(_SCRIPTS["show_log"], names, args))

    def hide_forgotten(self, task_ids: Sequence[str], job_ids: Sequence[str], queue: str) -> list[Job]:
        """Remove those of these tasks that history has forgotten; returns the others."""
        jobs = self._store.find_jobs(job_ids)
        for task_id, job_id, job in zip(task_ids, job_ids, jobs, strict=True):
            if job is None:
                self._skip_refused.do(keys.ANY, partial(self._hide, task_id, job_id, queue))
        return [job for job in jobs if job is not None]

    def hide_logs(self, task_ids: Sequence[str]) -> None:
        """Remove the logs of these tasks."""
        if task_ids:
            self._access.ask("unlink", *map(keys.logs, task_ids))

    def _hide(self, task_id: str, job_id: str, queue: str) -> None:
        fields = self._access.ask("hmget", keys.task(task_id), "source", "collection")
        source, name = ((one or b"").decode() for one in fields)
        names = [keys.QUEUE, keys.index(Collection(source, name)), keys.task(task_id), keys.logs(task_id)]
        names += [keys.SHOWN, QueueKeys(queue).jobs]
        self._access.run(_SCRIPTS["hide_task"], names, [task_id, job_id])
