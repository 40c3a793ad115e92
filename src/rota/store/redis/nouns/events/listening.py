"""Configurations of the Redis store that wait for the end of jobs, and how those hear of a change who end jobs."""

from collections.abc import Iterable

from rota.model.events.configuration import Configuration
from rota.model.events.event import JOB
from rota.store.records.codec import decode_configuration
from rota.store.redis.keys import EVENT_QUEUES, NODE_TYPES
from rota.store.redis.nouns.queues.queues import RedisQueues


class RedisListening(RedisQueues):
    """See `rota.store.contract.events.EventStore` for what each method promises."""

    def listening_configurations(self) -> list[Configuration]:
        found: list[Configuration] = []
        for queue in self._read_event_queues():
            keys = self._keys_of(queue)
            members = self._redis.zrangebylex(keys.dependency_index, f"[{JOB}\0", f"({JOB}\1")
            uuids = list(dict.fromkeys(member.rpartition(b"\0")[2] for member in members))
            bodies = self._redis.hmget(keys.configurations, uuids) if uuids else []
            records = [body for body in bodies if body]
            found += self._unreadable.read_all("listening configuration of queue", queue, decode_configuration, records)
        return sorted(found, key=lambda one: one.name)

    def _read_event_queues(self) -> tuple[str, ...]:
        return sorted_names(self._link.run("event_queues", [EVENT_QUEUES], []))

    def _change_awaited(self) -> None:
        """Other ends are waited for than before, and every queue has to know before the change is acknowledged.

        What is defined lives apart from the queues on a cluster, and asking for it with every end would cost a round
        trip. So the queues remember which version must be known, and the script that ends jobs refuses to do so for a
        caller who knows an older one.
        """
        version = int(self._redis.incr(NODE_TYPES.version))
        for queue in self.list_queues():
            self._link.run("raise_awaited_since", [self._keys_of(queue).awaited_since], [version])


def sorted_names(raw: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(sorted(one.decode() for one in raw))
