"""Every so often."""

from datetime import timedelta, tzinfo

from rota.moving.apscheduler.triggers.base import Date, Trigger, date_field, jitter_field


class IntervalTrigger(Trigger):
    """So many weeks, days, hours, minutes and seconds; the first time is one interval from now, or at `start_date`."""

    def __init__(
        self,
        weeks: float = 0,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        start_date: Date | None = None,
        end_date: Date | None = None,
        timezone: str | tzinfo | None = None,
        jitter: float | None = None,
    ) -> None:
        super().__init__(timezone)
        length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
        self._every_ms = round(length.total_seconds() * 1000) or 1000  # as in APScheduler: nothing is a second
        self._start, self._end = date_field("start_date", start_date), date_field("end_date", end_date)
        self._jitter = jitter

    def fields(self, zone: str, now: int) -> dict[str, object]:
        start = now + self._every_ms if self._start is None else self._start
        bounds = {} if self._end is None else {"end": self._end}
        every = {"interval": self._every_ms, "anchor": "start", "start": start}
        return {**every, **bounds, "tz": self.zone or zone, **jitter_field(self._jitter)}
