"""Several files on one store: each owns what it has by its name, and takes nothing from another."""

import pytest

from rota.engine.definitions.file import Wanted
from rota.errors import Conflict
from rota.model.events.configuration_request import read_configuration
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.store import Store
from tests.engine.schedules.installation import START, SchedulesInstallation

pytestmark = pytest.mark.stores("sqlite-memory", "redis")

NEEDS = {"type": "FILE", "resourceId": "/in", "lifeDuration": 60}


def wanted(project: str, *, owner: str | None = None, prunes: bool = False) -> Wanted:
    """A file with one definition of each kind, named after its project."""
    return Wanted(
        [NodeType(uuid=new_id(START), name=f"{project}-nodes")],
        [JobType(uuid=new_id(START), name=f"{project}-report", executor="log")],
        [ScheduleRequest(name=f"{project}-nightly", job_type=f"{project}-report", cron="30 2 * * *")],
        [read_configuration({"name": f"{project}-arrival", "dependencies": [NEEDS]}, ())],
        owner=project if owner is None else owner,
        prunes=prunes,
    )


class Shared(SchedulesInstallation):
    """A store that several projects share."""

    def apply(self, one: Wanted) -> list[tuple[str, str]]:
        return [(change.action, change.name) for change in self.engine.file.apply(one)]

    def names(self) -> list[str]:
        store = self.store
        return sorted(
            [
                *(one.name for one in store.list_node_types() if one.name != "default"),
                *(one.name for one in store.list_job_types() if not one.name.startswith("rota.")),
                *(entry.schedule.name for entry in store.list_schedules(limit=100).entries),
                *(entry.configuration.name for entry in store.list_configurations(limit=100).entries),
            ]
        )


@pytest.fixture
def shared(store: Store) -> Shared:
    return Shared(store)


def of(project: str) -> list[str]:
    return [f"{project}-{name}" for name in ("arrival", "nightly", "nodes", "report")]


def test_two_files_leave_each_others_definitions_alone(shared: Shared) -> None:
    shared.apply(wanted("shop"))
    shared.apply(wanted("bank"))

    assert shared.names() == [*of("bank"), *of("shop")]
    assert shared.apply(wanted("shop")) == []
    assert shared.apply(wanted("bank")) == []
    assert shared.names() == [*of("bank"), *of("shop")]


def test_a_file_removes_what_it_owned_and_nothing_else(shared: Shared) -> None:
    shared.apply(wanted("shop"))
    shared.apply(wanted("bank"))

    removed = shared.apply(Wanted(owner="shop"))

    assert sorted(name for action, name in removed if action == "delete") == of("shop")

    assert shared.names() == of("bank")


def test_a_process_without_a_file_removes_nothing_of_a_file_with_a_name(shared: Shared) -> None:
    shared.apply(wanted("shop"))

    assert shared.apply(Wanted()) == []
    assert shared.names() == of("shop")


def test_what_belongs_to_another_file_is_a_conflict_that_names_the_remedy(shared: Shared) -> None:
    shared.apply(wanted("shop"))

    with pytest.raises(Conflict, match=r"belongs to the configuration file of 'shop'.*owner: shop"):
        shared.apply(wanted("shop", owner="bank"))

    assert shared.definitions.job_type("shop-report").managed_by == "file:shop"


def test_what_was_made_another_way_is_a_conflict_that_names_the_remedy(shared: Shared) -> None:
    shared.define("shop-report")

    with pytest.raises(Conflict, match="rota job-type delete shop-report"):
        shared.apply(wanted("shop"))


def test_the_same_owner_in_another_folder_is_the_same_file(shared: Shared) -> None:
    shared.apply(wanted("shop"))

    assert shared.apply(wanted("shop", owner="shop")) == []


def test_what_a_file_owned_before_files_had_names_is_taken_over_by_name_and_otherwise_stays(shared: Shared) -> None:
    shared.apply(wanted("shop", owner=""))
    shared.apply(wanted("bank"))

    assert shared.apply(wanted("shop")) == []
    assert shared.names() == [*of("bank"), *of("shop")]
    assert shared.definitions.job_type("shop-report").managed_by == "file:shop"
    assert shared.schedules.find("shop-nightly").schedule.managed_by == "file:shop"
    assert shared.engine.configurations.find("shop-arrival").configuration.managed_by == "file:shop"


def test_a_file_that_prunes_removes_what_other_files_own(shared: Shared) -> None:
    shared.define("by-hand")
    shared.apply(wanted("shop"))

    removed = shared.apply(wanted("bank", prunes=True))

    assert sorted(name for action, name in removed if action == "delete") == of("shop")
    assert shared.names() == [*of("bank"), "by-hand"]
