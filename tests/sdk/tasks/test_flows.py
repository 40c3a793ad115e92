"""Tasks that follow each other and hand their results on."""

import asyncio
import importlib
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from rota import InvalidInput, JobFailed, NotFound, RetryPolicy, Rota, group
from rota.model.job import JobState, make_token
from rota.model.runs.outcome import succeeded
from rota.model.runs.settlement import settle
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from rota.testing import Installation
from tests.cli.calling import RotaProcess
from tests.sdk.tasks import functions
from tests.sdk.tasks.conftest import MakeApp

pytestmark = pytest.mark.stores("sqlite-file", "redis")


def test_the_result_of_a_task_is_handed_to_the_next(app: Rota) -> None:
    add, double = app.task(functions.add), app.task(name="double")(functions.double.__rota_function__)

    flow = add.step(2, b=3).then(double).then(add.step(b=100)).enqueue()
    app.run_worker(burst=True)

    assert flow.get(timeout=60) == 110
    assert asyncio.run(flow.aget(timeout=60)) == 110
    assert [[one.result for one in stage] for stage in flow.handles] == [[5], [10], [110]]


def test_what_follows_a_group_gets_a_list_in_order(app: Rota) -> None:
    add, total = app.task(functions.add), app.task(functions.add_up)

    flow = group([add.step(number) for number in range(20)]).then(total).enqueue()
    before = flow.progress
    app.run_worker(burst=True)

    assert flow.get(timeout=60) == sum(range(1, 21))
    after = flow.progress
    assert (before.done, before.total) == (0, 21)
    assert (after.done, after.total, after.percent) == (21, 21, 100)


def test_a_group_alone_gives_a_list(app: Rota) -> None:
    add = app.task(functions.add)

    flow = group([add.step(1), add.step(2)]).enqueue()
    app.run_worker(burst=True)

    assert flow.get(timeout=60) == [2, 3]


def test_several_may_follow_one(app: Rota) -> None:
    add, total = app.task(functions.add), app.task(functions.add_up)

    flow = add.step(1).then(group([add.step(b=10), add.step(b=20)])).then(total).enqueue()
    app.run_worker(burst=True)

    assert flow.get(timeout=60) == 12 + 22


def test_a_flow_whose_first_jobs_are_forgotten_has_its_result_all_the_same(app: Rota, store: Store) -> None:
    add = app.task(functions.add)
    flow = add.step(1).then(add).then(add).enqueue()
    app.run_worker(burst=True)

    assert store.delete_jobs([one.id for stage in flow.handles[:2] for one in stage]) == [True, True]

    assert flow.get(timeout=60) == 4
    assert (flow.progress.done, flow.progress.total) == (3, 3)


def test_nothing_follows_a_failure_unless_it_is_for_that(app: Rota) -> None:
    add, fail, total = app.task(functions.add), app.task(functions.fail), app.task(functions.note_all)
    steps = group([add.step(1), fail.step("monday")])

    strict = steps.then(total).enqueue()
    lenient = steps.then(total, although_failed=True).enqueue()
    app.run_worker(burst=True)

    with pytest.raises(JobFailed, match="no monday"):
        strict.get(timeout=60)
    assert lenient.get(timeout=60) == [2, None]


def test_a_flow_that_was_cancelled_does_not_go_on(app: Rota) -> None:
    add = app.task(functions.add)
    flow = add.step(1).then(add).enqueue()

    assert flow.cancel()
    app.run_worker(burst=True)

    with pytest.raises(JobFailed, match="cancelled"):
        flow.get(timeout=60)
    assert not flow.cancel()


def test_a_test_of_a_flow_drains_all_of_it() -> None:
    app = Rota("sqlite://:memory:", name="shop")
    add = app.task(functions.add)
    with Installation() as installation:
        installation.use(app)
        flow = add.step(1).then(add.step(b=10)).enqueue()

        assert [job.results for job in installation.drain()] == [2, 12]
        assert flow.get() == 12


def test_arguments_that_will_not_fit_are_refused_before_anything_is_made(app: Rota) -> None:
    add = app.task(functions.add)

    with pytest.raises(InvalidInput, match="missing a required argument: 'a'"):
        add.then(add).enqueue()
    with pytest.raises(InvalidInput, match="got an unexpected keyword argument 'c'"):
        add.step(c=1)
    with pytest.raises(InvalidInput, match="which JSON does not have"):
        add.step(1).then(add.step(b=object())).enqueue()
    with pytest.raises(InvalidInput, match="takes single steps"):
        group([add.step(1).then(add)])
    with pytest.raises(InvalidInput, match="must have 1 to 1000 jobs, got 0"):
        group([])
    assert app.engine.store.list_jobs(JobQuery(), limit=10).jobs == []


TASKS = """
from rota import Rota

app = Rota(URL)


@app.task
def add(a: int, b: int = 1) -> int:
    return a + b


@app.task
async def add_up(numbers: list[int]) -> int:
    return sum(numbers)
"""
FLOWS = 15


def test_flows_lose_and_double_nothing_although_their_processes_are_killed(
    store_url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "flow_shop.py").write_text(TASKS.replace("URL", repr(store_url)))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "flow_shop", raising=False)
    shop = importlib.import_module("flow_shop")
    add, total = shop.add, shop.add_up
    with shop.app as app, RotaProcess(["worker", "flow_shop:app", "--processes", "2", "--json"], folder) as worker:
        worker.banner()
        flows, killed = [], set[int]()
        for number in range(FLOWS):
            if number % 3 == 2:  # while the ones before are under way
                with suppress(ProcessLookupError):  # it was killed before, and is gone now
                    os.kill(child := _a_child(worker), signal.SIGKILL)
                    killed.add(child)
            flows.append(group([add.step(number), add.step(2)]).then(total).then(add.step(b=7)).enqueue())

        found = [flow.get(timeout=300) for flow in flows]
        # The end of one that the supervisor hears of while it stops would be its own exit code.
        worker.until(
            lambda: not any(Path(f"/proc/{child}").exists() for child in killed), "the killed ones to be heard of"
        )

        assert worker.stop() == 0
        assert found == [number + 1 + 3 + 7 for number in range(FLOWS)]
        counts = app.engine.store.count_jobs(app.engine.definitions.node_type("default").uuid)
        assert counts == {state: FLOWS * 4 if state is JobState.SUCCEEDED else 0 for state in JobState}


def _a_child(worker: RotaProcess) -> int:
    """One of the processes that run jobs now."""
    found: list[str] = []

    def look() -> bool:
        pid = worker.process.pid
        found[:] = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return bool(found)

    worker.until(look, "a process that runs jobs")
    return int(found[0])


def test_a_flow_that_has_lost_a_job_of_its_last_stage_ends_and_says_which(app: Rota, store: Store) -> None:
    add = app.task(functions.add)
    flow = add.step(1).then(group([add.step(b=10), add.step(b=20)])).enqueue()
    app.run_worker(burst=True)

    lost = flow.handles[1][1].id
    assert store.delete_jobs([lost]) == [True]

    with pytest.raises(NotFound, match=f"no job '{lost}'; it is of stage 2 of 2 of flow {flow.id}"):
        flow.get()
    with pytest.raises(NotFound, match=lost):
        asyncio.run(flow.aget())


def test_a_flow_of_which_nothing_is_left_ends(app: Rota, store: Store) -> None:
    add = app.task(functions.add)
    flow = add.step(1).then(add).enqueue()
    app.run_worker(burst=True)

    assert store.delete_jobs([one.id for stage in flow.handles for one in stage]) == [True, True]

    with pytest.raises(NotFound, match="stage 1 of 2"):
        flow.get()


def test_a_flow_whose_next_stage_cannot_be_made_ends(app: Rota, make_app: MakeApp) -> None:
    add, double = app.task(functions.add), make_app("another").task(name="double")(functions.double)
    flow = add.step(1).then(double).enqueue()
    app.run_worker(burst=True)

    with pytest.raises(NotFound, match=r"stage 2 of 2 .* could not be made"):
        flow.get()


def test_a_flow_that_nobody_runs_is_waited_for(app: Rota) -> None:
    add = app.task(functions.add)
    flow = add.step(1).then(add).enqueue()

    with pytest.raises(TimeoutError):
        flow.get(timeout=0.2)


def test_a_flow_that_is_to_go_on_later_is_waited_for(app: Rota, store: Store) -> None:
    add = app.task(functions.add)
    flow = add.step(1).then(add).enqueue()
    queue, token = app.engine.definitions.node_type("default").uuid, make_token("me", 1)
    claim = store.claim_jobs(queue, token=token, limit=1, now=store.now()).claims[0]
    settlement = settle(claim, succeeded(2), policy=RetryPolicy(), started_at=0, now=store.now(), chance=0)
    assert not store.finish_jobs(queue, [settlement], now=store.now())

    with pytest.raises(TimeoutError):  # nobody runs who would make the next stage
        flow.get(timeout=0.2)
    app.run_worker(burst=True)

    assert flow.get(timeout=60) == 3


def test_a_job_that_is_lost_is_no_hindrance_for_what_follows_although_it_failed(app: Rota, store: Store) -> None:
    add, total = app.task(functions.add), app.task(functions.note_all)
    flow = group([add.step(1), add.step(2)]).then(total, although_failed=True).enqueue()
    app.run_worker(burst=True)

    assert store.delete_jobs([flow.handles[0][1].id]) == [True]

    assert flow.get(timeout=60) == [2, 3]


def test_jobs_of_a_flow_have_the_priorities_of_their_tasks(app: Rota) -> None:
    first, then = app.task(priority=5)(functions.add), app.task(name="then", priority=-3)(functions.note_all)

    flow = group([first.step(1), first.step(2)]).then(then).enqueue()
    app.run_worker(burst=True)

    assert [[one.job.spec.priority for one in stage] for stage in flow.handles] == [[5, 5], [-3]]


@pytest.mark.parametrize("count", [0, 1, 1_000, 1_001])
def test_a_flow_has_one_job_and_a_thousand_at_most(app: Rota, count: int) -> None:
    add = app.task(functions.add)

    if 1 <= count <= 1_000:
        assert len(group([add.step(1)] * count).stages[0].calls) == count
    else:
        with pytest.raises(InvalidInput, match=f"flow: must have 1 to 1000 jobs, got {count}"):
            group([add.step(1)] * count)


def test_a_flow_is_enqueued_without_blocking_a_loop(app: Rota) -> None:
    flow = asyncio.run(app.task(functions.add).step(1).then(app.task(functions.note)).aenqueue())
    app.run_worker(burst=True)

    assert (flow.get(timeout=60), flow.progress.done, flow.cancel()) == (None, 2, False)
