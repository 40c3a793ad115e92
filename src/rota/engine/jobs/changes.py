"""Changing jobs that are there: by their ids, or by what they have in common."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct, structs

from rota.clock import Clock
from rota.engine.access.audit.record import Change, recorded
from rota.errors import Conflict, NotFound
from rota.model.job import FINAL_STATES, LIVE_STATES, Job, JobState
from rota.store.contract.jobs import CancelAnswer, JobQuery
from rota.store.contract.store import Store

MOST_CHANGED = 10_000
"""Jobs of one call; whoever has more calls again."""
RETRIED_STATES = frozenset({JobState.FAILED, JobState.CANCELLED})
_CANCELLED = frozenset({CancelAnswer.CANCELLED, CancelAnswer.REQUESTED})
_MOST_TOLD = 100
"""Ids that an entry of the audit log lists."""
_PAGE = 500
Answer = TypeVar("Answer")
_STEP = 500
"""Jobs of one store operation, so that nobody else waits long."""


class Changed(Struct, frozen=True):
    """What a change of many jobs came to."""

    matched: int
    changed: int
    is_complete: bool
    """Whether there were no more jobs than the call was to take."""


class JobChanges:
    """Cancels, retries and deletes jobs: one, several, or all that have something in common.

    Of those in common at most `MOST_CHANGED` in one call, or fewer if the caller says so; a dry run only counts.
    """

    def __init__(self, store: Store, clock: Clock, *, take_flows: Callable[[int], None]) -> None:
        self._store = store
        self._clock = clock
        self._take_flows = take_flows

    def find(self, job_id: str) -> Job:
        job = self._store.find_jobs([job_id])[0]
        if job is None:
            raise NotFound("job", job_id)
        return job

    def cancel(self, job_id: str) -> CancelAnswer:
        """Cancel a job that has not ended. Of a running one its node is told, which ends it."""
        answer = self.cancel_each([job_id])[0]
        if answer is CancelAnswer.UNKNOWN:
            raise NotFound("job", job_id)
        if answer is CancelAnswer.FINAL:
            raise Conflict(f"job {job_id} ended already, so there is nothing to cancel")
        return answer

    def cancel_each(self, job_ids: Sequence[str]) -> list[CancelAnswer]:
        """What became of each, in order; none is an error."""

        def cancel() -> list[CancelAnswer]:
            return self._store.cancel_jobs(job_ids, now=self._clock.now())

        return self._recorded("cancel", job_ids, cancel, lambda answer: answer in _CANCELLED)

    def retry(self, job_id: str) -> None:
        """Bring a failed or cancelled job back into its queue, as new."""
        if self.retry_each([job_id])[0]:
            return
        job = self.find(job_id)
        if job.state in RETRIED_STATES:
            raise Conflict(f"another live job has the unique key of job {job_id}")
        raise Conflict(f"job {job_id} is {job.state.value}; only failed and cancelled jobs can be brought back")

    def retry_each(self, job_ids: Sequence[str]) -> list[bool]:
        """Whether each was brought back, in order; none is an error."""

        def retry() -> list[bool]:
            return self._store.retry_jobs(job_ids, now=self._clock.now())

        return self._recorded("retry", job_ids, retry, bool)

    def delete(self, job_id: str) -> None:
        """Forget an ended job with its log."""
        if not self.delete_each([job_id])[0]:
            job = self.find(job_id)
            raise Conflict(f"job {job_id} is {job.state.value}; only ended jobs can be deleted")

    def delete_each(self, job_ids: Sequence[str]) -> list[bool]:
        """Whether each was forgotten, in order; none is an error."""
        self._take_flows(self._clock.now())
        return self._recorded("delete", job_ids, lambda: self._store.delete_jobs(job_ids), bool)

    def _recorded(
        self,
        action: str,
        job_ids: Sequence[str],
        change: Callable[[], list[Answer]],
        is_done: Callable[[Answer], bool],
    ) -> list[Answer]:
        """Make a change, with one entry of the audit log for all jobs that were changed by it."""
        with recorded(self._store, _change_of(action, job_ids), now=self._clock.now()) as recording:
            answers = change()
            done = [job_id for job_id, answer in zip(job_ids, answers, strict=True) if is_done(answer)]
            if done:
                recording.was(_change_of(action, done))
            else:
                recording.nothing_was_done()
        return answers

    def cancel_all(self, query: JobQuery, *, dry_run: bool, limit: int = MOST_CHANGED) -> Changed:
        """Cancel live jobs. A running one counts as changed when its node is told."""

        def change(ids: Sequence[str]) -> int:
            return sum(answer in _CANCELLED for answer in self.cancel_each(ids))

        return self._change(query, LIVE_STATES, change, dry_run=dry_run, limit=limit)

    def retry_all(self, query: JobQuery, *, dry_run: bool, limit: int = MOST_CHANGED) -> Changed:
        """Bring failed and cancelled jobs back."""

        def change(ids: Sequence[str]) -> int:
            return sum(self.retry_each(ids))

        return self._change(query, RETRIED_STATES, change, dry_run=dry_run, limit=limit)

    def delete_all(self, query: JobQuery, *, dry_run: bool, limit: int = MOST_CHANGED) -> Changed:
        """Forget ended jobs."""

        def change(ids: Sequence[str]) -> int:
            return sum(self.delete_each(ids))

        return self._change(query, FINAL_STATES, change, dry_run=dry_run, limit=limit)

    def _change(
        self,
        query: JobQuery,
        states: frozenset[JobState],
        change: Callable[[Sequence[str]], int],
        *,
        dry_run: bool,
        limit: int,
    ) -> Changed:
        wanted = query.states & states if query.states else states
        if not wanted:
            return Changed(0, 0, True)
        ids, is_complete = self._find(structs.replace(query, states=wanted), limit)
        if dry_run:
            return Changed(len(ids), 0, is_complete)
        changed = sum(change(ids[start : start + _STEP]) for start in range(0, len(ids), _STEP))
        return Changed(len(ids), changed, is_complete)

    def _find(self, query: JobQuery, limit: int) -> tuple[list[str], bool]:
        """All ids before the first change: a change would shift the pages."""
        ids: list[str] = []
        cursor: str | None = None
        while True:
            page = self._store.list_jobs(query, limit=_PAGE, cursor=cursor)
            ids += [job.id for job in page.jobs]
            cursor = page.cursor
            if cursor is None or len(ids) > limit:
                return ids[:limit], cursor is None and len(ids) <= limit


def _change_of(action: str, job_ids: Sequence[str]) -> Change:
    """What the audit log says of jobs that are changed together."""
    if len(job_ids) == 1:
        return Change(action=action, kind="job", name=job_ids[0], uuid=job_ids[0])
    after = {"jobs": len(job_ids), "first": list(job_ids[:_MOST_TOLD])}
    return Change(action=action, kind="jobs", name=f"{len(job_ids)} jobs", after=after)
