"""Jobs that differ from others of their task, and what their code says about another try."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rota import InvalidInput, JobFailed, RetryPolicy, Rota, TryAgain
from rota.model.ids import new_id
from tests.patience import DEADLINE_S
from tests.sdk.tasks import functions

pytestmark = pytest.mark.stores("sqlite-file", "redis")  # the engine answers; one store of each kind shows it
SLOW = RetryPolicy(attempts=3, delay_ms=3_600_000)


def test_a_job_that_asks_to_be_tried_again_says_when(app: Rota) -> None:
    handle = app.task(retries=SLOW)(functions.try_again).enqueue(3, delay_ms=0)

    app.run_worker(burst=True)

    assert handle.get(timeout=60) == 3


def test_a_job_that_asks_to_be_tried_again_has_no_more_attempts_than_its_policy_says(app: Rota) -> None:
    handle = app.task(retries=SLOW)(functions.try_again).enqueue(4, delay_ms=0)

    app.run_worker(burst=True)

    with pytest.raises(JobFailed, match="ValueError: not yet"):
        handle.get(timeout=60)
    assert handle.job.attempts == 3


@pytest.mark.parametrize("delay_ms", ["5s", timedelta(seconds=5), -1, float("nan"), float("inf"), True])
def test_a_wait_that_cannot_be_meant_is_refused_where_it_is_raised(delay_ms: Any) -> None:
    with pytest.raises(InvalidInput, match="delay_ms: must be milliseconds, a number from 0"):
        TryAgain(delay_ms=delay_ms)


def test_a_wait_is_whole_milliseconds() -> None:
    assert [TryAgain(delay_ms=wait).delay_ms for wait in (None, 0, 1.6, 10**30)] == [None, 0, 2, 10**30]


def test_a_job_that_gives_up_is_not_tried_again(app: Rota) -> None:
    handle = app.task(retries=5)(functions.give_up).enqueue()

    app.run_worker(burst=True)

    with pytest.raises(JobFailed, match="LookupError: never") as caught:
        handle.get(timeout=60)
    assert handle.job.attempts == 1
    assert "functions.py" in caught.value.errors["traceback"]  # type: ignore[index]


def test_a_job_that_is_not_begun_in_time_is_cancelled(app: Rota) -> None:
    task, now = app.task(functions.add), datetime.now(UTC)
    late = task.options(expires=now - timedelta(days=1)).enqueue(1)
    in_time = task.options(expires=now + timedelta(days=1)).enqueue(1)

    app.run_worker(burst=True)

    assert in_time.get(timeout=60) == 2
    with pytest.raises(JobFailed, match="cancelled: expired: it was not begun before it expired"):
        late.get(timeout=60)


def test_a_job_may_expire_after_a_while(app: Rota) -> None:
    spec = app.task(functions.add).options(expires="5m").enqueue(1).job.spec

    assert spec.expires_at == spec.enqueued_at + 300_000


def test_a_job_may_wait_in_another_queue_than_its_task_s(app: Rota) -> None:
    task = app.task(functions.add)
    here, there = task.enqueue(1), task.options(queue="mail").enqueue(1)

    app.run_worker(burst=True, queue="mail")

    assert there.get(timeout=60) == 2
    assert here.status == "queued"


def test_a_job_may_have_an_id_of_ones_own_and_is_there_once(app: Rota) -> None:
    task, id = app.task(functions.add), new_id(1)
    first, second = task.options(id=id).enqueue(1), task.options(id=id).enqueue(5)

    assert (first.id, first.is_new, second.id, second.is_new) == (id, True, id, False)
    with pytest.raises(InvalidInput, match="id: 'monday' is not a UUID"):
        task.options(id="monday").enqueue(1)


class Entered:
    """A lifespan."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()

    async def __aenter__(self) -> None:
        self.begun.set()

    async def __aexit__(self, *_: object) -> None:
        self.ended.set()


def own() -> str:
    return "the program's own"


own.__module__ = "a_script_that_nobody_can_import"


def test_a_task_that_is_added_while_a_worker_of_the_program_runs_is_run_by_it(app: Rota) -> None:
    entered = Entered()
    app.add_lifespan(lambda: entered)
    working = threading.Thread(target=app.run_worker)
    working.start()
    try:
        assert entered.begun.wait(DEADLINE_S)

        handle = app.task(own).enqueue()

        assert handle.get(timeout=DEADLINE_S) == "the program's own"
    finally:
        app.stop_worker()
        working.join(DEADLINE_S)
    assert not working.is_alive()
    assert entered.ended.is_set()


def test_a_worker_can_be_part_of_a_program_with_a_loop(app: Rota) -> None:
    async def main() -> int:
        serving = asyncio.create_task(app.serve_worker())
        try:
            return await (await app.task(functions.add).aenqueue(1)).aget(timeout=DEADLINE_S)
        finally:
            app.stop_worker()
            await asyncio.wait_for(serving, DEADLINE_S)

    assert asyncio.run(main()) == 2
