"""What stands in a file is owned by it: made, changed, removed; what came another way is left alone."""

import pytest
from msgspec import structs

from rota.engine.definitions.file import Wanted
from rota.errors import Conflict, InvalidInput
from rota.model.events.configuration_request import read_configuration
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.schedules.request import Emission, ScheduleRequest
from rota.store import Store
from rota.testing import Faults
from tests.contract.racing import in_threads
from tests.engine.schedules.installation import MINUTE, START, SchedulesInstallation

pytestmark = pytest.mark.stores("sqlite-memory", "redis")

REPORT = JobType(uuid=new_id(START), name="of-file", executor="log")
NIGHTLY = ScheduleRequest(name="nightly", job_type="of-file", cron="30 2 * * *")


class FileInstallation(SchedulesInstallation):
    """An installation with a configuration file."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.file = self.engine.file

    def apply(self, *schedules: ScheduleRequest, job_types: tuple[JobType, ...] = (REPORT,)) -> list[tuple[str, str]]:
        return [(one.action, one.name) for one in self.file.apply(Wanted((), job_types, schedules))]

    def names(self) -> list[str]:
        return [entry.schedule.name for entry in self.store.list_schedules(limit=100).entries]


@pytest.fixture
def installation(store: Store) -> FileInstallation:
    installation = FileInstallation(store)
    installation.define()
    return installation


def test_a_schedule_in_the_file_is_made_and_fires(installation: FileInstallation) -> None:
    changes = installation.apply(structs.replace(NIGHTLY, cron="* * * * *"))
    installation.pass_time(MINUTE)

    entry = installation.schedules.find("nightly")
    assert changes == [("create", "of-file"), ("create", "nightly")]
    assert entry.schedule.managed_by == "file"
    assert installation.fates(entry.schedule.uuid) == ["fired"]


def test_the_same_file_again_changes_nothing(installation: FileInstallation) -> None:
    installation.apply(NIGHTLY)
    version = installation.schedules.find("nightly").state.version

    assert installation.apply(NIGHTLY) == []
    assert installation.schedules.find("nightly").state.version == version


def test_a_changed_line_changes_the_schedule_and_keeps_its_uuid(installation: FileInstallation) -> None:
    installation.apply(NIGHTLY)
    uuid = installation.schedules.find("nightly").schedule.uuid

    assert installation.apply(structs.replace(NIGHTLY, cron="0 3 * * *")) == [("change", "nightly")]
    assert installation.schedules.find("nightly").schedule.uuid == uuid


def test_a_difference_tells_the_fields(installation: FileInstallation) -> None:
    installation.apply(NIGHTLY)

    (found,) = installation.file.diff(Wanted((), (REPORT,), (structs.replace(NIGHTLY, overlap="allow"),)))

    assert (found.before, found.after) == ({"overlap": "skip"}, {"overlap": "allow"})
    assert installation.schedules.find("nightly").schedule.overlap == "skip"


def test_what_is_removed_from_the_file_is_removed_with_its_job_type(installation: FileInstallation) -> None:
    installation.apply(NIGHTLY)
    installation.schedule(name="mine", cron="* * * * *")

    assert installation.apply(job_types=()) == [("delete", "of-file"), ("delete", "nightly")]
    assert installation.names() == ["mine"]
    assert [one.name for one in installation.definitions.job_types()] == ["report"]


def test_a_job_type_that_another_schedule_needs_stays_and_that_is_said(installation: FileInstallation) -> None:
    installation.apply(NIGHTLY)
    installation.schedule(name="mine", job_type="of-file", cron="* * * * *")

    with pytest.raises(Conflict, match="mine"):
        installation.apply(job_types=())


def test_a_name_that_somebody_else_has_is_a_conflict_and_nothing_changes(installation: FileInstallation) -> None:
    installation.schedule(name="nightly", cron="* * * * *")

    with pytest.raises(Conflict, match="nightly"):
        installation.apply(NIGHTLY)

    assert [one.name for one in installation.definitions.job_types()] == ["report"]


def test_an_unknown_job_type_is_refused_and_nothing_changes(installation: FileInstallation) -> None:
    with pytest.raises(InvalidInput, match=r"^schedules\[1\].job_type: no job type 'nope'"):
        installation.apply(NIGHTLY, ScheduleRequest(name="b", job_type="nope", cron="* * * * *"))

    assert installation.names() == []


def test_a_job_type_that_goes_with_the_file_is_unknown_to_what_stays_in_it_and_nothing_changes(
    installation: FileInstallation,
) -> None:
    installation.apply(NIGHTLY)
    other = structs.replace(NIGHTLY, name="other")

    with pytest.raises(InvalidInput, match=rf"^schedules\[0\].job_type: no job type '{NIGHTLY.job_type}'"):
        installation.apply(other, job_types=())

    assert installation.names() == [NIGHTLY.name]
    assert installation.definitions.current_job_type(NIGHTLY.job_type)


def test_a_schedule_may_use_a_job_type_that_is_not_the_files(installation: FileInstallation) -> None:
    installation.apply(ScheduleRequest(name="b", job_type="report", cron="* * * * *"), job_types=())

    assert installation.names() == ["b"]


def test_a_pause_by_a_person_outlives_a_restart(installation: FileInstallation) -> None:
    installation.apply(NIGHTLY)
    installation.schedules.pause("nightly", "the database moves")

    assert installation.apply(NIGHTLY) == []
    assert installation.schedules.find("nightly").schedule.paused


def test_a_pause_by_the_file_ends_with_the_file(installation: FileInstallation) -> None:
    installation.apply(structs.replace(NIGHTLY, paused=True))
    assert installation.schedules.find("nightly").schedule.paused

    assert installation.apply(NIGHTLY) == [("change", "nightly")]
    assert not installation.schedules.find("nightly").schedule.paused


def test_a_line_whose_time_is_over_does_not_stop_the_file_from_loading(installation: FileInstallation) -> None:
    installation.apply(structs.replace(NIGHTLY, cron="0 0 0 1 1 ? 2020"))

    assert installation.schedules.find("nightly").state.due is None


def test_a_single_time_that_is_over_is_refused_and_nothing_changes(installation: FileInstallation) -> None:
    once = structs.replace(NIGHTLY, cron=None, at=START - 1)

    with pytest.raises(InvalidInput, match=r"^schedules\[1\].at: once at .* is over, so 'nightly' would never fire"):
        installation.apply(structs.replace(NIGHTLY, name="other"), once)

    assert installation.names() == []
    installation.apply(structs.replace(once, paused=True))
    assert installation.names() == ["nightly"]


def test_a_single_time_that_was_to_come_stops_no_process_when_it_is_over(installation: FileInstallation) -> None:
    once = structs.replace(NIGHTLY, cron=None, at=START + MINUTE)
    installation.apply(once)
    installation.pass_time(2 * MINUTE)

    assert installation.apply(once) == []
    with pytest.raises(InvalidInput, match="is over"):
        installation.apply(structs.replace(once, at=START + 1))


def test_nodes_that_start_at_the_same_time_with_the_same_file_agree(installation: FileInstallation) -> None:
    schedules = tuple(structs.replace(NIGHTLY, name=f"nightly-{number}") for number in range(8))
    dependency = {"type": "FILE", "resourceId": "/in/", "lifeDuration": 0}
    configurations = tuple(
        read_configuration({"name": f"rule-{number}", "dependencies": [dependency]}, ()) for number in range(8)
    )
    wanted = Wanted((), (REPORT,), schedules, configurations)
    nodes = [FileInstallation(installation.store) for _ in range(6)]

    in_threads(lambda number: nodes[number].file.apply(wanted), len(nodes))

    assert installation.names() == [request.name for request in schedules]
    names = [entry.configuration.name for entry in installation.store.list_configurations(limit=100).entries]
    assert names == [request.name for request in configurations]
    assert installation.file.diff(wanted) == []


def test_a_changed_line_keeps_the_beginning_of_its_schedule_and_fires_no_past_time(
    installation: FileInstallation,
) -> None:
    installation.apply(structs.replace(NIGHTLY, cron="* * * * *", overlap="allow"))
    made = installation.schedules.find("nightly")
    installation.pass_time(3 * MINUTE)

    installation.apply(structs.replace(NIGHTLY, cron="*/2 * * * *", overlap="allow"))
    installation.pass_time(MINUTE)

    after = installation.schedules.find("nightly")
    assert (after.schedule.created_at, after.schedule.managed_by) == (made.schedule.created_at, "file")
    assert [(row.nominal - START) // MINUTE for row in installation.rows(after.schedule.uuid)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("note", "expected"), [("", "paused in the configuration file"), ("the database moves", "the database moves")]
)
def test_a_pause_by_the_file_says_so_unless_the_file_says_why(
    installation: FileInstallation, note: str, expected: str
) -> None:
    asleep = structs.replace(NIGHTLY, paused=True, note=note)

    installation.apply(asleep)
    made = installation.schedules.find("nightly").schedule
    assert installation.apply(asleep) == []

    assert (made.paused, made.pause_note) == (True, expected)


def test_a_pause_that_came_into_the_file_later_says_so_too(installation: FileInstallation) -> None:
    installation.apply(NIGHTLY)

    assert installation.apply(structs.replace(NIGHTLY, paused=True)) == [("change", "nightly")]

    changed = installation.schedules.find("nightly").schedule
    assert (changed.paused, changed.pause_note) == (True, "paused in the configuration file")


def test_a_line_that_is_renamed_is_another_schedule(installation: FileInstallation) -> None:
    installation.apply(NIGHTLY)
    old = installation.schedules.find("nightly").schedule.uuid

    changes = installation.apply(structs.replace(NIGHTLY, name="daily"))

    assert changes == [("create", "daily"), ("delete", "nightly")]
    assert installation.names() == ["daily"]
    assert installation.schedules.find("daily").schedule.uuid != old


def test_a_difference_that_creates_or_deletes_tells_the_whole_definition(installation: FileInstallation) -> None:
    wanted = Wanted((), (REPORT,), (NIGHTLY,))
    created = installation.file.diff(wanted)[1]
    installation.file.apply(wanted)
    deleted = installation.file.diff(Wanted((), (REPORT,), ()))[0]

    assert (created.kind, created.action, created.before) == ("schedule", "create", {})
    assert (deleted.kind, deleted.action, deleted.after) == ("schedule", "delete", {})
    assert created.after["name"] == deleted.before["name"] == "nightly"
    assert created.after.keys() == deleted.before.keys()
    assert not {"uuid", "created_at", "managed_by", "queue"} & created.after.keys()
    assert deleted.before["overlap"] == "skip", "standard values are told too"


class Dies(Exception):
    """The process dies here."""


def die() -> None:
    raise Dies


@pytest.mark.parametrize("call", ["delete_schedules", "put_schedules", "put_setting"])
def test_what_a_process_left_behind_that_died_while_applying_is_put_right_by_the_next(
    installation: FileInstallation, call: str
) -> None:
    installation.apply(NIGHTLY)
    faults = Faults(installation.store)
    other = FileInstallation(faults.store)
    faults.before(call, die)

    with pytest.raises(Dies):
        other.apply(structs.replace(NIGHTLY, name="daily"))
    installation.apply(structs.replace(NIGHTLY, name="hourly"))

    assert installation.names() == ["hourly"]


def test_a_schedule_that_was_made_by_a_process_that_died_is_removed_with_its_line(
    installation: FileInstallation,
) -> None:
    faults = Faults(installation.store)
    other = FileInstallation(faults.store)
    faults.after("put_schedules", die)
    with pytest.raises(Dies):
        other.apply(NIGHTLY)
    assert installation.names() == ["nightly"]

    installation.apply()

    assert installation.names() == []


def test_a_schedule_that_emits_an_event_may_stand_in_the_file(installation: FileInstallation) -> None:
    tick = ScheduleRequest(name="tick", emit=Emission(), cron="* * * * *")

    assert installation.apply(tick) == [("create", "of-file"), ("create", "tick")]
    assert installation.apply(tick) == []

    schedule = installation.schedules.find("tick").schedule
    assert schedule.job_type == installation.definitions.job_type("rota.emit").uuid
    assert schedule.arguments == {"type": "TIME_BASED", "resourceId": "tick"}
