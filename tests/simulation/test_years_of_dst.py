"""Years of clock changes through the whole ticker: it fires what a plain reading of the zone's calendar says."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from rota.clock import ManualClock, as_millis
from rota.store import Store, open_store
from rota.store.contract.jobs import JobQuery
from tests.engine.schedules.installation import SchedulesInstallation

PLACES = [
    ("America/New_York", 2026, "30 2 * * *", (2, 30)),
    ("America/New_York", 2026, "30 1 * * *", (1, 30)),
    ("Europe/Berlin", 2026, "30 2 * * *", (2, 30)),
    ("Australia/Lord_Howe", 2026, "15 2 * * *", (2, 15)),
    ("Australia/Lord_Howe", 2026, "45 1 * * *", (1, 45)),
    ("Pacific/Apia", 2011, "30 2 * * *", (2, 30)),
    ("Africa/Casablanca", 2025, "30 2 * * *", (2, 30)),
    ("America/St_Johns", 2026, "30 2 * * *", (2, 30)),
    ("Antarctica/Troll", 2026, "30 1 * * *", (1, 30)),
    ("Asia/Kathmandu", 2026, "30 2 * * *", (2, 30)),
]
YEARS = 2


def instants_of(moment: datetime, zone: ZoneInfo, dst: str) -> list[int]:
    """When a zone's clock shows a local time, by the rule for clock changes. Minute by minute, without our engine."""
    shown = {fold: moment.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)}
    exists = [at for at in shown.values() if at.astimezone(zone).replace(tzinfo=None) == moment]
    if exists:
        return [as_millis(at) for at in sorted(set(exists))][: 2 if dst == "literal" else 1]
    if dst != "vixie":
        return []
    # The clock leaps over it: it fires when the clock goes on.
    later = moment
    while later.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) != later:
        later += timedelta(minutes=1)
    return [as_millis(later.replace(tzinfo=zone))]


def expected_fires(zone: ZoneInfo, year: int, time: tuple[int, int], dst: str) -> list[int]:
    first = datetime(year, 1, 1, *time)  # noqa: DTZ001 (a wall clock's time)
    days = [first + timedelta(days=number) for number in range(366 * YEARS)]
    return sorted(at for day in days for at in instants_of(day, zone, dst))


@pytest.fixture
def memory() -> Iterator[Store]:
    store = open_store("sqlite://:memory:")
    yield store
    store.close()


@pytest.mark.parametrize("dst", ["vixie", "literal", "skip"])
@pytest.mark.parametrize(("name", "year", "cron", "time"), PLACES)
def test_years_go_by_and_each_tick_is_fired_once(
    memory: Store, name: str, year: int, cron: str, time: tuple[int, int], dst: str
) -> None:
    zone = ZoneInfo(name)
    start = as_millis(datetime(year, 1, 1, tzinfo=zone))
    expected = expected_fires(zone, year, time, dst)
    installation = SchedulesInstallation(memory, ManualClock(start))
    installation.define()
    uuid = installation.schedule(cron=cron, tz=name, dst=dst, overlap="allow")

    while (due := installation.schedules.find(uuid).state.due) is not None and due <= expected[-1]:
        installation.clock.set(due)
        installation.tick()

    jobs = memory.list_jobs(JobQuery(), limit=10_000).jobs
    fired = sorted(job.spec.cause.instant or 0 for job in jobs if job.spec.cause)
    assert fired == expected
