"""Schedules of a configuration file. That one is paused by a person stays so: the file says what it is, not whether it
rests just now."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import structs

from rota.engine.definitions.file_kind import FileKind
from rota.engine.definitions.ownership import managed_by_file
from rota.engine.schedules.schedules import PAUSED_BY_FILE, Schedules
from rota.errors import InvalidInput
from rota.model.schedules.request import ScheduleRequest, make_schedule, read_trigger
from rota.model.schedules.schedule import Schedule
from rota.model.triggers.trigger import Progress
from rota.model.triggers.words.words import trigger_words
from rota.settings.definition_ids import definition_uuid
from rota.store.contract.schedules import ScheduleEntry
from rota.store.contract.store import Store


class FileSchedules(FileKind[ScheduleRequest, ScheduleEntry]):
    """See the module."""

    def __init__(self, store: Store, schedules: Schedules) -> None:
        super().__init__(store, "file_schedules")
        self._schedules = schedules

    def checked(
        self, requests: Sequence[ScheduleRequest], job_types: Collection[str], owner: str = ""
    ) -> list[ScheduleRequest]:
        """The schedules of the file, if their job types are among these and their names are free."""
        settled = [request.settled() for request in requests]
        for number, request in enumerate(settled):
            if request.job_type not in job_types:
                hint = f"known: {', '.join(sorted(job_types)[:10])}" if job_types else "none is defined"
                raise InvalidInput(f"schedules[{number}].job_type", f"no job type {request.job_type!r}; {hint}")
            self.refuse_taken(request, owner)
            self._refuse_past(number, request)
        return settled

    def _refuse_past(self, number: int, request: ScheduleRequest) -> None:
        """A single time that is over can only be a slip, unless it was to come when the schedule was defined."""
        if request.at is None or request.paused:
            return
        trigger = read_trigger(request, None)
        there = self.find(request)
        if self._schedules.has_passed(trigger) and (there is None or there.schedule.trigger != trigger):
            over = f"{trigger_words(trigger, Progress())} is over, so {request.name!r} would never fire"
            raise InvalidInput(f"schedules[{number}].at", f"{over}; remove it, or give it a time to come")

    def made(self, request: ScheduleRequest, job_types: Mapping[str, str]) -> Schedule:
        """The schedule as the file has it, for comparing; its job type, by name, may not be stored yet."""
        made = make_schedule(
            request, uuid="", job_type=job_types.get(request.job_type, ""), queue="", created_at=0, now=None
        )
        return _with_pause(made, self.find(request))

    def _put(self, request: ScheduleRequest, there: ScheduleEntry | None, owner: str) -> None:
        managed_by = managed_by_file(owner)
        if there is None:
            self._schedules.create(request, uuid=self._first_uuid(request), managed_by=managed_by)
            return

        def change(entry: ScheduleEntry, now: int) -> Schedule:
            made = self._schedules.make(request, entry.schedule.uuid, now, managed_by=managed_by)
            return structs.replace(_with_pause(made, entry), created_at=entry.schedule.created_at)

        self._schedules.change(there.schedule.uuid, change)

    def _remove(self, entries: Sequence[ScheduleEntry]) -> None:
        self._schedules.remove([entry.schedule for entry in entries])

    def _uuid(self, name: str) -> str | None:
        return self._store.schedule_uuid(name)

    def _find(self, uuids: Sequence[str]) -> list[ScheduleEntry | None]:
        return self._store.find_schedules(uuids)

    def _value(self, entry: ScheduleEntry) -> Schedule:
        return entry.schedule

    def _first_uuid(self, request: ScheduleRequest) -> str:
        """The same for a name at every start, so that it is known before the schedule is made."""
        return definition_uuid("schedules", request.name or "")


def _with_pause(made: Schedule, there: ScheduleEntry | None) -> Schedule:
    """The schedule with the pause of the file, or the one that a person or a failure brought about."""
    if made.paused:
        return structs.replace(made, pause_note=made.pause_note or PAUSED_BY_FILE)
    if there is None or not there.schedule.paused or there.schedule.pause_note == PAUSED_BY_FILE:
        return made
    return structs.replace(made, paused=True, pause_note=there.schedule.pause_note)
