"""Ends of jobs on their way through the outbox: told at least once, counted once, whatever is cut off in between."""

from collections.abc import Callable

import pytest

from rota.engine.events.outbox import Outbox
from rota.engine.jobs.intake import JobRequest
from rota.errors import StoreUnavailable
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType, OnNodeDeath
from rota.model.node import NodeType
from rota.store import Store
from rota.store.jobs import JobQuery
from tests.contract.building import claim_all, claim_one, die, fail, fail_and_retry, finish, reclaim, succeed
from tests.engine.events.installation import NOW, Desk, needs
from tests.engine.working import Faults

JOB_TYPES = {"load": "0190b0c0-0000-7000-8000-000000000001", "report": "0190b0c0-0000-7000-8000-000000000002"}


class Office(Desk):
    """A desk with the job types `load` and `report`, each in a queue of its own, and an outbox duty that lives on."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        for name, uuid in JOB_TYPES.items():
            self.definitions.ensure_node_type(NodeType(uuid=new_id(NOW), name=f"for-{name}"))
            self.definitions.define_job_type(JobType(uuid=uuid, name=name, executor="log", node_type=f"for-{name}"))
        self.outbox = Outbox(store, self.definitions, self.events)
        self.queue = self.definitions.node_type("for-load").uuid

    def wait_for_load(self, life: int = 0, **more: object) -> None:
        self.define("after-load", needs("JOB", "load", life, **more), job={"job_type": "report"})
        self.definitions.refresh()  # as every beat of a node does

    def enqueue(self, count: int = 1) -> None:
        self.engine.intake.enqueue([JobRequest(job_type="load")] * count)

    def end_one(self) -> None:
        self.enqueue()
        finish(self.store, succeed(claim_one(self.store, self.queue)))

    def run_outbox(self) -> float:
        return self.outbox.run_once(self.clock.now())

    def left(self) -> int:
        return len(self.store.read_outbox(self.queue, limit=10_000))

    def reports(self) -> int:
        """How many jobs the ends have made."""
        page = self.store.list_jobs(JobQuery(states=frozenset({JobState.QUEUED})), limit=1_000)
        return sum(job.spec.job_type == JOB_TYPES["report"] for job in page.jobs)


@pytest.fixture
def faults(store: Store) -> Faults:
    return Faults(store)


@pytest.fixture
def office(faults: Faults) -> Office:
    return Office(faults.store)


def be_away() -> None:
    raise StoreUnavailable("the store is away")


@pytest.mark.parametrize("call", ["read_outbox", "match_events", "load_configurations", "apply_verdicts"])
def test_an_end_that_could_not_be_posted_is_posted_the_next_time(office: Office, faults: Faults, call: str) -> None:
    office.wait_for_load()
    office.end_one()
    faults.before(call, be_away)

    with pytest.raises(StoreUnavailable):
        office.run_outbox()
    assert (office.left(), office.reports()) == (1, 0)
    office.run_outbox()

    assert (office.left(), office.reports()) == (0, 1)


@pytest.mark.parametrize(
    "fault", ["clearing failed", "cleared, and the answer was lost", "judged, and the answer was lost"]
)
def test_an_end_that_was_posted_and_not_cleared_counts_once(office: Office, faults: Faults, fault: str) -> None:
    office.wait_for_load()
    office.end_one()
    if fault == "clearing failed":
        faults.before("clear_outbox", be_away)
    elif fault == "cleared, and the answer was lost":
        faults.after("clear_outbox", be_away)
    else:
        faults.after("apply_verdicts", be_away)

    with pytest.raises(StoreUnavailable):
        office.run_outbox()
    office.clock.advance(1_000)
    office.run_outbox()

    assert (office.left(), office.reports()) == (0, 1)


def test_an_end_that_two_take_at_once_counts_once(
    office: Office, faults: Faults, open_again: Callable[[], Store]
) -> None:
    office.wait_for_load()
    office.end_one()
    other = Office(open_again())

    def take_too() -> None:
        other.run_outbox()

    faults.before("apply_verdicts", take_too)

    office.run_outbox()

    assert (office.left(), office.reports()) == (0, 1)


def test_ends_of_several_rounds_all_count_while_the_clock_stands_still(office: Office) -> None:
    office.wait_for_load()

    for _ in range(3):
        office.end_one()
        office.run_outbox()

    assert office.reports() == 3


def test_more_ends_than_fit_one_round_are_taken_without_a_pause(office: Office) -> None:
    office.wait_for_load()
    office.enqueue(501)
    finish(office.store, *map(succeed, claim_all(office.store, office.queue)))

    assert office.run_outbox() == 0.0
    assert office.left() == 1
    assert office.run_outbox() == 0.25
    assert (office.left(), office.reports()) == (0, 501)


def test_every_end_of_a_job_that_is_brought_back_is_an_event_of_its_own(office: Office) -> None:
    office.wait_for_load(3600)
    office.enqueue()
    claim = claim_one(office.store, office.queue)
    finish(office.store, fail(claim))
    office.run_outbox()

    assert office.store.retry_jobs([claim.spec.id], now=NOW) == [True]
    finish(office.store, succeed(claim_one(office.store, office.queue)))
    office.run_outbox()

    assert office.reports() == 2


def test_attempts_that_are_not_the_last_are_no_ends(office: Office) -> None:
    office.wait_for_load(3600)
    office.enqueue()
    finish(office.store, fail_and_retry(claim_one(office.store, office.queue)))
    office.run_outbox()
    assert office.reports() == 0

    finish(office.store, succeed(claim_one(office.store, office.queue, now=NOW + 2_000)), now=NOW + 2_000)
    office.run_outbox()

    assert office.reports() == 1


def test_an_end_that_the_watchdog_tells_makes_the_next_job(office: Office) -> None:
    office.wait_for_load(outcome="failed")
    office.enqueue()
    claim = claim_one(office.store, office.queue)

    assert reclaim(office.store, die(claim, on_node_death=OnNodeDeath.FAIL)) == frozenset()
    office.run_outbox()

    assert office.reports() == 1


def test_a_job_that_comes_back_from_a_dead_node_has_not_ended(office: Office) -> None:
    office.wait_for_load()
    office.enqueue()
    claim = claim_one(office.store, office.queue)

    reclaim(office.store, die(claim))
    office.run_outbox()
    assert office.reports() == 0
    assert finish(office.store, succeed(claim)) == {claim.spec.id}, "a node that is back too late"
    office.run_outbox()

    assert office.reports() == 0


def test_ends_of_every_queue_are_taken(office: Office) -> None:
    office.definitions.define_node_type(NodeType(uuid=new_id(NOW), name="big"))
    office.definitions.define_job_type(JobType(uuid=new_id(NOW), name="far", executor="log", node_type="big"))
    office.define("after-far", needs("JOB", "far", 0), job={"job_type": "report"})
    office.wait_for_load()
    office.end_one()
    big = office.definitions.node_type("big").uuid
    office.engine.intake.enqueue([JobRequest(job_type="far")])
    finish(office.store, succeed(claim_one(office.store, big)))

    office.run_outbox()

    assert office.reports() == 2
