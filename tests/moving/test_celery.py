"""What Celery's programs say, one thing at a time."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rota import InvalidInput, JobFailed
from rota.moving.celery import Celery, Task, chain, chord, group, shared_task, signature
from rota.moving.celery.exceptions import Ignore, MaxRetriesExceededError, Reject, TaskRevokedError, TimeoutError
from rota.moving.celery.result import AsyncResult, GroupResult
from rota.moving.celery.schedules import crontab, schedule
from tests.contract.building import claim_one


@pytest.fixture
def app(folder: Path) -> Iterator[Celery]:
    made = Celery("shop", broker="sqlite:///rota.db", backend="rpc://")
    yield made
    made.close()


def work(app: Celery, queue: str | None = None) -> None:
    app.__rota_app__.run_worker(burst=True, queue=queue)


class Common:
    timezone = "Europe/Berlin"


class Production(Common):
    """Has what it inherits."""


def add(x: int, y: int = 1) -> int:
    return x + y


def join(first: str, second: str = "b", third: str = "c") -> str:
    """Puts texts together."""
    return first + second + third


def fail() -> None:
    raise LookupError("no")


def odd(self: Task[..., Any], error: str) -> None:
    raise type(error, (Exception,), {})(error)


def leave(self: Task[..., Any], kind: str) -> None:
    raise {"Ignore": Ignore, "Reject": Reject}[kind]()


def ask(self: Task[..., Any], most: int | None = None) -> int:
    if self.request.retries < 3:
        self.retry(countdown=0, max_retries=most)
    return self.request.retries


def test_a_task_has_the_name_and_the_words_of_its_function(app: Celery) -> None:
    made = app.task(join)

    assert (made.__name__, made.__doc__, made.__module__) == ("join", "Puts texts together.", __name__)


def test_a_task_of_no_app_says_which_one_it_is() -> None:
    alone: Task[..., int] = Task(add, {})

    with pytest.raises(InvalidInput, match="add has no app yet; make one"):
        alone.bound  # noqa: B018


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate_limit": "often"}, "rate: must be a number of starts and a period"),
        ({"soft_time_limit": 0}, "soft_time_limit: must be seconds, more than 0, got 0"),
        ({"base": object}, "base: of @app.task is not carried"),
        ({"serializer": "pickle"}, "serializer: 'pickle' is not carried by Rota; arguments and results are JSON"),
        ({"colour": 1}, "colour: of @app.task is not carried by Rota; leave it out; carried are name, bind"),
        ({"retry_kwargs": {"x": 1}}, "retry_kwargs.x: is not carried"),
    ],
)
def test_an_option_of_a_task_that_is_not_carried_is_refused(app: Celery, options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        app.task(**options)(add)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"link": 1}, r"link: takes single tasks, such as add\.s\(1\), not int; chain the others"),
        ({"soft_time_limit": 1}, "soft_time_limit: of apply_async is not carried by Rota; give it to @app.task"),
        ({"routing_key": "a"}, "routing_key: of apply_async is not carried by Rota; give queue"),
        ({"countdown": 1, "eta": datetime(2030, 1, 1)}, "eta: cannot stand beside countdown"),  # noqa: DTZ001
        ({"eta": "tomorrow"}, "eta: must be a datetime"),
        ({"task_id": ""}, "task_id: must be text"),
    ],
)
def test_an_option_of_a_call_that_is_not_carried_is_refused(app: Celery, options: Any, message: str) -> None:
    task = app.task(add)

    with pytest.raises(InvalidInput, match=f"^{message}"):
        task.apply_async((1,), **options)


@pytest.mark.parametrize("broker", ["amqp://guest:secret@localhost//", "memory://", "sqs://"])
def test_a_broker_that_is_no_store_is_refused_without_telling_its_password(broker: str) -> None:
    with pytest.raises(InvalidInput, match=r"^broker: .* is not a store of Rota's; give redis://") as refused:
        Celery("shop", broker=broker)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("task_serializer", "pickle"), ("task_always_eager", True), ("tasks_routes", {}), ("timezone", 5)],
)
def test_a_setting_that_is_not_carried_is_refused(app: Celery, name: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}: "):
        app.conf.update({name: value})


def test_a_task_is_called_as_ever(app: Celery) -> None:
    assert app.task(add)(2, y=3) == 5
    assert app.task(bind=True, name="who")(lambda_free_name)() == "who"


def lambda_free_name(self: Task[..., Any]) -> str:
    return self.name


def test_a_result_tells_where_its_job_is(app: Celery) -> None:
    task = app.task(add)
    result, late, unknown = task.delay(1), task.apply_async((1,), countdown=3600), AsyncResult[int]("nobody", app=app)

    assert (result.state, late.state, unknown.state, result.ready()) == ("PENDING", "PENDING", "PENDING", False)
    assert late.result is None
    with pytest.raises(TimeoutError):
        late.get(timeout=0.01)
    late.revoke()
    work(app)

    assert (result.state, result.successful(), result.get(timeout=60), result.result) == ("SUCCESS", True, 2, 2)
    assert late.state == "REVOKED"
    with pytest.raises(TaskRevokedError):
        late.get(timeout=60)
    assert result.date_done is not None


def test_a_failure_is_raised_as_it_was_or_given(app: Celery) -> None:
    builtin, own = app.task(fail).delay(), app.task(bind=True)(odd).delay("Odd")
    work(app)

    with pytest.raises(LookupError, match=r"^no$"):
        builtin.get(timeout=60)
    assert isinstance(builtin.get(timeout=60, propagate=False), LookupError)
    assert builtin.failed()
    assert "def fail" not in str(builtin.traceback)
    assert "LookupError: no" in str(builtin.traceback)
    with pytest.raises(JobFailed, match=r"Odd: Odd"):
        own.get(timeout=60)


def test_an_exception_that_nobody_named_is_not_tried_again(app: Celery) -> None:
    result = app.task(max_retries=5, default_retry_delay=0)(fail).delay()
    work(app)

    assert result.failed()
    assert app.__rota_app__.handle(result.id).job.attempts == 1


@pytest.mark.parametrize(("options", "attempts"), [({}, 4), ({"dont_autoretry_for": (LookupError,)}, 1)])
def test_an_exception_that_was_named_is_tried_again(app: Celery, options: Any, attempts: int) -> None:
    result = app.task(autoretry_for=(Exception,), retry_kwargs={"countdown": 0}, **options)(fail).delay()
    work(app)

    assert app.__rota_app__.handle(result.id).job.attempts == attempts


@pytest.mark.parametrize("kind", [Ignore, Reject])
def test_a_task_that_wants_no_other_try_has_none_whatever_is_named(app: Celery, kind: type[Exception]) -> None:
    result = app.task(bind=True, autoretry_for=(Exception,), default_retry_delay=0)(leave).delay(kind.__name__)
    work(app)

    assert app.__rota_app__.handle(result.id).job.attempts == 1


def test_a_task_that_asks_for_it_is_tried_again_as_often_as_it_may(app: Celery) -> None:
    asking = app.task(bind=True, max_retries=3)(ask)
    enough, fewer = asking.delay(), asking.delay(most=1)
    work(app)

    assert enough.get(timeout=60) == 3
    with pytest.raises(JobFailed, match=MaxRetriesExceededError.__name__):
        fewer.get(timeout=60)


def test_the_waits_of_a_task_are_those_of_celery(app: Celery) -> None:
    waits: dict[str, dict[str, Any]] = {
        "constant": {"default_retry_delay": 7},
        "backoff": {"retry_backoff": True, "retry_backoff_max": 8, "retry_jitter": False},
        "longer": {"retry_backoff": 5, "max_retries": None},
    }
    for name, options in waits.items():
        app.task(name=name, **options)(add)
    app.__rota_app__.provide_functions(app.__rota_app__.engine.executors)
    policies = {one.name: one.retry for one in app.__rota_app__.engine.definitions.job_types()}

    assert [policies["constant"].delay_after(n, 0.5) for n in (1, 2)] == [7_000, 7_000]
    assert [policies["backoff"].delay_after(n, 0.5) for n in (1, 2, 5)] == [1_000, 2_000, 8_000]
    assert policies["constant"].attempts == 4
    assert (policies["longer"].delay_ms, policies["longer"].attempts) == (5_000, 1_000)


@pytest.mark.parametrize(("limit", "rate"), [("10/m", (10, 60_000)), (5, (5, 1_000)), ("7", (7, 1_000)), (None, None)])
def test_a_rate_limit_holds_for_all_workers_together(app: Celery, limit: Any, rate: object) -> None:
    result = app.task(rate_limit=limit)(add).delay(1)

    engine = app.__rota_app__.engine
    found = engine.definitions.job_type(app.__rota_app__.handle(result.id).job.spec.job_type).rate
    assert (None if found is None else (found.limit, found.period_ms)) == rate


def test_an_id_of_ones_own_is_any_text_and_there_once(app: Celery) -> None:
    task = app.task(add)
    first, second = task.apply_async((1,), task_id="monday"), task.apply_async((5,), task_id="monday")
    work(app)

    assert (first.id, second.id) == ("monday", "monday")
    assert AsyncResult[int]("monday", app=app).get(timeout=60) == second.get(timeout=60) == 2


def test_an_eta_without_a_zone_is_in_the_app_s(app: Celery) -> None:
    app.conf.timezone = "America/New_York"
    result = app.task(add).apply_async((1,), eta=datetime(2030, 1, 1))  # noqa: DTZ001

    assert app.__rota_app__.handle(result.id).job.spec.run_at == 1_893_474_000_000


def test_a_route_and_a_call_name_the_queue(app: Celery) -> None:
    app.conf.task_routes = {"mail": {"queue": "mails"}}
    routed, called = app.task(name="mail")(add).delay(1), app.task(name="plain")(join).apply_async("a", queue="mails")
    work(app, "mails")

    assert (routed.get(timeout=60), called.get(timeout=60)) == (2, "abc")


def test_a_setting_holds_for_tasks_that_were_written_before_it(app: Celery) -> None:
    early, named = app.task(name="shop.mail")(add), app.task(name="shop.bill")(join)

    app.conf.task_routes = {"shop.*": {"queue": "mails"}, "shop.bill": {"queue": "bills"}}
    app.conf.task_time_limit = 5

    spec = app.__rota_app__.handle(early.delay(1).id).job.spec
    definitions = app.__rota_app__.engine.definitions
    assert (definitions.node_type(spec.queue).name, named.settings.queue) == ("mails", "bills")
    assert definitions.job_type("shop.mail").timeout_ms == 5_000
    with pytest.raises(InvalidInput, match=r"^task_routes: must be a dict"):
        app.conf.task_routes = ([("shop.*", {"queue": "mails"})],)  # type: ignore[assignment]


def test_settings_are_read_from_a_module_that_imports_things_and_from_a_class_that_inherits(app: Celery) -> None:
    module = ModuleType("celeryconfig")
    vars(module).update(crontab=crontab, timedelta=timedelta, pytest=pytest, task_default_queue="mails")

    app.config_from_object(module)
    app.config_from_object(Production)

    assert (app.conf.task_default_queue, app.conf.time_zone) == ("mails", "Europe/Berlin")
    module.task_routes = add  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match=r"^task_routes: must be a dict"):
        app.config_from_object(module)


def test_without_a_zone_and_without_utc_the_zone_is_that_of_the_machine(
    app: Celery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert app.conf.time_zone == "UTC"

    app.conf.enable_utc = False

    assert app.conf.time_zone == "Asia/Tokyo"


def test_a_program_enqueues_although_it_has_not_imported_all_that_runs_by_itself(app: Celery) -> None:
    app.task(name="add", priority=7)(add)
    app.conf.beat_schedule = {
        "here": {"task": "add", "schedule": 5, "args": [1]},
        "elsewhere": {"task": "nobody", "schedule": 5},
    }

    assert app.tasks["add"].delay(1).state == "PENDING"
    entries = app._state.rota.engine.store.list_schedules(limit=10).entries
    assert [(one.schedule.name, one.schedule.priority) for one in entries] == [("here", 7)]


def test_the_result_comes_first_in_a_chain_unless_the_signature_is_immutable(app: Celery) -> None:
    task = app.task(join)
    chained = (task.s("1", "2", "3") | task.s("x", "y") | task.si("z")).delay()
    keyed = chain(task.s("1"), task.s(third="t")).apply_async()
    placed = chain(task.s("1"), task.s("x")).apply_async()
    work(app)

    assert chained.get(timeout=60) == "zbc"
    assert keyed.get(timeout=60) == "1bcbt"
    assert placed.get(timeout=60) == "1bcxc"


def test_a_group_is_known_by_its_results(app: Celery) -> None:
    task = app.task(add)
    result = group(task.s(1), task.s(2))()
    assert (result.ready(), result.completed_count(), len(result)) == (False, 0, 2)
    failing = group(task.s(1), app.task(fail).s()).apply_async()
    work(app)

    assert (result.get(timeout=60), result.successful()) == ([2, 3], True)
    assert failing.failed()
    with pytest.raises(LookupError):
        failing.join(timeout=60)


def test_a_chord_takes_its_body_at_once_or_later(app: Celery) -> None:
    task, total = app.task(add), app.task(name="total")(sum_up)
    header = [task.s(1), task.s(2)]
    both = [chord(header)(total.s()), chord(header, total.s())(), (group(header) | total.s()).delay()]
    work(app)

    assert [one.get(timeout=60) for one in both] == [5, 5, 5]


def sum_up(numbers: list[int]) -> int:
    return sum(numbers)


def test_a_canvas_that_flows_cannot_carry_is_refused(app: Celery) -> None:
    task = app.task(add)
    with pytest.raises(InvalidInput, match=r"^group: takes tasks such as add\.s\(1\), and chains of them, not 7"):
        group(7, task.s(3))  # type: ignore[arg-type]
    for followed in (task.s(1) | group(task.s() | task.s(2)), chord([chain(task.s(1), task.s(2))], task.s())):
        with pytest.raises(InvalidInput, match=r"^group: has a chain in it, and something before or after it"):
            followed.delay()
    with pytest.raises(InvalidInput, match=r"^countdown: of .* is not carried in a chain"):
        chain(task.s(1).set(countdown=5), task.s(2)).delay()
    with pytest.raises(InvalidInput, match=r"^queue: is not carried for a chain"):
        chain(task.s(1), task.s(2)).apply_async(queue="x")
    with pytest.raises(InvalidInput, match=r"^signature: give the task itself"):
        signature("shop.add")


@pytest.mark.parametrize(
    ("when", "line"),
    [
        (crontab(), "* * * * *"),
        (crontab(minute="*/15", hour="0,12"), "*/15 0,12 * * *"),
        (crontab(0, 7, day_of_week="mon-fri"), "0 7 * * mon-fri"),
        (crontab(0, {3, 1}, day_of_month="1", month_of_year=6), "0 1,3 1 6 *"),
    ],
)
def test_a_crontab_is_a_cron_line(when: crontab, line: str) -> None:
    assert when.trigger() == {"cron": line, "days": "both"}


def test_the_beat_schedule_is_that_of_the_app(app: Celery) -> None:
    app.task(name="add")(add)
    app.conf.timezone = "Europe/Berlin"
    app.conf.beat_schedule = {
        "cron": {"task": "add", "schedule": crontab(hour=7, minute=0), "args": [1]},
        "every": {"task": "add", "schedule": timedelta(minutes=5), "kwargs": {"x": 1}},
        "seconds": {"task": "add", "schedule": schedule(90), "args": (1,)},
    }
    work(app)

    entries = app.__rota_app__.engine.store.list_schedules(limit=10).entries
    shown = {one.schedule.name: (one.schedule.trigger, one.schedule.arguments) for one in entries}
    assert [arguments for _, arguments in shown.values()] == [{"x": 1}] * 3
    assert (shown["cron"][0].tz, shown["cron"][0].cron) == ("Europe/Berlin", "0 7 * * *")  # type: ignore[union-attr]
    assert (shown["every"][0].every_ms, shown["seconds"][0].every_ms) == (300_000, 90_000)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"task": "nobody", "schedule": 5}, "beat_schedule.a: there is no task 'nobody'"),
        ({"task": "add", "schedule": "often"}, "schedule: 'often' is not carried"),
        ({"task": "add", "schedule": 5, "options": {}}, "options: of beat_schedule is not carried"),
        ({"task": "add", "schedule": 5}, "arguments: .* missing a required argument: 'x'"),
        ({"task": "add", "schedule": 5, "args": 7}, "beat_schedule.a: args must be a tuple"),
    ],
)
def test_an_entry_of_the_beat_schedule_that_is_not_carried_is_refused(app: Celery, entry: Any, message: str) -> None:
    app.task(name="add")(add)
    app.conf.beat_schedule = {"a": entry}

    with pytest.raises(InvalidInput, match=f"^{message}"):
        work(app)


def test_a_shared_task_belongs_to_the_app_that_was_made_last(app: Celery) -> None:
    result = shared_task(name="shared")(add).delay(1)
    work(app)

    assert (result.get(timeout=60), "shared" in app.tasks) == (2, True)
    assert app.send_task("shared", (1,)).state == "PENDING"


def test_a_job_can_be_revoked_by_its_id(app: Celery) -> None:
    task = app.task(add)
    results = [task.apply_async((1,), countdown=3600, task_id=name) for name in ("a", "b", "c")]

    app.control.revoke("a")
    app.control.revoke(["b", "c"], terminate=True)

    assert [one.state for one in results] == ["REVOKED"] * 3
    with pytest.raises(InvalidInput, match=r"^signal: of revoke is not carried"):
        app.control.revoke("a", signal="SIGKILL")


def test_a_running_job_is_revoked_only_with_terminate(app: Celery) -> None:
    result = app.task(add).delay(1)
    handle = app.__rota_app__.handle(result.id)
    of_group = GroupResult("group", [result], None)
    claim_one(app.__rota_app__.engine.store, handle.job.spec.queue, now=handle.job.spec.enqueued_at)

    result.revoke()
    of_group.revoke()
    app.control.revoke(result.id)
    was_asked = handle.job.cancel_requested
    of_group.revoke(terminate=True)

    assert (was_asked, handle.job.cancel_requested) == (False, True)


@pytest.mark.parametrize("name", ["inspect", "ping", "purge", "shutdown", "rate_limit", "time_limit", "broadcast"])
def test_what_workers_cannot_be_told_is_refused_by_name(app: Celery, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}: is not carried by Rota; "):
        getattr(app.control, name)()


@pytest.mark.parametrize("name", ["map", "starmap", "chunks"])
def test_canvases_that_are_not_carried_are_refused_by_name(app: Celery, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name}: is not carried by Rota; make a group"):
        getattr(app.task(add), name)([1, 2], 2)
