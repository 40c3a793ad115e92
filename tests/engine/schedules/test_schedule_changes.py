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
from rota.model.schedules.schedule import TickStatus
from rota.model.triggers.interval import Anchor
from rota.model.triggers.trigger import CronTrigger, IntervalTrigger
from rota.store import Store
from tests.engine.schedules.installation import FULL, MINUTE, START, SchedulesInstallation

pytestmark = pytest.mark.stores("sqlite-memory", "redis")


@pytest.fixture
def installation(store: Store) -> SchedulesInstallation:
    installation = SchedulesInstallation(store)
    installation.define()
    return installation


def test_a_paused_schedule_makes_nothing_and_says_what_it_left_out(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    installation.pass_time(MINUTE)
    installation.schedules.pause(uuid, "the database moves")

    installation.pass_time(3 * MINUTE)
    assert len(installation.rows(uuid)) == 1
    installation.schedules.resume(uuid)
    installation.pass_time(MINUTE)

    assert installation.fates(uuid) == ["fired", "skipped:paused", "fired"]
    assert installation.rows(uuid)[1].count == 3


def test_a_schedule_that_asks_for_it_pauses_when_a_job_failed(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", pause_on_failure=True)
    installation.pass_time(MINUTE)
    installation.end(installation.claim()[0], well=False)

    installation.pass_time(2 * MINUTE)

    entry = installation.schedules.find(uuid)
    assert entry.schedule.paused
    assert "failed" in entry.schedule.pause_note
    assert len(installation.rows(uuid)) == 1


def test_an_edit_never_fires_the_past_again(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    installation.pass_time(10 * MINUTE)

    installation.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *", overlap="allow"))
    installation.pass_time(10 * MINUTE)

    later = [row.nominal for row in installation.rows(uuid)][10:]
    assert len(later) == 2
    assert min(later) > START + 10 * MINUTE


def test_a_manual_run_is_beside_the_ticks(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", max_runs=1)

    installation.schedules.run_now(uuid)

    assert installation.waiting() == 1
    assert installation.schedules.find(uuid).state.runs == 0


def test_schedules_follow_their_job_type_to_another_queue(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    installation.definitions.define_node_type(NodeType(uuid=new_id(START), name="big"))
    moved = installation.definitions.job_type("report")
    moved = JobType(uuid=moved.uuid, name=moved.name, executor="log", node_type="big")
    installation.pass_time(MINUTE)
    installation.definitions.define_job_type(moved)

    installation.pass_time(MINUTE)

    big = installation.definitions.node_type("big").uuid
    assert installation.store.count_jobs(big)[JobState.QUEUED] == 1
    assert installation.fates(uuid) == ["fired", "fired"]


@pytest.mark.parametrize("note", ["", "the database moves"])
def test_a_schedule_that_is_defined_as_paused_says_why_as_whoever_defined_it_did(
    installation: SchedulesInstallation, note: str
) -> None:
    uuid = installation.schedule(cron="* * * * *", paused=True, note=note)

    assert installation.schedules.find(uuid).schedule.pause_note == note


def test_of_very_many_schedules_of_a_job_type_all_follow_it_and_those_of_others_stay(
    installation: SchedulesInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.engine.definitions.moves._PAGE", 2)
    installation.define("other")
    followers = [installation.schedule(cron="* * * * *") for _ in range(5)]
    stays = [installation.schedule(cron="* * * * *", job_type="other") for _ in range(3)]
    installation.definitions.define_node_type(NodeType(uuid=new_id(START), name="big"))

    installation.definitions.change_job_type(
        structs.replace(installation.definitions.job_type("report"), node_type="big")
    )

    big = installation.definitions.node_type("big").uuid
    queues = [installation.schedules.find(uuid).schedule.queue for uuid in followers + stays]
    assert queues == [big] * 5 + [installation.queue] * 3


@pytest.mark.parametrize(
    ("wish", "while_it_runs", "after_it_ended"),
    [
        ({"cron": "* * * * *", "overlap": "skip"}, ["fired", "skipped:overlap"], ["fired"]),
        ({"interval": 10_000, "anchor": "ended"}, ["fired"], ["fired"]),
        ({"cron": "* * * * *", "overlap": "allow", "pause_on_failure": True}, ["fired"] * 2, []),
    ],
)
def test_a_schedule_that_follows_its_job_type_follows_the_jobs_it_left_behind(
    installation: SchedulesInstallation, wish: dict[str, object], while_it_runs: list[str], after_it_ended: list[str]
) -> None:
    uuid = installation.schedule(**wish)
    installation.definitions.define_node_type(NodeType(uuid=new_id(START), name="big"))
    installation.pass_time(MINUTE)
    (running,) = installation.claim()
    installation.definitions.change_job_type(
        structs.replace(installation.definitions.job_type("report"), node_type="big")
    )

    installation.pass_time(MINUTE)
    assert installation.fates(uuid) == while_it_runs

    installation.end(running, well=not wish.get("pause_on_failure"))
    installation.pass_time(MINUTE)
    assert installation.fates(uuid) == while_it_runs + after_it_ended


def test_a_job_type_that_schedules_use_is_not_deleted(installation: SchedulesInstallation) -> None:
    installation.schedule(name="nightly", cron="* * * * *")

    with pytest.raises(Conflict, match="nightly"):
        installation.definitions.delete_job_type("report")

    installation.schedules.delete("nightly")
    installation.definitions.delete_job_type("report")


def test_of_several_job_types_none_is_deleted_if_schedules_use_one(installation: SchedulesInstallation) -> None:
    installation.define("free")
    for n in range(7):
        installation.schedule(name=f"s{n}", cron="* * * * *")

    with pytest.raises(Conflict, match=r"schedules s\d, s\d, s\d, s\d, s\d, \.\.\.$"):
        installation.definitions.delete_job_type("free", "report")

    assert installation.definitions.current_job_type("free")


def test_a_schedule_whose_move_was_cut_short_is_brought_home_and_fires_there(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    big = NodeType(uuid=new_id(START), name="big")
    moved = JobType(
        uuid=installation.definitions.job_type("report").uuid, name="report", executor="log", node_type="big"
    )
    installation.store.put_node_types([big])
    installation.store.put_job_types([moved])  # and whoever did it died before the schedule went along

    installation.pass_time(3 * MINUTE)

    assert installation.schedules.find(uuid).schedule.queue == big.uuid
    assert installation.fates(uuid) == ["fired"] * 3
    assert installation.store.count_jobs(big.uuid)[JobState.QUEUED] == 3


def test_a_schedule_is_brought_home_from_a_queue_whose_node_type_is_gone(installation: SchedulesInstallation) -> None:
    small, big = (NodeType(uuid=new_id(START), name=name) for name in ("small", "big"))
    report = structs.replace(installation.definitions.job_type("report"), node_type="small")
    installation.definitions.define([small, big], [report])
    uuid = installation.schedule(cron="0 * * * *", overlap="allow")
    # Whoever moved the job type died before the schedule went along, or had it made by a view that was old.
    installation.store.put_job_types([structs.replace(report, node_type="big")])
    installation.definitions.delete_node_type("small")

    installation.pass_time(60 * MINUTE)

    assert installation.schedules.find(uuid).schedule.queue == big.uuid
    assert installation.fates(uuid) == ["fired"]
    assert installation.store.count_jobs(big.uuid)[JobState.QUEUED] == 1


def test_a_schedule_that_a_failure_stopped_goes_on_when_it_is_resumed(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", pause_on_failure=True)
    installation.pass_time(MINUTE)
    installation.end(installation.claim()[0], well=False)
    installation.pass_time(2 * MINUTE)

    installation.schedules.resume(uuid)
    installation.pass_time(MINUTE)

    assert installation.fates(uuid) == ["fired", "skipped:paused", "fired"]
    assert not installation.schedules.find(uuid).schedule.paused


def test_ticks_that_nobody_decided_before_an_edit_are_accounted_for(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    installation.clock.advance(5 * MINUTE)

    installation.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *", overlap="allow"))
    installation.tick()

    assert installation.fates(uuid) == ["missed:edited"]
    assert installation.rows(uuid)[0].count == 5


def test_an_edit_that_is_refused_for_its_name_leaves_the_ticks_to_the_ticker(
    installation: SchedulesInstallation,
) -> None:
    installation.schedule(name="taken", cron="0 0 1 1 *")
    uuid = installation.schedule(name="mine", cron="* * * * *", overlap="allow", catch_up="all")
    before = installation.schedules.find(uuid)
    installation.clock.advance(5 * MINUTE)

    with pytest.raises(Conflict, match="taken"):
        installation.schedules.replace(uuid, ScheduleRequest(job_type="report", name="taken", cron="*/2 * * * *"))

    assert installation.schedules.find(uuid) == before
    installation.tick()
    assert installation.fates(uuid) == ["fired"] * 5


def test_a_definition_without_a_pause_ends_a_pause_like_resuming(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    installation.schedules.pause(uuid)
    installation.pass_time(5 * MINUTE)

    installation.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="* * * * *", overlap="allow"))
    installation.pass_time(MINUTE)

    assert installation.fates(uuid) == ["skipped:paused", "fired"]


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"at": START - MINUTE}, "at"),
        ({"interval": 1_000, "start": START - 2 * MINUTE, "end": START - MINUTE}, "end"),
        ({"cron": "* * * * *", "end": START - MINUTE}, "cron"),
    ],
)
def test_a_schedule_whose_time_is_over_is_refused(
    installation: SchedulesInstallation, wish: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInput, match=rf"^{field}: "):
        installation.schedule(name="late", **wish)

    assert installation.store.schedule_uuid("late") is None


def test_a_schedule_is_found_by_its_name_and_by_its_uuid(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(name="nightly", cron="* * * * *")

    assert installation.schedules.find("nightly") == installation.schedules.find(uuid)
    with pytest.raises(NotFound, match="nobody"):
        installation.schedules.find("nobody")
    installation.schedule(name=uuid, cron="* * * * *")
    assert installation.schedules.find(uuid).schedule.name == "nightly", "a uuid goes before a name"


def test_a_new_definition_keeps_uuid_and_beginning_and_the_name_if_none_is_given(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(name="nightly", cron="* * * * *", priority=3)
    installation.clock.advance(5 * MINUTE)
    wish = ScheduleRequest(job_type="report", cron="0 * * * *")

    nameless = installation.schedules.replace(uuid, wish).schedule
    named = installation.schedules.replace(uuid, structs.replace(wish, name="hourly")).schedule

    assert (nameless.uuid, nameless.name, nameless.created_at, nameless.priority) == (uuid, "nightly", START, 0)
    assert (named.uuid, named.name, named.created_at) == (uuid, "hourly", START)
    assert installation.store.schedule_uuid("hourly") == uuid


def test_a_definition_that_cannot_be_meant_changes_nothing(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(name="nightly", cron="* * * * *")
    before = installation.schedules.find(uuid)

    for wish in ({"cron": "61 * * * *"}, {"cron": "* * * * *", "end": START - 1}, {"interval": 0}):
        with pytest.raises(InvalidInput):
            installation.schedules.replace(uuid, ScheduleRequest(job_type="report", **wish))
    with pytest.raises(NotFound):
        installation.schedules.replace(uuid, ScheduleRequest(job_type="nobody", cron="* * * * *"))

    assert installation.schedules.find(uuid) == before


def test_two_schedules_cannot_have_one_uuid(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *")
    wish = ScheduleRequest(job_type="report", interval=5)

    with pytest.raises(Conflict, match=uuid):
        installation.schedules.create(structs.replace(wish, name="other"), uuid=uuid)
    with pytest.raises(Conflict, match=uuid):
        installation.schedules.define(uuid, structs.replace(wish, name="other"), managed_by="somebody")

    assert installation.schedules.find(uuid).schedule.trigger == CronTrigger(cron="* * * * *")


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
    installation: SchedulesInstallation, last: int | None, remembered: int | None, following: int
) -> None:
    wish = ScheduleRequest(job_type="report", interval=10_000)

    state = installation.schedules.define(new_id(START), wish, managed_by="m", last_scheduled_at=last).state

    assert (state.last_scheduled_at, state.nominal, state.version) == (remembered, following, 1)


def test_a_run_by_hand_has_all_that_the_schedule_says(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", priority=4, job_arguments={"a": 1})

    made = installation.schedules.run_now(uuid)

    (claim,) = installation.claim()
    assert (claim.spec.id, claim.spec.priority, claim.spec.arguments) == (made.job_id, 4, {"a": 1})
    assert claim.spec.cause == Cause("manual", uuid)
    assert installation.rows(uuid) == []


def test_an_interval_can_be_given_another_length_job_type_and_arguments(installation: SchedulesInstallation) -> None:
    installation.define("other")
    uuid = installation.schedule(interval=10_000, priority=2)
    installation.tick()

    entry = installation.schedules.retarget(uuid, every_ms=20_000, job_type="other", arguments={"b": 2})

    assert entry.schedule.trigger == IntervalTrigger(every_ms=20_000, anchor=Anchor.SCHEDULED)
    assert entry.schedule.job_type == installation.definitions.job_type("other").uuid
    assert (entry.schedule.arguments, entry.schedule.priority) == ({"b": 2}, 2)
    assert entry.state.nominal == START + 20_000
    with pytest.raises(InvalidInput, match="interval"):
        installation.schedules.retarget(uuid, every_ms=0, job_type="other", arguments={})
    with pytest.raises(Conflict, match="interval"):
        installation.schedules.retarget(
            installation.schedule(cron="* * * * *"), every_ms=5, job_type="other", arguments={}
        )


def test_a_schedule_that_is_given_a_job_type_of_another_queue_goes_there(installation: SchedulesInstallation) -> None:
    big = NodeType(uuid=new_id(START), name="big")
    installation.definitions.define_node_type(big)
    installation.definitions.define_job_type(JobType(uuid=new_id(START), name="far", executor="log", node_type="big"))
    replaced, retargeted = installation.schedule(cron="* * * * *"), installation.schedule(interval=10_000)

    installation.schedules.replace(replaced, ScheduleRequest(job_type="far", cron="* * * * *"))
    installation.schedules.retarget(retargeted, every_ms=10_000, job_type="far", arguments={})

    assert [installation.schedules.find(uuid).schedule.queue for uuid in (replaced, retargeted)] == [big.uuid, big.uuid]


def test_a_paused_schedule_that_gets_other_times_accounts_for_the_old_ones_as_paused(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    installation.schedules.pause(uuid, "why")
    installation.clock.advance(3 * MINUTE)
    other = ScheduleRequest(job_type="report", cron="*/5 * * * *", overlap="allow", paused=True, note="why")

    installation.schedules.replace(uuid, other)
    installation.clock.advance(20 * MINUTE)
    installation.schedules.resume(uuid)

    told = [(row.nominal, row.until, row.count, row.status.value, row.reason) for row in installation.rows(uuid)]
    assert told == [
        (FULL + MINUTE, FULL + 3 * MINUTE, 3, "skipped", "paused"),
        (FULL + 6 * MINUTE, FULL + 21 * MINUTE, 4, "skipped", "paused"),
    ]
    assert installation.schedules.find(uuid).state.counts == {"skipped:paused": 7}
    assert installation.schedules.find(uuid).schedule.pause_note == ""


@pytest.mark.parametrize(("ticks", "until"), [(1, None), (2, FULL + 2 * MINUTE), (3, FULL + 3 * MINUTE)])
def test_the_row_of_a_pause_says_which_tick_was_the_last_if_there_were_several(
    installation: SchedulesInstallation, ticks: int, until: int | None
) -> None:
    uuid = installation.schedule(cron="* * * * *")
    installation.schedules.pause(uuid, "why")
    installation.clock.advance(ticks * MINUTE)
    installation.schedules.resume(uuid)

    (row,) = installation.rows(uuid)
    assert (row.nominal, row.until, row.count) == (FULL + MINUTE, until, ticks)


def test_a_change_that_leaves_the_times_alone_leaves_their_ticks_to_the_ticker(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    installation.clock.advance(3 * MINUTE)

    installation.schedules.replace(
        uuid, ScheduleRequest(job_type="report", cron="* * * * *", overlap="allow", catch_up="all", priority=9)
    )
    installation.tick()

    assert installation.fates(uuid) == ["fired"] * 3


def test_an_edit_while_the_clock_is_set_back_does_not_move_the_cursor_back(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    installation.pass_time(3 * MINUTE)
    installation.clock.set(START)

    installation.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/2 * * * *", overlap="allow"))
    installation.pass_time(6 * MINUTE)

    assert [(row.nominal - FULL) // MINUTE for row in installation.rows(uuid)] == [1, 2, 3, 4, 6]
    assert installation.waiting() == 5


def test_times_of_a_new_definition_that_lie_before_it_are_not_fired(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="*/5 * * * *", overlap="allow")
    installation.pass_time(9 * MINUTE)

    edited = ScheduleRequest(job_type="report", cron="* * * * *", overlap="allow", catch_up="all")
    installation.schedules.replace(uuid, edited)
    installation.tick()
    installation.pass_time(MINUTE)

    assert [(row.nominal - FULL) // MINUTE for row in installation.rows(uuid)] == [1, 6, 10]
    assert installation.fates(uuid) == ["fired"] * 3


def test_a_schedule_that_goes_on_after_a_failure_remembers_the_jobs_that_are_alive(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="buffer_all", pause_on_failure=True)
    installation.pass_time(2 * MINUTE)
    (failing,) = installation.claim()
    installation.end(failing, well=False)
    installation.pass_time(MINUTE)

    resumed = installation.schedules.resume(uuid)

    waiting = installation.rows(uuid)[1].job
    assert resumed.state.jobs == (waiting,)


@pytest.mark.parametrize(
    ("resumed", "fates"),
    [
        (MINUTE - 1, ["fired", "fired"]),
        (MINUTE, ["skipped:paused", "fired"]),
        (MINUTE + 1, ["skipped:paused", "fired"]),
    ],
)
def test_a_resumed_schedule_fires_from_the_next_time_on(
    installation: SchedulesInstallation, resumed: int, fates: list[str]
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow", catch_up="all")
    installation.schedules.pause(uuid)
    installation.clock.set(FULL + resumed)
    installation.schedules.resume(uuid)

    installation.clock.set(FULL + 2 * MINUTE)
    installation.tick()

    assert installation.fates(uuid) == fates


def test_every_schedule_of_a_job_type_follows_it(installation: SchedulesInstallation) -> None:
    uuids = [installation.schedule(name=f"s{number}", cron="* * * * *") for number in range(3)]
    installation.define("other")
    stays = installation.schedule(name="stays", job_type="other", cron="* * * * *")
    installation.definitions.define_node_type(NodeType(uuid=new_id(START), name="big"))

    installation.definitions.define_job_type(
        structs.replace(installation.definitions.job_type("report"), node_type="big")
    )

    big = installation.definitions.node_type("big").uuid
    assert [installation.schedules.find(uuid).schedule.queue for uuid in uuids] == [big] * 3
    assert installation.schedules.find(stays).schedule.queue == installation.queue


def test_a_move_that_lost_against_a_tick_is_made_upon_the_newer_state(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow")
    before = installation.schedules.find(uuid)
    other = new_id(START)
    installation.pass_time(MINUTE)

    move_schedule(installation.store, before, other)

    after = installation.schedules.find(uuid)
    assert (after.schedule.queue, after.state.version, after.state.runs) == (other, 3, 1)
    move_schedule(installation.store, after, other)
    assert installation.schedules.find(uuid).state.version == 3, "it is there already"


def test_a_job_type_whose_node_type_is_gone_is_named_as_the_wrong_field(installation: SchedulesInstallation) -> None:
    lost = JobType(uuid=new_id(START), name="lost", executor="log", node_type="gone")
    installation.store.put_job_types([lost])
    installation.definitions.refresh()

    with pytest.raises(InvalidInput, match=r"^job_type: .*gone"):
        installation.schedule(job_type="lost", cron="* * * * *")
    with pytest.raises(NotFound, match="nobody"):
        installation.schedule(job_type="nobody", cron="* * * * *")
    with pytest.raises(InvalidInput, match=r"^job_type: "):
        installation.schedule(job_type="", cron="* * * * *")


def test_a_schedule_that_counts_from_the_end_of_its_run_goes_on_when_it_is_resumed_meanwhile(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(interval=10_000, anchor="ended")
    installation.tick()
    running = installation.claim()[0]
    installation.schedules.pause(uuid)
    installation.schedules.resume(uuid)
    installation.pass_time(5_000)
    installation.end(running)

    installation.pass_time(11_000)

    assert installation.fates(uuid) == ["fired", "fired"]


@pytest.mark.parametrize("is_well", [True, False])
def test_a_schedule_that_counts_from_the_end_of_its_run_goes_on_although_that_came_while_it_was_paused(
    installation: SchedulesInstallation, is_well: bool
) -> None:
    uuid = installation.schedule(interval=60_000, anchor="ended", pause_on_failure=not is_well)
    installation.tick()
    running = installation.claim()[0]
    if is_well:
        installation.schedules.pause(uuid)
    installation.pass_time(5_000)
    installation.end(running, well=is_well)
    ended = installation.clock.now()
    installation.pass_time(5_000)
    assert installation.schedules.find(uuid).schedule.paused

    installation.schedules.resume(uuid)
    installation.pass_time(70_000)

    assert installation.fates(uuid) == ["fired", "fired"]
    assert installation.rows(uuid)[1].nominal == ended + 60_000


def test_a_schedule_that_is_to_count_from_ends_from_now_on_goes_on_from_its_last_run(
    installation: SchedulesInstallation,
) -> None:
    uuid = installation.schedule(interval=60_000, overlap="allow")
    installation.pass_time(61_000)
    installation.end(installation.claim()[0])
    made = installation.schedules.find(uuid).state.last_scheduled_at
    assert made is not None

    installation.schedules.replace(uuid, ScheduleRequest(job_type="report", interval=90_000, anchor="ended"))
    installation.pass_time(100_000)

    assert [row.nominal for row in installation.rows(uuid) if row.nominal > made] == [made + 90_000]


def test_a_schedule_that_ran_often_enough_is_not_looked_at_again(installation: SchedulesInstallation) -> None:
    uuid = installation.schedule(interval=1_000, anchor="ended", max_runs=1)
    installation.tick()

    installation.end(installation.claim()[0])
    installation.pass_time(3_000)

    assert installation.schedules.find(uuid).state.due is None


@pytest.mark.parametrize("catch_up", ["none", "last", "all"])
@pytest.mark.parametrize("more", [5, None])
def test_a_schedule_that_ran_often_enough_and_may_run_again_goes_on_from_then(
    installation: SchedulesInstallation, catch_up: str, more: int | None
) -> None:
    wish = {"job_type": "report", "cron": "* * * * *", "overlap": "allow", "catch_up": catch_up}
    uuid = installation.schedule(**wish, max_runs=2)
    installation.pass_time(10 * MINUTE)

    installation.schedules.replace(uuid, ScheduleRequest(**wish, max_runs=more))  # type: ignore[arg-type]
    installation.pass_time(2 * MINUTE)

    nominals = [FULL + n * MINUTE for n in (1, 2, 11, 12)]
    assert [(row.nominal, row.status) for row in installation.rows(uuid)] == [(at, TickStatus.FIRED) for at in nominals]


def test_a_schedule_that_may_run_more_often_than_before_still_makes_up_for_what_it_missed(
    installation: SchedulesInstallation,
) -> None:
    wish = {"job_type": "report", "cron": "* * * * *", "overlap": "allow", "catch_up": "all"}
    uuid = installation.schedule(**wish, max_runs=3)
    installation.pass_time(2 * MINUTE)
    installation.clock.advance(2 * MINUTE)

    installation.schedules.replace(uuid, ScheduleRequest(**wish, max_runs=4))  # type: ignore[arg-type]
    installation.tick()

    assert [row.nominal for row in installation.rows(uuid)] == [FULL + n * MINUTE for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("is_paused", [True, False])
def test_a_schedule_that_ran_often_enough_has_left_out_nothing_when_it_gets_other_times_or_is_resumed(
    installation: SchedulesInstallation, is_paused: bool
) -> None:
    uuid = installation.schedule(cron="* * * * *", overlap="allow", max_runs=2)
    installation.pass_time(3 * MINUTE)
    ended_at = installation.schedules.find(uuid).state.cursor
    if is_paused:
        installation.schedules.pause(uuid)
    installation.clock.advance(10 * MINUTE)

    if is_paused:
        installation.schedules.resume(uuid)
    else:
        installation.schedules.replace(uuid, ScheduleRequest(job_type="report", cron="*/5 * * * *", max_runs=2))

    assert installation.fates(uuid) == ["fired", "fired"]
    state = installation.schedules.find(uuid).state
    assert (state.counts, state.cursor) == ({"fired": 2}, ended_at)
