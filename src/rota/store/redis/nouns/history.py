"""The history of the Redis store: ended jobs, kept within bounds."""

from rota.model.job import FINAL_STATES
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.scripts import parts_of
from rota.store.redis.nouns.jobs.jobs import MOST_DELETED, RedisJobs

_SAMPLED = 50
_BYTES_OF_PLACES = 300
"""What an ended job takes in hashes and lists beside its values."""


class RedisHistory(RedisJobs):
    """See `rota.store.contract.history.HistoryStore` for what each method promises."""

    def trim_history(self, queue: str, *, ended_before: int, keep: int, limit: int) -> int:
        keys = self._keys_of(queue)
        counts = self.count_jobs(queue)
        if most_bytes := self._link.address.history_max_bytes:
            keep = min(keep, most_bytes // self._mean_bytes(keys))
        surplus = min(sum(counts[state] for state in FINAL_STATES) - keep, limit)
        old = self._oldest(keys, f"({ended_before}", limit)
        if len(old) < surplus:
            old = self._oldest(keys, "+inf", surplus)
        return sum(len(self._delete_in(queue, part)) for part in parts_of(old, MOST_DELETED))

    def _mean_bytes(self, keys: QueueKeys) -> int:
        """What an ended job takes, from a sample: counting would cost every job and every log line."""
        ids = [
            raw.decode()
            for key in (keys.succeeded, keys.failed, keys.cancelled)
            for raw in self._redis.zrandmember(key, _SAMPLED)
        ]
        sizes = self._link.run("sizes_of_jobs", [keys.jobs, keys.ended, *map(keys.log, ids)], ids) if ids else []
        return _BYTES_OF_PLACES + sum(map(int, sizes)) // max(len(sizes), 1)

    def _oldest(self, keys: QueueKeys, before: str, limit: int) -> list[str]:
        ended: list[tuple[float, bytes]] = []
        for key in (keys.succeeded, keys.failed, keys.cancelled):
            raw = self._redis.zrangebyscore(key, "-inf", before, start=0, num=limit, withscores=True)
            ended += [(score, member) for member, score in raw]
        return [member.decode() for _, member in sorted(ended)[:limit]]
