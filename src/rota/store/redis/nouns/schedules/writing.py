"""Writing and forgetting the schedules of one queue of the Redis store, each in one step."""

from collections.abc import Sequence

from rota.store.contract.schedules import ScheduleChange
from rota.store.records.codec import encode, encode_over
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.schedules.entries import stored_state
from rota.store.redis.nouns.schedules.reading import RedisScheduleReading


class RedisScheduleWriting(RedisScheduleReading):
    """For what changes schedules; where they live and what they are called is in an index of its own."""

    def _put_schedules_in(self, queue: str, changes: Sequence[ScheduleChange]) -> list[bool]:
        keys = self._keys_of(queue)
        args: list[Value] = []
        there = self._redis.hmget(keys.schedules, [one.schedule.uuid for one in changes])
        for one, old in zip(changes, there, strict=True):
            expected = "" if one.expected is None else one.expected
            due = "" if one.state.due is None else one.state.due
            body = encode_over(one.schedule, old)
            args += [one.schedule.uuid, expected, body, one.state.version, encode(one.state), due]
            args += [one.left_out.nominal, encode(one.left_out)] if one.left_out else ["", ""]
        places = [keys.schedules, keys.schedule_states, keys.schedule_due]
        places += [keys.ticks(one.schedule.uuid) for one in changes]
        answers, was_repeated = self._link.run_and_tell("put_schedules", places, args)
        own = self._put_before(keys, changes) if was_repeated else set()
        return [bool(done) or one.schedule.uuid in own for one, done in zip(changes, answers, strict=True)]

    def _put_before(self, keys: QueueKeys, changes: Sequence[ScheduleChange]) -> set[str]:
        """Schedules that a repeated call found changed because it had changed them itself: all of what it writes is
        there."""
        uuids = [one.schedule.uuid for one in changes]
        bodies, states = self._redis.hmget(keys.schedules, uuids), self._redis.hmget(keys.schedule_states, uuids)
        return {
            one.schedule.uuid
            for one, body, state in zip(changes, bodies, states, strict=True)
            if state == stored_state(one.state) and body == encode_over(one.schedule, body)
        }

    def _forget_schedules_in(self, queue: str, uuids: list[str]) -> set[str]:
        """Which of them were there; none that is on its way to another queue."""
        k = self._keys_of(queue)
        keys = [k.schedules, k.schedule_states, k.schedule_due, *map(k.ticks, uuids)]
        args: list[Value] = [part for uuid in uuids for part in (uuid, "")]
        answers, was_repeated = self._link.run_and_tell("delete_schedules", keys, args)
        # They were there a moment ago: what a repeated call finds gone, it has deleted itself.
        return {uuid for uuid, done in zip(uuids, answers, strict=True) if done == 1 or (was_repeated and done == 0)}
