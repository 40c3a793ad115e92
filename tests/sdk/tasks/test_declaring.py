"""An app owns its job types and schedules in the store, as a file owns its definitions."""

import pytest

from rota import Rota
from rota.errors import Conflict, NotFound
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.schedules.request import ScheduleRequest
from rota.model.triggers.trigger import CronTrigger
from tests.sdk.tasks import functions
from tests.sdk.tasks.conftest import MakeApp

pytestmark = pytest.mark.stores("sqlite-file", "redis")  # the engine stores them; one store of each kind shows it


def job_types(app: Rota) -> dict[str, str]:
    return {one.name: one.managed_by for one in app.engine.definitions.job_types()}


def schedules(app: Rota) -> dict[str, str]:
    entries = app.engine.store.list_schedules(limit=100).entries
    return {entry.schedule.name: entry.schedule.managed_by for entry in entries}


def test_the_first_enqueue_brings_all_tasks_into_the_store(app: Rota) -> None:
    add = app.task(name="add")(functions.add)
    app.task(name="report", cron="0 2 * * *")(functions.report)

    add.enqueue(1)

    assert job_types(app) == {"add": "app:shop", "report": "app:shop"}
    assert schedules(app) == {"report": "app:shop"}


def test_a_task_that_is_made_later_is_brought_too(app: Rota) -> None:
    app.task(name="add")(functions.add).enqueue(1)
    app.task(name="report", every="1h")(functions.report).enqueue()

    assert set(job_types(app)) == {"add", "report"}
    assert set(schedules(app)) == {"report"}


def test_a_task_that_is_defined_anew_is_brought_anew(app: Rota) -> None:
    app.task(timeout=5)(functions.add).enqueue(1)

    app.task(timeout=7)(functions.add).enqueue(1)

    assert app.engine.definitions.job_type("tests.sdk.tasks.functions.add").timeout_ms == 7_000


def test_a_worker_removes_what_is_gone_from_the_app(make_app: MakeApp) -> None:
    old, new = make_app("shop"), make_app("shop")
    old.task(name="add", every="1h")(functions.settings).enqueue()
    old.task(name="report", cron="0 2 * * *")(functions.report).enqueue()
    new.task(name="add")(functions.settings)

    new.run_worker(burst=True)

    assert job_types(new) == {"add": "app:shop"}
    assert schedules(new) == {}


def test_a_program_that_has_only_some_tasks_removes_none_by_enqueueing(make_app: MakeApp) -> None:
    whole, part = make_app("shop"), make_app("shop")
    whole.task(name="report", cron="0 2 * * *")(functions.report).enqueue()

    part.task(name="add")(functions.add).enqueue(1)

    assert set(job_types(part)) == {"add", "report"}
    assert set(schedules(part)) == {"report"}

    make_app("shop").run_worker(burst=True)  # it knows what of both is the app's

    assert (job_types(part), schedules(part)) == ({}, {})


def test_apps_leave_each_other_alone(make_app: MakeApp) -> None:
    shop, bank = make_app("shop"), make_app("bank")
    shop.task(name="report", cron="0 2 * * *")(functions.report).enqueue()

    bank.run_worker(burst=True)

    assert (job_types(shop), schedules(shop)) == ({"report": "app:shop"}, {"report": "app:shop"})
    with pytest.raises(Conflict, match="'report' is defined in the code of the app 'bank', but the job type was"):
        bank.task(name="report")(functions.report).enqueue()


def test_what_somebody_else_defined_is_not_taken(app: Rota) -> None:
    mine = JobType(uuid=new_id(0), name="report", executor="log", node_type="default")
    app.task(name="add")(functions.add).enqueue(1)
    app.engine.definitions.create_job_type(mine)

    with pytest.raises(Conflict, match="delete that one, or give one of them another name"):
        app.task(name="report")(functions.report).enqueue()

    assert job_types(app)["report"] == ""


def test_what_an_app_owns_is_changed_in_its_code_only(app: Rota) -> None:
    app.task(name="report", every="1h")(functions.report).enqueue()
    engine = app.engine

    with pytest.raises(
        Conflict, match="the job type 'report' is defined in the code of the app 'shop'; change it there"
    ):
        engine.definitions.delete_job_type("report")
    with pytest.raises(
        Conflict, match="the schedule 'report' is defined in the code of the app 'shop'; change it there"
    ):
        engine.schedules.replace("report", ScheduleRequest(job_type="report", interval=1))


def test_a_changed_task_changes_its_job_type_and_schedule(make_app: MakeApp) -> None:
    old, new = make_app("shop"), make_app("shop")
    old.task(name="report", every="1h")(functions.report).enqueue()
    before = old.engine.definitions.job_type("report").uuid

    new.task(name="report", cron="0 2 * * *", timeout=5, queue="slow")(functions.report).enqueue()

    job_type = new.engine.definitions.job_type("report")
    assert (job_type.uuid, job_type.timeout_ms, job_type.node_type) == (before, 5_000, "slow")
    schedule = new.engine.schedules.find("report").schedule
    assert isinstance(schedule.trigger, CronTrigger)
    assert schedule.queue == new.engine.definitions.node_type("slow").uuid


def test_a_schedule_that_a_person_paused_stays_paused(make_app: MakeApp) -> None:
    old, new = make_app("shop"), make_app("shop")
    old.task(name="report", every="1h")(functions.report).enqueue()
    old.engine.schedules.pause("report", "holidays")

    new.task(name="report", every="1h")(functions.report)
    new.run_worker(burst=True)

    assert new.engine.schedules.find("report").schedule.pause_note == "holidays"


def test_a_queue_that_nobody_defined_is_made_and_stays(make_app: MakeApp) -> None:
    app = make_app("shop")
    handle = app.task(name="add", queue="slow")(functions.add).enqueue(1)

    app.run_worker(burst=True)
    assert handle.status == "queued"
    app.run_worker(burst=True, queue="slow")
    assert handle.result == 2

    make_app("shop").run_worker(burst=True)
    assert app.engine.definitions.node_type("slow").managed_by == ""
    with pytest.raises(NotFound):
        app.run_worker(burst=True, queue="unknown")
