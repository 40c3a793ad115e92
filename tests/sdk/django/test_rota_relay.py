"""`manage.py rota_relay`, and the worker that relays too."""

from io import StringIO

import pytest

pytest.importorskip("django.tasks", reason="django.tasks came with Django 6, which needs Python 3.12")

from django.core.management import CommandError, call_command
from django.db import transaction

from rota.model.job import JobState
from tests.sdk.django import functions
from tests.sdk.django.conftest import MakeBackend, move_to_broken_module

pytestmark = pytest.mark.stores("sqlite-file")


def test_it_relays_what_is_committed(make_backend: MakeBackend, shop: str) -> None:
    backend = make_backend(outbox=shop)
    with transaction.atomic(using=shop):
        result = functions.add.enqueue(1)
    told = StringIO()

    call_command("rota_relay", burst=True, stdout=told)

    assert told.getvalue() == "relayed 1 tasks from the database 'shop'\n"
    assert backend.app.rota.handle(result.id).status is JobState.QUEUED


@pytest.mark.parametrize(
    ("options", "words", "told"),
    [
        ({}, {}, "no entry of TASKS has an outbox"),
        ({"outbox": "shop"}, {"database": "default"}, r"in the database 'default'; there are \['shop'\]"),
        ({"outbox": "shop"}, {"every": 0.0}, "--every must be from 0.01 to 3600 seconds"),
    ],
)
def test_it_refuses_what_it_cannot_do(
    make_backend: MakeBackend, options: dict[str, str], words: dict[str, object], told: str
) -> None:
    make_backend(**options)

    with pytest.raises(CommandError, match=told):
        call_command("rota_relay", burst=True, **words)


@pytest.mark.parametrize("command", ["rota_relay", "rota_worker"])
def test_it_says_how_a_missing_table_is_made(make_backend: MakeBackend, database: str, command: str) -> None:
    make_backend(outbox=database)

    with pytest.raises(CommandError, match=r"manage\.py migrate rota --database shop"):
        call_command(command, burst=True)


def test_a_worker_relays_too_before_and_after_a_burst(make_backend: MakeBackend, shop: str) -> None:
    make_backend(outbox=shop)
    result = functions.enqueue_another.enqueue()

    call_command("rota_worker", burst=True)

    result.refresh()
    assert functions.add.get_result(result.return_value).return_value == 42


@pytest.mark.usefixtures("broken_tasks")
@pytest.mark.parametrize("command", ["rota_relay", "rota_worker"])
def test_a_task_that_must_wait_is_told_after_the_others_are_passed_on(
    make_backend: MakeBackend, shop: str, command: str
) -> None:
    backend = make_backend(outbox=shop)
    functions.add.enqueue(1)
    move_to_broken_module(shop)
    result = functions.add.enqueue(1)

    with pytest.raises(CommandError, match=r"the task 'broken_tasks\.add' cannot be imported: RuntimeError"):
        call_command(command, burst=True)

    state = JobState.SUCCEEDED if command == "rota_worker" else JobState.QUEUED
    assert backend.app.rota.handle(result.id).status is state
