"""A clock that was ten years ahead for a moment leaves schedules waiting until then, until somebody sets them back."""

import pytest

from rota.model.schedules.request import ScheduleRequest
from rota.store import Store
from tests.engine.schedules.installation import MINUTE, START, SchedulesInstallation

# On Redis the server's clock decides what is due, and a test cannot set that one.
pytestmark = pytest.mark.stores("sqlite-memory")

TEN_YEARS = 3_652 * 24 * 60 * MINUTE
TIMES: list[dict[str, object]] = [
    {"cron": "* * * * *"},
    {"interval": "1m"},
    {"interval": "1m", "anchor": "epoch"},
    {"interval": "1m", "start": START},
]


@pytest.fixture
def installation(store: Store) -> SchedulesInstallation:
    installation = SchedulesInstallation(store)
    installation.define()
    return installation


def be_ahead(installation: SchedulesInstallation) -> None:
    """Decide once by a clock that is wrong, and set it right."""
    installation.clock.set(installation.clock.now() + TEN_YEARS)
    installation.tick()
    installation.clock.set(installation.clock.now() - TEN_YEARS)


def sent_ahead(installation: SchedulesInstallation, times: dict[str, object]) -> str:
    """A schedule that waits for ten years."""
    uuid = installation.schedule(overlap="allow", **times)
    installation.pass_time(MINUTE)
    be_ahead(installation)
    installation.pass_time(3 * MINUTE)
    state = installation.schedules.find(uuid).state
    assert state.nominal is not None
    assert state.nominal > START + TEN_YEARS
    return uuid


@pytest.mark.parametrize("times", TIMES)
def test_resuming_lets_it_fire_from_now_on(installation: SchedulesInstallation, times: dict[str, object]) -> None:
    uuid = sent_ahead(installation, times)
    before = len(installation.rows(uuid))

    installation.schedules.resume(uuid)
    installation.pass_time(3 * MINUTE)

    assert len(installation.rows(uuid)) - before in (2, 3)
    due = [row.nominal for row in installation.rows(uuid) if row.nominal < START + TEN_YEARS]
    assert len(due) == len(set(due)), "no time fires twice"


@pytest.mark.parametrize("times", TIMES)
def test_an_edit_of_anything_does_the_same(installation: SchedulesInstallation, times: dict[str, object]) -> None:
    uuid = sent_ahead(installation, times)
    before = len(installation.rows(uuid))
    request = ScheduleRequest(job_type="report", overlap="allow", priority=5, **times)  # type: ignore[arg-type]

    installation.schedules.replace(uuid, request)
    installation.pass_time(3 * MINUTE)

    assert len(installation.rows(uuid)) - before in (2, 3)


def test_one_that_was_made_while_the_clock_was_wrong_goes_on_too(installation: SchedulesInstallation) -> None:
    installation.clock.set(START + TEN_YEARS)
    uuid = installation.schedule(interval="1m", overlap="allow")
    installation.clock.set(START)

    installation.schedules.set_back(uuid)
    installation.pass_time(3 * MINUTE)

    assert installation.fates(uuid) == ["fired"] * 3


def test_a_paused_one_is_set_back_and_stays_paused(installation: SchedulesInstallation) -> None:
    uuid = sent_ahead(installation, {"cron": "* * * * *"})
    installation.schedules.pause(uuid)

    entry = installation.schedules.set_back(uuid)

    assert entry.schedule.paused
    assert entry.state.cursor == installation.clock.now()


def test_resuming_what_is_not_ahead_changes_nothing(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    installation.pass_time(MINUTE)
    before = installation.schedules.find(uuid)

    assert installation.schedules.resume(uuid) == installation.schedules.set_back(uuid) == before


def test_a_process_that_starts_sets_nothing_back(installation: SchedulesInstallation) -> None:
    uuid = sent_ahead(installation, {"cron": "* * * * *"})
    before = installation.schedules.find(uuid)

    installation.schedules.change(uuid, lambda entry, _: entry.schedule)

    assert installation.schedules.find(uuid).state == before.state
