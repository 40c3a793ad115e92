"""What a handle tells of its job."""

import asyncio
from collections.abc import Callable

import pytest

from rota import JobFailed, Rota
from rota.errors import Conflict, NotFound
from rota.model.ids import new_id
from rota.model.job import JobState
from tests.contract.building import claim_one
from tests.sdk.tasks import functions
from tests.sdk.tasks.conftest import MakeApp

pytestmark = pytest.mark.stores("sqlite-file", "redis")  # the engine answers; one store of each kind shows it


def test_a_job_that_failed_raises_what_happened(app: Rota) -> None:
    handle = app.task(functions.fail).enqueue("monday")
    app.run_worker(burst=True)

    asks: list[Callable[[], int]] = [
        lambda: handle.get(timeout=60),
        lambda: handle.result,
        lambda: asyncio.run(handle.aget(timeout=60)),
    ]
    for ask in asks:
        with pytest.raises(JobFailed, match=f"job {handle.id} failed: LookupError: no monday") as caught:
            ask()
        assert (caught.value.job_id, caught.value.state) == (handle.id, "failed")
        assert "def fail" not in str(caught.value)
        assert "functions.py" in caught.value.errors["traceback"]  # type: ignore[index]


def test_a_job_that_waits_has_no_result(app: Rota) -> None:
    handle = app.task(functions.add).enqueue(1)

    assert handle.status == "queued"
    assert handle.why().startswith("No live node runs jobs of the node type 'default'")
    with pytest.raises(Conflict, match="is queued and has no result yet"):
        _ = handle.result
    with pytest.raises(TimeoutError, match=r"has not ended after 0\.01 s"):
        handle.get(timeout=0.01)
    with pytest.raises(TimeoutError, match=r"has not ended after 0\.01 s"):
        asyncio.run(handle.aget(timeout=0.01))
    assert list(handle.logs()) == []


def test_a_job_can_be_cancelled_until_it_has_ended(app: Rota) -> None:
    add = app.task(functions.add)
    waiting, ended = add.enqueue(1), add.enqueue(2)

    assert waiting.cancel()
    app.run_worker(burst=True)

    assert waiting.status is JobState.CANCELLED
    assert not ended.cancel()
    assert ended.result == 3
    with pytest.raises(JobFailed, match=f"job {waiting.id} cancelled"):
        waiting.get(timeout=60)


def test_a_job_that_runs_is_asked_to_end(app: Rota) -> None:
    running = app.task(functions.add).enqueue(1)
    store = app.engine.store
    claim_one(store, running.job.spec.queue, now=store.now())

    assert running.cancel()

    assert (running.status, running.job.cancel_requested) == (JobState.RUNNING, True)


def test_a_job_is_found_by_its_id_in_another_program(app: Rota, make_app: MakeApp) -> None:
    handle = app.task(functions.add).enqueue(1)
    app.run_worker(burst=True)

    assert make_app("another").handle(handle.id).get(timeout=60) == 2


def test_an_unknown_job_is_not_found(app: Rota) -> None:
    unknown = app.handle(new_id(0))

    with pytest.raises(NotFound):
        _ = unknown.status
    with pytest.raises(NotFound):
        unknown.get(timeout=60)
    assert not unknown.cancel()


@pytest.mark.parametrize("process", [False, True])
def test_a_handle_tells_how_far_its_job_said_it_is(app: Rota, process: bool) -> None:
    copy, add = app.task(process=process)(functions.copy), app.task(functions.add)
    copying, silent = copy.enqueue(4), add.enqueue(1)
    before = copying.progress

    app.run_worker(burst=True)

    found = copying.progress
    assert before is None
    assert found is not None
    assert (found.done, found.total, found.percent, found.message) == (4, 4, 100, "copying")
    assert silent.progress is None


@pytest.mark.parametrize(
    ("done", "total", "message"),
    [(-1, None, "done: must be a number of 0 or more, got -1"), (1, 0, "total: must be a number above 0, got 0")],
)
def test_progress_that_is_no_amount_is_refused(app: Rota, done: float, total: float | None, message: str) -> None:
    handle = app.task(functions.misjudge).enqueue(done, total)
    app.run_worker(burst=True)

    with pytest.raises(JobFailed, match=message):
        _ = handle.result
