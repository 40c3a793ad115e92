"""Tasks on every store: when they run, how often, and what becomes of those that fail."""

import pytest
from msgspec import structs

from rota.dialects.tasks import tasks as module
from rota.dialects.tasks.cleaning import clean
from rota.dialects.tasks.entity.reading import read_task
from rota.dialects.tasks.entity.task import Task
from rota.dialects.tasks.entity.view import running_task
from rota.dialects.tasks.names import DEFAULT_TRIES
from rota.dialects.tasks.shown import Unseen
from rota.dialects.tasks.tasks import HOLD_MS, OVER
from rota.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from rota.store import Store
from rota.testing.faults import Faults, away
from tests.dialects.tasks.installation import START, TasksInstallation, changed


def test_a_task_without_a_schedule_runs_once_and_is_over(tasks: TasksInstallation) -> None:
    assert tasks.add("a", data={"b": 1}).status == "enqueued"
    tasks.clock.advance(HOLD_MS)

    ran = tasks.run()

    assert ran is not None
    assert (ran.id, ran.data, ran.runs, ran.attempt) == ("a", {"b": 1}, 0, 1)
    assert tasks.tasks.find("a") is None
    assert [(one.id, one.status, one.runs) for one in tasks.tasks.completed(10)] == [("a", "completed", 1)]


def test_adding_a_task_again_changes_nothing_and_gives_the_stored_one(tasks: TasksInstallation) -> None:
    tasks.add("a", data=1, schedule=1_000)

    again = tasks.add("a", data=2, schedule=5)

    assert (again.data, again.schedule) == (1, 1_000)
    assert tasks.runs_within(1_500) == [100, 1_100]


def test_a_completed_task_can_be_added_anew(tasks: TasksInstallation) -> None:
    for _ in range(2):
        tasks.add("a")
        tasks.clock.advance(HOLD_MS)
        assert tasks.run() is not None

    assert len(tasks.tasks.completed(10)) == 2
    assert len(tasks.tasks.completed(1)) == 1


def test_completed_tasks_are_told_as_their_last_runs_left_them_the_latest_first(tasks: TasksInstallation) -> None:
    for id in ("first", "second"):
        tasks.add(id, delay=0)
        tasks.run(takes=250)

    found = [(one.id, one.last_run, one.execution_time) for one in tasks.tasks.completed(10)]

    assert found == [("second", START + 500, 250), ("first", START + 250, 250)]
    assert [one.id for one in tasks.tasks.completed(1)] == ["second"]


def test_a_task_that_a_worker_completes_while_it_is_added_is_completed_and_not_added_again(store: Store) -> None:
    faults = Faults(store)
    tasks = TasksInstallation(faults.store)
    faults.after("fire_schedules", tasks.run)

    assert tasks.add("a", delay=0).status == "completed"

    assert len(tasks.tasks.completed(10)) == 1
    assert tasks.run() is None


def test_all_tasks_are_found_however_many_pages_they_take(
    tasks: TasksInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    ids = [f"task {number}" for number in range(5)]
    for id in ids:
        tasks.add(id, delay=0)

    assert sorted(task.id for task in tasks.tasks.all()) == ids
    tasks.clock.advance(1_000)
    assert sorted(task.id for task in tasks.tasks.held(500)) == ids
    while tasks.run() is not None:
        pass
    assert sorted(task.id for task in tasks.tasks.completed(10)) == ids


def test_tasks_run_in_the_order_in_which_they_were_added(tasks: TasksInstallation) -> None:
    names = [f"task {number}" for number in range(20)]
    for name in names:
        tasks.add(name)
    tasks.clock.advance(HOLD_MS)

    ran = [task.id for task in iter(tasks.run, None)]

    assert ran == names


def test_a_delay_of_nothing_is_at_once(tasks: TasksInstallation) -> None:
    tasks.add("a", delay=0)

    assert tasks.run() is not None


def test_a_ticker_that_looks_while_a_task_is_added_leaves_time_for_its_delay(tasks: TasksInstallation) -> None:
    class Looking(Unseen):
        def show(self, task: Task, *, is_new: bool = False) -> None:
            tasks.tick()

    tasks.tasks.shown = Looking()
    tasks.add("a")

    assert tasks.run() is None
    tasks.tasks.reschedule("a", changed(delay=5_000))
    assert tasks.runs_within(6_000) == [5_000]


def test_a_task_whose_adder_dies_before_it_is_fired_runs_when_the_time_for_a_delay_is_over(
    tasks: TasksInstallation,
) -> None:
    class Dying(Unseen):
        def show(self, task: Task, *, is_new: bool = False) -> None:
            raise KeyboardInterrupt

    tasks.tasks.shown = Dying()
    with pytest.raises(KeyboardInterrupt):
        tasks.add("a")
    tasks.tasks.shown = Unseen()

    assert tasks.runs_within(1_000) == [HOLD_MS]


def test_a_period_is_counted_from_the_end_of_a_run(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000)

    assert tasks.runs_within(5_000, takes=500) == [100, 1_600, 3_100, 4_600, 6_100]


def test_a_task_says_when_it_ran_last_and_how_long_that_took(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000, delay=0)
    assert (tasks.find().last_run, tasks.find().execution_time) == (None, None)

    ran = tasks.run(takes=250)

    assert ran is not None
    assert ran.status == "active", "as its handler sees it"
    assert (tasks.find().last_run, tasks.find().execution_time) == (START + 250, 250)
    tasks.pass_time(1_000)
    tasks.run(takes=300, error="no")
    assert tasks.find().last_run == START + 1_550, "one that failed is a run too"


def test_only_runs_that_succeed_are_counted(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000, maxRuns=2)
    tasks.clock.advance(HOLD_MS)

    assert tasks.run(error="no") is not None
    assert tasks.find().runs == 0
    tasks.pass_time(600)
    assert tasks.run() is not None
    assert (tasks.find().runs, tasks.find().status) == (1, "delayed")
    tasks.pass_time(1_500)
    assert tasks.run() is not None

    assert tasks.tasks.find("a") is None
    assert tasks.tasks.completed(1)[0].runs == 2


def test_a_task_without_a_period_may_run_several_times_at_once(tasks: TasksInstallation) -> None:
    tasks.add("a", maxRuns=3)

    began = tasks.runs_within(3_000)

    assert len(began) == 3
    assert tasks.tasks.find("a") is None


def test_an_error_is_tried_again_later_and_leaves_the_period_as_it_is(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=60_000)
    tasks.clock.advance(HOLD_MS)

    assert tasks.run(error="boom") is not None

    found = tasks.find()
    assert (found.status, found.schedule, found.error_count) == ("delayed", 60_000, 1)
    assert [error.message for error in found.errors] == ["boom"]
    assert found.next_run == tasks.clock.now() + 500
    tasks.pass_time(600)
    again = tasks.run()
    assert again is not None
    assert again.attempt == 2
    assert tasks.find().next_run == tasks.clock.now() + 60_000
    assert (tasks.find().error_count, tasks.find().errors) == (0, ())


def test_after_as_many_errors_in_a_row_as_it_has_tries_a_task_has_failed(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000, maxTries=2)
    tasks.clock.advance(HOLD_MS)
    assert tasks.run(error="one") is not None
    tasks.pass_time(600)
    assert tasks.run(error="two") is not None

    tasks.pass_time(5_000)

    found = tasks.find()
    assert (found.status, found.error_count) == ("failed", 2)
    assert [error.message for error in found.errors] == ["one", "two"]
    assert tasks.run() is None
    assert tasks.add("a").status == "failed", "adding it again does not hide that"


@pytest.mark.parametrize("wait_ms", [0, 3_000])
def test_a_failed_task_can_be_brought_back(tasks: TasksInstallation, wait_ms: int) -> None:
    tasks.add("a", schedule=1_000, maxTries=1)
    tasks.clock.advance(HOLD_MS)
    assert tasks.run(error="one") is not None
    tasks.pass_time(wait_ms)

    assert tasks.tasks.rescue("a").status == "enqueued"

    assert tasks.run() is not None
    assert tasks.find().runs == 1
    tasks.pass_time(1_600)
    assert tasks.run() is not None, "and goes on"


def test_a_task_that_is_brought_back_while_a_ticker_stops_it_for_its_failure_goes_on(store: Store) -> None:
    faults = Faults(store)
    tasks, slow = TasksInstallation(store), TasksInstallation(faults.store)
    tasks.add("a", schedule=1_000, maxTries=1)
    tasks.pass_time(HOLD_MS)
    assert tasks.run(error="no") is not None

    faults.before("put_schedules", lambda: tasks.tasks.rescue("a"))
    slow.clock.set(tasks.clock.advance(1_000))
    slow.tick()

    assert not faults.awaits("put_schedules")
    assert tasks.find().status == "enqueued"
    assert tasks.run() is not None
    tasks.pass_time(2_000)
    assert tasks.run() is not None, "and goes on"


def test_what_tasks_are_is_defined_once_also_after_somebody_changed_it(tasks: TasksInstallation) -> None:
    """Every definition has all processes read all of them anew."""
    tasks.add("a")
    job_type = tasks.tasks.job_type(DEFAULT_TRIES)
    tasks.definitions.define_job_type(structs.replace(job_type, timeout_ms=5_000))
    tasks.add("b")
    version = tasks.store.definitions_version()

    tasks.add("c")

    assert tasks.definitions.job_type(job_type.uuid).unversioned == job_type
    assert tasks.store.definitions_version() == version


def test_each_wait_for_another_try_is_longer_than_the_one_before_and_none_is_longer_than_an_hour(
    tasks: TasksInstallation,
) -> None:
    policy = tasks.tasks.job_type(20).retry

    waits = [policy.delay_after(attempt, 0) for attempt in range(1, 16)]

    assert waits[:3] == [500, 1_150, 2_645]
    assert waits == sorted(waits)
    assert waits[-1] == 3_600_000


def test_a_failed_task_that_runs_once_can_be_brought_back(tasks: TasksInstallation) -> None:
    tasks.add("a", maxTries=1)
    tasks.clock.advance(HOLD_MS)
    assert tasks.run(error="one") is not None
    assert tasks.find().status == "failed"

    tasks.tasks.rescue("a")
    assert tasks.run() is not None

    assert tasks.tasks.find("a") is None


def test_what_has_not_failed_cannot_be_brought_back(tasks: TasksInstallation) -> None:
    tasks.add("a")

    with pytest.raises(Conflict, match="has not failed"):
        tasks.tasks.rescue("a")
    with pytest.raises(NotFound, match="no task 'b'"):
        tasks.tasks.rescue("b")


# Dates


def test_a_task_begins_at_its_start(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000, startDate=START + 3_000)

    assert tasks.find().next_run == START + 3_000
    assert tasks.runs_within(5_000) == [3_000, 4_000, 5_000]


def test_a_start_that_is_over_is_now(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000, startDate=START - 12_345)
    tasks.add("b", startDate=START - 12_345)

    assert tasks.runs_within(100) == [100, 100]


def test_a_cron_line_goes_by_its_zone(tasks: TasksInstallation) -> None:
    found = tasks.add("a", schedule="0 2 * * *", tz="America/New_York")
    other = tasks.add("b", schedule="0 2 * * *", tz="America/New_York", utc=True)
    sample = tasks.add("c", schedule="0 2 * * *", tz="America/NewYork", utc=True)

    assert (found.status, found.next_run) == ("delayed", 1_700_031_600_000)
    assert other.next_run == 1_700_013_600_000, "UTC goes before the zone"
    assert (sample.next_run, sample.tz) == (1_700_013_600_000, "America/NewYork"), "a zone that is not used may be none"


def test_a_task_is_completed_when_its_next_run_would_be_after_its_end(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000, endDate=START + 2_500)

    assert tasks.runs_within(6_000) == [100, 1_100, 2_100]
    assert tasks.tasks.find("a") is None


def test_a_task_may_begin_at_its_end(tasks: TasksInstallation) -> None:
    tasks.add("once", startDate=START + 1_000, endDate=START + 1_000)
    tasks.add("often", schedule=500, delay=2_000, endDate=START + 2_000)

    assert tasks.runs_within(4_000) == [1_000, 2_000]


def test_a_task_whose_end_is_over_is_completed_at_once(tasks: TasksInstallation) -> None:
    assert tasks.add("a", schedule=1_000, endDate=START - 1).status == "completed"

    assert tasks.tasks.find("a") is None
    assert tasks.runs_within(1_000) == []


def test_a_task_whose_cron_line_has_no_time_before_its_end_is_completed_at_once_and_the_log_says_so(
    tasks: TasksInstallation, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "rota.tasks"):
        added = tasks.add("a", schedule="0 2 * * *", endDate=START + 60_000)

    assert added.status == "completed"
    assert tasks.tasks.find("a") is None, "nothing is stored of it"
    assert [(one.message, one.__dict__["task"]) for one in caplog.records] == [(OVER, "a")]


def test_what_nobody_was_there_for_is_made_up_for_once(tasks: TasksInstallation) -> None:
    tasks.add("a", delay=1_000)
    tasks.add("b", schedule="* * * * *")

    tasks.clock.advance(3 * 24 * 3600 * 1000)

    tasks.pass_time(200)
    assert sorted(task.id for task in iter(tasks.run, None)) == ["a", "b"]


# Changes


def test_a_delay_takes_a_run_back_that_nobody_has_begun(tasks: TasksInstallation) -> None:
    tasks.add("a")

    found = tasks.tasks.reschedule("a", changed(delay=1_000))

    assert (found.status, found.next_run) == ("delayed", START + 1_000)
    assert tasks.runs_within(2_000) == [1_000]


def test_a_run_that_gives_way_to_one_for_now_is_followed_by_it_at_once(tasks: TasksInstallation) -> None:
    tasks.add("a", data=1, delay=0)

    tasks.tasks.reschedule("a", changed(data=2))

    assert (ran := tasks.run()) is not None
    assert ran.data == 2
    assert tasks.run() is None


def test_a_delay_of_a_task_that_runs_is_a_conflict(tasks: TasksInstallation) -> None:
    tasks.add("a")
    tasks.clock.advance(HOLD_MS)
    tasks.claim()

    with pytest.raises(Conflict, match="runs already"):
        tasks.tasks.reschedule("a", changed(delay=1_000))


def test_a_task_that_has_runs_left_can_be_delayed_while_it_runs(tasks: TasksInstallation) -> None:
    tasks.add("a", maxRuns=3, delay=0)
    claim = tasks.claim()[0]

    tasks.tasks.reschedule("a", changed(delay=1_000))

    tasks.end(claim)
    assert tasks.find().runs == 1
    assert len(tasks.runs_within(3_000)) == 2


def test_a_change_does_not_wait_for_the_first_delay_again(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000, delay=5_000)
    assert tasks.runs_within(5_000) == [5_000]

    tasks.tasks.reschedule("a", changed(data=2))

    assert tasks.runs_within(200) == [5_100]


@pytest.mark.parametrize("times", [{"startDate": START + 3_600_000}, {"delay": 3_600_000}])
def test_a_waiting_task_can_run_now(tasks: TasksInstallation, times: dict[str, object]) -> None:
    tasks.add("a", schedule=60_000, **times)

    assert tasks.tasks.run_now("a").status == "enqueued"

    assert tasks.run() is not None
    assert tasks.find().next_run == START + 60_000


def test_a_task_that_runs_now_keeps_the_times_of_its_cron_line(tasks: TasksInstallation) -> None:
    at_two = tasks.add("a", schedule="0 2 * * *", utc=True).next_run

    tasks.tasks.run_now("a")

    assert tasks.run() is not None
    assert (tasks.find().status, tasks.find().next_run) == ("delayed", at_two)


def test_the_run_of_a_deleted_task_does_not_complete_another_that_has_its_id(tasks: TasksInstallation) -> None:
    tasks.add("a", data="old", delay=0)
    old = tasks.claim()[0]
    tasks.tasks.delete("a")
    tasks.add("a", data="new", delay=0)

    tasks.end(old)

    assert (tasks.find().data, tasks.find().status) == ("new", "enqueued")
    assert tasks.tasks.completed(10) == []


def test_other_times_keep_the_count_of_runs(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000, maxRuns=4)
    assert tasks.runs_within(1_500) == [100, 1_100]

    tasks.tasks.reschedule("a", changed(delay=1_000))

    assert tasks.find().runs == 2
    assert len(tasks.runs_within(10_000)) == 2


def test_a_run_under_way_is_counted_when_the_times_change(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000, maxRuns=2)
    tasks.clock.advance(HOLD_MS)
    claim = tasks.claim()[0]

    tasks.tasks.reschedule("a", changed(schedule=2_000))

    assert (tasks.find().status, tasks.find().runs, tasks.find().next_run) == ("active", 0, None)
    tasks.end(claim)
    assert tasks.find().runs == 1
    assert len(tasks.runs_within(10_000)) == 1


def test_a_deactivated_task_waits_until_it_is_activated(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000)

    assert tasks.tasks.reschedule("a", lambda task: task, is_paused=True).status == "paused"
    assert tasks.runs_within(3_000) == []
    tasks.tasks.reschedule("a", lambda task: task)

    assert len(tasks.runs_within(1_500)) == 2


def test_a_task_that_is_deactivated_while_it_runs_for_the_last_time_is_still_there_after_it(
    tasks: TasksInstallation,
) -> None:
    tasks.add("a", schedule=1_000, delay=0)
    claim = tasks.claim()[0]
    tasks.tasks.reschedule("a", lambda task: task, is_paused=True)

    tasks.end(claim)

    assert (tasks.find().status, tasks.find().runs) == ("paused", 1)
    tasks.tasks.reschedule("a", lambda task: task)
    assert tasks.find().runs == 1
    assert len(tasks.runs_within(500)) == 1


def test_a_deleted_task_is_gone_with_the_run_that_waits(tasks: TasksInstallation) -> None:
    tasks.add("a", schedule=1_000)

    assert tasks.tasks.delete("a")

    assert tasks.runs_within(2_000) == []
    assert not tasks.tasks.delete("a")
    assert list(tasks.tasks.all()) == []


def test_tasks_of_another_prefix_are_others(store_url: str, tasks: TasksInstallation) -> None:
    other = TasksInstallation(tasks.store, prefix="other:")

    tasks.add("a", data=1)
    other.add("a", data=2)

    assert (tasks.find().data, other.find().data) == (1, 2)
    assert [task.data for task in other.tasks.all()] == [2]


def test_an_id_may_have_any_letters(tasks: TasksInstallation) -> None:
    ids = ["a b", "a-b", "ä/ö", "x" * 256, "waterline:service:id:9febf4b1"]
    for id in ids:
        tasks.add(id)

    assert sorted(task.id for task in tasks.tasks.all()) == sorted(ids)


# Looking after them


def test_tasks_that_are_held_too_long_are_found(tasks: TasksInstallation) -> None:
    tasks.add("runs")
    tasks.clock.advance(HOLD_MS)
    tasks.claim()
    tasks.add("waits")
    tasks.add("later", delay=60_000)
    tasks.pass_time(10_000)
    tasks.add("young")
    tasks.pass_time(HOLD_MS)

    assert [task.id for task in tasks.tasks.held(5_000)] == ["runs", "waits"]


def test_how_long_a_run_is_held_is_counted_anew_when_a_worker_takes_it(tasks: TasksInstallation) -> None:
    tasks.add("a", delay=0)
    tasks.pass_time(10_000)
    assert [task.id for task in tasks.tasks.held(9_000)] == ["a"]
    assert tasks.tasks.held(11_000) == []

    tasks.claim()
    tasks.pass_time(1_000)

    assert [task.id for task in tasks.tasks.held(500)] == ["a"]
    assert tasks.tasks.held(2_000) == []


def test_a_task_that_waits_for_another_try_is_not_held(tasks: TasksInstallation) -> None:
    tasks.add("a", maxTries=9, delay=0)
    for wait_ms in (600, 1_200, 2_700, 1_000):
        assert tasks.run(error="no") is not None
        tasks.pass_time(wait_ms)

    assert tasks.find().status == "delayed"
    assert tasks.tasks.held(500) == []


def test_cleaning_brings_a_task_back_that_nothing_else_would(tasks: TasksInstallation) -> None:
    tasks.add("lost")
    tasks.add("due", delay=60_000)
    lost = tasks.find("lost").job
    assert lost is not None
    tasks.cancel(lost)

    found = clean(tasks.tasks)

    assert (found.tasks, found.waiting, found.rescheduled, found.removed) == (2, 1, 1, 0)
    assert (found.adopted, found.dropped, found.trimmed) == (0, 0, 0), "nobody else looks"
    tasks.clock.advance(HOLD_MS)
    ran = tasks.run()
    assert ran is not None
    assert ran.id == "lost"


def test_cleaning_removes_a_task_whose_time_is_over(tasks: TasksInstallation) -> None:
    job = tasks.add("a", schedule=1_000, endDate=START + 500).job
    assert job is not None
    tasks.cancel(job)
    tasks.clock.advance(1_000)

    found = clean(tasks.tasks)

    assert (found.tasks, found.rescheduled, found.removed) == (1, 0, 1)
    assert list(tasks.tasks.all()) == []


def test_cleaning_leaves_alone_what_another_process_brought_back_meanwhile(store: Store) -> None:
    faults = Faults(store)
    tasks, other = TasksInstallation(faults.store), TasksInstallation(store)
    job = tasks.add("a", delay=0).job
    assert job is not None
    tasks.cancel(job)
    begun = []

    def be_quicker() -> None:
        assert clean(other.tasks).rescheduled == 1
        begun.extend(other.claim())

    faults.before("find_schedules", be_quicker)

    found = clean(tasks.tasks)

    assert (found.tasks, found.removed, len(begun)) == (1, 0, 1)
    assert other.find("a").status == "active"
    assert not store.find_jobs([begun[0].spec.id])[0].cancel_requested  # type: ignore[union-attr]


def test_cleaning_leaves_alone_what_is_in_order(tasks: TasksInstallation) -> None:
    tasks.add("once")
    tasks.add("often", schedule=1_000)
    tasks.tasks.add(read_task({"id": "failed", "maxTries": 1}))
    tasks.pass_time(200)

    assert clean(tasks.tasks).rescheduled == 0
    assert clean(tasks.tasks).removed == 0


def test_a_task_is_there_until_the_store_knows_that_its_last_run_succeeded(tasks: TasksInstallation) -> None:
    tasks.add("a", delay=0)
    claim = tasks.claim()[0]
    entry = tasks.store.find_schedules([tasks.tasks.names.schedule_uuid("a")])[0]

    assert tasks.tasks.is_last_run(running_task(claim.spec, claim.attempt, entry))

    assert tasks.find().status == "active", "its worker may still die"
    tasks.end(claim, error="no")
    assert tasks.find().status == "delayed"


def test_a_completed_task_whose_schedule_was_left_behind_is_gone_all_the_same(tasks: TasksInstallation) -> None:
    tasks.add("a", delay=0)
    tasks.end(tasks.claim()[0], removes=False)

    assert tasks.tasks.find("a") is None
    assert list(tasks.tasks.all()) == []
    with pytest.raises(NotFound, match="it is completed"):
        tasks.tasks.reschedule("a", changed(delay=1_000))
    assert tasks.add("a", delay=0).status == "enqueued", "and can be added anew"


def test_cleaning_removes_what_was_left_of_a_completed_task(tasks: TasksInstallation) -> None:
    tasks.add("a", delay=0)
    tasks.end(tasks.claim()[0], removes=False)

    found = clean(tasks.tasks)

    assert (found.removed, found.rescheduled) == (1, 0)
    assert tasks.store.find_schedules([tasks.tasks.names.schedule_uuid("a")]) == [None]


def test_whoever_dies_while_a_task_is_rescheduled_does_not_lose_it(store: Store) -> None:
    faults = Faults(store)
    tasks = TasksInstallation(faults.store)
    tasks.add("a")
    faults.before("cancel_jobs", away)

    with pytest.raises(StoreUnavailable):
        tasks.tasks.reschedule("a", changed(delay=1_000))

    assert 1_000 in TasksInstallation(store).runs_within(2_000)


def test_a_run_that_ends_while_its_task_is_rescheduled_is_counted(store: Store) -> None:
    faults = Faults(store)
    tasks = TasksInstallation(faults.store)
    tasks.add("a", schedule=1_000, maxRuns=3, delay=0)
    faults.before("cancel_jobs", tasks.run)

    assert tasks.tasks.reschedule("a", changed(delay=1_000)).runs == 1

    assert len(tasks.runs_within(10_000)) == 2


def test_a_run_that_fails_while_its_task_is_rescheduled_is_not_counted(store: Store) -> None:
    faults = Faults(store)
    tasks = TasksInstallation(faults.store)
    tasks.add("a", maxTries=1, delay=0)
    faults.before("cancel_jobs", lambda: tasks.run(error="no"))

    assert tasks.tasks.reschedule("a", changed(delay=1_000)).runs == 0

    assert tasks.runs_within(2_000) == [1_000]


def test_a_task_that_gets_more_runs_while_its_last_one_ends_goes_on(store: Store) -> None:
    faults = Faults(store)
    tasks = TasksInstallation(faults.store)
    tasks.add("a", schedule=1_000, maxRuns=1, delay=0)
    faults.before("finish_jobs", lambda: tasks.tasks.reschedule("a", changed(max_runs=2)))

    tasks.run()

    assert tasks.find().runs == 1
    assert len(tasks.runs_within(3_000)) == 1
    assert tasks.tasks.find("a") is None


def test_a_task_that_runs_once_and_ends_while_it_is_rescheduled_does_not_run_again(store: Store) -> None:
    faults = Faults(store)
    tasks = TasksInstallation(faults.store)
    tasks.add("a", delay=0)
    faults.before("cancel_jobs", tasks.run)

    with pytest.raises(Conflict, match="would never run again"):
        tasks.tasks.reschedule("a", changed(delay=1_000))

    assert tasks.runs_within(2_000) == []


@pytest.mark.parametrize("changes", [{"delay": -5}, {"end_date": START - 1_000}])
def test_a_change_that_is_refused_leaves_the_task_as_it_was(
    tasks: TasksInstallation, changes: dict[str, object]
) -> None:
    tasks.add("a")

    with pytest.raises((InvalidInput, Conflict)):
        tasks.tasks.reschedule("a", lambda task: read_task(task.with_changes(**changes)))

    tasks.clock.advance(HOLD_MS)
    assert (ran := tasks.run()) is not None
    assert ran.id == "a"
