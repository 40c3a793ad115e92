"""Events that Rota makes itself: ends of jobs and ticks of schedules. And what a file of definitions owns."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rota.clock import NodeClock
from rota.engine.definitions.file import FileDefinitions, Wanted
from rota.engine.events.outbox import Outbox
from rota.engine.jobs.intake import JobRequest
from rota.engine.node.node import Node
from rota.engine.node.options import WORKER, NodeOptions
from rota.errors import Conflict, InvalidInput
from rota.model.events.configuration_request import read_configuration
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType, Unique
from rota.model.node import NodeType
from rota.model.schedules.request import Emission, ScheduleRequest
from rota.store import Store
from rota.store.jobs import JobQuery
from tests.contract.building import claim_one, fail, finish, succeed
from tests.contract.racing import in_threads
from tests.engine.events.posting import NOW, Desk, needs
from tests.servers import wait_until


@pytest.fixture
def desk(store: Store) -> Desk:
    """A desk with the job types `load` and `report`."""
    found = Desk(store)
    found.definitions.ensure_node_type(NodeType(uuid=new_id(NOW), name="default"))
    for name in ("load", "report", "mail"):
        found.definitions.define_job_type(JobType(uuid=new_id(NOW), name=name, executor="log"))
    return found


def queue_of(desk: Desk) -> str:
    return desk.definitions.node_type("default").uuid


def run_one(desk: Desk, *, failing: bool = False) -> str:
    """Run the next job to its end, as a worker settles it; returns the name of its job type."""
    claim = claim_one(desk.store, queue_of(desk), now=desk.clock.now())
    finish(desk.store, (fail if failing else succeed)(claim, desk.clock.now()), now=desk.clock.now())
    return desk.definitions.job_type(claim.spec.job_type).name


def take_outbox(desk: Desk) -> None:
    Outbox(desk.store, desk.definitions, desk.events).run_once(desk.clock.now())


def queued(desk: Desk) -> list[str]:
    page = desk.store.list_jobs(JobQuery(states=frozenset({JobState.QUEUED})), limit=100)
    return [desk.definitions.job_type(job.spec.job_type).name for job in page.jobs]


def enqueue(desk: Desk, name: str, count: int = 1) -> None:
    desk.engine.intake.enqueue([JobRequest(job_type=name)] * count)


def test_the_end_of_a_job_makes_the_next_one(desk: Desk) -> None:
    desk.define("after-load", needs("JOB", "load", 0, outcome="succeeded"), job={"job_type": "report"})
    desk.define("after-report", needs("JOB", "report", 0), job={"job_type": "mail"})
    enqueue(desk, "load")

    ran = []
    while queued(desk):
        ran.append(run_one(desk))
        desk.clock.advance(10)
        take_outbox(desk)

    assert ran == ["load", "report", "mail"]


def test_every_end_counts_in_whatever_order_they_are_told(desk: Desk) -> None:
    desk.define("after-load", needs("JOB", "load", 0), job={"job_type": "report"})
    enqueue(desk, "load", 5)
    for _ in range(5):
        run_one(desk)  # all in one millisecond

    take_outbox(desk)
    take_outbox(desk)

    assert queued(desk) == ["report"] * 5


def test_an_outcome_that_is_not_wanted_makes_nothing(desk: Desk) -> None:
    desk.define("after-load", needs("JOB", "load", 0, outcome="succeeded"), job={"job_type": "report"})
    desk.define("after-failure", needs("JOB", "load", 0, outcome="failed"), job={"job_type": "mail"})
    enqueue(desk, "load")

    run_one(desk, failing=True)
    take_outbox(desk)

    assert queued(desk) == ["mail"]


def test_an_end_is_not_dated_into_the_future_by_a_clock_that_is_ahead(desk: Desk) -> None:
    desk.define("after-load", needs("JOB", "load", 60), job={"job_type": "report"})
    enqueue(desk, "load")
    run_one(desk)
    desk.clock.set(desk.store.now() + 5 * 60_000)

    take_outbox(desk)

    uuid = desk.configurations.find("after-load").configuration.uuid
    (valid,) = desk.store.list_validations(uuid, limit=9)
    assert valid.event.received_at <= desk.store.now()
    assert valid.event.time <= desk.store.now() * 1_000 + 999


def test_an_end_that_is_taken_twice_counts_once(desk: Desk) -> None:
    desk.define("after-load", needs("JOB", "load", 60), job={"job_type": "report"})
    enqueue(desk, "load")
    run_one(desk)
    events = desk.store.read_outbox(queue_of(desk), limit=10)

    for _ in range(2):  # as if somebody died between taking and clearing
        desk.clock.advance(10)
        desk.events.post([desk.store.read_outbox(queue_of(desk), limit=10)[0]])
    desk.store.clear_outbox(queue_of(desk), events)

    assert queued(desk) == ["report"]


def test_jobs_that_nobody_waits_for_leave_nothing_in_the_outbox(desk: Desk) -> None:
    desk.define("after-load", needs("JOB", "load", 0), job={"job_type": "report"})
    enqueue(desk, "mail")

    run_one(desk)

    assert desk.store.read_outbox(queue_of(desk), limit=10) == []


def test_a_cycle_is_refused_and_named(desk: Desk) -> None:
    desk.define("one", needs("JOB", "load", 0), job={"job_type": "report"})
    desk.define("two", needs("JOB", "report", 0), job={"job_type": "mail"})

    with pytest.raises(InvalidInput, match="load -> report -> mail -> load"):
        desk.define("three", needs("JOB", "mail", 0), job={"job_type": "load"})
    with pytest.raises(InvalidInput, match="load -> load"):
        desk.define("self", needs("FILE", "a"), needs("JOB", "load", 0), job={"job_type": "load"})
    wish = read_configuration({"name": "one", "dependencies": [needs("JOB", "mail", 0)], "job": {"job_type": "report"}})
    with pytest.raises(InvalidInput, match="report -> mail -> report"):
        desk.configurations.replace("one", wish)
    assert len(desk.store.list_configurations(limit=9).entries) == 2


def define_at_once(desks: list[Desk], made_after: list[tuple[str, str]]) -> list[bool]:
    """Each desk defines that one job type is made after another; tells which of them could."""

    def define(number: int) -> bool:
        made, after = made_after[number]
        try:
            desks[number].define(f"{made}-after-{after}", needs("JOB", after, 0), job={"job_type": made})
        except InvalidInput:
            return False
        return True

    return in_threads(define, len(desks))


def test_rules_that_are_defined_at_once_form_no_cycle(desk: Desk, open_again: Callable[[], Store]) -> None:
    desks = [Desk(open_again()) for _ in range(3)]
    rules = [("load", "report"), ("report", "mail"), ("mail", "load")]

    for _ in range(15):
        answers = define_at_once(desks, rules)

        assert sorted(answers) == [False, True, True]
        entries = desk.store.list_configurations(limit=9).entries
        assert len(entries) == 2
        desk.store.delete_configurations([entry.configuration.uuid for entry in entries])


def test_rules_that_are_defined_at_once_and_go_together_are_all_accepted(
    desk: Desk, open_again: Callable[[], Store]
) -> None:
    desks = [Desk(open_again()) for _ in range(2)]

    for _ in range(10):
        assert define_at_once(desks, [("report", "load"), ("mail", "load")]) == [True, True]
        entries = desk.store.list_configurations(limit=9).entries
        desk.store.delete_configurations([entry.configuration.uuid for entry in entries])


def test_a_job_type_that_admits_one_at_a_time_names_the_surviving_job(desk: Desk) -> None:
    single = JobType(uuid=new_id(NOW), name="single", executor="log", unique=Unique.WHILE_PENDING)
    desk.definitions.define_job_type(single)
    desk.define("c", needs("FILE", "a"), job={"job_type": "single"})

    first, second = desk.post("FILE", "a", 1).triggered, desk.post("FILE", "a", 2).triggered

    assert [one.job for one in first] == [one.job for one in second]
    entry = desk.configurations.find("c")
    verdicts = [one.verdict for one in desk.store.list_evaluations(entry.configuration.uuid, limit=9)]
    assert verdicts == ["unique", "triggered"]


def test_a_job_type_that_moves_takes_its_configurations_along(desk: Desk) -> None:
    desk.define("c", needs("FILE", "a"), job={"job_type": "report"})
    desk.definitions.define_node_type(NodeType(uuid=new_id(NOW), name="big"))
    report = desk.definitions.job_type("report")

    desk.definitions.define_job_type(JobType(uuid=report.uuid, name="report", executor="log", node_type="big"))

    job = desk.post("FILE", "a", 1).triggered[0].job
    found = desk.store.find_jobs([job])[0]
    assert found is not None
    assert found.spec.queue == desk.definitions.node_type("big").uuid


# -- schedules and nodes -------------------------------------------------------------------------------------------


def request_for(*dependencies: dict[str, Any], name: str = "c", **more: object) -> Any:
    return read_configuration({"name": name, "dependencies": list(dependencies), **more})


def in_node(store: Store, is_done: Callable[[], bool], *, deadline_s: float = 30) -> None:
    """Let a whole node live until something is so."""

    async def live() -> None:
        node = Node.open(store, NodeOptions())
        running = asyncio.create_task(node.run())
        await asyncio.to_thread(wait_until, is_done, "the node to do its work", deadline_s=deadline_s)
        node.request_stop()
        await running

    asyncio.run(live())


@pytest.mark.stores("sqlite-file", "redis")  # a whole node per store
def test_a_schedule_emits_events_and_the_end_of_a_job_is_one_in_a_living_node(store: Store) -> None:
    clock = NodeClock()
    node = Node.open(store, NodeOptions(), clock=clock)
    node.engine.definitions.ensure_node_type(NodeType(uuid=new_id(1), name="default"))
    configurations = node.engine.configurations
    configurations.create(
        request_for(
            needs("FILE", "/in/", 3600), needs("TIME_BASED", "strike", 0), job={"executor": "log", "metadata": {}}
        )
    )
    configurations.create(request_for(needs("JOB", "rota.configuration.c", 0), name="next"))
    node.engine.events.post([Desk(store).event("FILE", "/in/a", "2100-01-01 00:00:00", clock.now())])
    node.engine.schedules.create(ScheduleRequest(name="strike", emit=Emission(), delay=50))

    in_node(store, lambda: configurations.find("next").state.triggered > 0)

    assert configurations.find("c").state.triggered == 1


@pytest.mark.stores("sqlite-file", "redis")  # a whole node per store
def test_a_node_that_has_not_heard_of_a_configuration_yet_tells_it_the_ends_of_its_jobs(
    desk: Desk, open_again: Callable[[], Store], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    wait = JobType(uuid=new_id(NOW), name="wait", executor="bash", metadata={"command": ["cat", str(pipe)]})
    desk.definitions.define_job_type(wait)
    enqueue(desk, "wait")

    def is_in_state(state: JobState) -> bool:
        return desk.store.count_jobs(queue_of(desk))[state] == 1

    async def live() -> None:
        node = Node.open(open_again(), NodeOptions(roles=frozenset({WORKER})))
        running = asyncio.create_task(node.run())
        await asyncio.to_thread(wait_until, lambda: is_in_state(JobState.RUNNING), "the job runs")
        desk.define("after", needs("JOB", "wait", 0), job={"job_type": "report"})
        await asyncio.to_thread(pipe.write_text, "go")
        await asyncio.to_thread(wait_until, lambda: is_in_state(JobState.SUCCEEDED), "the job has ended")
        node.request_stop()
        await running

    asyncio.run(live())

    assert [event.resource for event in desk.store.read_outbox(queue_of(desk), limit=10)] == ["wait"]


def test_a_schedule_has_a_job_type_or_an_event() -> None:
    with pytest.raises(InvalidInput, match="not both"):
        ScheduleRequest(name="x", interval=1000, job_type="report", emit=Emission()).settled()
    with pytest.raises(InvalidInput, match="job_type"):
        ScheduleRequest(name="x", interval=1000).settled()
    found = ScheduleRequest(name="x", interval=1000, emit=Emission()).settled()
    assert (found.job_type, found.job_arguments) == ("rota.emit", {"type": "TIME_BASED", "resourceId": "x"})


# -- what the file owns --------------------------------------------------------------------------------------------


def file_of(desk: Desk) -> FileDefinitions:
    return desk.engine.file


def test_what_stands_in_the_file_is_owned_by_it_and_the_rest_is_not_touched(desk: Desk) -> None:
    file = file_of(desk)
    desk.define("mine", needs("FILE", "a"))
    wanted = [request_for(needs("FILE", "b"), name="theirs"), request_for(needs("FILE", "c"), name="gone")]
    file.apply(Wanted(configurations=wanted))
    desk.post("FILE", "b", 1)

    told = file.apply(Wanted(configurations=[request_for(needs("FILE", "b"), name="theirs")]))

    assert [(one.kind, one.name, one.action) for one in told] == [("configuration", "gone", "delete")]
    assert [one.configuration.name for one in desk.store.list_configurations(limit=9).entries] == ["mine", "theirs"]
    assert desk.configurations.find("theirs").state.triggered == 1, "what did not change keeps its state"
    with pytest.raises(Conflict, match="stands in the configuration file"):
        desk.configurations.delete("theirs")
    with pytest.raises(Conflict, match="another way"):
        file.apply(Wanted(configurations=[request_for(needs("FILE", "b"), name="mine")]))
    with pytest.raises(InvalidInput, match=r"configurations\[0\]\.job\.job_type"):
        file.apply(Wanted(configurations=[request_for(needs("FILE", "b"), name="x", job={"job_type": "nope"})]))


def test_more_events_than_fit_one_round_are_taken_in_their_order(desk: Desk) -> None:
    desk.define("c", needs("FILE", "a", 0))
    events = [desk.event("FILE", "a", n / 1000) for n in range(1_200)]

    answer = desk.events.post(events)

    assert [one.event for one in answer.triggered] == list(range(1_200))
    assert desk.configurations.find("c").state.triggered == 1_200


def test_an_event_reaches_every_one_of_many_configurations(desk: Desk) -> None:
    for n in range(700):
        desk.define(f"c{n}", needs("TIME_BASED", "cron", 0))

    assert len(desk.post("TIME_BASED", "cron", 1).triggered) == 700


def test_what_nobody_waits_for_any_more_is_cleared_from_the_outbox(desk: Desk) -> None:
    desk.define("after-load", needs("JOB", "load", 0), job={"job_type": "report"})
    outbox = Outbox(desk.store, desk.definitions, desk.events)
    enqueue(desk, "load")
    desk.definitions.refresh()  # as every beat of a node does
    outbox.run_once(desk.clock.now())
    run_one(desk)
    desk.configurations.delete("after-load")
    desk.definitions.refresh()

    outbox.run_once(desk.clock.now())

    assert desk.store.read_outbox(queue_of(desk), limit=10) == []
    assert queued(desk) == []
