"""A job of APScheduler's is a schedule to Rota; each of its runs is a job there."""

from datetime import datetime
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from rota.clock import as_datetime
from rota.store.contract.schedules import ScheduleEntry


class Owner(Protocol):
    """The scheduler, as far as a job needs it."""

    def find_entry(self, job_id: str) -> ScheduleEntry: ...

    def remove_job(self, job_id: str) -> None: ...

    def pause_job(self, job_id: str) -> "Job": ...

    def resume_job(self, job_id: str) -> "Job | None": ...

    def reschedule_job(self, job_id: str, trigger: Any = None, **trigger_args: Any) -> "Job": ...

    def modify_job(self, job_id: str, **changes: Any) -> "Job": ...


class Job:
    """One of them. Each question is asked of the store anew."""

    def __init__(self, owner: Owner, id: str, func_ref: str) -> None:
        self.id = id
        self.func_ref = func_ref
        """The name of its function."""
        self._owner = owner

    def __repr__(self) -> str:
        return f"<Job (id={self.id} name={self.name})>"

    @property
    def name(self) -> str:
        return self.func_ref.rpartition(".")[2]

    @property
    def next_run_time(self) -> datetime | None:
        """In its own zone; None while it is paused."""
        entry = self._owner.find_entry(self.id)
        nominal = entry.state.nominal
        return None if nominal is None else as_datetime(nominal).astimezone(ZoneInfo(entry.schedule.trigger.zone))

    @property
    def kwargs(self) -> dict[str, object]:
        """All arguments: they are carried by name."""
        return self._owner.find_entry(self.id).schedule.arguments

    def remove(self) -> None:
        self._owner.remove_job(self.id)

    def pause(self) -> "Job":
        return self._owner.pause_job(self.id)

    def resume(self) -> "Job | None":
        return self._owner.resume_job(self.id)

    def modify(self, **changes: Any) -> "Job":
        return self._owner.modify_job(self.id, **changes)

    def reschedule(self, trigger: Any = None, **trigger_args: Any) -> "Job":
        return self._owner.reschedule_job(self.id, trigger, **trigger_args)
