"""How many fires are planned, hour by hour."""

from rota.engine.schedules.planned import HOUR_MS, planned_fires
from rota.model.schedules.request import ScheduleRequest
from rota.store import Store
from tests.engine.schedules.installation import SchedulesInstallation


def test_the_first_and_the_last_millisecond_of_the_hours_are_counted_and_no_other(store: Store) -> None:
    installation = SchedulesInstallation(store)
    installation.define()
    now = installation.clock.now()
    begin = now // HOUR_MS * HOUR_MS
    end = begin + 3 * HOUR_MS
    entries = []
    for instant in (begin - 1, begin, end - 1, end):
        request = ScheduleRequest(job_type="report", interval=10 * HOUR_MS, anchor="start", start=instant)
        entries.append(installation.engine.schedules.create(request))

    found = planned_fires(entries, begin, 3)

    assert (found.schedules, found.often) == (4, 0)
    assert found.fires == [1, 0, 1]


def test_fires_are_counted_by_the_hour_and_those_of_busy_schedules_are_left_out(store: Store) -> None:
    installation = SchedulesInstallation(store)
    installation.define()
    now = installation.clock.now()
    begin = now // HOUR_MS * HOUR_MS
    hour = begin // HOUR_MS % 24
    lines = {
        "daily": f"15 {(hour + 2) % 24} * * *",
        "also": f"45 {(hour + 2) % 24} * * *",
        "hourly": "5 * * * *",
        "busy": "*/10 * * * *",
        "rests": "5 * * * *",
    }
    for name, cron in lines.items():
        installation.engine.schedules.create(ScheduleRequest(name=name, job_type="report", cron=cron))
    installation.engine.schedules.pause("rests")

    found = planned_fires(store.list_schedules(limit=100).entries, now, 48)

    assert (found.since, found.schedules, found.often) == (begin, 3, 1)
    assert [at for at, fires in enumerate(found.fires) if fires == 3] == [2, 26]
    assert [at for at, fires in enumerate(found.fires) if fires != 1] == [2, 26]
