"""Tasks that are enqueued exactly if the transaction is committed, on databases of Django: PostgreSQL and SQLite."""

import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django.tasks", reason="django.tasks came with Django 6, which needs Python 3.12")

from django.core.management import call_command
from django.db import DatabaseError, connections, transaction
from django.tasks import TaskResultStatus, task_backends
from django.tasks.exceptions import TaskResultDoesNotExist
from django.test import override_settings

from rota.errors import StoreUnavailable
from rota.model.job import JobState
from rota.sdk.django import RotaBackend
from rota.sdk.django.installation import app_of_store
from rota.sdk.django.relaying import Relay, relay
from tests.sdk.django import functions
from tests.sdk.django.conftest import MakeBackend, move_to_broken_module
from tests.servers import wait_until

pytestmark = pytest.mark.stores("sqlite-file")


@pytest.fixture
def backend(make_backend: MakeBackend, shop: str) -> Iterator[Any]:
    yield make_backend(outbox=shop)
    connections[shop].close()


def rows(database: str, what: str = "id") -> list[Any]:
    with connections[database].cursor() as cursor:
        cursor.execute(f"SELECT {what} FROM rota_django_outbox ORDER BY id")
        return [row[0] for row in cursor.fetchall()]


def write_order(database: str) -> None:
    with connections[database].cursor() as cursor:
        cursor.execute("INSERT INTO orders VALUES (1)")


def orders(database: str) -> int:
    with connections[database].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM orders")
        return int(cursor.fetchone()[0])


def test_a_committed_transaction_has_its_task_run(backend: RotaBackend, shop: str) -> None:
    with transaction.atomic(using=shop):
        write_order(shop)
        result = functions.add.enqueue(2, b=3)
    assert (result.status, result.attempts, rows(shop)) == (TaskResultStatus.READY, 0, [result.id])

    assert relay(shop).count == 1

    backend.app.rota.run_worker(burst=True)
    result.refresh()
    assert (result.return_value, orders(shop), rows(shop), relay(shop).count) == (5, 1, [], 0)


def test_nothing_comes_of_a_transaction_that_is_rolled_back(backend: RotaBackend, shop: str) -> None:
    with transaction.atomic(using=shop):
        write_order(shop)
        result = functions.add.enqueue(1)
        transaction.set_rollback(True, using=shop)

    assert (orders(shop), rows(shop), relay(shop).count) == (0, [], 0)
    with pytest.raises(TaskResultDoesNotExist):
        result.refresh()


def test_a_savepoint_that_is_rolled_back_takes_only_its_own_tasks(backend: RotaBackend, shop: str) -> None:
    with transaction.atomic(using=shop):
        outer = functions.add.enqueue(1)
        with transaction.atomic(using=shop):
            functions.add.enqueue(2)
            transaction.set_rollback(True, using=shop)

    assert rows(shop) == [outer.id]


def test_without_a_transaction_a_task_is_enqueued_at_once(backend: RotaBackend, shop: str) -> None:
    result = functions.add.enqueue(1)

    assert rows(shop) == [result.id]


def test_a_task_that_waits_in_the_outbox_is_found(backend: RotaBackend, shop: str) -> None:
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    result = functions.greet.using(priority=7, run_after=later).enqueue(name="Ada")

    found = functions.greet.get_result(result.id)

    assert (found.status, found.args, found.kwargs, found.errors) == ("READY", [], {"name": "Ada"}, [])
    assert (found.task.priority, found.task.run_after, found.enqueued_at) == (7, later, result.enqueued_at)
    with pytest.raises(TaskResultDoesNotExist, match="'other'"):
        task_backends["other"].get_result(result.id)


def test_what_a_task_was_enqueued_with_is_carried_over(make_backend: MakeBackend, shop: str) -> None:
    backend = make_backend(outbox=shop, retries=3, timeout="5m", queues=["default", "mail"])
    later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    result = functions.greet.using(priority=7, run_after=later, queue_name="mail").enqueue("Ada")

    relay(shop)

    job = backend.app.rota.handle(result.id).job
    assert (job.state, job.spec.priority, job.spec.timeout_ms) == (JobState.DELAYED, 7, 300_000)
    assert (job.spec.run_at, job.spec.retry and job.spec.retry.attempts) == (later.timestamp() * 1000, 4)
    found = functions.greet.get_result(result.id)
    assert (found.task.queue_name, found.task.run_after) == ("mail", later)


def test_the_store_may_be_away_when_a_task_is_enqueued(make_backend: MakeBackend, shop: str, store_url: str) -> None:
    nobody = "redis://127.0.0.1:1/0"
    make_backend(outbox=shop, store=nobody)
    result = functions.add.enqueue(1)
    assert isinstance(relay(shop).trouble, StoreUnavailable)
    assert rows(shop) == [result.id]

    backend = make_backend(outbox=shop)

    assert relay(shop).count == 1
    assert backend.app.rota.handle(result.id).status is JobState.QUEUED
    app_of_store(nobody).rota.close()


def test_a_task_that_cannot_become_a_job_has_failed_and_stops_nobody(backend: RotaBackend, shop: str) -> None:
    gone, good = functions.echo.enqueue(1), functions.add.enqueue(1)
    with connections[shop].cursor() as cursor:
        request = rows(shop, "request")[0].replace("functions.echo", "functions.no_task")
        cursor.execute("UPDATE rota_django_outbox SET request = %s WHERE id = %s", [request, gone.id])

    assert relay(shop).count == 1

    good.refresh()
    assert (good.status, rows(shop)) == (TaskResultStatus.READY, [gone.id])
    assert "decorate it with @task" in rows(shop, "error")[0]


def test_a_task_that_was_refused_says_why(backend: RotaBackend, shop: str) -> None:
    result = functions.echo.enqueue(1)
    with connections[shop].cursor() as cursor:
        cursor.execute("UPDATE rota_django_outbox SET error = 'no use'")

    result.refresh()

    assert (result.status, result.is_finished) == (TaskResultStatus.FAILED, True)
    assert [error.traceback for error in result.errors] == ["no use"]


def test_each_task_goes_to_the_store_of_its_backend(shop: str, store_url: str) -> None:
    urls = {"default": store_url, "second": "sqlite:///second.db"}
    tasks = {
        alias: {"BACKEND": "rota.sdk.django.RotaBackend", "OPTIONS": {"store": url, "outbox": shop}}
        for alias, url in urls.items()
    }
    with override_settings(TASKS=tasks):
        results = {alias: functions.add.using(backend=alias).enqueue(1) for alias in urls}

        assert relay(shop).count == 2

        for alias, result in results.items():
            app = task_backends[alias].app.rota
            assert app.handle(result.id).job.spec.arguments["backend"] == alias
            app.close()


def test_a_task_whose_backend_is_gone_says_so(make_backend: MakeBackend, shop: str) -> None:
    make_backend(outbox=shop)
    functions.add.using(backend="other").enqueue(1)
    with override_settings(TASKS={"default": task_settings(shop)}):
        assert relay(shop).count == 0

    assert rows(shop, "error")[0].startswith("no backend of Rota's 'other'; the task was enqueued with it")


def task_settings(shop: str) -> dict[str, Any]:
    return {"BACKEND": "rota.sdk.django.RotaBackend", "OPTIONS": {"outbox": shop}}


def test_several_relays_make_each_task_once(backend: RotaBackend, shop: str) -> None:
    with transaction.atomic(using=shop):
        results = [functions.add.enqueue(number) for number in range(100)]
    errors: list[BaseException] = []

    def relay_all() -> None:
        try:
            relay(shop)
        except Exception as error:  # a test looks at all of them
            errors.append(error)
        finally:
            connections[shop].close()

    relays = [threading.Thread(target=relay_all) for _ in range(3)]
    for one in relays:
        one.start()
    for one in relays:
        one.join()

    assert (errors, rows(shop)) == ([], [])
    jobs = [backend.app.rota.handle(result.id).job for result in results]
    assert {job.state for job in jobs} == {JobState.QUEUED}
    assert backend.app.rota.engine.store.read_totals(jobs[0].spec.queue).enqueued == 100


def test_a_relay_goes_on_after_a_task_whose_module_could_not_be_imported(
    backend: RotaBackend, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that reads a setting, which is there only later."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "late_tasks", raising=False)
    (tmp_path / "late_tasks.py").write_text(
        "import pathlib, tests.sdk.django.functions as functions\n"
        "assert pathlib.Path(__file__).with_name('there').exists()\n"
        "add = functions.add\n"
    )
    with transaction.atomic(using=shop):
        result = backend.enqueue(functions.add, (1,), {})
        with connections[shop].cursor() as cursor:
            cursor.execute(
                "UPDATE rota_django_outbox SET request = replace(request, 'tests.sdk.django.functions', 'late_tasks')"
            )
    found = Relay([shop], 0.01)

    with found.beside():
        wait_until(lambda: found.is_failing, "the relay to fail")
        (tmp_path / "there").touch()
        wait_until(lambda: not rows(shop), "the task to be relayed")

    assert backend.app.rota.handle(result.id).job.state is JobState.QUEUED


@pytest.mark.usefixtures("broken_tasks")
def test_a_task_whose_module_cannot_be_imported_keeps_no_other_one_waiting(backend: RotaBackend, shop: str) -> None:
    """However many there are of it: more than a relay takes at a time are before the others."""
    functions.add.enqueue(1)
    move_to_broken_module(shop)
    with connections[shop].cursor() as cursor:
        copies = [(f"00000000-0000-7000-8000-{number:012}",) for number in range(501)]
        cursor.executemany(
            "INSERT INTO rota_django_outbox (id, request) SELECT %s, request FROM rota_django_outbox LIMIT 1", copies
        )
    waiting = rows(shop)
    good, gone = functions.add.enqueue(1), functions.echo.enqueue(1)
    with connections[shop].cursor() as cursor:
        cursor.execute(
            "UPDATE rota_django_outbox SET request = replace(request, 'functions.echo', 'functions.no_task')"
        )

    relayed = relay(shop)

    told = "the task 'broken_tasks.add' cannot be imported: RuntimeError: the setting is not there"
    assert (relayed.count, str(relayed.trouble)) == (1, told)
    assert backend.app.rota.handle(good.id).status is JobState.QUEUED
    assert rows(shop) == sorted([*waiting, gone.id])
    assert [error for error in rows(shop, "error") if error] == [
        "task: 'tests.sdk.django.functions.no_task' is not a task in the code of this project; decorate it with @task"
    ]


def test_a_store_that_is_away_keeps_no_task_of_another_one_waiting(shop: str, store_url: str) -> None:
    urls = {"away": "redis://127.0.0.1:1/0", "there": store_url}
    tasks = {
        alias: {"BACKEND": "rota.sdk.django.RotaBackend", "OPTIONS": {"store": url, "outbox": shop}}
        for alias, url in urls.items()
    }
    with override_settings(TASKS=tasks):
        results = {alias: functions.add.using(backend=alias).enqueue(1) for alias in urls}

        relayed = relay(shop)

        assert (relayed.count, type(relayed.trouble), rows(shop)) == (1, StoreUnavailable, [results["away"].id])
        assert task_backends["there"].app.rota.handle(results["there"].id).status is JobState.QUEUED
        for alias in urls:
            task_backends[alias].app.rota.close()


def test_a_missing_table_says_how_it_is_made(make_backend: MakeBackend, database: str) -> None:
    make_backend(outbox=database)

    for use in (lambda: functions.add.enqueue(1), lambda: relay(database)):
        with pytest.raises(DatabaseError) as raised:
            use()
        assert raised.value.__notes__ == [f"The table is made by: manage.py migrate rota --database {database}"]


def test_the_migration_makes_the_table_and_takes_it_away(database: str) -> None:
    call_command("migrate", "rota", database=database, verbosity=0)
    made = "rota_django_outbox" in connections[database].introspection.table_names()
    call_command("migrate", "rota", "zero", database=database, verbosity=0)

    assert made
    assert "rota_django_outbox" not in connections[database].introspection.table_names()


def test_the_project_has_no_changes_without_a_migration(backend: RotaBackend) -> None:
    call_command("makemigrations", "rota", check=True, dry_run=True, verbosity=0)
