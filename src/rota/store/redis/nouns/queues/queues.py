"""The queues of the Redis store."""

from rota.model.job import JobState
from rota.store.contract.queues import Stats
from rota.store.redis.keys import EVENT_QUEUES, NODE_TYPES, QUEUES
from rota.store.redis.link.link import Link
from rota.store.redis.link.part import RedisPart
from rota.store.redis.nouns.queues.signals import push_signal
from rota.store.redis.nouns.queues.stats import hours_between, stats_of, totals_of
from rota.store.redis.nouns.queues.waker import RedisWaker


class RedisQueues(RedisPart):
    """See `rota.store.contract.queues.QueueStore` for what each method promises."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._known_queues: set[str] = set()
        """Those that were listed when this process looked last: another may have forgotten one since."""

    def pause_queue(self, queue: str) -> None:
        self._remember_queue(queue)
        self._redis.set(self._keys_of(queue).paused, "1")

    def resume_queue(self, queue: str) -> None:
        keys = self._keys_of(queue)
        self._redis.delete(keys.paused)
        push_signal(self._link, keys.wake, "1")

    def paused_queues(self) -> frozenset[str]:
        return frozenset(queue for queue in self.list_queues() if self._redis.exists(self._keys_of(queue).paused))

    def list_queues(self) -> list[str]:
        defined, used = self._link.read_together(("hkeys", NODE_TYPES.bodies), ("smembers", QUEUES))
        return sorted({raw.decode() for raw in [*defined, *used]})

    def _remember_queue(self, queue: str) -> None:
        """Have a queue listed from now on, whether it has a node type or not."""
        self._redis.sadd(QUEUES, queue)
        self._known_queues.add(queue)

    def forget_queue(self, queue: str) -> bool:
        if self._redis.hexists(NODE_TYPES.bodies, queue):
            return False
        k, now = self._keys_of(queue), self._link.now()
        live = [k.jobs, k.schedules, k.configurations, k.outbox]
        counted = [k.stats(hour) for hour in hours_between(0, now, now)]
        if not self._link.run("forget_queue", [*live, *(key for key in k.fixed() if key not in live), *counted], []):
            return False
        self._known_queues.discard(queue)
        for known in (QUEUES, EVENT_QUEUES):
            self._redis.srem(known, queue)
            if self._redis.exists(*live):  # somebody who thought that the queue is known was faster
                self._redis.sadd(known, queue)
        return True

    def count_jobs(self, queue: str) -> dict[JobState, int]:
        k = self._keys_of(queue)
        keys = [k.delayed, k.ready, k.held, k.running, k.succeeded, k.failed, k.cancelled]
        return dict(zip(JobState, self._link.run("count_jobs", keys, []), strict=True))

    def read_stats(self, queue: str, *, since: int, until: int) -> list[Stats]:
        keys = self._keys_of(queue)
        hours = hours_between(since, until, self._link.now())
        return [one for hour in hours for one in stats_of(self._redis.hgetall(keys.stats(hour)), since, until)]

    def read_totals(self, queue: str) -> Stats:
        return totals_of(self._redis.hgetall(self._keys_of(queue).totals))

    def waker(self, queue: str, node: str) -> RedisWaker:
        return RedisWaker(self._link, queue, node)
