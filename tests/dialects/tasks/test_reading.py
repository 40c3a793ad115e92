"""What programs may write to describe a task, and what is refused."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from rota.dialects.tasks.entity.reading import read_task
from rota.dialects.tasks.entity.task import Task
from rota.dialects.tasks.entity.writing import write_request, write_task
from rota.errors import InvalidInput


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"startDate": "2030-01-01T00:00:00Z"}, "start_date", "2030-01-01T00:00:00.000Z"),
        ({"start_date": 1_893_456_000_000}, "start_date", "2030-01-01T00:00:00.000Z"),
        ({"startDate": datetime(2030, 1, 1, tzinfo=UTC)}, "start_date", "2030-01-01T00:00:00.000Z"),
        (
            {"endDate": datetime(2030, 1, 1, tzinfo=timezone(timedelta(hours=2)))},
            "end_date",
            "2029-12-31T22:00:00.000Z",
        ),
        ({"endDate": "2030-01-01T00:00", "tz": "America/New_York"}, "end_date", "2030-01-01T05:00:00.000Z"),
        (
            {"endDate": "2030-01-01T00:00", "tz": "America/New_York", "utc": True},
            "end_date",
            "2030-01-01T00:00:00.000Z",
        ),
        (
            {"endDate": "2030-01-01T00:00", "tz": "America/NewYork", "utc": True},
            "end_date",
            "2030-01-01T00:00:00.000Z",
        ),
        ({"scheduleOptions": {"utc": True, "startDate": 0}}, "start_date", "1970-01-01T00:00:00.000Z"),
        ({"schedule": 30_000}, "schedule", 30_000),
        ({"schedule": "*/5 * * * *"}, "schedule", "*/5 * * * *"),
        ({"schedule": "*/10 * * * * *"}, "schedule", "*/10 * * * * *"),
        ({"schedule": "@hourly"}, "schedule", "@hourly"),
        ({"schedule": 0}, "schedule", None),
        ({}, "most_runs", 1),
        ({"schedule": 5}, "most_runs", None),
        ({"schedule": 5, "maxRuns": -1}, "most_runs", None),
        ({"schedule": 5, "max_runs": None}, "most_runs", None),
        ({"schedule": 5, "maxRuns": 3}, "most_runs", 3),
        ({}, "max_tries", 4),
        ({"maxTries": -1}, "max_tries", 1_000),
        ({"max_tries": None}, "max_tries", 1_000),
        ({"maxTries": 1_000}, "max_tries", 1_000),
        ({"schedule_options": {"maxTries": 7}}, "max_tries", 7),
        ({"scheduleOptions": {"maxTries": 7}, "maxTries": 2}, "max_tries", 2),
        ({"delay": 0}, "delay", 0),
        ({"runs": 0}, "runs", 0),
        ({"id": "x" * 256}, "id", "x" * 256),
        ({"data": "x" * (200 * 1024 - 2)}, "data", "x" * (200 * 1024 - 2)),
    ],
)
def test_options_are_read_in_both_spellings(given: dict[str, object], field: str, value: object) -> None:
    assert getattr(read_task({"id": "a", **given}), field) == value


@pytest.mark.parametrize(
    ("given", "schedule", "most_runs", "delay"),
    [
        ({"reschedule": True, "expire": 30_000}, 30_000, None, None),
        ({"reschedule": 3, "expire": 30_000}, 30_000, 3, None),
        ({"reschedule": False, "expire": 30_000}, None, 1, 30_000),
        ({"expire": 30_000}, None, 1, 30_000),
        ({"reschedule": None, "expire": 30_000}, None, 1, 30_000),
        ({"expire": 30_000, "delay": 5}, None, 1, 5),
        ({"reschedule": 3, "expire": 30_000, "maxRuns": 2}, 30_000, 2, None),
        ({"reschedule": True, "expire": 30_000, "schedule": "@hourly"}, "@hourly", None, None),
        ({"expire": 30_000, "schedule": 5}, 5, None, None),
        ({"reschedule": True, "expire": 0}, None, 1, None),
    ],
)
def test_the_older_form_is_read(
    given: dict[str, object], schedule: int | str | None, most_runs: int | None, delay: int | None
) -> None:
    task = read_task({"id": "a", **given})

    assert (task.schedule, task.most_runs, task.delay) == (schedule, most_runs, delay)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "id: is missing"),
        ({"id": ""}, "id: must be text"),
        ({"id": 17}, "id: must be text"),
        ({"id": "a:ttl"}, "id: 'a:ttl' ends with ':ttl'"),
        ({"id": "x" * 257}, "id: must be text of 1 to 256 characters"),
        ({"id": " "}, "id: must be text"),
        ({"id": "a\nb"}, "id: must be text"),
        ({"id": "a", "maxRuns": 0}, "maxRuns: must be from 1"),
        ({"id": "a", "maxTries": 1_001}, "maxTries: must be from 1 to 1000"),
        ({"id": "a", "runs": -1}, "runs: must be from 0"),
        ({"id": "a", "expire": -1}, "expire: must be from 1"),
        ({"id": "a", "expire": "soon"}, "expire: must be"),
        ({"id": "a", "data": "x" * (200 * 1024 - 1)}, "data: "),
        ({"id": "a", "maxTries": 0}, "maxTries: must be from 1"),
        (
            {"id": "a", "tz": "America/NewYork"},
            "tz: 'America/NewYork' is not a time zone; did you mean America/New_York?",
        ),
        ({"id": "a", "tz": 17, "utc": True}, "tz: must be the name of a zone"),
        ({"id": "a", "startDate": "2030-01-02", "endDate": "2030-01-01"}, "endDate: "),
        ({"id": "a", "startDate": "tomorrow"}, "startDate: "),
        ({"id": "a", "schedule": -5}, "schedule: must be from 1"),
        ({"id": "a", "schedule": "every day"}, "schedule: "),
        ({"id": "a", "reschedule": 0, "expire": 5}, "reschedule: must be from 1"),
        ({"id": "a", "maxRun": 1}, "maxRun: is no option of a task; did you mean maxRuns?"),
        (
            {"id": "a", "endpoint": "http://x"},
            "endpoint: is no option of a task; what the handler needs goes into data",
        ),
        ({"id": "a", "data": {"when": datetime(2030, 1, 1, tzinfo=UTC)}}, "data.when: is of the type datetime"),
        ({"id": "a", "utc": "yes"}, "utc: must be true or false"),
        ({"id": "a", "delay": -1}, "delay: must be from 0"),
        (17, "task: must be a Task or a mapping"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_field(given: object, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_task(given)  # type: ignore[arg-type]

    assert str(refused.value).startswith(reason)


def test_a_task_and_a_mapping_are_the_same() -> None:
    made = Task(id="a", data=[1], schedule="@daily", max_runs=2, tz="Europe/Berlin")

    assert read_task(made) == read_task(
        {"id": "a", "data": [1], "schedule": "@daily", "maxRuns": 2, "tz": "Europe/Berlin"}
    )


def test_what_a_task_was_asked_to_be_is_read_back_the_same() -> None:
    task = read_task(
        {"id": "a", "data": {"b": 1}, "schedule": 5, "maxRuns": 7, "maxTries": 2, "runs": 3, "endDate": 10**13}
        | {"startDate": 10**12, "delay": 0, "tz": "Europe/Berlin", "utc": True}
    )

    again = read_task(write_request(task))

    assert again == task
    assert (again.start_date, again.delay, again.tz, again.utc) == (
        "2001-09-09T01:46:40.000Z",
        0,
        "Europe/Berlin",
        True,
    )


def test_a_stored_task_can_be_added_again_as_it_is_shown() -> None:
    task = read_task({"id": "a", "schedule": 30_000, "data": 1})
    shown = write_task(task)

    again = read_task(shown)

    assert (again.schedule, again.most_runs, again.data) == (30_000, None, 1)
