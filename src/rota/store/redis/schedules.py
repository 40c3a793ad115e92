"""The schedules of the Redis store. They live with their queue; one index knows their names and where each lives."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import structs

from rota.errors import Conflict
from rota.model.schedule import Tick, TickStatus
from rota.store.codec import decode_schedule, decode_schedule_state, decode_tick, encode
from rota.store.redis.entries import new_entry
from rota.store.redis.keys import SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_QUEUES, QueueKeys
from rota.store.redis.scripts import Value
from rota.store.schedules import (
    MAX_TICKS,
    DueSchedules,
    Firing,
    ScheduleChange,
    ScheduleEntry,
    SchedulePage,
)

_INDEX = [SCHEDULE_QUEUES, SCHEDULE_NAMES, SCHEDULE_ORDER]
_MOST_PER_CALL = 500


class RedisSchedules:
    """See `rota.store.schedules.ScheduleStore` for what each method promises."""

    _run: Callable[..., Any]
    _ask: Callable[..., Any]
    _of: Callable[[str], QueueKeys]
    _remember_queue: Callable[[str], None]

    def put_schedules(self, changes: Sequence[ScheduleChange]) -> list[bool]:
        known = self.find_schedules([change.schedule.uuid for change in changes])
        self._reserve_names(changes, known)
        answers: dict[int, bool] = {}
        arriving = [_as_seen_there(change, old) for change, old in zip(changes, known, strict=True)]
        for queue in dict.fromkeys(change.schedule.queue for change in changes):
            self._remember_queue(queue)
            numbers = [n for n, change in enumerate(changes) if change.schedule.queue == queue]
            for number, done in zip(numbers, self._put_in(queue, [arriving[n] for n in numbers]), strict=True):
                answers[number] = done
        self._leave_old_queues(changes, known)
        return [answers[number] for number in range(len(changes))]

    def _reserve_names(self, changes: Sequence[ScheduleChange], known: Sequence[ScheduleEntry | None]) -> None:
        args: list[Value] = []
        for change, old in zip(changes, known, strict=True):
            schedule = change.schedule
            args += [schedule.uuid, schedule.queue, schedule.name, old.schedule.name if old else ""]
        if taken := self._run("name_schedules", _INDEX, args):
            raise Conflict(f"another schedule has the name {taken.decode()!r}")

    def _put_in(self, queue: str, changes: Sequence[ScheduleChange]) -> list[bool]:
        keys = self._of(queue)
        args: list[Value] = []
        for one in changes:
            expected = "" if one.expected is None else one.expected
            due = "" if one.state.due is None else one.state.due
            args += [one.schedule.uuid, expected, encode(one.schedule), one.state.version, encode(one.state), due]
        return [
            bool(done)
            for done in self._run("put_schedules", [keys.schedules, keys.schedule_states, keys.schedule_due], args)
        ]

    def _leave_old_queues(self, changes: Sequence[ScheduleChange], known: Sequence[ScheduleEntry | None]) -> None:
        """A schedule whose job type moved to another queue moves along. Not one step: in between it is in both, and its
        version keeps it from firing twice."""
        for change, old in zip(changes, known, strict=True):
            if old and old.schedule.queue != change.schedule.queue:
                self._forget_in(old.schedule.queue, [change.schedule.uuid])

    def delete_schedules(self, uuids: Sequence[str]) -> list[bool]:
        found = self.find_schedules(uuids)
        deleted: set[str] = set()
        for entry in found:
            if entry:
                deleted |= self._forget_in(entry.schedule.queue, [entry.schedule.uuid])
        args = [part for entry in found if entry for part in (entry.schedule.uuid, entry.schedule.name)]
        self._run("unname_schedules", _INDEX, args)
        return [uuid in deleted for uuid in uuids]

    def _forget_in(self, queue: str, uuids: list[str]) -> set[str]:
        k = self._of(queue)
        keys = [k.schedules, k.schedule_states, k.schedule_due, *map(k.ticks, uuids)]
        return {uuid for uuid, done in zip(uuids, self._run("delete_schedules", keys, uuids), strict=True) if done}

    def find_schedules(self, uuids: Sequence[str]) -> list[ScheduleEntry | None]:
        if not uuids:
            return []
        places = self._ask("hmget", SCHEDULE_QUEUES, list(uuids))
        by_queue: dict[str, list[str]] = {}
        for uuid, queue in zip(uuids, places, strict=True):
            if queue is not None:
                by_queue.setdefault(queue.decode(), []).append(uuid)
        found: dict[str, ScheduleEntry] = {}
        for queue, some in by_queue.items():
            k = self._of(queue)
            keys = [k.schedules, k.schedule_states, k.running, k.ended, k.jobs]
            for raw in self._run("find_schedules", keys, some):
                if raw:
                    entry = _entry(raw)
                    found[entry.schedule.uuid] = entry
        return [found.get(uuid) for uuid in uuids]

    def schedule_uuid(self, name: str) -> str | None:
        uuid = self._ask("hget", SCHEDULE_NAMES, name)
        return uuid.decode() if uuid is not None else None

    def list_schedules(self, *, limit: int, cursor: str | None = None) -> SchedulePage:
        first = f"({cursor}" if cursor else "-"
        names = self._ask("zrangebylex", SCHEDULE_ORDER, first, "+", start=0, num=limit)
        uuids = [raw.decode() for raw in self._ask("hmget", SCHEDULE_NAMES, names) if raw] if names else []
        entries = [entry for entry in self.find_schedules(uuids) if entry]
        return SchedulePage(entries, names[-1].decode() if len(names) == limit else None)

    def claim_due_schedules(self, queue: str, *, now: int, lease_ms: int, limit: int) -> DueSchedules:
        k = self._of(queue)
        keys = [k.schedules, k.schedule_states, k.schedule_due, k.running, k.ended, k.jobs]
        next_due, *entries = self._run("claim_due_schedules", keys, [now, now + lease_ms, min(limit, _MOST_PER_CALL)])
        return DueSchedules([_entry(raw) for raw in entries], int(float(next_due)) if next_due else None)

    def fire_schedules(self, queue: str, firings: Sequence[Firing], *, now: int) -> list[bool]:
        answers: list[bool] = []
        for start in range(0, len(firings), _MOST_PER_CALL):
            answers += self._fire(queue, firings[start : start + _MOST_PER_CALL], now)
        return answers

    def _fire(self, queue: str, firings: Sequence[Firing], now: int) -> list[bool]:
        k = self._of(queue)
        keys = [k.schedule_states, k.schedule_due, k.jobs, k.ready, k.delayed, k.unique, k.marks, k.wake]
        keys += [k.ticks(firing.schedule.uuid) for firing in firings]
        args: list[Value] = [MAX_TICKS]
        for firing in firings:
            args += _firing_entry(firing, now)
        return [bool(done) for done in self._run("fire_schedules", keys, args)]

    def list_ticks(self, uuid: str, *, limit: int, before: int | None = None) -> list[Tick]:
        queue = self._ask("hget", SCHEDULE_QUEUES, uuid)
        if queue is None:
            return []
        latest = "+inf" if before is None else f"({before}"
        rows = self._ask("zrevrangebyscore", self._of(queue.decode()).ticks(uuid), latest, "-inf", start=0, num=limit)
        return [decode_tick(row) for row in rows]


def _as_seen_there(change: ScheduleChange, old: ScheduleEntry | None) -> ScheduleChange:
    """A schedule that moves to another queue is new there, if it is the expected version here."""
    if old is None or old.schedule.queue == change.schedule.queue or old.state.version != change.expected:
        return change
    return structs.replace(change, expected=None)


def _entry(raw: list[bytes]) -> ScheduleEntry:
    schedule, state = decode_schedule(raw[0]), decode_schedule_state(raw[1])
    places = dict(zip(state.jobs, (place.decode() for place in raw[2:]), strict=True))
    live = tuple(job for job, place in places.items() if place in ("waiting", "running"))
    waiting = tuple(job for job in live if places[job] == "waiting")
    failed = tuple(job for job, place in places.items() if place == "failed")
    return ScheduleEntry(schedule, state, live, waiting, failed)


def _firing_entry(firing: Firing, now: int) -> list[Value]:
    state, numbers = firing.state, {spec.id: n for n, spec in enumerate(firing.specs)}
    due = "" if state.due is None else state.due
    head: list[Value] = [firing.schedule.uuid, firing.expected, state.version, encode(state), due]
    rows: list[Value] = []
    for tick in firing.ticks:
        number = numbers.get(tick.job or "")
        rows += [tick.nominal, encode(tick), encode(_not_made(tick)), "" if number is None else number]
    jobs = [part for spec in firing.specs for part in new_entry(spec, now)]
    return [*head, len(firing.ticks), len(firing.specs), *rows, *jobs]


def _not_made(tick: Tick) -> Tick:
    """The row of a tick whose job was not made, because its unique key is taken."""
    return Tick(
        nominal=tick.nominal, status=TickStatus.SKIPPED, decided_at=tick.decided_at, reason="unique", by=tick.by
    )
