"""Tasks of several queues: one worker serves those that it is told to, and says which nobody serves."""

import asyncio
import logging
from pathlib import Path

import pytest

from rota import InvalidInput, NotFound, RetryPolicy, Rota
from tests.cli.calling import call_process, done
from tests.sdk.tasks import functions
from tests.sdk.tasks.conftest import MakeApp
from tests.sdk.tasks.working import running_worker
from tests.servers import wait_until

pytestmark = pytest.mark.stores("sqlite-file", "redis")


def test_one_worker_may_serve_several_queues(app: Rota) -> None:
    add, total = app.task(functions.add), app.task(queue="mail")(functions.add_up)
    flows = [add.step(1).then(app.task(queue="print", name="again")(functions.add)).enqueue() for _ in range(3)]
    totals = total.map([([number],) for number in range(20)])

    app.run_worker(burst=True, queues=["default", "mail", "print"])

    assert [flow.get(timeout=60) for flow in flows] == [3, 3, 3]
    assert [one.result for one in totals] == list(range(20))
    assert {one.job.node for one in totals}.isdisjoint({flow.handles[0][0].job.node for flow in flows})


def test_what_is_in_a_queue_that_is_not_named_stays_there(app: Rota) -> None:
    app.task(functions.add)
    there = app.task(queue="print", name="there")(functions.add).enqueue(1)
    here = app.task(queue="mail", name="here")(functions.add).enqueue(1)

    app.run_worker(burst=True, queue="default", queues=["mail"])

    assert (here.result, there.status) == (2, "queued")


def test_a_worker_of_several_queues_can_be_stopped(app: Rota) -> None:
    app.task(functions.add)
    there = app.task(queue="mail", name="there")(functions.add)

    async def scene() -> int:
        worker = asyncio.create_task(app.serve_worker(queues=["default", "mail"]))
        try:
            return await (await there.aenqueue(1)).aget(timeout=60)
        finally:
            app.stop_worker()
            await worker

    assert asyncio.run(scene()) == 2


def test_tasks_whose_queue_nobody_serves_are_told(app: Rota, caplog: pytest.LogCaptureFixture) -> None:
    app.task(functions.add)
    app.task(queue="mail", name="letter")(functions.report)

    with caplog.at_level(logging.WARNING, "rota.node"):
        app.run_worker(burst=True)
    told = [(one.__dict__["queue"], one.__dict__["tasks"]) for one in caplog.records if "tasks" in one.__dict__]
    caplog.clear()
    with caplog.at_level(logging.WARNING, "rota.node"):
        app.run_worker(burst=True, queues=["mail", "default"])

    assert told == [("mail", "letter")]
    assert not [one for one in caplog.records if "tasks" in one.__dict__]


def test_a_queue_that_another_worker_serves_is_not_told(
    app: Rota, make_app: MakeApp, caplog: pytest.LogCaptureFixture
) -> None:
    other = make_app("shop")
    for one in (app, other):
        one.task(queue="mail")(functions.add)

    with running_worker(other, queue="mail"):
        wait_until(lambda: bool(app.engine.store.list_nodes(since=0)), "the first beat of the worker")
        with caplog.at_level(logging.WARNING, "rota.node"):
            app.run_worker(burst=True)

    assert not [one for one in caplog.records if "tasks" in one.__dict__]


def test_queues_that_cannot_be_meant_are_refused(app: Rota) -> None:
    app.task(functions.add)

    with pytest.raises(InvalidInput, match=r"queues: must be a list of names, got 'mail'; queue='mail' is for one"):
        app.run_worker(queues="mail")
    with pytest.raises(NotFound, match="unknown"):
        app.run_worker(queues=["default", "unknown"])


def test_a_burst_waits_for_what_is_to_run_later(app: Rota) -> None:
    again = app.task(retries=RetryPolicy(attempts=3, delay_ms=50))(functions.succeed_at)
    handles = [app.task(functions.add).options(delay=0.3).enqueue(1), again.enqueue(3)]

    app.run_worker(burst=True)

    assert [one.result for one in handles] == [2, 3]


def test_a_burst_waits_for_all_of_its_queues(app: Rota) -> None:
    app.task(functions.add)
    later = app.task(queue="mail", name="later")(functions.add).options(delay=0.5).enqueue(1)

    app.run_worker(burst=True, queues=["default", "mail"])

    assert later.result == 2


@pytest.mark.stores("sqlite-file")
def test_a_command_serves_several_queues(folder: Path) -> None:
    for name in ("default", "mail", "print"):
        done("node-type", "create", name)
        done("job-type", "create", f"say-{name}", "--executor", "log", "--node-type", name)
        done("enqueue", f"say-{name}")

    answer = call_process("worker", "--queue", "mail", "--queue", "print", "--burst", "--json")

    assert answer.exit_code == 0, answer
    assert (answer.json["node_type"], answer.json["node_types"]) == ("mail", ["mail", "print"])
    states = {job["job_type"]: job["state"] for job in done("jobs", "--json").json}
    assert states == {"say-default": "queued", "say-mail": "succeeded", "say-print": "succeeded"}
