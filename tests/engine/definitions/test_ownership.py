"""What a configuration file owns is refused to everybody else, whatever its kind. A pause is for people."""

from collections.abc import Callable

import pytest

from rota.clock import ManualClock
from rota.engine.definitions.file import Wanted
from rota.engine.engine import Engine
from rota.errors import Conflict
from rota.model.events.configuration_request import read_configuration
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.store import Store

NOW = 1_700_000_000_000
GPU = NodeType(uuid=new_id(NOW), name="gpu")
TRAIN = JobType(uuid=new_id(NOW), name="train", executor="log", node_type="gpu")
NIGHTLY = ScheduleRequest(name="nightly", job_type="train", interval=60_000)
ARRIVAL = read_configuration(
    {"name": "arrival", "dependencies": [{"type": "FILE", "resourceId": "/in/", "lifeDuration": 60}]}
)
Change = Callable[[Engine], object]

CHANGES: dict[str, Change] = {
    "node type": lambda engine: engine.definitions.put_node_type(GPU),
    "node type, replaced": lambda engine: engine.definitions.create_node_type(GPU, replace=True),
    "node type, deleted": lambda engine: engine.definitions.delete_node_type("gpu"),
    "job type": lambda engine: engine.definitions.change_job_type(engine.definitions.job_type("train")),
    "job type, replaced": lambda engine: engine.definitions.create_job_types([TRAIN], replace=True),
    "job type, deleted": lambda engine: engine.definitions.delete_job_type("train"),
    "schedule": lambda engine: engine.schedules.replace("nightly", NIGHTLY),
    "schedule, retargeted": lambda engine: engine.schedules.retarget(
        "nightly", every_ms=1_000, job_type="train", arguments={}
    ),
    "schedule, deleted": lambda engine: engine.schedules.delete("nightly"),
    "configuration": lambda engine: engine.configurations.replace("arrival", ARRIVAL),
    "configuration, deleted": lambda engine: engine.configurations.delete("arrival"),
}


@pytest.fixture
def engine(store: Store) -> Engine:
    made = Engine(store, ManualClock(NOW))
    made.file.apply(Wanted((GPU,), (TRAIN,), (NIGHTLY,), (ARRIVAL,)))
    return made


@pytest.mark.parametrize("what", CHANGES)
def test_what_a_file_owns_is_not_changed_in_another_way(engine: Engine, what: str) -> None:
    with pytest.raises(Conflict, match=f"the {what.partition(',')[0]} .* is defined in the configuration file"):
        CHANGES[what](engine)

    assert engine.file.diff(Wanted((GPU,), (TRAIN,), (NIGHTLY,), (ARRIVAL,))) == []


def test_of_several_none_is_deleted_if_a_file_owns_one(engine: Engine) -> None:
    engine.schedules.create(ScheduleRequest(name="mine", job_type="train", interval=60_000))

    with pytest.raises(Conflict):
        engine.schedules.delete("mine", "nightly")

    assert engine.schedules.find("mine")


def test_a_schedule_of_a_file_may_be_paused(engine: Engine) -> None:
    assert engine.schedules.pause("nightly").schedule.paused
