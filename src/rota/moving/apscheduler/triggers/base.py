"""What all triggers have: dates, a zone, and what they are to Rota."""

from abc import ABC, abstractmethod
from datetime import date, datetime, tzinfo

from rota.clock import as_millis
from rota.errors import InvalidInput
from rota.sdk.tasks.options import read_zone

Date = date | datetime | str


class Trigger(ABC):
    """When a job runs."""

    def __init__(self, zone: str | tzinfo | None) -> None:
        self.zone = None if zone is None else read_zone("timezone", zone)

    @abstractmethod
    def fields(self, zone: str, now: int) -> dict[str, object]:
        """The fields of a request for a schedule; `zone` is the scheduler's own, for a trigger that has none."""


def date_field(name: str, value: Date | None) -> int | str | None:
    """A date as a request has it: one without a zone is text, and is read in the trigger's."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return as_millis(value) if value.tzinfo is not None else value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    raise InvalidInput(name, f"must be a date, a datetime or ISO 8601 text, got {value!r:.100}")


def jitter_field(jitter: float | None) -> dict[str, object]:
    return {} if jitter is None else {"jitter": round(jitter * 1000)}
