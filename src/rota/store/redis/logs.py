"""The log lines of jobs in the Redis store, one list per job, and how far they have come."""

from collections.abc import Sequence

from rota.model.log import LogEntry
from rota.model.progress import Progress
from rota.store.logs import LogBatch, LogPage
from rota.store.records.codec import decode_log_entry, encode, encode_lines
from rota.store.records.unreadable import UNREADABLE_ERRORS, readable_progress, unreadable_line
from rota.store.redis.jobs.reading import RedisJobReading
from rota.store.redis.link.commands import Value


class RedisLogs(RedisJobReading):
    """See `rota.store.logs.LogStore` for what each method promises."""

    def append_logs(self, batches: Sequence[LogBatch]) -> frozenset[str]:
        by_queue: dict[str, list[LogBatch]] = {}
        for batch in batches:
            by_queue.setdefault(batch.queue, []).append(batch)
        refused: set[str] = set()
        for queue, some in by_queue.items():
            refused |= self._append_in(queue, some)
        return frozenset(refused)

    def _append_in(self, queue: str, batches: Sequence[LogBatch]) -> set[str]:
        keys = self._keys_of(queue)
        args: list[Value] = []
        for batch in batches:
            progress = b"" if batch.progress is None else encode(batch.progress)
            args += [batch.job_id, batch.token, progress, encode_lines(batch.entries)]
        logs = [keys.log(batch.job_id) for batch in batches]
        # Not repeated: lines that had arrived would stand there twice.
        answer = self._link.run("append_logs", [keys.running, keys.progress, *logs], args, repeats=False)
        return {raw.decode() for raw in answer}

    def read_logs(self, job_id: str, *, after: int = 0, limit: int = 1000) -> LogPage:
        for queue in self._lookup.by_queue([job_id]):
            raw = self._redis.lrange(self._keys_of(queue).log(job_id), after, after + limit - 1)
            return LogPage([_log_entry(entry) for entry in raw], after + len(raw))
        return LogPage([], after)

    def read_progress(self, queue: str, job_ids: Sequence[str]) -> dict[str, Progress]:
        kept = self._redis.hmget(self._keys_of(queue).progress, job_ids) if job_ids else []
        found = {job_id: readable_progress(raw) for job_id, raw in zip(job_ids, kept, strict=True) if raw is not None}
        return {job_id: progress for job_id, progress in found.items() if progress is not None}


def _log_entry(entry: bytes) -> LogEntry:
    try:
        return decode_log_entry(entry)
    except UNREADABLE_ERRORS as error:
        return unreadable_line(error)
