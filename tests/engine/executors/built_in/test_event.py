"""Executor `event`: the event of a tick bears its nominal instant, comes at least once, and counts once."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from rota.engine.executors.built_in.event import EventExecutor
from rota.errors import InvalidInput
from rota.model.job import Cause
from rota.model.runs.outcome import Outcome, OutcomeKind
from rota.store import open_store
from tests.engine.events.installation import NOW, EventsInstallation, needs
from tests.engine.executors.runs import JOB_ID, LoggedRun, errors_of, job_type, make_run

TICK = NOW - 60_000


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[EventsInstallation]:
    store = open_store(f"sqlite:///{tmp_path / 'rota.db'}")
    yield EventsInstallation(store, event_types=("STRIKE",))
    store.close()


def emission(kind: object = "TIME_BASED", resource: object = "clock", cause: Cause | None = None) -> LoggedRun:
    run = make_run({}, {"type": kind, "resourceId": resource})
    run.spec = structs.replace(run.spec, cause=cause, enqueued_at=NOW - 5_000)
    return run


def run(runner: asyncio.Runner, installation: EventsInstallation, attempt: LoggedRun) -> Outcome:
    return runner.run(EventExecutor(installation.events, installation.clock).run(attempt))


def test_an_event_of_a_tick_bears_its_nominal_instant_also_when_it_is_posted_late(
    runner: asyncio.Runner, installation: EventsInstallation
) -> None:
    uuid = installation.define_configuration("c", needs("TIME_BASED", "clock", 0)).configuration.uuid

    outcome = run(runner, installation, emission(cause=Cause("schedule", "s", TICK)))

    (valid,) = installation.store.list_validations(uuid, limit=9)
    assert (valid.event.id, valid.event.time, valid.event.received_at) == (JOB_ID, TICK * 1_000, NOW)
    (evaluation,) = installation.store.list_evaluations(uuid, limit=9)
    assert outcome == Outcome(OutcomeKind.SUCCEEDED, {"validated": ["c"], "triggered": {"c": evaluation.job}})


def test_a_job_that_no_tick_made_is_an_event_of_the_time_when_it_was_enqueued(
    runner: asyncio.Runner, installation: EventsInstallation
) -> None:
    uuid = installation.define_configuration("c", needs("TIME_BASED", "clock", 0)).configuration.uuid

    run(runner, installation, emission())

    assert installation.store.list_validations(uuid, limit=9)[0].event.time == (NOW - 5_000) * 1_000


def test_an_event_whose_job_runs_again_counts_once(runner: asyncio.Runner, installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("TIME_BASED", "clock", 60), needs("FILE", "a", 0))
    run(runner, installation, emission(cause=Cause("schedule", "s", TICK)))

    again = run(runner, installation, emission(cause=Cause("schedule", "s", TICK)))

    assert again == Outcome(OutcomeKind.SUCCEEDED, {"validated": [], "triggered": {}})


def test_an_event_of_a_tick_that_is_still_to_come_is_one_of_now(
    runner: asyncio.Runner, installation: EventsInstallation
) -> None:
    uuid = installation.define_configuration("c", needs("TIME_BASED", "clock", 0)).configuration.uuid

    run(runner, installation, emission(cause=Cause("schedule", "s", NOW + 60_000)))

    assert installation.store.list_validations(uuid, limit=9)[0].event.time == NOW * 1_000 + 999


def test_any_type_may_be_emitted(runner: asyncio.Runner, installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("STRIKE", "clock", 0))

    outcome = run(runner, installation, emission("strike"))

    assert isinstance(outcome.results, dict)
    assert outcome.results["validated"] == ["c"]


@pytest.mark.parametrize(
    ("attempt", "field"), [(emission("no/type"), "type"), (emission(resource=""), "resourceId"), (make_run({}), "type")]
)
def test_what_is_no_event_is_refused_by_field(
    runner: asyncio.Runner, installation: EventsInstallation, attempt: LoggedRun, field: str
) -> None:
    outcome = run(runner, installation, attempt)

    assert (outcome.kind, errors_of(outcome)["type"]) == (OutcomeKind.REFUSED, "arguments")
    assert errors_of(outcome)["message"].startswith(f"{field}: ")


def test_a_process_that_takes_no_events_refuses(runner: asyncio.Runner) -> None:
    outcome = runner.run(EventExecutor().run(emission()))

    assert (outcome.kind, errors_of(outcome)["type"]) == (OutcomeKind.REFUSED, "event")


def test_metadata_is_a_slip() -> None:
    EventExecutor().check(job_type("event", {}))
    with pytest.raises(InvalidInput, match="metadata"):
        EventExecutor().check(job_type("event", {"type": "FILE"}))
