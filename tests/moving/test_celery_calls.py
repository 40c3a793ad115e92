"""What calls of Celery's tasks say of their jobs, what settings say of all, and canvases, one thing at a time."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rota import InvalidInput, NotFound
from rota.model.job import JobSpec
from rota.moving.celery import Celery, Task, chain, chord, current, group, shared_task, signature
from rota.moving.celery.exceptions import TimeoutError
from rota.moving.celery.result import AsyncResult
from rota.moving.celery.schedules import crontab, schedule
from rota.testing import Installation
from tests.contract.building import claim_one
from tests.moving.test_celery import add, app, fail, join, work

__all__ = ["app"]

START = 1_577_836_800_000
"""When the time of an installation stands still first: 2020-01-01T00:00:00Z."""


@pytest.fixture
def installation(app: Celery) -> Iterator[Installation]:
    """Whose time stands still, for the jobs of `app`."""
    with Installation() as made:
        made.use(app.__rota_app__)
        yield made


def spec_of(app: Celery, result: AsyncResult[Any]) -> JobSpec:
    return app.__rota_app__.handle(result.id).job.spec


def again(self: Task[..., Any], **options: Any) -> None:
    self.retry(**options)


def again_at_one(self: Task[..., Any]) -> None:
    self.retry(eta=datetime(2020, 1, 1, 1))  # noqa: DTZ001  in the zone of the app


def again_before_now(self: Task[..., Any]) -> None:
    self.retry(eta=datetime(2019, 1, 1, tzinfo=UTC))


def tell(self: Task[..., Any], meta: dict[str, Any] | None = None) -> None:
    self.update_state("READING", meta)


def ask(self: Task[..., Any], x: int) -> list[object]:
    return [self.request.id, self.request.task, list(self.request.args), self.request.kwargs]


def total(numbers: list[int], start: int = 0) -> int:
    return start + sum(numbers)


# -- calls ---------------------------------------------------------------------------------------------------------


def test_what_a_call_says_holds_for_its_job_and_not_for_others(app: Celery) -> None:
    task = app.task(priority=3, time_limit=60)(add)
    plain, own = task.delay(1), task.apply_async((1,), priority=7, time_limit=5)
    none = task.apply_async((1,), priority=None, time_limit=None, countdown=0)

    specs = [spec_of(app, one) for one in (plain, own, none)]
    assert [(one.priority, one.timeout_ms, one.run_at) for one in specs] == [
        (3, None, None),
        (7, 5_000, None),
        (3, None, None),
    ]
    assert app.__rota_app__.engine.definitions.job_type(task.name).timeout_ms == 60_000


@pytest.mark.parametrize(
    ("of_task", "of_call", "expires_at"),
    [
        (None, 60, START + 60_000),
        (None, datetime(2030, 1, 1, tzinfo=UTC), 1_893_456_000_000),
        (None, datetime(2030, 1, 1), 1_893_474_000_000),  # noqa: DTZ001  in the zone of the app
        (timedelta(hours=1), None, START + 3_600_000),
        (3600, 60, START + 60_000),
        (None, None, None),
    ],
)
def test_a_job_expires_when_its_call_says_or_else_its_task(
    app: Celery, installation: Installation, of_task: Any, of_call: Any, expires_at: int | None
) -> None:
    app.conf.timezone = "America/New_York"

    result = app.task(expires=of_task)(add).apply_async((1,), expires=of_call)

    assert spec_of(app, result).expires_at == expires_at


def test_a_countdown_is_counted_from_the_call(app: Celery, installation: Installation) -> None:
    result = app.task(add).apply_async((1,), countdown=90)

    assert spec_of(app, result).run_at == START + 90_000


def test_what_is_not_said_of_a_task_is_as_in_celery(app: Celery) -> None:
    plain, growing = app.task(add).settings, app.task(retry_backoff=True)(join).settings

    policies = [one.task_options()["retries"] for one in (plain, growing)]
    assert [(one.attempts, one.delay_ms, one.max_delay_ms) for one in policies] == [  # type: ignore[union-attr]
        (4, 180_000, 180_000),
        (4, 1_000, 600_000),
    ]
    assert [one.jitter for one in policies] == [0.0, 0.1]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retry_kwargs": 3}, "retry_kwargs: must be a dict, got 3"),
        ({"soft_time_limit": True}, "soft_time_limit: must be seconds, more than 0, got True"),
        ({"soft_time_limit": "5"}, "soft_time_limit: must be seconds, more than 0, got '5'"),
    ],
)
def test_what_cannot_be_meant_of_a_task_is_refused(app: Celery, options: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        app.task(**options)(add)


# -- retries and progress ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "wait_ms"), [(again, 180_000), (again_at_one, 6 * 3_600_000), (again_before_now, 0)]
)
def test_a_task_that_asks_for_a_retry_waits_as_long_as_it_says(
    app: Celery, installation: Installation, function: Any, wait_ms: int
) -> None:
    app.conf.timezone = "America/New_York"
    result = app.task(bind=True, max_retries=1)(function).delay()
    states = [result.state]
    begun = installation.clock.now()

    installation.drain(raises=False)

    states.append(result.state)
    found = app.__rota_app__.handle(result.id).job
    assert states == (["PENDING", "RETRY"] if wait_ms else ["PENDING", "FAILURE"])
    assert found.available_at == begun + wait_ms


def test_a_retry_has_the_arguments_of_its_job(app: Celery, installation: Installation) -> None:
    result = app.task(bind=True)(again).apply_async(kwargs={"args": [5]})

    installation.drain(raises=False)

    assert (result.failed(), "args: of self.retry is not carried by Rota" in str(result.traceback)) == (True, True)


@pytest.mark.parametrize(
    ("meta", "progress"),
    [
        ({"current": 3, "total": 10, "message": "page 3"}, (3, 10, "page 3")),
        ({"current": 3}, (3, None, "READING")),
        (None, (0, None, "READING")),
    ],
)
def test_the_state_that_a_task_tells_is_its_progress(
    app: Celery, installation: Installation, meta: Any, progress: tuple[object, ...]
) -> None:
    result = app.task(bind=True)(tell).delay(meta)

    installation.drain()

    found = app.__rota_app__.handle(result.id).progress
    assert found is not None
    assert (found.done, found.total, found.message) == progress


def test_more_than_progress_cannot_be_told(app: Celery, installation: Installation) -> None:
    result = app.task(bind=True)(tell).delay({"current": 3, "colour": "red"})

    installation.drain(raises=False)

    assert "colour: of meta is not carried by Rota" in str(result.traceback)


def test_a_task_knows_its_request(app: Celery, installation: Installation) -> None:
    task = app.task(bind=True, name="asking")(ask)
    result = task.delay(1)

    installation.drain()

    assert result.get() == [result.id, "asking", [], {"x": 1}]
    assert task.AsyncResult(result.task_id).get() == result.get()


# -- results -------------------------------------------------------------------------------------------------------


def test_a_result_has_nothing_to_tell_before_its_job_has_ended(app: Celery) -> None:
    result, unknown = app.task(add).delay(1), app.AsyncResult("nobody")
    claim_one(app.__rota_app__.engine.store, spec_of(app, result).queue, now=spec_of(app, result).enqueued_at)

    assert (result.state, unknown.state) == ("STARTED", "PENDING")
    for one in (result, unknown):
        assert (one.ready(), one.successful(), one.failed()) == (False, False, False)
        assert (one.result, one.traceback, one.date_done) == (None, None, None)


def test_a_result_that_is_known_by_its_id_only_is_of_the_app_that_was_made_last(app: Celery) -> None:
    result = app.task(add).delay(1)
    work(app)

    assert AsyncResult[int](result.id).get() == 2


def test_a_group_tells_of_each_of_its_jobs(app: Celery) -> None:
    group_of_two = group(app.task(add).s(1), app.task(fail).s()).apply_async()
    with pytest.raises(TimeoutError):
        group_of_two.get(timeout=0.01)
    work(app)

    assert (group_of_two.ready(), group_of_two.successful(), group_of_two.failed()) == (True, False, True)
    assert (group_of_two.completed_count(), [one.state for one in group_of_two]) == (1, ["SUCCESS", "FAILURE"])  # type: ignore[union-attr]
    good, bad = group_of_two.get(propagate=False)
    assert (good, repr(bad)) == (2, "LookupError('no')")


def test_a_group_whose_jobs_have_succeeded_has_not_failed(app: Celery) -> None:
    found = group(app.task(add).s(n) for n in range(2)).delay()
    before = found.failed()
    work(app)

    assert (before, found.failed(), found.ready()) == (False, False, True)


# -- canvases ------------------------------------------------------------------------------------------------------


def test_a_signature_is_called_and_enqueued_with_further_arguments_first(app: Celery) -> None:
    task = app.task(join)
    half = task.s("y", third="z")
    made = half.clone(("x",), {"third": "!"})
    enqueued = [half.delay("x"), half.apply_async(("x",)), made.delay()]
    work(app)

    assert (half("x"), made()) == ("xyz", "xy!")
    assert [one.get() for one in enqueued] == ["xyz", "xyz", "xy!"]


def test_a_signature_has_options_and_its_call_may_have_others(app: Celery) -> None:
    task = app.task(add)
    made = [signature(task, (1,), {"y": 2}, priority=5), task.signature((1,), {"y": 2}, priority=5), task.s(1, y=2)]
    made[2].set(priority=5)

    specs = [spec_of(app, one.apply_async()) for one in made]

    assert [(one.priority, one.arguments) for one in specs] == [(5, {"x": 1, "y": 2})] * 3
    assert spec_of(app, made[0].apply_async(priority=9)).priority == 9
    assert spec_of(app, made[0].clone().delay()).priority == 5


@pytest.mark.parametrize("make", ["function", "method", "clone"])
def test_a_signature_that_is_immutable_stays_so(app: Celery, make: str) -> None:
    task = app.task(join)
    fixed = {
        "function": lambda: signature(task, ("x",), immutable=True),
        "method": lambda: task.signature(("x",), immutable=True),
        "clone": lambda: task.si("x").clone(),
    }[make]()

    result = chain([task.s("1"), fixed]).delay()
    work(app)

    assert result.get() == "xbc"


@pytest.mark.parametrize("make", ["function", "method"])
def test_a_signature_gets_the_result_before_it_unless_it_says_otherwise(app: Celery, make: str) -> None:
    task = app.task(join)
    second = signature(task, ("x",)) if make == "function" else task.signature(("x",))

    result = chain(task.s("1"), second).delay()
    work(app)

    assert result.get() == "1bcxc"


def test_a_chain_may_end_in_a_group(app: Celery) -> None:
    task = app.task(add)
    result = (task.s(1) | group(task.s(10), task.s(20))).delay()
    work(app)

    assert (len(result), result.get(timeout=60), result.successful()) == (2, [12, 22], True)


def test_a_group_begins_a_chain_that_gets_its_results(app: Celery) -> None:
    task = app.task(add)
    result = chord(group(task.s(n) for n in range(3)), app.task(total).s(start=10))()
    work(app)

    assert result.get(timeout=60) == 16


def test_a_chain_that_has_not_ended_in_time_says_so(app: Celery) -> None:
    task = app.task(add)

    with pytest.raises(TimeoutError):
        chain(task.s(1), task.s(2)).delay().get(timeout=0.01)


def test_a_canvas_that_is_too_full_or_empty_is_refused(app: Celery) -> None:
    task = app.task(add)
    with pytest.raises(InvalidInput, match=r"^args: .*add takes 1 arguments here, got 2"):
        chain(task.s(1), task.s(1, 2)).delay()
    with pytest.raises(InvalidInput, match=r"^args: .*add takes 2 arguments here, got 3"):
        chain(task.s(1, 2, 3)).delay()
    with pytest.raises(InvalidInput, match=r"^chain: needs at least one task"):
        chain()


# -- settings ------------------------------------------------------------------------------------------------------


def test_a_priority_of_all_tasks_holds_for_those_that_say_nothing(app: Celery) -> None:
    early, own = app.task(add), app.task(priority=1)(join)

    app.conf.task_default_priority = 6

    assert (early.settings.priority, own.settings.priority, app.task(fail).settings.priority) == (6, 1, 6)
    assert spec_of(app, early.delay(1)).priority == 6


@pytest.mark.parametrize(
    ("routes", "queue"),
    [
        ({"shop.mail": {"queue": "mails"}}, "mails"),
        ({"shop.mail": {}, "shop.*": {"queue": "mails"}}, "default"),
        ({"*.mail": {"queue": "mails"}, "shop.*": {"queue": "shops"}}, "mails"),
        ({"shop.mail*": {"queue": "mails"}}, "default"),  # as in Celery, `*` is one letter or more
        ({"shopXmail*": {"queue": "mails"}, "mail": {"queue": "mails"}}, "default"),
    ],
)
def test_a_task_goes_by_the_first_route_that_fits_its_name(app: Celery, routes: Any, queue: str) -> None:
    app.conf.task_routes = routes

    assert app.task(name="shop.mail")(add).settings.queue == queue


@pytest.mark.parametrize("route", ["mails", {"queue": 5}])
def test_a_route_that_is_not_carried_is_refused(app: Celery, route: object) -> None:
    app.conf.task_routes = {"shop.mail": route}  # type: ignore[dict-item]

    with pytest.raises(InvalidInput, match=r"^task_routes: 'shop.mail': give \{'queue': NAME\}"):
        app.task(name="shop.mail")(add)


def test_settings_have_upper_case_behind_a_namespace(app: Celery, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("django_settings")
    vars(module).update(CELERY_TIMEZONE="Asia/Tokyo", DEBUG=True, celery_imports=["nowhere"], TIMEZONE="UTC")
    monkeypatch.setitem(sys.modules, "django_settings", module)

    app.config_from_object("django_settings", namespace="CELERY")

    assert (app.conf.time_zone, app.conf.imports) == ("Asia/Tokyo", ())


@pytest.mark.parametrize("way", ["include", "imports", "autodiscover"])
def test_modules_with_tasks_are_imported_for_workers_and_for_who_sends_by_name(
    app: Celery, folder: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    (folder / way).mkdir()
    (folder / way / "tasks.py").write_text(
        "from rota.moving.celery import shared_task\n\n\n@shared_task\ndef add(x):\n    return x + 1\n"
    )
    monkeypatch.syspath_prepend(folder)
    name = f"{way}.tasks"
    including = Celery("shop", broker="sqlite:///rota.db", include=[name] if way == "include" else ())
    if way == "imports":
        including.conf.imports = (name,)
    if way == "autodiscover":
        including.autodiscover_tasks([way])

    result = including.send_task(f"{name}.add", (1,))
    work(including)

    assert result.get(timeout=60) == 2
    including.close()
    del sys.modules[name], sys.modules[way]


def test_a_task_that_nobody_knows_cannot_be_sent(app: Celery) -> None:
    with pytest.raises(NotFound, match="this app has no task of that name; import its module"):
        app.send_task("nobody")


def test_a_shared_task_that_was_written_before_any_app_is_of_the_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current, "_apps", [])
    with pytest.raises(InvalidInput, match=r"^app: there is no app yet"):
        AsyncResult("nobody")
    early, named = shared_task(add), shared_task(name="named")(join)

    first = Celery("first", broker="sqlite:///rota.db")
    second = Celery("second", broker="sqlite:///rota.db")

    assert (early.rota_app.name, sorted(first.tasks)) == ("first", ["named", early.name])
    assert (named("a"), second.tasks) == ("abc", {})


def test_an_app_without_a_name_has_that_of_its_module(folder: Path) -> None:
    assert (Celery(broker="sqlite:///rota.db").main, Celery("shop", broker="sqlite:///rota.db").main) == (
        __name__,
        "shop",
    )
    with pytest.raises(InvalidInput, match=r"^task_cls: of Celery is not carried by Rota; write functions"):
        Celery("shop", broker="sqlite:///rota.db", task_cls=Task)


def test_an_app_that_is_closed_has_given_up_its_connections(app: Celery) -> None:
    app.task(add).delay(1)
    connection = app.__rota_app__._connection
    was_open = connection.is_open

    app.close()

    assert (was_open, connection.is_open) == (True, False)


# -- the beat schedule ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: schedule(5, relative=True), "relative: of schedule is not carried"),
        (lambda: schedule(), "run_every: how often"),
        (lambda: crontab(hour=[]), "hour: must name at least one"),
        (lambda: crontab(nowfun=add), "nowfun: of crontab is not carried by Rota; the store's clock counts"),
    ],
)
def test_times_that_are_not_carried_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        make()


def test_a_time_of_the_beat_schedule_is_not_left_out_because_the_one_before_still_runs(app: Celery) -> None:
    app.task(name="add")(add)
    app.conf.timezone = "Europe/Berlin"
    app.conf.beat_schedule = {
        "often": {"task": "add", "schedule": 1.5, "args": (1,)},
        "daily": {"task": "add", "schedule": crontab(minute=" 0, 30 ", hour=7), "args": (1,)},
    }
    work(app)

    entries = app.__rota_app__.engine.store.list_schedules(limit=10).entries
    found = {one.schedule.name: one.schedule for one in entries}
    assert [found[name].overlap for name in ("often", "daily")] == ["allow", "allow"]
    assert found["often"].trigger.every_ms == 1_500  # type: ignore[union-attr]
    assert found["daily"].trigger.cron == "0,30 7 * * *"  # type: ignore[union-attr]


def test_true_is_no_number_of_seconds(app: Celery) -> None:
    app.task(name="add")(add)
    app.conf.beat_schedule = {"a": {"task": "add", "schedule": True, "args": (1,)}}

    with pytest.raises(InvalidInput, match=r"^schedule: True is not carried by Rota"):
        work(app)
