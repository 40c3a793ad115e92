"""The schedules of the Redis store. They live with their queue; one index knows their names and where each lives."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec import structs

from rota.errors import Conflict
from rota.model.runs.settlement import cancelled_before_run
from rota.model.schedules.schedule import ScheduleState, Tick
from rota.store.contract.schedules import (
    MAX_TICKS,
    MOST_LOOKED_UP,
    DueSchedules,
    Firing,
    ScheduleChange,
    ScheduleEntry,
    SchedulePage,
    in_steps,
)
from rota.store.records.codec import decode_schedule, decode_schedule_state, decode_tick, encode, encode_over
from rota.store.redis.keys import SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_QUEUES, SCHEDULE_USERS, QueueKeys
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.jobs.ending import RedisEnding
from rota.store.redis.nouns.jobs.entries import new_entry
from rota.store.redis.nouns.queues.signals import tell_to_cancel
from rota.store.redis.nouns.queues.stats import stats_args, stats_keys

_INDEX = [SCHEDULE_QUEUES, SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_USERS]
_ASLEEP_MS = 60_000
"""How long a schedule that moves to another queue is hidden in the old one. Much longer than nodes take to hear that
its job type belongs elsewhere now."""
_Change = tuple[ScheduleChange, ScheduleEntry | None]
"""A change, and the schedule as it stands."""
_MOST_PER_CALL = 500
_TRIM_SLACK = 100
"""Old rows are forgotten with every hundredth version of a schedule, not one by one."""


class RedisSchedules(RedisEnding):
    """See `rota.store.contract.schedules.ScheduleStore` for what each method promises."""

    def put_schedules(self, changes: Sequence[ScheduleChange]) -> list[bool]:
        known = self.find_schedules([change.schedule.uuid for change in changes])
        pairs = list(zip(changes, known, strict=True))
        self._reserve_names(pairs)
        answers = [False] * len(changes)
        for queue in dict.fromkeys(change.schedule.queue for change in changes):
            self._remember_queue(queue)
            staying = [n for n, (change, old) in enumerate(pairs) if _stays(change, old, queue)]
            done = self._put_in(queue, [changes[n] for n in staying]) if staying else []
            for number, answer in zip(staying, done, strict=True):
                answers[number] = answer
        for number, (change, old) in enumerate(pairs):
            if old and old.schedule.queue != change.schedule.queue:
                answers[number] = self._move(change, old)
        self._restore_names([pair for pair, done in zip(pairs, answers, strict=True) if not done])
        return answers

    def _reserve_names(self, pairs: Sequence[_Change]) -> None:
        """Names belong to one schedule each. One that a crash left behind without a schedule is free."""
        entries = [_name_entry(change, old, old.schedule.queue if old else None) for change, old in pairs]
        taken = self._name(entries)
        if taken is not None and self._is_left_over(taken):
            taken = self._name(entries)
        if taken is not None:
            raise Conflict(f"another schedule has the name {taken!r}")

    def _restore_names(self, refused: Sequence[_Change]) -> None:
        """A change that was refused must not have renamed anything."""
        for change, old in refused:
            if old and (old.schedule.name, old.schedule.job_type) != (change.schedule.name, change.schedule.job_type):
                back, now = ScheduleChange(old.schedule, old.state, None), ScheduleEntry(change.schedule, change.state)
                self._name([_name_entry(back, now, old.schedule.queue)])

    def _name(self, entries: Sequence[list[Value]]) -> str | None:
        taken = self._link.run("name_schedules", _INDEX, [part for entry in entries for part in entry])
        return taken.decode() if taken else None

    def _is_left_over(self, name: str) -> bool:
        uuid = self.schedule_uuid(name)
        queue = self._queue_of_schedule(uuid) if uuid is not None else None
        if uuid and queue and self._redis.hexists(self._keys_of(queue).schedules, uuid):
            return False
        self._link.run("unname_schedules", _INDEX, [uuid or "", name, ""])
        return True

    def _put_in(self, queue: str, changes: Sequence[ScheduleChange]) -> list[bool]:
        keys = self._keys_of(queue)
        args: list[Value] = []
        there = self._redis.hmget(keys.schedules, [one.schedule.uuid for one in changes])
        for one, old in zip(changes, there, strict=True):
            expected = "" if one.expected is None else one.expected
            due = "" if one.state.due is None else one.state.due
            body = encode_over(one.schedule, old)
            args += [one.schedule.uuid, expected, body, one.state.version, encode(one.state), due]
        places = [keys.schedules, keys.schedule_states, keys.schedule_due]
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
            if state == _stored_state(one.state) and body == encode_over(one.schedule, body)
        }

    def _move(self, change: ScheduleChange, old: ScheduleEntry) -> bool:
        """Bring a schedule to another queue, which a cluster cannot do in one step.

        First it is put to sleep where it is, as a new version, so that nobody who has seen it before can fire it there.
        If this process dies on the way, the ticker finds it there when it wakes, and moves it again.
        """
        asleep = structs.replace(change.state, due=self._link.now() + _ASLEEP_MS)
        if not self._put_in(old.schedule.queue, [ScheduleChange(old.schedule, asleep, change.expected)])[0]:
            return False
        arrived = self._put_in(change.schedule.queue, [structs.replace(change, expected=None)])[0]
        self._copy_ticks(change.schedule.uuid, old.schedule.queue, change.schedule.queue)
        self._name([_name_entry(change, old, change.schedule.queue)])
        self._forget_in(old.schedule.queue, [change.schedule.uuid])
        return arrived

    def _copy_ticks(self, uuid: str, source: str, target: str) -> None:
        rows = self._redis.zrange(self._keys_of(source).ticks(uuid), 0, -1, withscores=True)
        if rows:
            self._redis.zadd(self._keys_of(target).ticks(uuid), dict(rows))

    def delete_schedules(self, uuids: Sequence[str]) -> list[bool]:
        found = self.find_schedules(uuids)
        deleted: set[str] = set()
        for entry in found:
            if entry:
                deleted |= self._forget_in(entry.schedule.queue, [entry.schedule.uuid])
        schedules = [entry.schedule for entry in found if entry]
        args = [part for one in schedules for part in (one.uuid, one.name, one.job_type)]
        self._link.run("unname_schedules", _INDEX, args)
        unreadable = [uuid for uuid, entry in zip(uuids, found, strict=True) if entry is None]
        deleted |= {uuid for uuid in unreadable if self._delete_unreadable(uuid)}
        return [uuid in deleted for uuid in uuids]

    def _delete_unreadable(self, uuid: str) -> bool:
        """Forget a schedule whose record does not say what it is called; its name is looked for among all."""
        queue = self._queue_of_schedule(uuid)
        if queue is None:
            return False
        is_deleted = bool(self._forget_in(queue, [uuid]))
        owners = self._redis.hgetall(SCHEDULE_NAMES).items()
        names = [name.decode() for name, owner in owners if owner.decode() == uuid]
        users = [raw.decode() for raw in self._redis.zrange(SCHEDULE_USERS, 0, -1)]
        for name in names:
            types = [job_type for job_type, _, user in (one.partition(" ") for one in users) if user == name]
            self._link.run("unname_schedules", _INDEX, [uuid, name, types[0] if types else ""])
        return is_deleted

    def _queue_of_schedule(self, uuid: str) -> str | None:
        queue = self._redis.hget(SCHEDULE_QUEUES, uuid)
        return queue.decode() if queue is not None else None

    def _forget_in(self, queue: str, uuids: list[str]) -> set[str]:
        k = self._keys_of(queue)
        keys = [k.schedules, k.schedule_states, k.schedule_due, *map(k.ticks, uuids)]
        answers, was_repeated = self._link.run_and_tell("delete_schedules", keys, uuids)
        # They were there a moment ago: what a repeated call finds gone, it has deleted itself.
        return {uuid for uuid, done in zip(uuids, answers, strict=True) if done or was_repeated}

    def find_schedules(self, uuids: Sequence[str]) -> list[ScheduleEntry | None]:
        if not uuids:
            return []
        places = self._redis.hmget(SCHEDULE_QUEUES, list(uuids))
        by_queue: dict[str, list[str]] = {}
        for uuid, place in zip(uuids, places, strict=True):
            if place is not None:
                by_queue.setdefault(place.decode(), []).append(uuid)
        found: dict[str, ScheduleEntry] = {}
        for queue, some in by_queue.items():
            k = self._keys_of(queue)
            keys = [k.schedules, k.schedule_states, k.running, k.ended, k.jobs]
            for uuid, raw in zip(some, self._link.run("find_schedules", keys, some), strict=True):
                if raw and (entry := self._unreadable.read("schedule", uuid, partial(_entry, raw))):
                    found[uuid] = entry
        return [found.get(uuid) for uuid in uuids]

    def schedule_uuid(self, name: str) -> str | None:
        uuid = self._redis.hget(SCHEDULE_NAMES, name)
        return uuid.decode() if uuid is not None else None

    def list_schedules(self, *, limit: int, cursor: str | None = None, job_type: str | None = None) -> SchedulePage:
        names = self._names(limit, cursor or "", job_type)
        uuids = [raw.decode() for raw in self._redis.hmget(SCHEDULE_NAMES, names) if raw] if names else []
        entries = [entry for entry in self.find_schedules(uuids) if entry]
        return SchedulePage(entries, names[-1] if len(names) == limit else None)

    def _names(self, limit: int, after: str, job_type: str | None) -> list[str]:
        if job_type is None:
            found = self._redis.zrangebylex(SCHEDULE_ORDER, f"({after}", "+", start=0, num=limit)
            return [raw.decode() for raw in found]
        first, last = f"({job_type} {after}", f"({job_type}!"
        found = self._redis.zrangebylex(SCHEDULE_USERS, first, last, start=0, num=limit)
        return [raw.decode().partition(" ")[2] for raw in found]

    def next_schedules(self, queue: str, *, limit: int) -> list[ScheduleEntry]:
        k = self._keys_of(queue)
        keys = [k.schedules, k.schedule_states, k.schedule_due, k.running, k.ended, k.jobs]
        found = self._link.run("next_schedules", keys, [limit])
        return self._unreadable.read_all("schedule of queue", queue, _entry, found)

    def claim_due_schedules(self, queue: str, *, now: int, lease_ms: int, limit: int) -> DueSchedules:
        k = self._keys_of(queue)
        keys = [k.schedules, k.schedule_states, k.schedule_due, k.running, k.ended, k.jobs]
        args = [now, lease_ms, min(limit, _MOST_PER_CALL), MOST_LOOKED_UP]
        answer = self._link.run("claim_due_schedules", keys, args)
        judged_at, next_due, *entries = answer
        found = self._unreadable.read_all("due schedule of queue", queue, _entry, entries)
        return DueSchedules(found, int(float(next_due)) if next_due else None, judged_at)

    def fire_schedules(self, queue: str, firings: Sequence[Firing], *, now: int) -> list[bool]:
        return [done for some in in_steps(firings) for done in self._fire(queue, some, now)]

    def _fire(self, queue: str, firings: Sequence[Firing], now: int) -> list[bool]:
        self._expire_for(queue, (spec for firing in firings for spec in firing.specs), now)
        k = self._keys_of(queue)
        keys = [k.schedule_states, k.schedule_due, k.jobs, k.ready, k.delayed, k.unique, k.marks, k.wake]
        keys += [*stats_keys(k, now), k.running, k.ended, k.locks, k.held, k.cancelled, k.cancelling, k.series]
        keys += [k.outbox, k.awaited_since, k.rates_due, *(k.ticks(firing.schedule.uuid) for firing in firings)]
        cancels = [(number, job_id) for number, firing in enumerate(firings, 1) for job_id in firing.cancels]
        ending = cancelled_before_run(now)
        entries: list[Value] = [part for cancel in cancels for part in cancel]
        entries += [part for firing in firings for part in _firing_entry(firing, now)]

        def fire() -> Any:
            events = self._events_if_ended(queue, [job_id for _, job_id in cancels], ending)
            args: list[Value] = [*stats_args(now), MAX_TICKS, now, encode(ending), len(cancels), *events]
            return self._link.run("fire_schedules", keys, [*args, *entries])

        answer = self._until_known(fire)
        running = answer[len(firings) :]
        for job_id, token in zip(running[::2], running[1::2], strict=True):
            tell_to_cancel(self._link, k, job_id.decode(), token.decode())
        return [bool(done) for done in answer[: len(firings)]]

    def list_ticks(self, uuid: str, *, limit: int, before: int | None = None) -> list[Tick]:
        queue = self._queue_of_schedule(uuid)
        if queue is None:
            return []
        latest = "+inf" if before is None else f"({before}"
        rows = self._redis.zrevrangebyscore(self._keys_of(queue).ticks(uuid), latest, "-inf", start=0, num=limit)
        return self._unreadable.read_all("tick of schedule", uuid, decode_tick, rows)


def _stays(change: ScheduleChange, old: ScheduleEntry | None, queue: str) -> bool:
    return change.schedule.queue == queue and (old is None or old.schedule.queue == queue)


def _name_entry(change: ScheduleChange, old: ScheduleEntry | None, queue: str | None) -> list[Value]:
    """Until a schedule has moved, it is still found where it was."""
    one = change.schedule
    was = (old.schedule.name, old.schedule.job_type) if old else ("", "")
    return [one.uuid, queue or one.queue, one.name, one.job_type, *was]


def _entry(raw: list[bytes]) -> ScheduleEntry:
    schedule, state = decode_schedule(raw[0]), decode_schedule_state(raw[1])
    if not state.jobs:
        return ScheduleEntry(schedule, state)
    places = dict(zip(state.jobs, (place.decode() for place in raw[2:]), strict=True))
    live = tuple(job for job, place in places.items() if place in ("waiting", "running"))
    waiting = tuple(job for job in live if places[job] == "waiting")
    failed = tuple(job for job, place in places.items() if place == "failed")
    return ScheduleEntry(schedule, state, live, waiting, failed)


def _stored_state(state: ScheduleState) -> bytes:
    return b"%d %b" % (state.version, encode(state))


def _firing_entry(firing: Firing, now: int) -> list[Value]:
    state, specs = firing.state, firing.specs
    version = state.version
    due = "" if state.due is None else state.due
    trims = 1 if version % _TRIM_SLACK == 0 else ""
    entry: list[Value] = [firing.schedule.uuid, firing.expected, _stored_state(state), due]
    entry += (len(firing.ticks), len(specs), trims, *_if_refused(firing.otherwise))
    may_be_refused = any(spec.unique_key is not None for spec in specs)
    for tick in firing.ticks:
        otherwise = encode(tick.without_job()) if may_be_refused and tick.job else b""
        entry += (tick.nominal, encode(tick), otherwise, tick.job or "")
    for spec in specs:
        entry += new_entry(spec, now)
    return entry


def _if_refused(state: ScheduleState | None) -> tuple[Value, Value]:
    if state is None:
        return "", ""
    return _stored_state(state), "" if state.due is None else state.due
