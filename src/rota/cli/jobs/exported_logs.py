"""The logs of ended jobs as JSON lines, and how far an export has come.

Jobs come by the time of their end, latest first, from behind a cursor; `until` is fixed when an export begins, so jobs
that end meanwhile do not shift anything. Progress is kept after whole jobs, together with the length of the output: an
export that is taken up again cuts off what was written behind that, and so neither loses nor repeats a line.

What counts is when a job ended, by its node. An end that reaches the store only after an export has passed its time, as
after an outage, is in no export that goes on from there: stores list ends by their time, and by nothing that tells what
came late.
"""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from rota.errors import InvalidInput
from rota.model.job import FINAL_STATES, Job
from rota.model.runs.log import LogEntry
from rota.store.contract.jobs import JobQuery
from rota.store.contract.store import Store
from rota.store.records.listing import cursor_before

_PAGE = 200
_LOG_PAGE = 1_000
_encode = msgspec.json.Encoder().encode


def private(path: str, flags: int) -> int:
    """An opener of files that only their owner may read: logs may say anything. A link is not followed: who may write
    to the folder could lead what is written elsewhere."""
    try:
        return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidInput(path, "is a symbolic link, which is not followed; name the file itself") from None
        raise


class Progress(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far an export has come. `since` and `until` are when jobs ended."""

    store: str
    """Which store it is of; the position means nothing in another."""
    since: int
    until: int
    cursor: str | None
    """Where to go on; None when all is done."""
    output: str | None = None
    """The file, or None for standard output."""
    size: int = 0
    """Bytes of the output that belong to jobs which are done."""
    jobs: int = 0
    lines: int = 0


def first_progress(store: str, since: int, until: int, output: Path | None) -> Progress:
    """An export that begins."""
    shown = None if output is None else str(output.absolute())
    return Progress(store=store, since=since, until=until, cursor=cursor_before(until), output=shown)


def next_progress(last: Progress, now: int) -> Progress:
    """The export that goes on where one is done: with the jobs that ended since, in the same output."""
    return structs.replace(last, since=last.until, until=now, cursor=cursor_before(now), jobs=0, lines=0)


class LogExport:
    """One export, from where it stands to its end."""

    def __init__(self, store: Store, progress: Progress, names: Mapping[str, str]) -> None:
        self._store = store
        self._names = names
        self.progress = progress

    def write_page(self, cursor: str, write: Callable[[bytes], object]) -> Progress:
        """Write the lines of some jobs, one by one; returns the progress once they have reached their place."""
        page = self._store.list_jobs(JobQuery(states=FINAL_STATES), limit=_PAGE, cursor=cursor)
        jobs = [job for job in page.jobs if (job.ended_at or 0) >= self.progress.since]
        size, lines = self.progress.size, self.progress.lines
        for line in (line for job in jobs for line in self._lines(job)):
            write(line)
            size, lines = size + len(line), lines + 1
        is_last = len(jobs) < len(page.jobs)
        next_cursor = None if is_last else page.cursor
        return structs.replace(
            self.progress, cursor=next_cursor, size=size, jobs=self.progress.jobs + len(jobs), lines=lines
        )

    def _lines(self, job: Job) -> Iterator[bytes]:
        after = 0
        while True:
            page = self._store.read_logs(job.id, after=after, limit=_LOG_PAGE)
            for number, entry in enumerate(page.entries, start=after + 1):
                yield _encode(self._shape(job, number, entry)) + b"\n"
            after = page.next
            if len(page.entries) < _LOG_PAGE:
                return

    def _shape(self, job: Job, number: int, entry: LogEntry) -> dict[str, object]:
        return {
            "job_uuid": job.id,
            "job_type_uuid": job.spec.job_type,
            "job_type": self._names.get(job.spec.job_type),
            "node_type_uuid": job.spec.queue,
            "state": job.state.value,
            "ended_at": job.ended_at,
            "line": number,
            "attempt": entry.attempt,
            "time": entry.time,
            "level": entry.level,
            "message": entry.message,
        }


def read_progress(path: Path) -> Progress:
    """What `write_progress` kept."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Progress)
    except OSError as error:
        raise InvalidInput("--resume-from", f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise InvalidInput("--resume-from", f"{path} is not the progress of an export: {error}") from None


def write_progress(path: Path, progress: Progress) -> None:
    """Keep it whole: whoever reads finds the old one or the new one."""
    beside = path.with_name(f"{path.name}.new")
    with open(beside, "wb", opener=private) as file:
        file.write(_encode(progress))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
