"""Changing many jobs at once, by what they have in common."""

from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from rota.model.job import FINAL_STATES, LIVE_STATES, JobState
from rota.store.jobs import CancelAnswer, JobQuery
from rota.store.store import Store

MOST_CHANGED = 10_000
"""Jobs of one call; whoever has more calls again."""
RETRIED_STATES = frozenset({JobState.FAILED, JobState.CANCELLED})
_PAGE = 500
_STEP = 500
"""Jobs of one store operation, so that nobody else waits long."""


class Changed(Struct, frozen=True):
    """What a change of many jobs came to."""

    matched: int
    changed: int
    is_complete: bool
    """Whether there were no more jobs than one call takes."""


class JobChanges:
    """Cancels, retries and deletes by query. A dry run only counts."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def cancel(self, query: JobQuery, *, now: int, dry_run: bool) -> Changed:
        """Cancel live jobs. A running one counts as changed when its node is told."""
        done = {CancelAnswer.CANCELLED, CancelAnswer.REQUESTED}

        def change(ids: Sequence[str]) -> int:
            return sum(answer in done for answer in self._store.cancel_jobs(ids, now=now))

        return self._change(query, LIVE_STATES, change, dry_run=dry_run)

    def retry(self, query: JobQuery, *, now: int, dry_run: bool) -> Changed:
        """Bring failed and cancelled jobs back."""
        return self._change(
            query, RETRIED_STATES, lambda ids: sum(self._store.retry_jobs(ids, now=now)), dry_run=dry_run
        )

    def delete(self, query: JobQuery, *, dry_run: bool) -> Changed:
        """Forget ended jobs."""
        return self._change(query, FINAL_STATES, lambda ids: sum(self._store.delete_jobs(ids)), dry_run=dry_run)

    def _change(
        self, query: JobQuery, states: frozenset[JobState], change: Callable[[Sequence[str]], int], *, dry_run: bool
    ) -> Changed:
        wanted = query.states & states if query.states else states
        if not wanted:
            return Changed(0, 0, True)
        ids, is_complete = self._find(structs.replace(query, states=wanted))
        if dry_run:
            return Changed(len(ids), 0, is_complete)
        changed = sum(change(ids[start : start + _STEP]) for start in range(0, len(ids), _STEP))
        return Changed(len(ids), changed, is_complete)

    def _find(self, query: JobQuery) -> tuple[list[str], bool]:
        """All ids before the first change: a change would shift the pages."""
        ids: list[str] = []
        cursor: str | None = None
        while True:
            page = self._store.list_jobs(query, limit=_PAGE, cursor=cursor)
            ids += [job.id for job in page.jobs]
            cursor = page.cursor
            if cursor is None or len(ids) > MOST_CHANGED:
                return ids[:MOST_CHANGED], cursor is None and len(ids) <= MOST_CHANGED
