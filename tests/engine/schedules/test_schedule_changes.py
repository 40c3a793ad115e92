"""What happens to ticks when a schedule is changed, paused, moved or removed. Time is driven by hand."""

import pytest
from msgspec import structs

from rota.engine.definitions.moves import move_schedule
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.ids import new_id
from rota.model.job import Cause, JobState
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.model.triggers.interval import Anchor
from rota.model.triggers.trigger import CronTrigger, IntervalTrigger
from rota.store import Store
from tests.engine.schedules.installation import FULL, MINUTE, START, World

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


def test_a_schedule_is_found_by_its_name_and_by_its_uuid(world: World) -> None:
    uuid = world.schedule(name="nightly", cron="* * * * *")

    assert world.schedules.find("nightly") == world.schedules.find(uuid)
    with pytest.raises(NotFound, match="nobody"):
        world.schedules.find("nobody")
    world.schedule(name=uuid, cron="* * * * *")
    assert world.schedules.find(uuid).schedule.name == "nightly", "a uuid goes before a name"


def test_a_new_definition_keeps_uuid_and_beginning_and_the_name_if_none_is_given(world: World) -> None:
    uuid = world.schedule(name="nightly", cron="* * * * *", priority=3)
    world.clock.advance(5 * MINUTE)
    wish = ScheduleRequest(job_type="report", cron="0 * * * *")

    nameless = world.schedules.replace(uuid, wish).schedule
    named = world.schedules.replace(uuid, structs.replace(wish, name="hourly")).schedule

    assert (nameless.uuid, nameless.name, nameless.created_at, nameless.priority) == (uuid, "nightly", START, 0)
    assert (named.uuid, named.name, named.created_at) == (uuid, "hourly", START)
    assert world.store.schedule_uuid("hourly") == uuid


def test_a_definition_that_cannot_be_meant_changes_nothing(world: World) -> None:
    uuid = world.schedule(name="nightly", cron="* * * * *")
    before = world.schedules.find(uuid)

    for wish in ({"cron": "61 * * * *"}, {"cron": "* * * * *", "end": START - 1}, {"interval": 0}):
        with pytest.raises(InvalidInput):
            world.schedules.replace(uuid, ScheduleRequest(job_type="report", **wish))
    with pytest.raises(NotFound):
        world.schedules.replace(uuid, ScheduleRequest(job_type="nobody", cron="* * * * *"))

    assert world.schedules.find(uuid) == before


def test_two_schedules_cannot_have_one_uuid(world: World) -> None:
    uuid = world.schedule(cron="* * * * *")
    wish = ScheduleRequest(job_type="report", interval=5)

    with pytest.raises(Conflict, match=uuid):
        world.schedules.create(structs.replace(wish, name="other"), uuid=uuid)
    with pytest.raises(Conflict, match=uuid):
        world.schedules.define(uuid, structs.replace(wish, name="other"), managed_by="somebody")

    assert world.schedules.find(uuid).schedule.trigger == CronTrigger(cron="* * * * *")


@pytest.mark.parametrize(
    ("last", "remembered", "following"),
    [
        (None, None, START),
        (START - 4_000, START - 4_000, START + 6_000),
        (START - 60_000, START - 60_000, START),
        (START + 60_000, START, START + 10_000),
    ],
)
def test_an_owner_may_know_when_a_schedule_was_last_scheduled(
    world: World, last: int | None, remembered: int | None, following: int
) -> None:
    wish = ScheduleRequest(job_type="report", interval=10_000)

    state = world.schedules.define(new_id(START), wish, managed_by="m", last_scheduled_at=last).state

    assert (state.last_scheduled_at, state.nominal, state.version) == (remembered, following, 1)


def test_a_run_by_hand_has_all_that_the_schedule_says(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", priority=4, job_arguments={"a": 1})

    made = world.schedules.run_now(uuid)

    (claim,) = world.claim()
    assert (claim.spec.id, claim.spec.priority, claim.spec.arguments) == (made.job_id, 4, {"a": 1})
    assert claim.spec.cause == Cause("manual", uuid)
    assert world.rows(uuid) == []


def test_an_interval_can_be_given_another_length_job_type_and_arguments(world: World) -> None:
    world.job_type("other")
    uuid = world.schedule(interval=10_000, priority=2)
    world.tick()

    entry = world.schedules.retarget(uuid, every_ms=20_000, job_type="other", arguments={"b": 2})

    assert entry.schedule.trigger == IntervalTrigger(every_ms=20_000, anchor=Anchor.SCHEDULED)
    assert entry.schedule.job_type == world.definitions.job_type("other").uuid
    assert (entry.schedule.arguments, entry.schedule.priority) == ({"b": 2}, 2)
    assert entry.state.nominal == START + 20_000
    with pytest.raises(InvalidInput, match="interval"):
        world.schedules.retarget(uuid, every_ms=0, job_type="other", arguments={})
    with pytest.raises(Conflict, match="interval"):
        world.schedules.retarget(world.schedule(cron="* * * * *"), every_ms=5, job_type="other", arguments={})


def test_a_schedule_that_is_given_a_job_type_of_another_queue_goes_there(world: World) -> None:
    big = NodeType(uuid=new_id(START), name="big")
    world.definitions.define_node_type(big)
    world.definitions.define_job_type(JobType(uuid=new_id(START), name="far", executor="log", node_type="big"))
    replaced, retargeted = world.schedule(cron="* * * * *"), world.schedule(interval=10_000)

    world.schedules.replace(replaced, ScheduleRequest(job_type="far", cron="* * * * *"))
    world.schedules.retarget(retargeted, every_ms=10_000, job_type="far", arguments={})

    assert [world.schedules.find(uuid).schedule.queue for uuid in (replaced, retargeted)] == [big.uuid, big.uuid]


def test_a_paused_schedule_that_gets_other_times_accounts_for_the_old_ones_as_paused(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    world.schedules.pause(uuid, "why")
    world.clock.advance(3 * MINUTE)
    other = ScheduleRequest(job_type="report", cron="*/5 * * * *", overlap="allow", paused=True, note="why")

    world.schedules.replace(uuid, other)
    world.clock.advance(20 * MINUTE)
    world.schedules.resume(uuid)

    told = [(row.nominal, row.until, row.count, row.status.value, row.reason) for row in world.rows(uuid)]
    assert told == [
        (FULL + MINUTE, FULL + 3 * MINUTE, 3, "skipped", "paused"),
        (FULL + 6 * MINUTE, FULL + 21 * MINUTE, 4, "skipped", "paused"),
    ]
    assert world.schedules.find(uuid).state.counts == {"skipped:paused": 7}
    assert world.schedules.find(uuid).schedule.pause_note == ""


def test_a_change_that_leaves_the_times_alone_leaves_their_ticks_to_the_ticker(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    world.clock.advance(3 * MINUTE)

    world.schedules.replace(
        uuid, ScheduleRequest(job_type="report", cron="* * * * *", overlap="allow", catch_up="all", priority=9)
    )
    world.tick()

    assert world.fates(uuid) == ["fired"] * 3


def test_an_edit_while_the_clock_is_set_back_does_not_move_the_cursor_back(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    world.pass_time(3 * MINUTE)
    world.clock.set(START)

    world.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/2 * * * *", overlap="allow"))
    world.pass_time(6 * MINUTE)

    assert [(row.nominal - FULL) // MINUTE for row in world.rows(uuid)] == [1, 2, 3, 4, 6]
    assert world.waiting() == 5


def test_times_of_a_new_definition_that_lie_before_it_are_not_fired(world: World) -> None:
    uuid = world.schedule(cron="*/5 * * * *", overlap="allow")
    world.pass_time(9 * MINUTE)

    edited = ScheduleRequest(job_type="report", cron="* * * * *", overlap="allow", catch_up="all")
    world.schedules.replace(uuid, edited)
    world.tick()
    world.pass_time(MINUTE)

    assert [(row.nominal - FULL) // MINUTE for row in world.rows(uuid)] == [1, 6, 10]
    assert world.fates(uuid) == ["fired"] * 3


def test_a_schedule_that_goes_on_after_a_failure_remembers_the_jobs_that_are_alive(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="buffer_all", pause_on_failure=True)
    world.pass_time(2 * MINUTE)
    (failing,) = world.claim()
    world.end(failing, well=False)
    world.pass_time(MINUTE)

    resumed = world.schedules.resume(uuid)

    waiting = world.rows(uuid)[1].job
    assert resumed.state.jobs == (waiting,)


@pytest.mark.parametrize(
    ("resumed", "fates"),
    [
        (MINUTE - 1, ["fired", "fired"]),
        (MINUTE, ["skipped:paused", "fired"]),
        (MINUTE + 1, ["skipped:paused", "fired"]),
    ],
)
def test_a_resumed_schedule_fires_from_the_next_time_on(world: World, resumed: int, fates: list[str]) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    world.schedules.pause(uuid)
    world.clock.set(FULL + resumed)
    world.schedules.resume(uuid)

    world.clock.set(FULL + 2 * MINUTE)
    world.tick()

    assert world.fates(uuid) == fates


def test_every_schedule_of_a_job_type_follows_it(world: World) -> None:
    uuids = [world.schedule(name=f"s{number}", cron="* * * * *") for number in range(3)]
    world.job_type("other")
    stays = world.schedule(name="stays", job_type="other", cron="* * * * *")
    world.definitions.define_node_type(NodeType(uuid=new_id(START), name="big"))

    world.definitions.define_job_type(structs.replace(world.definitions.job_type("report"), node_type="big"))

    big = world.definitions.node_type("big").uuid
    assert [world.schedules.find(uuid).schedule.queue for uuid in uuids] == [big] * 3
    assert world.schedules.find(stays).schedule.queue == world.queue


def test_a_move_that_lost_against_a_tick_is_made_upon_the_newer_state(world: World) -> None:
    uuid = world.schedule(cron="* * * * *", overlap="allow")
    before = world.schedules.find(uuid)
    other = new_id(START)
    world.pass_time(MINUTE)

    move_schedule(world.store, before, other)

    after = world.schedules.find(uuid)
    assert (after.schedule.queue, after.state.version, after.state.runs) == (other, 3, 1)
    move_schedule(world.store, after, other)
    assert world.schedules.find(uuid).state.version == 3, "it is there already"


def test_a_job_type_whose_node_type_is_gone_is_named_as_the_wrong_field(world: World) -> None:
    lost = JobType(uuid=new_id(START), name="lost", executor="log", node_type="gone")
    world.store.put_job_types([lost])
    world.definitions.refresh()

    with pytest.raises(InvalidInput, match=r"^job_type: .*gone"):
        world.schedule(job_type="lost", cron="* * * * *")
    with pytest.raises(NotFound, match="nobody"):
        world.schedule(job_type="nobody", cron="* * * * *")
    with pytest.raises(InvalidInput, match=r"^job_type: "):
        world.schedule(job_type="", cron="* * * * *")
