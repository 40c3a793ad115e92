"""Once."""

from datetime import tzinfo

from rota.moving.apscheduler.triggers.base import Date, Trigger, date_field


class DateTrigger(Trigger):
    """At a time, or now."""

    def __init__(self, run_date: Date | None = None, timezone: str | tzinfo | None = None) -> None:
        super().__init__(timezone)
        self._at = date_field("run_date", run_date)

    def fields(self, zone: str, now: int) -> dict[str, object]:
        if self._at is None:
            return {"delay": 0}
        return {"at": self._at, "tz": self.zone or zone}
