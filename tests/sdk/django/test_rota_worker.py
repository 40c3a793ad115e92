"""`manage.py rota_worker`."""

import pytest

pytest.importorskip("django.tasks", reason="django.tasks came with Django 6, which needs Python 3.12")

from django.core.management import CommandError, call_command
from django.test import override_settings

from tests.sdk.django import functions
from tests.sdk.django.conftest import MakeBackend

pytestmark = pytest.mark.stores("sqlite-file")


def test_it_runs_the_tasks_of_a_queue(make_backend: MakeBackend) -> None:
    make_backend(queues=["default", "mail"])
    result = functions.add.using(queue_name="mail").enqueue(1)

    call_command("rota_worker", burst=True, queue="mail", threads=1)

    result.refresh()
    assert result.return_value == 2


def test_it_refuses_a_queue_that_the_backend_does_not_have(make_backend: MakeBackend) -> None:
    make_backend()

    with pytest.raises(CommandError, match="has no queue 'mail'; its QUEUES are"):
        call_command("rota_worker", burst=True, queue="mail")


def test_it_refuses_a_backend_that_is_not_rotas(make_backend: MakeBackend) -> None:
    with (
        override_settings(TASKS={"default": {"BACKEND": "django.tasks.backends.dummy.DummyBackend"}}),
        pytest.raises(CommandError, match="is no backend of Rota's"),
    ):
        call_command("rota_worker", burst=True)
