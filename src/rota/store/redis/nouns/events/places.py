"""Where configurations of the Redis store live: with their queue. What is written in one queue is one step; the way to
another is several, and whoever comes across one that is on its way brings it there.

The index `CONFIGURATION_QUEUES` says where each lives. One that is to move is first written where it is, as a new
version that names the new queue: this decides, and from then on nothing there counts. Then it is written in the new
queue behind what events did to it, the index says so, and the old record is forgotten. Each step may be repeated, by
anybody and however late, since no other record of a configuration has the version with which it moved.
"""

from collections.abc import Sequence
from functools import partial

from rota.model.events.configuration import Configuration
from rota.store.contract.events import ConfigurationChange, ConfigurationEntry, waits_for_jobs
from rota.store.records.codec import encode_over
from rota.store.redis.keys import (
    CONFIGURATION_ARRIVALS,
    CONFIGURATION_MOVES,
    CONFIGURATION_QUEUES,
    EVENT_QUEUES,
    QueueKeys,
)
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.events.entries import (
    change_entry,
    configuration_entry,
    histories_of,
    places_of,
    stored_state,
)
from rota.store.redis.nouns.events.listening import RedisListening

MOST_PER_CALL = 500
_Change = tuple[ConfigurationChange, ConfigurationEntry | None]
"""A change, and what is there."""


class RedisPlaces(RedisListening):
    """Reads, writes and forgets configurations in one queue, and moves them to another."""

    def _read_configurations_in(
        self, queue: str, uuids: Sequence[str], event_ids: Sequence[str] = ()
    ) -> list[ConfigurationEntry | None]:
        """What is written in one queue, also of those that are on their way to another."""
        k = self._keys_of(queue)
        found: list[ConfigurationEntry | None] = []
        for start in range(0, len(uuids), MOST_PER_CALL):
            part = uuids[start : start + MOST_PER_CALL]
            keys = [k.configurations, k.configuration_states, *map(k.event_ids, part)]
            raw = self._link.run("load_configurations", keys, [len(event_ids), *event_ids, *part])
            found += [self._configuration(uuid, one) if one else None for uuid, one in zip(part, raw, strict=True)]
        return found

    def _configuration(self, uuid: str, raw: list[bytes]) -> ConfigurationEntry | None:
        return self._unreadable.read("configuration", uuid, partial(configuration_entry, raw))

    def _put_configurations_in(self, queue: str, pairs: Sequence[_Change]) -> list[bool]:
        self._remember_queue(queue)
        self._redis.sadd(EVENT_QUEUES, queue)
        keys = self._keys_of(queue)
        changes = [change for change, _ in pairs]
        bodies = self._redis.hmget(keys.configurations, [one.configuration.uuid for one in changes])
        args: list[Value] = []
        for (change, old), body in zip(pairs, bodies, strict=True):
            args += change_entry(change, old, body)
        places = [keys.configurations, keys.configuration_states, keys.dependency_index]
        answers, was_repeated = self._link.run_and_tell("put_configurations", places, args)
        own = self._own_changes(keys, changes) if was_repeated else set()
        return [bool(done) or one.configuration.uuid in own for one, done in zip(changes, answers, strict=True)]

    def _own_changes(self, keys: QueueKeys, changes: Sequence[ConfigurationChange]) -> set[str]:
        """Configurations that a repeated call found changed because it had changed them itself: all of what it writes
        is there."""
        uuids = [one.configuration.uuid for one in changes]
        bodies, states = (
            self._redis.hmget(keys.configurations, uuids),
            self._redis.hmget(keys.configuration_states, uuids),
        )
        return {
            one.configuration.uuid
            for one, body, state in zip(changes, bodies, states, strict=True)
            if state == stored_state(one.state) and body == encode_over(one.configuration, body)
        }

    def _forget_configurations_in(
        self, queue: str, some: Sequence[Configuration], *, expected: int | None = None
    ) -> set[str]:
        """Which of them were there. With a version that is expected, those of another version stay."""
        k = self._keys_of(queue)
        keys = [k.configurations, k.configuration_states, k.dependency_index]
        args: list[Value] = []
        for one in some:
            keys += histories_of(k, one.uuid)
            places = places_of(one)
            args += [one.uuid, "" if expected is None else expected, len(places), *places]
        answers, was_repeated = self._link.run_and_tell("delete_configurations", keys, args)
        # What a repeated call finds gone, it may have deleted itself.
        return {one.uuid for one, done in zip(some, answers, strict=True) if done or was_repeated}

    # -- moves -----------------------------------------------------------------------------------------------------

    def _finish_move(self, queue: str, moved: ConfigurationEntry) -> None:
        """Bring a configuration whose record in a queue names another one there. If it is gone, or was brought further
        meanwhile, it is as if it had never been there."""
        one, version = moved.configuration, moved.state.version
        self._arrive(queue, moved)
        index = [CONFIGURATION_QUEUES, CONFIGURATION_ARRIVALS, CONFIGURATION_MOVES]
        if not self._link.run("arrive_configuration", index, [one.uuid, one.queue, version]):
            self._forget_configurations_in(one.queue, [one], expected=version)
        self._forget_configurations_in(queue, [one], expected=version)
        if waits_for_jobs(one):
            self._change_awaited()  # whoever looked just now may have seen it in neither queue

    def _arrive(self, source: str, moved: ConfigurationEntry) -> None:
        """Have it in the new queue, in this version or a later one. What is there of an older one was left over."""
        one, state = moved.configuration, moved.state
        is_there = False
        while not is_there:
            there = self._read_configurations_in(one.queue, [one.uuid])[0]
            version = self._version_in(one.queue, one.uuid)
            if (version or 0) >= state.version:
                return
            self._bring_histories(source, one, version)
            change = ConfigurationChange(one, state, version)
            is_there = self._put_configurations_in(one.queue, [(change, there)])[0]

    def _bring_histories(self, source: str, one: Configuration, expected: int | None) -> None:
        """What events did to it, which is all that there will be: nothing comes to it where it was."""
        evaluations, *received = histories_of(self._keys_of(source), one.uuid)
        told = self._redis.lrange(evaluations, 0, -1)
        validations, event_ids = (self._redis.zrange(key, 0, -1, withscores=True) for key in received)
        k = self._keys_of(one.queue)
        args: list[Value] = [one.uuid, "" if expected is None else expected, len(told), len(validations), *told]
        args += [part for row, received_at in [*validations, *event_ids] for part in (int(received_at), row)]
        self._link.run("receive_histories", [k.configuration_states, *histories_of(k, one.uuid)], args)

    def _version_in(self, queue: str, uuid: str) -> int | None:
        """Of what is written in one queue, also if it cannot be read."""
        state = self._redis.hget(self._keys_of(queue).configuration_states, uuid)
        version = (state or b"").partition(b" ")[0]
        return int(version) if version.isdigit() else None

    def _forget_left_over(self, queue: str, uuid: str, home: str | None) -> None:
        """Forget what a queue still has of a configuration that lives in another one, or nowhere. One that is about to
        come there stays: what is at home is on its way."""
        there = self._read_configurations_in(queue, [uuid])[0]
        if there is None:
            return
        if there.configuration.queue != queue:
            self._finish_move(queue, there)
        elif home is None or self._is_settled_in(home, uuid):
            self._forget_configurations_in(queue, [there.configuration], expected=there.state.version)

    def _is_settled_in(self, queue: str, uuid: str) -> bool:
        """Whether it is there and not on its way to another queue."""
        there = self._read_configurations_in(queue, [uuid])[0]
        return there is not None and there.configuration.queue == queue
