"""Lists of which a verb shows so many: read page by page, so that nobody takes a part for the whole."""

from collections.abc import Callable
from typing import TypeVar

from rota.model.job import Job
from rota.store.contract.events import ConfigurationEntry
from rota.store.contract.jobs import JobQuery
from rota.store.contract.schedules import ScheduleEntry
from rota.store.contract.store import Store

T = TypeVar("T")
_PAGE = 500


def jobs_up_to(limit: int | None, store: Store, query: JobQuery) -> tuple[list[Job], bool]:
    """Up to `limit` jobs, or all, and whether there are more."""

    def read(step: int, cursor: str | None) -> tuple[list[Job], str | None]:
        page = store.list_jobs(query, limit=step, cursor=cursor)
        return page.jobs, page.cursor

    return _read_up_to(limit, read)


def schedules_up_to(limit: int | None, store: Store, job_type: str | None = None) -> tuple[list[ScheduleEntry], bool]:
    """Up to `limit` schedules, or all, of one job type or of any, by name, and whether there are more."""

    def read(step: int, cursor: str | None) -> tuple[list[ScheduleEntry], str | None]:
        page = store.list_schedules(limit=step, cursor=cursor, job_type=job_type)
        return page.entries, page.cursor

    return _read_up_to(limit, read)


def configurations_up_to(limit: int, store: Store) -> tuple[list[ConfigurationEntry], bool]:
    """Up to `limit` configurations, by name, and whether there are more."""

    def read(step: int, cursor: str | None) -> tuple[list[ConfigurationEntry], str | None]:
        page = store.list_configurations(limit=step, cursor=cursor)
        return page.entries, page.cursor

    return _read_up_to(limit, read)


def _read_up_to(
    limit: int | None, read: Callable[[int, str | None], tuple[list[T], str | None]]
) -> tuple[list[T], bool]:
    """A page may be short, or empty, and not be the last; only its cursor tells."""
    found: list[T] = []
    cursor: str | None = None
    while limit is None or len(found) <= limit:
        step = _PAGE if limit is None else min(limit + 1 - len(found), _PAGE)
        page, cursor = read(step, cursor)
        found += page
        if cursor is None:
            break
    return found[:limit], limit is not None and len(found) > limit
