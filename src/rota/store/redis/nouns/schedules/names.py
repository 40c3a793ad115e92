"""The names of the schedules of the Redis store.

They are in one index, which no step reaches together with a queue. So a name is taken before its schedule is written,
and the one it had is free only afterwards.
"""

from collections.abc import Sequence

from rota.errors import Conflict
from rota.model.schedules.schedule import Schedule
from rota.store.contract.schedules import ScheduleChange, ScheduleEntry
from rota.store.redis.keys import SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_QUEUES, SCHEDULE_USERS
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.schedules.reading import RedisScheduleReading

Pair = tuple[ScheduleChange, ScheduleEntry | None]
"""A change, and the schedule as it stands."""
_INDEX = [SCHEDULE_QUEUES, SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_USERS]


class RedisScheduleNames(RedisScheduleReading):
    """For what changes schedules."""

    def _reserve_names(self, pairs: Sequence[Pair]) -> None:
        """For schedules that are new or get another name. Names belong to one schedule each; one that a crash left
        behind without a schedule is free."""
        if not pairs:
            return
        entries = [_reservation(change.schedule, is_new=old is None) for change, old in pairs]
        taken = self._name(entries)
        if taken is not None and self._is_left_over(taken):
            taken = self._name(entries)
        if taken is not None:
            raise Conflict(f"another schedule has the name {taken!r}")

    def _name(self, entries: Sequence[list[Value]]) -> str | None:
        taken = self._link.run("name_schedules", _INDEX, [part for entry in entries for part in entry])
        return taken.decode() if taken else None

    def _is_left_over(self, name: str) -> bool:
        uuid = self.schedule_uuid(name)
        entry = self.find_schedules([uuid])[0] if uuid is not None else None
        if entry and entry.schedule.name != name:
            self._free_name(entry.schedule, name, entry.schedule.job_type)
            return True
        queue = self._queue_of_schedule(uuid) if uuid is not None else None
        if uuid and queue and self._redis.hexists(self._keys_of(queue).schedules, uuid):
            return False
        self._unname([(uuid or "", name, "")])
        return True

    def _settle_names(self, change: ScheduleChange, old: ScheduleEntry | None) -> None:
        """Leave a schedule the name with which it is stored, whoever was the last to change it, and free the others."""
        uuid, written = change.schedule.uuid, {_name_of(change.schedule)}
        if old:
            written.add(_name_of(old.schedule))
        entry = self.find_schedules([uuid])[0]
        while entry:
            for name, job_type in written - {_name_of(entry.schedule)}:
                self._free_name(entry.schedule, name, job_type)
            written.add(_name_of(entry.schedule))
            # Somebody who renames it to one that was freed just now has written it before, and names it afterwards.
            again = self.find_schedules([uuid])[0]
            if again and _name_of(again.schedule) == _name_of(entry.schedule):
                return
            entry = again
        if old:
            self._unname([(uuid, *names) for names in written])

    def _free_name(self, one: Schedule, name: str, job_type: str) -> None:
        """Free a name that a schedule does not have, or no longer with that job type."""
        self._name([[one.uuid, "", one.name, one.job_type, name, job_type]])

    def _unname(self, names: Sequence[tuple[str, str, str]]) -> None:
        """Forget schedules, each by uuid, name and job type."""
        self._link.run("unname_schedules", _INDEX, [part for one in names for part in one])

    def _unname_unreadable(self, uuid: str) -> None:
        """Forget a schedule whose record does not say what it is called; its name is looked for among all."""
        owners = self._redis.hgetall(SCHEDULE_NAMES).items()
        names = [name.decode() for name, owner in owners if owner.decode() == uuid]
        users = [raw.decode() for raw in self._redis.zrange(SCHEDULE_USERS, 0, -1)]
        for name in names:
            types = [job_type for job_type, _, user in (one.partition(" ") for one in users) if user == name]
            self._unname([(uuid, name, types[0] if types else "")])


def _reservation(one: Schedule, *, is_new: bool) -> list[Value]:
    """A name in addition to the one it has. Where one that is there lives, only its moves tell."""
    return [one.uuid, one.queue if is_new else "", one.name, one.job_type, "", ""]


def _name_of(one: Schedule) -> tuple[str, str]:
    return one.name, one.job_type


def is_renamed(change: ScheduleChange, old: ScheduleEntry | None) -> bool:
    """Whether a change gives a schedule another name, or lists it under another job type."""
    return old is not None and _name_of(old.schedule) != _name_of(change.schedule)
