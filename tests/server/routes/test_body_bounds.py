"""Bounds of what a body may say: numbers, lengths of texts and of lists. Each is a literal here, as the document tells
it to clients; a changed bound is refused or let through by the same declaration."""

from collections.abc import Iterable, Iterator
from typing import Any

from starlette.testclient import TestClient

CENTURY = 4_102_444_800_000
"""The beginning of the year 2100."""
TEN_YEARS, YEAR, MONTH = 315_360_000_000, 31_536_000_000, 2_592_000_000
NUMBERS: dict[str, tuple[float | None, float | None]] = {
    "NewJob.priority": (-10_000, 10_000),
    "NewJob.delay": (0, TEN_YEARS),
    "NewJob.run_at": (0, CENTURY),
    "NewJob.expires": (1, TEN_YEARS),
    "NewJob.expires_at": (0, CENTURY),
    "NewJob.timeout": (1, YEAR),
    "Retries.attempts": (1, 1_000),
    "Retries.delay_ms": (0, MONTH),
    "Retries.factor": (1, 100),
    "Retries.max_delay_ms": (0, MONTH),
    "Retries.jitter": (0, 1),
    "BulkChange.since": (0, CENTURY),
    "BulkChange.until": (0, CENTURY),
    "NewJobType.timeout": (1, YEAR),
    "NodeTypeBody.thread_count": (1, 10_000),
    "NewSchedule.interval": (0, TEN_YEARS),
    "NewSchedule.phase": (0, TEN_YEARS),
    "NewSchedule.delay": (0, TEN_YEARS),
    "NewSchedule.jitter": (0, TEN_YEARS),
    "NewSchedule.every": (0, TEN_YEARS),
    "NewSchedule.max_runs": (1, None),
    "NewSchedule.priority": (-10_000, 10_000),
    "NewBackfill.max": (1, 10_000),
    "NewBackfill.priority": (-10_000, 10_000),
    "NewDependency.lifeDuration": (0, 315_360_000),
    "NewJobOfConfiguration.priority": (-10_000, 10_000),
    "NewKey.expires_in": (1, TEN_YEARS),
    "TaskDefinition.start": (0, 253_369_999_999_999),
    "TaskFrequency.time": (1, 2_147_483_647),
}
LENGTHS: dict[str, tuple[int | None, int]] = {
    "NewJob.job_type": (1, 128),
    "NewJob.unique_key": (1, 512),
    "NewJobType.name": (1, 128),
    "NewJobType.executor": (1, 128),
    "NewJobType.node_type": (1, 128),
    "NodeTypeBody.name": (1, 128),
    "NewSchedule.name": (1, 128),
    "Pause.note": (None, 1_000),
    "NewEvent.eventResourceId": (1, 1_024),
    "NewEvent.eventId": (1, 256),
    "NewConfiguration.name": (1, 128),
    "NewDependency.resourceId": (1, 1_024),
    "NewKey.name": (1, 128),
    "TaskDefinition.host": (1, 256),
    "TaskDefinition.name": (1, 256),
    "TaskDefinition.topic": (None, 249),
}
ITEMS: dict[str, tuple[int | None, int]] = {
    "NewJobs.jobs": (1, 10_000),
    "NewSchedule.exclude": (None, 1_000),
    "NewConfiguration.dependencies": (1, 100),
    "NewKey.scopes": (None, 16),
}


def bounds(client: TestClient, least: str, most: str) -> dict[str, tuple[Any, Any]]:
    """Every field of a shape that has them; of one that may be several things, the first."""
    shapes = client.get("/openapi.json").json()["components"]["schemas"]
    found: dict[str, tuple[Any, Any]] = {}
    for shape, schema in shapes.items():
        for field, its in schema.get("properties", {}).items():
            for one in _choices(its):
                if least in one or most in one:
                    found.setdefault(f"{shape}.{field}", (one.get(least), one.get(most)))
    return found


def _choices(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    yield from schema.get("anyOf", [])


def of(found: dict[str, tuple[Any, Any]], names: Iterable[str]) -> dict[str, tuple[Any, Any] | None]:
    return {name: found.get(name) for name in names}


def test_every_number_in_a_body_has_the_bounds_that_stand_here(admin: TestClient) -> None:
    assert of(bounds(admin, "minimum", "maximum"), NUMBERS) == NUMBERS


def test_every_text_in_a_body_has_the_length_that_stands_here(admin: TestClient) -> None:
    assert of(bounds(admin, "minLength", "maxLength"), LENGTHS) == LENGTHS


def test_every_list_in_a_body_has_the_length_that_stands_here(admin: TestClient) -> None:
    assert of(bounds(admin, "minItems", "maxItems"), ITEMS) == ITEMS


def test_what_changes_a_thing_has_the_bounds_of_what_makes_it(admin: TestClient) -> None:
    found = bounds(admin, "minimum", "maximum") | bounds(admin, "minLength", "maxLength")

    for new, *others in (
        ("NewJobType", "WholeJobType", "JobTypeChange"),
        ("NewSchedule", "WholeSchedule", "ScheduleChange"),
        ("Retries", "RetriesChange"),
    ):
        for other in others:
            fields = [name for name in found if name.startswith(f"{other}.")]
            assert fields
            assert of(found, fields) == {name: found[name.replace(other, new)] for name in fields}
