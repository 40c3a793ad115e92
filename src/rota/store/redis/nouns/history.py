"""The history of the Redis store: ended jobs, kept within bounds."""

from collections.abc import Sequence

from rota.model.job import FINAL_STATES, JobState
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.scripts import parts_of
from rota.store.redis.nouns.jobs.jobs import MOST_DELETED, RedisJobs

_SAMPLES = (50, 1_000)
"""How many jobs of each state are looked at to tell what all take, and how many before any is forgotten for that: a
small sample has one of few large jobs by chance, and all would count as if they were large."""
_SIZED_AT_ONCE = 50
_BYTES_OF_PLACES = 300
"""What an ended job takes in hashes and lists beside its values."""


class RedisHistory(RedisJobs):
    """See `rota.store.contract.history.HistoryStore` for what each method promises."""

    def trim_history(self, queue: str, *, ended_before: int, keep: int, limit: int) -> int:
        keys = self._keys_of(queue)
        counts = self.count_jobs(queue)
        keep = self._most_kept(keys, counts, keep)
        surplus = min(_ended(counts) - keep, limit)
        old = self._oldest(keys, f"({ended_before}", limit)
        if len(old) < surplus:
            oldest = self._oldest(keys, "+inf", surplus)
            # Counted again: if another node forgot some before these were read, so many fewer of them are too many.
            beyond = oldest[: max(_ended(self.count_jobs(queue)) - keep, 0)]
            old = max(old, beyond, key=len)
        return sum(len(self._delete_in(queue, part)) for part in parts_of(old, MOST_DELETED))

    def _most_kept(self, keys: QueueKeys, counts: dict[JobState, int], keep: int) -> int:
        """So many, or as many as have room if that is fewer than there are."""
        most_bytes, fitting = self._link.address.history_max_bytes, keep
        for sampled in _SAMPLES if most_bytes else ():
            fitting = most_bytes // self._mean_bytes(keys, counts, sampled)
            if _ended(counts) <= fitting:
                return keep
        return min(keep, fitting)

    def _mean_bytes(self, keys: QueueKeys, counts: dict[JobState, int], sampled: int) -> int:
        """What an ended job takes, from a sample: counting would cost every job and every log line. Each state has a
        sample of its own, which stands for all of its jobs: a few failures with long logs are not half of them."""
        places = {JobState.SUCCEEDED: keys.succeeded, JobState.FAILED: keys.failed, JobState.CANCELLED: keys.cancelled}
        total = sum(counts[state] * self._sampled_bytes(keys, place, sampled) for state, place in places.items())
        return _BYTES_OF_PLACES + round(total / max(sum(counts[state] for state in places), 1))

    def _sampled_bytes(self, keys: QueueKeys, place: str, sampled: int) -> float:
        """What the values of a job of one state take, in the mean."""
        ids = [raw.decode() for raw in self._redis.zrandmember(place, sampled)]
        sizes = [int(size) for part in parts_of(ids, _SIZED_AT_ONCE) for size in self._sizes(keys, part)]
        return sum(sizes) / max(len(sizes), 1)

    def _sizes(self, keys: QueueKeys, ids: Sequence[str]) -> list[int]:
        return list(self._link.run("sizes_of_jobs", [keys.jobs, keys.ended, *map(keys.log, ids)], ids))

    def _oldest(self, keys: QueueKeys, before: str, limit: int) -> list[str]:
        ended: list[tuple[float, bytes]] = []
        for key in (keys.succeeded, keys.failed, keys.cancelled):
            raw = self._redis.zrangebyscore(key, "-inf", before, start=0, num=limit, withscores=True)
            ended += [(score, member) for member, score in raw]
        return [member.decode() for _, member in sorted(ended)[:limit]]


def _ended(counts: dict[JobState, int]) -> int:
    return sum(counts[state] for state in FINAL_STATES)
