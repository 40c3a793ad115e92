"""Tasks of a Django project, as its own modules have them."""

from typing import Any

from django.db import connection, connections, transaction
from django.tasks import TaskContext, task

from rota import GiveUp
from tests.sdk.django.project import set_up_django

set_up_django()  # before the first task is made


used_connections: list[Any] = []
"""Those that `ask_database` has had, which belong to the threads in which it ran."""


class OutOfStock(Exception):
    """Of the project's own."""


@task
def add(a: int, b: int = 1) -> int:
    return a + b


@task
async def greet(name: str) -> str:
    return f"hello {name}"


@task
def fail(word: str) -> None:
    raise OutOfStock(word)


@task
async def fail_slowly(word: str) -> None:
    raise OutOfStock(word)


@task
def give_up() -> None:
    raise GiveUp("no use")


@task(takes_context=True)
def try_twice(context: TaskContext, name: str) -> list[Any]:
    if context.attempt == 1:
        raise ValueError("the first time")
    result = context.task_result
    return [name, context.attempt, result.id, result.status, result.worker_ids]


@task
def echo(*args: Any, **kwargs: Any) -> list[Any]:
    return [args, kwargs]


@task
def return_an_object() -> object:
    return object()


@task
def ask_database() -> int:
    used_connections.append(connections["default"])
    with connection.cursor() as cursor:
        return int(cursor.execute("SELECT 42").fetchone()[0])


@task
def enqueue_another() -> str:
    with transaction.atomic(using="shop"):
        return str(add.enqueue(40, 2).id)


def no_task() -> None:
    """What is left when somebody removes the decorator."""
