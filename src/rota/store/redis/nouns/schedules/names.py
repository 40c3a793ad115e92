"""The names of the schedules of the Redis store.

A name is reserved before its schedule is written (`reservations.py` says why), and the one it had is free only
afterwards.
"""

from collections.abc import Sequence

from msgspec import structs

from rota.model.schedules.schedule import Schedule
from rota.store.contract.schedules import ScheduleChange, ScheduleEntry
from rota.store.redis.keys import (
    SCHEDULE_NAMES,
    SCHEDULE_ORDER,
    SCHEDULE_QUEUES,
    SCHEDULE_RESERVATIONS,
    SCHEDULE_USERS,
)
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.reservations import (
    Named,
    NameIndex,
    confirm_names,
    find_named,
    free_name,
    name_is_taken,
    new_token,
    refuse_repeated,
)
from rota.store.redis.nouns.schedules.writing import RedisScheduleWriting

Pair = tuple[ScheduleChange, ScheduleEntry | None]
"""A change, and the schedule as it stands."""
_INDEX = NameIndex(SCHEDULE_QUEUES, SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_RESERVATIONS)
_NAMING = [SCHEDULE_QUEUES, SCHEDULE_NAMES, SCHEDULE_ORDER, SCHEDULE_USERS, SCHEDULE_RESERVATIONS]


class RedisScheduleNames(RedisScheduleWriting):
    """For what changes schedules."""

    def _reserve_names(self, pairs: Sequence[Pair], token: str) -> None:
        """For schedules that are new or get another name. Names belong to one schedule each; one that a crash left
        behind without a schedule is free."""
        if not pairs:
            return
        entries = [_naming(change.schedule, is_new=old is None) for change, old in pairs]
        refuse_repeated("schedule", ((change.schedule.name, change.schedule.uuid) for change, _ in pairs))
        taken = self._name(entries, token)
        while taken is not None and self._may_be_free(taken):
            taken = self._name(entries, token)
        if taken is not None:
            raise name_is_taken("schedule", taken)

    def _name(self, entries: Sequence[list[Value]], token: str = "") -> str | None:
        taken = self._link.run("name_schedules", _NAMING, [token, *(part for entry in entries for part in entry)])
        return taken.decode() if taken else None

    def _confirm_names(self, some: Sequence[Schedule]) -> list[bool]:
        """They are written. False for those whose name was freed before that."""
        return confirm_names(self._link, _INDEX, [(one.name, one.uuid) for one in some])

    def _may_be_free(self, name: str) -> bool:
        """Free a name if its schedule is not there or has another one. False if it has this one, or is about to; else
        it is worth another try."""
        named = find_named(self._link, _INDEX, name)
        queue = self._queue_of_schedule(named.uuid) if named else None
        if named is None or queue is None:
            return True
        entry = self.find_schedules([named.uuid])[0]
        if entry.schedule.name == name if entry else self._redis.hexists(self._keys_of(queue).schedules, named.uuid):
            return False
        if not named.token:
            # A change or a deletion was cut short. It is freed with the next try, unless it is reserved anew meanwhile.
            self._redis.hsetnx(SCHEDULE_RESERVATIONS, name, new_token())
        elif entry:
            self._free_from(entry, named)
        else:
            free_name(self._link, _INDEX, named, is_gone=True)
        return True

    def _free_from(self, entry: ScheduleEntry, reserved: Named) -> None:
        """Free a name that a schedule had, or was to get. It becomes another version before that, so that who is only
        slow cannot give it that name any more."""
        one, version = entry.schedule, entry.state.version
        fence = ScheduleChange(one, structs.replace(entry.state, version=version + 1), version)
        if self._put_schedules_in(one.queue, [fence])[0]:
            free_name(self._link, _INDEX, reserved, is_gone=False)

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
        self._link.run("unname_schedules", _NAMING, [part for one in names for part in one])

    def _unname_unreadable(self, uuid: str) -> None:
        """Forget a schedule whose record does not say what it is called; its name is looked for among all."""
        owners = self._redis.hgetall(SCHEDULE_NAMES).items()
        names = [name.decode() for name, owner in owners if owner.decode() == uuid]
        users = [raw.decode() for raw in self._redis.zrange(SCHEDULE_USERS, 0, -1)]
        for name in names:
            types = [job_type for job_type, _, user in (one.partition(" ") for one in users) if user == name]
            self._unname([(uuid, name, types[0] if types else "")])


def _naming(one: Schedule, *, is_new: bool) -> list[Value]:
    """A name in addition to the one it has. Where one that is there lives, only its moves tell."""
    return [one.uuid, one.queue if is_new else "", one.name, one.job_type, "", ""]


def _name_of(one: Schedule) -> tuple[str, str]:
    return one.name, one.job_type


def is_renamed(change: ScheduleChange, old: ScheduleEntry | None) -> bool:
    """Whether a change gives a schedule another name, or lists it under another job type."""
    return old is not None and _name_of(old.schedule) != _name_of(change.schedule)
