"""The log lines of jobs in the Redis store, one list per job, and how far they have come."""

from collections.abc import Sequence

from rota.model.runs.log import LogEntry
from rota.model.runs.progress import Progress
from rota.store.contract.logs import LogBatch, LogPage
from rota.store.records.codec import decode_log_entry, encode, encode_lines
from rota.store.records.unreadable import UNREADABLE_ERRORS, readable_progress, unreadable_line
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import parts_of
from rota.store.redis.nouns.jobs.reading import RedisJobReading


class RedisLogs(RedisJobReading):
    """See `rota.store.contract.logs.LogStore` for what each method promises."""

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

    def delete_logs(self, job_ids: Sequence[str]) -> list[bool]:
        forgotten: set[str] = set()
        for queue, ids in self._lookup.by_queue(job_ids).items():
            keys = self._keys_of(queue)
            for part in parts_of(ids):
                answers = self._link.run("delete_logs", [keys.ended, keys.progress, *map(keys.log, part)], part)
                forgotten |= {job_id for job_id, done in zip(part, answers, strict=True) if done}
        return [job_id in forgotten for job_id in job_ids]

    def count_logs(self, job_id: str) -> int:
        return sum(self._redis.llen(self._keys_of(queue).log(job_id)) for queue in self._lookup.by_queue([job_id]))

    def read_logs(self, job_id: str, *, after: int = 0, limit: int = 1000) -> LogPage:
        for queue in self._lookup.by_queue([job_id]):
            raw = self._redis.lrange(self._keys_of(queue).log(job_id), after, after + limit - 1)
            return LogPage([_log_entry(entry) for entry in raw], after + len(raw))
        return LogPage([], after)

    def read_progress(self, queue: str, job_ids: Sequence[str]) -> dict[str, Progress]:
        kept = self._redis.hmget(self._keys_of(queue).progress, job_ids) if job_ids else []
        found = {job_id: readable_progress(raw) for job_id, raw in zip(job_ids, kept, strict=True) if raw is not None}
        return {job_id: progress for job_id, progress in found.items() if progress is not None}

    def restore_logs(
        self, queue: str, job_id: str, entries: Sequence[LogEntry], *, after: int, progress: Progress | None = None
    ) -> None:
        keys = self._keys_of(queue)
        note = b"" if progress is None else encode(progress)
        self._link.run("restore_logs", [keys.log(job_id), keys.progress], [job_id, after, note, *map(encode, entries)])


def _log_entry(entry: bytes) -> LogEntry:
    try:
        return decode_log_entry(entry)
    except UNREADABLE_ERRORS as error:
        return unreadable_line(error)
