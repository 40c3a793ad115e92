"""Functions that the tests make tasks of."""

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

from rota import GiveUp, Rota, TryAgain, current_job
from rota.sdk.tasks.task import TaskFunction

stopped = threading.Event()
"""Set by `work_until_stopped` when it ends."""
seen: list[int] = []
"""What `note` was given."""
others: "list[TaskFunction[..., Any, Any]]" = []
"""What `enqueue_others` enqueues."""


def add(a: int, b: int = 1) -> int:
    return a + b


async def report(day: str = "today") -> dict[str, object]:
    job = current_job()
    job.log(f"report of {day}", "warning")
    return {"day": day, "id": job.id, "task": job.task, "attempt": job.attempt, "arguments": job.arguments}


def doubled(function: Callable[..., int]) -> Callable[..., int]:
    @wraps(function)
    def call(*args: int, **kwargs: int) -> int:
        return 2 * function(*args, **kwargs)

    return call


def named() -> None:
    pass


named.__dict__ |= {"name": "distance", "unit": "km"}


def add_up(numbers: list[int]) -> int:
    return sum(numbers)


def note_all(values: list[int | None]) -> list[int | None]:
    return values


def note(number: int) -> None:
    seen.append(number)


def settings(**values: object) -> dict[str, object]:
    return values


def succeed_at(attempt: int) -> int:
    if current_job().attempt < attempt:
        raise ValueError("not yet")
    return current_job().attempt


def fail(day: str) -> int:
    raise LookupError(f"no {day}")


def work_until_stopped() -> None:
    stopped.clear()
    job = current_job()
    job.log("begun")
    while not job.should_stop:
        stopped.wait(0.01)
    stopped.set()


def copy(files: int) -> int:
    job = current_job()
    for number in range(files + 1):
        job.progress(number, files, "copying")
    return files


def misjudge(done: float, total: float | None) -> None:
    current_job().progress(done, total)


def enqueue_others(number: int) -> list[str]:
    return [other.enqueue(number).id for other in others]


def when() -> str | None:
    instant = current_job().scheduled_for
    return None if instant is None else instant.isoformat()


def by_position(a: int, /) -> int:
    return a


def any_number(*numbers: int) -> int:
    return sum(numbers)


decorated_app = Rota("sqlite://:memory:")


@decorated_app.task(name="twice")
def double(number: int) -> int:
    return 2 * number


def try_again(attempt: int, delay_ms: int) -> int:
    if current_job().attempt < attempt:
        raise TryAgain(delay_ms=delay_ms) from ValueError("not yet")
    return current_job().attempt


def give_up() -> None:
    raise GiveUp from LookupError("never")
