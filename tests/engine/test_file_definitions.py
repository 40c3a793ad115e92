"""What stands in a file is owned by it: made, changed, removed; what came another way is left alone."""

import pytest
from msgspec import structs

from rota.engine.file_definitions import FileDefinitions, Wanted
from rota.errors import Conflict, InvalidInput
from rota.model.configuration_request import read_configuration
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.schedule_request import ScheduleRequest
from rota.store import Store
from tests.contract.racing import in_threads
from tests.engine.scheduling import MINUTE, START, World

pytestmark = pytest.mark.stores("sqlite-memory", "redis")

REPORT = JobType(uuid=new_id(START), name="of-file", executor="log")
NIGHTLY = ScheduleRequest(name="nightly", job_type="of-file", cron="30 2 * * *")


class FileWorld(World):
    """A world with a configuration file."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.file = FileDefinitions(store, self.definitions, self.schedules, self.clock)

    def apply(self, *schedules: ScheduleRequest, job_types: tuple[JobType, ...] = (REPORT,)) -> list[tuple[str, str]]:
        return [(one.action, one.name) for one in self.file.apply(Wanted((), job_types, schedules))]

    def names(self) -> list[str]:
        return [entry.schedule.name for entry in self.store.list_schedules(limit=100).entries]


@pytest.fixture
def world(store: Store) -> FileWorld:
    world = FileWorld(store)
    world.job_type()
    return world


def test_a_schedule_in_the_file_is_made_and_fires(world: FileWorld) -> None:
    changes = world.apply(structs.replace(NIGHTLY, cron="* * * * *"))
    world.pass_time(MINUTE)

    entry = world.schedules.find("nightly")
    assert changes == [("create", "of-file"), ("create", "nightly")]
    assert entry.schedule.managed_by == "file"
    assert world.fates(entry.schedule.uuid) == ["fired"]


def test_the_same_file_again_changes_nothing(world: FileWorld) -> None:
    world.apply(NIGHTLY)
    version = world.schedules.find("nightly").state.version

    assert world.apply(NIGHTLY) == []
    assert world.schedules.find("nightly").state.version == version


def test_a_changed_line_changes_the_schedule_and_keeps_its_uuid(world: FileWorld) -> None:
    world.apply(NIGHTLY)
    uuid = world.schedules.find("nightly").schedule.uuid

    assert world.apply(structs.replace(NIGHTLY, cron="0 3 * * *")) == [("change", "nightly")]
    assert world.schedules.find("nightly").schedule.uuid == uuid


def test_a_difference_tells_the_fields(world: FileWorld) -> None:
    world.apply(NIGHTLY)

    (found,) = world.file.diff(Wanted((), (REPORT,), (structs.replace(NIGHTLY, overlap="allow"),)))

    assert (found.before, found.after) == ({"overlap": "skip"}, {"overlap": "allow"})
    assert world.schedules.find("nightly").schedule.overlap == "skip"


def test_what_is_removed_from_the_file_is_removed_with_its_job_type(world: FileWorld) -> None:
    world.apply(NIGHTLY)
    world.schedule(name="mine", cron="* * * * *")

    assert world.apply(job_types=()) == [("delete", "of-file"), ("delete", "nightly")]
    assert world.names() == ["mine"]
    assert [one.name for one in world.definitions.job_types()] == ["report"]


def test_a_job_type_that_another_schedule_needs_stays_and_that_is_said(world: FileWorld) -> None:
    world.apply(NIGHTLY)
    world.schedule(name="mine", job_type="of-file", cron="* * * * *")

    with pytest.raises(Conflict, match="mine"):
        world.apply(job_types=())


def test_a_name_that_somebody_else_has_is_a_conflict_and_nothing_changes(world: FileWorld) -> None:
    world.schedule(name="nightly", cron="* * * * *")

    with pytest.raises(Conflict, match="nightly"):
        world.apply(NIGHTLY)

    assert [one.name for one in world.definitions.job_types()] == ["report"]


def test_an_unknown_job_type_is_refused_and_nothing_changes(world: FileWorld) -> None:
    with pytest.raises(InvalidInput, match=r"^schedules\[1\].job_type: no job type 'nope'"):
        world.apply(NIGHTLY, ScheduleRequest(name="b", job_type="nope", cron="* * * * *"))

    assert world.names() == []


def test_a_schedule_may_use_a_job_type_that_is_not_the_files(world: FileWorld) -> None:
    world.apply(ScheduleRequest(name="b", job_type="report", cron="* * * * *"), job_types=())

    assert world.names() == ["b"]


def test_a_pause_by_a_person_outlives_a_restart(world: FileWorld) -> None:
    world.apply(NIGHTLY)
    world.schedules.pause("nightly", "the database moves")

    assert world.apply(NIGHTLY) == []
    assert world.schedules.find("nightly").schedule.paused


def test_a_pause_by_the_file_ends_with_the_file(world: FileWorld) -> None:
    world.apply(structs.replace(NIGHTLY, paused=True))
    assert world.schedules.find("nightly").schedule.paused

    assert world.apply(NIGHTLY) == [("change", "nightly")]
    assert not world.schedules.find("nightly").schedule.paused


def test_a_line_whose_time_is_over_does_not_stop_the_file_from_loading(world: FileWorld) -> None:
    world.apply(structs.replace(NIGHTLY, cron="0 0 0 1 1 ? 2020"))

    assert world.schedules.find("nightly").state.due is None


def test_nodes_that_start_at_the_same_time_with_the_same_file_agree(world: FileWorld) -> None:
    schedules = tuple(structs.replace(NIGHTLY, name=f"nightly-{number}") for number in range(8))
    dependency = {"type": "FILE", "resourceId": "/in/", "lifeDuration": 0}
    configurations = tuple(
        read_configuration({"name": f"rule-{number}", "dependencies": [dependency]}, ()) for number in range(8)
    )
    wanted = Wanted((), (REPORT,), schedules, configurations)
    nodes = [FileWorld(world.store) for _ in range(6)]

    in_threads(lambda number: nodes[number].file.apply(wanted), len(nodes))

    assert world.names() == [request.name for request in schedules]
    names = [entry.configuration.name for entry in world.store.list_configurations(limit=100).entries]
    assert names == [request.name for request in configurations]
    assert world.file.diff(wanted) == []
