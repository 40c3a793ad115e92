"""What cannot be meant is refused where the task is written."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rota import InvalidInput, RetryPolicy, Rota
from rota.model.job_type import Unique
from rota.sdk.tasks.plan import make_plan, module_of
from tests.sdk.tasks import functions

app = Rota("sqlite://:memory:")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retrys": 3}, "retrys: is not an option; did you mean 'retries'?"),
        ({"colour": 3}, "colour: is not an option; known are name, queue"),
        ({"retries": -1}, "retries.attempts: must be from 1"),
        ({"retries": True}, "retries: must be a number"),
        ({"timeout": 0}, "timeout: must be seconds"),
        ({"timeout": "soon"}, 'timeout: "soon" is not a duration'),
        ({"unique": "yes"}, "unique: must be one of none, while_running, while_pending"),
        ({"priority": 20_000}, "priority: must be from -10000 to 10000"),
        ({"name": ".hidden"}, "name: '.hidden' is not a name"),
        ({"queue": ""}, "queue: '' is not a name"),
        ({"cron": "61 * * * *"}, "cron: "),
        ({"cron": "0 2 * * *", "tz": "Europe/Berlln"}, "tz: .*Europe/Berlin"),
        ({"cron": "0 2 * * *", "tz": timezone(timedelta(hours=1))}, "tz: must be a zone with a name"),
        ({"cron": "0 2 * * *", "every": 5}, "cron: give exactly one of"),
        ({"tz": "Europe/Berlin"}, "tz: is the zone of a cron line"),
        ({"every": timedelta(0)}, "every: must be seconds"),
        ({"rate": 10}, "rate: must be a number of starts and a period, such as 10/m"),
        ({"rate": "10/500ms"}, "rate: must have a period of whole seconds"),
        ({"rate": "0/m"}, "rate: must allow 1 to 1000000 starts"),
        ({"rate_key": "{day}"}, "rate_key: says what a rate is for; give rate too"),
        ({"rate": "10/m", "rate_key": "{city}"}, "rate_key: names the argument 'city', which"),
        ({"rate": "10/m", "rate_key": "{day"}, "rate_key: has a brace that names no argument"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}".replace("?", r"\?")):
        app.task(**options)(functions.report)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priorty": 1}, "priorty: is not an option; did you mean 'priority'"),
        ({"delay": -1}, "delay: must be seconds"),
        ({"run_at": datetime(2026, 1, 1)}, "run_at: must be a datetime with a zone"),  # noqa: DTZ001
    ],
)
def test_options_of_a_call_that_cannot_be_meant_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        functions.double.options(**options)


@pytest.mark.parametrize(("field", "options"), [("cron", {"cron": "@daily"}), ("every", {"every": "1h"})])
def test_a_task_that_runs_by_itself_must_need_no_arguments(field: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"{field}: nobody gives it arguments.*missing a required argument: 'a'"):
        app.task(**options)(functions.add)


@pytest.mark.parametrize("function", [functions.by_position, functions.any_number])
def test_a_function_whose_arguments_have_no_names_is_refused(function: Callable[..., int]) -> None:
    with pytest.raises(InvalidInput, match="without a name"):
        app.task(function)


def test_a_function_that_no_worker_could_import_is_refused() -> None:
    def inner() -> None: ...

    with pytest.raises(InvalidInput, match=r"inner' cannot be imported; define it at the top of a module"):
        app.task(inner)


def test_two_functions_cannot_have_one_name() -> None:
    app.task(name="same")(functions.add)
    app.task(name="same")(functions.add)  # a module may be loaded again

    with pytest.raises(InvalidInput, match=r"functions:report and .*functions:add are both tasks named 'same'"):
        app.task(name="same")(functions.report)


def test_what_is_said_of_a_task_is_what_its_job_type_says() -> None:
    plan, _ = make_plan(
        functions.report,
        {
            "queue": "slow",
            "retries": 3,
            "timeout": "90s",
            "unique": "while_running",
            "process": True,
            "cron": "0 2 * * *",
            "tz": ZoneInfo("Europe/Berlin"),
        },
    )
    job_type, schedule = plan.job_type(), plan.schedule()

    assert (job_type.name, job_type.executor) == ("tests.sdk.tasks.functions.report", "python")
    assert job_type.metadata == {"function": "tests.sdk.tasks.functions:report", "process": True}
    assert (job_type.node_type, job_type.timeout_ms, job_type.unique) == ("slow", 90_000, Unique.WHILE_RUNNING)
    assert job_type.retry == RetryPolicy(attempts=4)
    assert schedule is not None
    assert (schedule.name, schedule.job_type, schedule.cron) == (job_type.name, job_type.name, "0 2 * * *")
    assert (schedule.tz, schedule.overlap) == ("Europe/Berlin", "skip")


def test_an_app_has_the_name_of_its_module() -> None:
    assert app.name == "tests.sdk.tasks.test_options"
    assert Rota(name="shop").name == "shop"
    with pytest.raises(InvalidInput, match="name: '/my/app' is not a name"):
        Rota(name="/my/app")


@pytest.mark.parametrize(
    ("globals_", "name"),
    [
        ({"__name__": "shop.tasks"}, "shop.tasks"),
        ({"__name__": "__main__", "__file__": "/srv/shop/tasks.py"}, "tasks"),
        ({"__name__": "<run_path>", "__file__": "tasks.py"}, "tasks"),
        ({"__name__": "__main__", "__file__": "/srv/my-shop.py"}, "__main__"),
        ({"__name__": "__main__"}, "__main__"),
    ],
)
def test_a_script_is_known_by_the_name_of_its_file(globals_: dict[str, object], name: str) -> None:
    assert module_of(globals_) == name
