"""Configurations of the Redis store that wait for the end of jobs, and how those hear of a change who end jobs."""

from typing import NamedTuple

from rota.model.events.configuration import Configuration
from rota.model.events.event import JOB
from rota.store.contract.events import JobRules
from rota.store.records.codec import decode_configuration
from rota.store.redis.keys import (
    CONFIGURATION_MOVES,
    CONFIGURATION_QUEUES,
    EVENT_QUEUES,
    JOB_RULES_VERSION,
    NODE_TYPES,
    PENDING_JOB_RULES,
    PENDING_NAMES,
)
from rota.store.redis.link.scripts import ScriptCall, parts_of
from rota.store.redis.nouns.queues.queues import RedisQueues

JOB_RULES = [JOB_RULES_VERSION, PENDING_JOB_RULES]
ASK_EVENT_QUEUES: ScriptCall = ("event_queues", [EVENT_QUEUES, CONFIGURATION_MOVES], [])
_PENDING_MS = 60_000
"""How long a configuration that was announced and did not come is reckoned with. Putting one takes milliseconds."""


class EventQueues(NamedTuple):
    """The queues that have configurations."""

    names: tuple[str, ...] = ()
    moves: int = -1
    """Another number whenever a configuration has moved."""


class RedisListening(RedisQueues):
    """See `rota.store.contract.events.EventStore` for what each method promises."""

    def listening_configurations(self) -> list[Configuration]:
        return self.read_job_rules().configurations

    def read_job_rules(self) -> JobRules:
        # What is being put is read first: whatever leaves there meanwhile is found where it lives.
        version, pending, given = self._link.run("read_job_rules", [*JOB_RULES, PENDING_NAMES], [_PENDING_MS])
        found = {one.uuid: one for one in self._stored_rules()}
        announced = self._unreadable.read_all("announced configuration", "job rules", decode_configuration, pending)
        names = (name.decode().partition(" ") for name in given)
        return JobRules(int(version), [*found.values(), *announced], frozenset((uuid, name) for uuid, _, name in names))

    def _stored_rules(self) -> list[Configuration]:
        found: list[Configuration] = []
        for queue in self._read_event_queues().names:
            keys = self._keys_of(queue)
            members = self._redis.zrangebylex(keys.dependency_index, f"[{JOB}\0", f"({JOB}\1")
            uuids = list(dict.fromkeys(member.rpartition(b"\0")[2] for member in members))
            bodies = self._redis.hmget(keys.configurations, uuids) if uuids else []
            records = [body for body in bodies if body]
            found += self._unreadable.read_all("listening configuration of queue", queue, decode_configuration, records)
        known = self._queues_of([one.uuid for one in found])
        return sorted((one for one in found if one.uuid in known), key=lambda one: one.name)

    def _queues_of(self, uuids: list[str]) -> dict[str, str]:
        """Where configurations live, of those that there are: a copy in another queue does not count."""
        found: dict[str, str] = {}
        for part in parts_of(uuids):
            queues = zip(part, self._redis.hmget(CONFIGURATION_QUEUES, part), strict=True)
            found |= {uuid: queue.decode() for uuid, queue in queues if queue is not None}
        return found

    def _read_event_queues(self) -> EventQueues:
        return event_queues(self._link.run(*ASK_EVENT_QUEUES))

    def _change_awaited(self) -> None:
        """Other ends are waited for than before, and every queue has to know before the change is acknowledged.

        What is defined lives apart from the queues on a cluster, and asking for it with every end would cost a round
        trip. So the queues remember which version must be known, and the script that ends jobs refuses to do so for a
        caller who knows an older one. A queue that is made later is told by who ends its first jobs.
        """
        version = int(self._redis.incr(NODE_TYPES.version))
        for queue in self.list_queues():
            self._raise_awaited_since(queue, version)

    def _raise_awaited_since(self, queue: str, version: int) -> None:
        self._link.run("raise_awaited_since", [self._keys_of(queue).awaited_since], [version])


def event_queues(raw: list[bytes]) -> EventQueues:
    *names, moves = raw
    return EventQueues(tuple(sorted(one.decode() for one in names)), int(moves))
