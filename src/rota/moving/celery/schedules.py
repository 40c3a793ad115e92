"""When an entry of `beat_schedule` runs."""

from collections.abc import Iterable
from datetime import timedelta

from rota.errors import InvalidInput
from rota.moving.common.refusing import Options

_FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
_CRONTAB = Options(of="crontab", carried=_FIELDS, instead={"nowfun": "the store's clock counts"})
Field = int | str | Iterable[int]


class schedule:  # noqa: N801  Celery's name
    """Every so often."""

    def __init__(self, run_every: float | timedelta | None = None, relative: bool = False) -> None:
        if relative:
            raise InvalidInput("relative", "of schedule is not carried by Rota; give a crontab")
        if run_every is None:
            raise InvalidInput("run_every", "how often? Give seconds or a timedelta")
        self.run_every = run_every if isinstance(run_every, timedelta) else timedelta(seconds=run_every)

    def trigger(self) -> dict[str, object]:
        """The fields of a request for a schedule."""
        return {"interval": round(self.run_every.total_seconds() * 1000), "anchor": "scheduled"}


class crontab:  # noqa: N801  Celery's name
    """By the clock. Where day of week and day of month are both given, both must match, as in Celery."""

    def __init__(
        self,
        minute: Field = "*",
        hour: Field = "*",
        day_of_week: Field = "*",
        day_of_month: Field = "*",
        month_of_year: Field = "*",
        **kwargs: object,
    ) -> None:
        _CRONTAB.check(kwargs)
        fields = (minute, hour, day_of_month, month_of_year, day_of_week)
        self.line = " ".join(_field(name, value) for name, value in zip(_FIELDS, fields, strict=True))

    def trigger(self) -> dict[str, object]:
        """The fields of a request for a schedule."""
        return {"cron": self.line, "days": "both"}

    def __repr__(self) -> str:
        return f"<crontab: {self.line}>"


def _field(name: str, value: Field) -> str:
    if isinstance(value, str):
        return value.replace(" ", "")
    if isinstance(value, int):
        return str(value)
    text = ",".join(str(one) for one in sorted(value))
    if not text:
        raise InvalidInput(name, "must name at least one")
    return text


def trigger_of(given: object) -> dict[str, object]:
    """The fields of a request for a schedule: of a crontab, a schedule, seconds or a timedelta."""
    if isinstance(given, crontab | schedule):
        return given.trigger()
    if isinstance(given, timedelta) or (isinstance(given, int | float) and not isinstance(given, bool)):
        return schedule(given).trigger()
    raise InvalidInput("schedule", f"{given!r:.100} is not carried by Rota; give a crontab, seconds or a timedelta")
