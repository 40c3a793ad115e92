"""What happens to ticks when a schedule is changed, paused, moved or removed. Time is driven by hand."""

import pytest

from rota.errors import Conflict, InvalidInput
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedule_request import ScheduleRequest
from rota.store import Store
from tests.engine.scheduling import MINUTE, START, World

pytestmark = pytest.mark.stores("sqlite-memory", "redis")


@pytest.fixture
def world(store: Store) -> World:
    world = World(store)
    world.job_type()
    return world


def test_a_paused_schedule_makes_nothing_and_says_what_it_left_out(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    world.pass_time(MINUTE)
    world.schedules.pause(uuid, "the database moves")

    world.pass_time(3 * MINUTE)
    assert len(world.rows(uuid)) == 1
    world.schedules.resume(uuid)
    world.pass_time(MINUTE)

    assert world.fates(uuid) == ["fired", "skipped:paused", "fired"]
    assert world.rows(uuid)[1].count == 3


def test_a_schedule_that_asks_for_it_pauses_when_a_job_failed(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", pause_on_failure=True)
    world.pass_time(MINUTE)
    world.end(world.claim()[0], well=False)

    world.pass_time(2 * MINUTE)

    entry = world.schedules.find(uuid)
    assert entry.schedule.paused
    assert "failed" in entry.schedule.pause_note
    assert len(world.rows(uuid)) == 1


def test_an_edit_never_fires_the_past_again(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    world.pass_time(10 * MINUTE)

    world.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *", overlap="allow"))
    world.pass_time(10 * MINUTE)

    later = [row.nominal for row in world.rows(uuid)][10:]
    assert len(later) == 2
    assert min(later) > START + 10 * MINUTE


def test_a_manual_run_is_beside_the_ticks(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", max_runs=1)

    world.schedules.run_now(uuid)

    assert world.waiting() == 1
    assert world.schedules.find(uuid).state.runs == 0


def test_schedules_follow_their_job_type_to_another_queue(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    world.definitions.define_node_type(NodeType(uuid=new_id(START), name="big"))
    moved = world.definitions.job_type("report")
    moved = JobType(uuid=moved.uuid, name=moved.name, executor="log", node_type="big")
    world.pass_time(MINUTE)
    world.definitions.define_job_type(moved)

    world.pass_time(MINUTE)

    big = world.definitions.node_type("big").uuid
    assert world.store.count_jobs(big)[JobState.QUEUED] == 1
    assert world.fates(uuid) == ["fired", "fired"]


def test_a_job_type_that_schedules_use_is_not_deleted(world: World) -> None:
    world.schedule(name="nightly", cron="* * * * *")

    with pytest.raises(Conflict, match="nightly"):
        world.definitions.delete_job_type("report")

    world.schedules.delete("nightly")
    world.definitions.delete_job_type("report")


def test_a_schedule_whose_move_was_cut_short_is_brought_home_and_fires_there(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    big = NodeType(uuid=new_id(START), name="big")
    moved = JobType(uuid=world.definitions.job_type("report").uuid, name="report", executor="log", node_type="big")
    world.store.put_node_types([big])
    world.store.put_job_types([moved])  # and whoever did it died before the schedule went along

    world.pass_time(3 * MINUTE)

    assert world.schedules.find(uuid).schedule.queue == big.uuid
    assert world.fates(uuid) == ["fired"] * 3
    assert world.store.count_jobs(big.uuid)[JobState.QUEUED] == 3


def test_a_schedule_that_a_failure_stopped_goes_on_when_it_is_resumed(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", pause_on_failure=True)
    world.pass_time(MINUTE)
    world.end(world.claim()[0], well=False)
    world.pass_time(2 * MINUTE)

    world.schedules.resume(uuid)
    world.pass_time(MINUTE)

    assert world.fates(uuid) == ["fired", "skipped:paused", "fired"]
    assert not world.schedules.find(uuid).schedule.paused


def test_ticks_that_nobody_decided_before_an_edit_are_accounted_for(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    world.clock.advance(5 * MINUTE)

    world.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *", overlap="allow"))
    world.tick()

    assert world.fates(uuid) == ["missed:edited"]
    assert world.rows(uuid)[0].count == 5


def test_a_definition_without_a_pause_ends_a_pause_like_resuming(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    world.schedules.pause(uuid)
    world.pass_time(5 * MINUTE)

    world.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="* * * * *", overlap="allow"))
    world.pass_time(MINUTE)

    assert world.fates(uuid) == ["skipped:paused", "fired"]


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"at": START - MINUTE}, "at"),
        ({"interval": 1_000, "start": START - 2 * MINUTE, "end": START - MINUTE}, "end"),
        ({"cron": "* * * * *", "end": START - MINUTE}, "cron"),
    ],
)
def test_a_schedule_whose_time_is_over_is_refused(world: World, wish: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^{field}: "):
        world.schedule(name="late", **wish)

    assert world.store.schedule_uuid("late") is None
