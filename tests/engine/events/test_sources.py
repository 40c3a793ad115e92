"""Events that Rota makes itself: ends of jobs and ticks of schedules. And what a file of definitions owns."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rota.clock import NodeClock
from rota.engine.definitions.file import FileDefinitions, Wanted
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
from rota.store.contract.jobs import JobQuery
from rota.testing import Faults
from tests.contract.building import claim_one, fail, finish, succeed
from tests.contract.racing import in_threads
from tests.engine.events.installation import NOW, EventsInstallation, needs
from tests.engine.events.renaming import make_mail_after_later, rename_mail
from tests.servers import wait_until


@pytest.fixture
def installation(store: Store) -> EventsInstallation:
    """An installation with the job types `load` and `report`."""
    found = EventsInstallation(store)
    found.definitions.ensure_node_type(NodeType(uuid=new_id(NOW), name="default"))
    for name in ("load", "report", "mail"):
        found.definitions.define_job_type(JobType(uuid=new_id(NOW), name=name, executor="log"))
    return found


def queue_of(installation: EventsInstallation) -> str:
    return installation.definitions.node_type("default").uuid


def run_one(installation: EventsInstallation, *, failing: bool = False) -> str:
    """Run the next job to its end, as a worker settles it; returns the name of its job type."""
    claim = claim_one(installation.store, queue_of(installation), now=installation.clock.now())
    finish(
        installation.store,
        (fail if failing else succeed)(claim, installation.clock.now()),
        now=installation.clock.now(),
    )
    return installation.definitions.job_type(claim.spec.job_type).name


def take_outbox(installation: EventsInstallation) -> None:
    installation.engine.outbox.run_once(installation.clock.now())


def queued(installation: EventsInstallation) -> list[str]:
    page = installation.store.list_jobs(JobQuery(states=frozenset({JobState.QUEUED})), limit=100)
    return [installation.definitions.job_type(job.spec.job_type).name for job in page.jobs]


def enqueue(installation: EventsInstallation, name: str, count: int = 1) -> None:
    installation.engine.intake.enqueue([JobRequest(job_type=name)] * count)


def test_the_end_of_a_job_makes_the_next_one(installation: EventsInstallation) -> None:
    installation.define_configuration(
        "after-load", needs("JOB", "load", 0, outcome="succeeded"), job={"job_type": "report"}
    )
    installation.define_configuration("after-report", needs("JOB", "report", 0), job={"job_type": "mail"})
    enqueue(installation, "load")

    ran = []
    while queued(installation):
        ran.append(run_one(installation))
        installation.clock.advance(10)
        take_outbox(installation)

    assert ran == ["load", "report", "mail"]


def test_every_end_counts_in_whatever_order_they_are_told(installation: EventsInstallation) -> None:
    installation.define_configuration("after-load", needs("JOB", "load", 0), job={"job_type": "report"})
    enqueue(installation, "load", 5)
    for _ in range(5):
        run_one(installation)  # all in one millisecond

    take_outbox(installation)
    take_outbox(installation)

    assert queued(installation) == ["report"] * 5


def test_an_outcome_that_is_not_wanted_makes_nothing(installation: EventsInstallation) -> None:
    installation.define_configuration(
        "after-load", needs("JOB", "load", 0, outcome="succeeded"), job={"job_type": "report"}
    )
    installation.define_configuration(
        "after-failure", needs("JOB", "load", 0, outcome="failed"), job={"job_type": "mail"}
    )
    enqueue(installation, "load")

    run_one(installation, failing=True)
    take_outbox(installation)

    assert queued(installation) == ["mail"]


def test_an_end_is_not_dated_into_the_future_by_a_clock_that_is_ahead(installation: EventsInstallation) -> None:
    installation.define_configuration("after-load", needs("JOB", "load", 60), job={"job_type": "report"})
    enqueue(installation, "load")
    run_one(installation)
    installation.clock.set(installation.store.now() + 5 * 60_000)

    take_outbox(installation)

    uuid = installation.configurations.find("after-load").configuration.uuid
    (valid,) = installation.store.list_validations(uuid, limit=9)
    assert valid.event.received_at <= installation.store.now()
    assert valid.event.time <= installation.store.now() * 1_000 + 999


def test_an_end_that_is_taken_twice_counts_once(installation: EventsInstallation) -> None:
    installation.define_configuration("after-load", needs("JOB", "load", 60), job={"job_type": "report"})
    enqueue(installation, "load")
    run_one(installation)
    events = installation.store.read_outbox(queue_of(installation), limit=10)

    for _ in range(2):  # as if somebody died between taking and clearing
        installation.clock.advance(10)
        installation.events.post([installation.store.read_outbox(queue_of(installation), limit=10)[0]])
    installation.store.clear_outbox(queue_of(installation), events)

    assert queued(installation) == ["report"]


def test_jobs_that_nobody_waits_for_leave_nothing_in_the_outbox(installation: EventsInstallation) -> None:
    installation.define_configuration("after-load", needs("JOB", "load", 0), job={"job_type": "report"})
    enqueue(installation, "mail")

    run_one(installation)

    assert installation.store.read_outbox(queue_of(installation), limit=10) == []


def test_a_cycle_is_refused_and_named(installation: EventsInstallation) -> None:
    installation.define_configuration("one", needs("JOB", "load", 0), job={"job_type": "report"})
    installation.define_configuration("two", needs("JOB", "report", 0), job={"job_type": "mail"})

    with pytest.raises(InvalidInput, match="load -> report -> mail -> load"):
        installation.define_configuration("three", needs("JOB", "mail", 0), job={"job_type": "load"})
    with pytest.raises(InvalidInput, match="load -> load"):
        installation.define_configuration("self", needs("FILE", "a"), needs("JOB", "load", 0), job={"job_type": "load"})
    wish = read_configuration({"name": "one", "dependencies": [needs("JOB", "mail", 0)], "job": {"job_type": "report"}})
    with pytest.raises(InvalidInput, match="report -> mail -> report"):
        installation.configurations.replace("one", wish)
    assert len(installation.store.list_configurations(limit=9).entries) == 2


@pytest.mark.parametrize("by", ["name", "uuid"])
def test_a_configuration_that_is_changed_closes_no_cycle_with_what_it_was(
    installation: EventsInstallation, by: str
) -> None:
    before = installation.define_configuration("one", needs("JOB", "load", 0), job={"job_type": "report"})
    turned = {"name": "one", "dependencies": [needs("JOB", "report", 0)], "job": {"job_type": "load"}}

    after = installation.configurations.replace(getattr(before.configuration, by), read_configuration(turned))

    assert after.configuration.dependencies[0].resource == "report"


def test_a_file_with_the_name_of_a_job_type_closes_no_cycle(installation: EventsInstallation) -> None:
    waits = (needs("JOB", "load"), needs("FILE", "mail"))
    installation.define_configuration("one", *waits, job={"job_type": "report"})

    assert installation.define_configuration("two", needs("JOB", "report", 0), job={"job_type": "mail"})


def test_a_new_name_that_closes_a_cycle_is_refused(installation: EventsInstallation) -> None:
    """Rules wait for names, also for one that nothing has yet."""
    installation.define_configuration("one", needs("JOB", "later", 0), job={"job_type": "report"})
    installation.define_configuration("two", needs("JOB", "report", 0), job={"job_type": "mail"})
    mail = installation.definitions.job_type("mail")

    with pytest.raises(InvalidInput, match="later -> report -> later"):
        installation.definitions.change_job_type(structs.replace(mail, name="later"))
    installation.definitions.change_job_type(structs.replace(mail, name="letters"))
    load = installation.definitions.job_type("load")
    installation.definitions.change_job_type(structs.replace(load, name="later"))

    assert sorted(one.name for one in installation.definitions.job_types()) == ["later", "letters", "report"]


@pytest.mark.parametrize(
    ("first", "second", "second_call"),
    [
        (make_mail_after_later, rename_mail, "put_job_types"),
        (rename_mail, make_mail_after_later, "put_configurations"),
    ],
)
def test_a_rule_and_a_new_name_that_close_a_cycle_are_not_both_accepted(
    installation: EventsInstallation,
    open_again: Callable[[], Store],
    first: Callable[[EventsInstallation], bool],
    second: Callable[[EventsInstallation], bool],
    second_call: str,
) -> None:
    """The second has judged already when the first comes, and judges again."""
    faults, accepted = Faults(open_again()), []
    faults.before(second_call, lambda: accepted.append(first(installation)))

    accepted.append(second(EventsInstallation(faults.store)))

    assert accepted == [True, False]


def test_a_rule_and_a_new_name_that_close_no_cycle_are_both_accepted(
    installation: EventsInstallation, open_again: Callable[[], Store]
) -> None:
    faults, desk = Faults(open_again()), EventsInstallation(open_again())
    wish = needs("JOB", "load", 0)
    faults.before("put_job_types", lambda: desk.define_configuration("c", wish, job={"job_type": "mail"}))

    assert rename_mail(EventsInstallation(faults.store))

    made = installation.configurations.find("c").configuration.job_type
    assert installation.definitions.job_type_names()[made] == "later"


def define_at_once(desks: list[EventsInstallation], made_after: list[tuple[str, str]]) -> list[bool]:
    """Each installation defines that one job type is made after another; tells which of them could."""

    def define(number: int) -> bool:
        made, after = made_after[number]
        try:
            desks[number].define_configuration(f"{made}-after-{after}", needs("JOB", after, 0), job={"job_type": made})
        except InvalidInput:
            return False
        return True

    return in_threads(define, len(desks))


def test_rules_that_are_defined_at_once_form_no_cycle(
    installation: EventsInstallation, open_again: Callable[[], Store]
) -> None:
    desks = [EventsInstallation(open_again()) for _ in range(3)]
    rules = [("load", "report"), ("report", "mail"), ("mail", "load")]

    for _ in range(15):
        answers = define_at_once(desks, rules)

        assert sorted(answers) == [False, True, True]
        entries = installation.store.list_configurations(limit=9).entries
        assert len(entries) == 2
        installation.store.delete_configurations([entry.configuration.uuid for entry in entries])


def test_rules_that_are_defined_at_once_and_go_together_are_all_accepted(
    installation: EventsInstallation, open_again: Callable[[], Store]
) -> None:
    desks = [EventsInstallation(open_again()) for _ in range(2)]

    for _ in range(10):
        assert define_at_once(desks, [("report", "load"), ("mail", "load")]) == [True, True]
        entries = installation.store.list_configurations(limit=9).entries
        installation.store.delete_configurations([entry.configuration.uuid for entry in entries])


def test_a_job_type_that_admits_one_at_a_time_names_the_surviving_job(installation: EventsInstallation) -> None:
    single = JobType(uuid=new_id(NOW), name="single", executor="log", unique=Unique.WHILE_PENDING)
    installation.definitions.define_job_type(single)
    installation.define_configuration("c", needs("FILE", "a"), job={"job_type": "single"})

    first, second = installation.post("FILE", "a", 1).triggered, installation.post("FILE", "a", 2).triggered

    assert [one.job for one in first] == [one.job for one in second]
    entry = installation.configurations.find("c")
    verdicts = [one.verdict for one in installation.store.list_evaluations(entry.configuration.uuid, limit=9)]
    assert verdicts == ["unique", "triggered"]


def test_a_job_type_that_moves_takes_its_configurations_along(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a"), job={"job_type": "report"})
    installation.definitions.define_node_type(NodeType(uuid=new_id(NOW), name="big"))
    report = installation.definitions.job_type("report")

    installation.definitions.define_job_type(JobType(uuid=report.uuid, name="report", executor="log", node_type="big"))

    job = installation.post("FILE", "a", 1).triggered[0].job
    found = installation.store.find_jobs([job])[0]
    assert found is not None
    assert found.spec.queue == installation.definitions.node_type("big").uuid


# -- schedules and nodes -------------------------------------------------------------------------------------------


def request_for(*dependencies: dict[str, Any], name: str = "c", **more: object) -> Any:
    return read_configuration({"name": name, "dependencies": list(dependencies), **more})


def in_node(store: Store, is_done: Callable[[], bool], *, deadline_s: float = 240) -> None:
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
    clock = NodeClock(store.now)
    node = Node.open(store, NodeOptions(), clock=clock)
    node.engine.definitions.ensure_node_type(NodeType(uuid=new_id(1), name="default"))
    configurations = node.engine.configurations
    configurations.create(
        request_for(
            needs("FILE", "/in/", 3600), needs("TIME_BASED", "strike", 0), job={"executor": "log", "metadata": {}}
        )
    )
    configurations.create(request_for(needs("JOB", "rota.configuration.c", 0), name="next"))
    node.engine.events.post([EventsInstallation(store).event("FILE", "/in/a", "2100-01-01 00:00:00", clock.now())])
    node.engine.schedules.create(ScheduleRequest(name="strike", emit=Emission(), delay=50))

    in_node(store, lambda: configurations.find("next").state.triggered > 0)

    assert configurations.find("c").state.triggered == 1


@pytest.mark.stores("sqlite-file", "redis")  # a whole node per store
def test_a_node_that_has_not_heard_of_a_configuration_yet_tells_it_the_ends_of_its_jobs(
    installation: EventsInstallation, open_again: Callable[[], Store], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    wait = JobType(uuid=new_id(NOW), name="wait", executor="bash", metadata={"command": ["cat", str(pipe)]})
    installation.definitions.define_job_type(wait)
    enqueue(installation, "wait")

    def is_in_state(state: JobState) -> bool:
        return installation.store.count_jobs(queue_of(installation))[state] == 1

    async def live() -> None:
        node = Node.open(open_again(), NodeOptions(roles=frozenset({WORKER})))
        running = asyncio.create_task(node.run())
        await asyncio.to_thread(wait_until, lambda: is_in_state(JobState.RUNNING), "the job runs")
        installation.define_configuration("after", needs("JOB", "wait", 0), job={"job_type": "report"})
        await asyncio.to_thread(pipe.write_text, "go")
        await asyncio.to_thread(wait_until, lambda: is_in_state(JobState.SUCCEEDED), "the job has ended")
        node.request_stop()
        await running

    asyncio.run(live())

    assert [event.resource for event in installation.store.read_outbox(queue_of(installation), limit=10)] == ["wait"]


def test_a_schedule_has_a_job_type_or_an_event() -> None:
    with pytest.raises(InvalidInput, match="not both"):
        ScheduleRequest(name="x", interval=1000, job_type="report", emit=Emission()).settled()
    with pytest.raises(InvalidInput, match="job_type"):
        ScheduleRequest(name="x", interval=1000).settled()
    found = ScheduleRequest(name="x", interval=1000, emit=Emission()).settled()
    assert (found.job_type, found.job_arguments) == ("rota.emit", {"type": "TIME_BASED", "resourceId": "x"})


# -- what the file owns --------------------------------------------------------------------------------------------


def file_of(installation: EventsInstallation) -> FileDefinitions:
    return installation.engine.file


def test_what_stands_in_the_file_is_owned_by_it_and_the_rest_is_not_touched(installation: EventsInstallation) -> None:
    file = file_of(installation)
    installation.define_configuration("mine", needs("FILE", "a"))
    wanted = [request_for(needs("FILE", "b"), name="theirs"), request_for(needs("FILE", "c"), name="gone")]
    file.apply(Wanted(configurations=wanted))
    installation.post("FILE", "b", 1)

    told = file.apply(Wanted(configurations=[request_for(needs("FILE", "b"), name="theirs")]))

    assert [(one.kind, one.name, one.action) for one in told] == [("configuration", "gone", "delete")]
    assert [one.configuration.name for one in installation.store.list_configurations(limit=9).entries] == [
        "mine",
        "theirs",
    ]
    assert installation.configurations.find("theirs").state.triggered == 1, "what did not change keeps its state"
    with pytest.raises(Conflict, match="is defined in the configuration file"):
        installation.configurations.delete("theirs")
    with pytest.raises(Conflict, match="another way"):
        file.apply(Wanted(configurations=[request_for(needs("FILE", "b"), name="mine")]))
    with pytest.raises(InvalidInput, match=r"configurations\[0\]\.job\.job_type"):
        file.apply(Wanted(configurations=[request_for(needs("FILE", "b"), name="x", job={"job_type": "nope"})]))


def test_more_events_than_fit_one_round_are_taken_in_their_order(installation: EventsInstallation) -> None:
    installation.define_configuration("c", needs("FILE", "a", 0))
    events = [installation.event("FILE", "a", n / 1000) for n in range(1_200)]

    answer = installation.events.post(events)

    assert [one.event for one in answer.triggered] == list(range(1_200))
    assert installation.configurations.find("c").state.triggered == 1_200


def test_an_event_reaches_every_one_of_many_configurations(installation: EventsInstallation) -> None:
    for n in range(700):
        installation.define_configuration(f"c{n}", needs("TIME_BASED", "cron", 0))

    assert len(installation.post("TIME_BASED", "cron", 1).triggered) == 700


def test_what_nobody_waits_for_any_more_is_cleared_from_the_outbox(installation: EventsInstallation) -> None:
    installation.define_configuration("after-load", needs("JOB", "load", 0), job={"job_type": "report"})
    outbox = installation.engine.outbox
    enqueue(installation, "load")
    installation.definitions.refresh()  # as every beat of a node does
    outbox.run_once(installation.clock.now())
    run_one(installation)
    installation.configurations.delete("after-load")
    installation.definitions.refresh()

    outbox.run_once(installation.clock.now())

    assert installation.store.read_outbox(queue_of(installation), limit=10) == []
    assert queued(installation) == []
