"""Finding jobs by what people type: a whole id, or its beginning or end.

Ids begin with the time of making, so jobs made together share their beginning; their ends are random.
"""

from collections.abc import Sequence

from rota.errors import InvalidInput, NotFound
from rota.model.ids import check_id
from rota.model.job import Job
from rota.store.contract.jobs import JobQuery
from rota.store.contract.store import Store

WHOLE_ID = 36
_SHORTEST = 4
_MOST_LOOKED_AT = 2_000
"""A part of an id has no index, so the search looks at this many jobs and no more."""


def find_job(store: Store, text: str) -> Job:
    """The job that is meant."""
    job_id = resolve_id(store, text)
    job = store.find_jobs([job_id])[0]
    if job is None:
        raise NotFound("job", text, "`rota jobs` lists them")
    return job


def resolve_ids(store: Store, texts: Sequence[str]) -> list[str]:
    """The whole ids of what is meant, each once."""
    return list(dict.fromkeys(resolve_id(store, text) for text in texts))


def resolve_id(store: Store, text: str) -> str:
    """The whole id. A part must belong to one job only, among those that can be looked through quickly."""
    if len(text) >= WHOLE_ID - 4:
        return check_id("job id", text)
    part = text.lower()
    if len(part) < _SHORTEST or set(part) - set("0123456789abcdef-"):
        raise InvalidInput("job id", f"{text!r} is no id, nor at least {_SHORTEST} characters of its beginning or end")
    found, saw_all = _ids_with(store, part)
    if len(found) > 1:
        raise InvalidInput("job id", f"{text!r} fits several jobs, such as {found[0]} and {found[1]}; give more of it")
    if not saw_all:
        raise InvalidInput("job id", f"there are too many jobs to look for {text!r}; give the whole id")
    if not found:
        raise NotFound("job", text, "`rota jobs` lists them")
    return found[0]


def _ids_with(store: Store, part: str) -> tuple[list[str], bool]:
    """Ids that begin or end with a part, and whether every job was looked at."""
    found: list[str] = []
    cursor: str | None = None
    for _ in range(_MOST_LOOKED_AT // 500):
        page = store.list_jobs(JobQuery(), limit=500, cursor=cursor)
        found += [job.id for job in page.jobs if job.id.startswith(part) or job.id.endswith(part)]
        cursor = page.cursor
        if cursor is None or len(found) > 1:
            break
    return found, cursor is None
