"""Ends of jobs on their way through the outbox: told at least once, counted once, whatever is cut off in between."""

from collections.abc import Callable

import pytest

from rota.engine.events.outbox import Outbox
from rota.engine.jobs.flow_queues import LOOK_MS
from rota.engine.jobs.intake import JobRequest
from rota.errors import StoreUnavailable
from rota.model.ids import new_id
from rota.model.job import JobState
from rota.model.job_type import JobType, OnNodeDeath
from rota.model.node import NodeType
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from rota.testing import Faults
from tests.contract.building import claim_all, claim_one, die, fail, fail_and_retry, finish, reclaim, succeed
from tests.engine.events.installation import NOW, EventsInstallation, needs

JOB_TYPES = {"load": "0190b0c0-0000-7000-8000-000000000001", "report": "0190b0c0-0000-7000-8000-000000000002"}


class OutboxInstallation(EventsInstallation):
    """With the job types `load` and `report`, each in a queue of its own, and an outbox duty that lives on."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        for name, uuid in JOB_TYPES.items():
            self.definitions.ensure_node_type(NodeType(uuid=new_id(NOW), name=f"for-{name}"))
            self.definitions.define_job_type(JobType(uuid=uuid, name=name, executor="log", node_type=f"for-{name}"))
        self.outbox = Outbox(store, self.definitions, self.events, self.engine.flows, self.intake.flow_queues)
        self.queue = self.definitions.node_type("for-load").uuid

    def wait_for_load(self, life: int = 0, **more: object) -> None:
        self.define_configuration("after-load", needs("JOB", "load", life, **more), job={"job_type": "report"})
        self.definitions.refresh()  # as every beat of a node does

    def wait_for_nothing(self) -> None:
        self.configurations.delete("after-load")
        self.definitions.refresh()

    def enqueue_loads(self, count: int = 1) -> None:
        self.enqueue_all([JobRequest(job_type="load")] * count)

    def end_one(self) -> None:
        self.enqueue_loads()
        finish(self.store, succeed(claim_one(self.store, self.queue)))

    def remove_node_type(self) -> None:
        """That of the queue in which the jobs have ended."""
        self.definitions.define_job_type(
            JobType(uuid=JOB_TYPES["load"], name="load", executor="log", node_type="for-report")
        )
        self.definitions.delete_node_type("for-load")

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
def installation(faults: Faults) -> OutboxInstallation:
    return OutboxInstallation(faults.store)


def be_away() -> None:
    raise StoreUnavailable("the store is away")


@pytest.mark.parametrize("call", ["read_outbox", "match_events", "load_configurations", "apply_verdicts"])
def test_an_end_that_could_not_be_posted_is_posted_the_next_time(
    installation: OutboxInstallation, faults: Faults, call: str
) -> None:
    installation.wait_for_load()
    installation.end_one()
    outboxes = len(installation.definitions.node_types())
    faults.before(call, *[be_away] * (outboxes if call == "read_outbox" else 1))

    with pytest.raises(StoreUnavailable):
        installation.run_outbox()
    assert (installation.left(), installation.reports()) == (1, 0)
    installation.run_outbox()

    assert (installation.left(), installation.reports()) == (0, 1)


@pytest.mark.parametrize(
    "fault", ["clearing failed", "cleared, and the answer was lost", "judged, and the answer was lost"]
)
def test_an_end_that_was_posted_and_not_cleared_counts_once(
    installation: OutboxInstallation, faults: Faults, fault: str
) -> None:
    installation.wait_for_load()
    installation.end_one()
    if fault == "clearing failed":
        faults.before("clear_outbox", be_away)
    elif fault == "cleared, and the answer was lost":
        faults.after("clear_outbox", be_away)
    else:
        faults.after("apply_verdicts", be_away)

    with pytest.raises(StoreUnavailable):
        installation.run_outbox()
    installation.clock.advance(1_000)
    installation.run_outbox()

    assert (installation.left(), installation.reports()) == (0, 1)


def test_an_end_that_two_take_at_once_counts_once(
    installation: OutboxInstallation, faults: Faults, open_again: Callable[[], Store]
) -> None:
    installation.wait_for_load()
    installation.end_one()
    other = OutboxInstallation(open_again())

    def take_too() -> None:
        other.run_outbox()

    faults.before("apply_verdicts", take_too)

    installation.run_outbox()

    assert (installation.left(), installation.reports()) == (0, 1)


def test_ends_of_several_rounds_all_count_while_the_clock_stands_still(installation: OutboxInstallation) -> None:
    installation.wait_for_load()

    for _ in range(3):
        installation.end_one()
        installation.run_outbox()

    assert installation.reports() == 3


def test_ends_all_count_although_the_clock_of_who_takes_some_of_them_is_behind(
    installation: OutboxInstallation, open_again: Callable[[], Store]
) -> None:
    installation.wait_for_load()
    behind = OutboxInstallation(open_again())
    behind.clock.set(installation.clock.now() - 15)

    for taker in (installation, behind, installation, behind):
        installation.end_one()
        taker.run_outbox()

    assert (installation.left(), installation.reports()) == (0, 4)


def test_the_time_of_an_end_is_that_by_its_taking(installation: OutboxInstallation) -> None:
    installation.wait_for_load()
    uuid = installation.store.configuration_uuid("after-load")
    assert uuid is not None

    for ago_ms in (60_000, 0):
        installation.clock.set(installation.store.now() - ago_ms)
        installation.end_one()
        installation.run_outbox()
        newest = installation.store.list_evaluations(uuid, limit=1)[0]

        assert newest.event.time == installation.clock.now() * 1_000


def test_more_ends_than_fit_one_round_are_taken_without_a_pause(installation: OutboxInstallation) -> None:
    installation.wait_for_load()
    installation.enqueue_loads(501)
    finish(installation.store, *map(succeed, claim_all(installation.store, installation.queue)))

    assert installation.run_outbox() == 0.0
    assert installation.left() == 1
    assert installation.run_outbox() == 0.25
    assert (installation.left(), installation.reports()) == (0, 501)


def test_ends_that_nobody_waits_for_any_more_do_not_surprise_who_waits_later(
    installation: OutboxInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are when the last configuration goes."""
    monkeypatch.setattr("rota.engine.events.outbox._PER_ROUND", 2)
    installation.wait_for_load()
    installation.enqueue_loads(5)
    finish(installation.store, *map(succeed, claim_all(installation.store, installation.queue)))

    installation.wait_for_nothing()
    waits = [installation.run_outbox() for _ in range(4)]
    installation.wait_for_load()
    installation.run_outbox()

    assert waits == [0.0, 0.0, 0.25, 0.25]
    assert (installation.left(), installation.reports()) == (0, 0)


def test_who_waits_first_after_a_long_time_in_which_nobody_did_hears_of_ends(installation: OutboxInstallation) -> None:
    installation.run_outbox()
    installation.run_outbox()

    installation.wait_for_load()
    installation.end_one()
    installation.run_outbox()

    assert (installation.left(), installation.reports()) == (0, 1)


def test_ends_that_nobody_waits_for_any_more_are_taken_by_the_next_round_if_one_fails(
    installation: OutboxInstallation, faults: Faults
) -> None:
    installation.wait_for_load()
    installation.end_one()

    installation.wait_for_nothing()
    faults.before("read_outbox", *[be_away] * len(installation.definitions.node_types()))
    with pytest.raises(StoreUnavailable):
        installation.run_outbox()
    installation.run_outbox()

    assert installation.left() == 0


def test_every_end_of_a_job_that_is_brought_back_is_an_event_of_its_own(installation: OutboxInstallation) -> None:
    installation.wait_for_load(3600)
    installation.enqueue_loads()
    claim = claim_one(installation.store, installation.queue)
    finish(installation.store, fail(claim))
    installation.run_outbox()

    assert installation.store.retry_jobs([claim.spec.id], now=NOW) == [True]
    finish(installation.store, succeed(claim_one(installation.store, installation.queue)))
    installation.run_outbox()

    assert installation.reports() == 2


def test_attempts_that_are_not_the_last_are_no_ends(installation: OutboxInstallation) -> None:
    installation.wait_for_load(3600)
    installation.enqueue_loads()
    finish(installation.store, fail_and_retry(claim_one(installation.store, installation.queue)))
    installation.run_outbox()
    assert installation.reports() == 0

    finish(
        installation.store, succeed(claim_one(installation.store, installation.queue, now=NOW + 2_000)), now=NOW + 2_000
    )
    installation.run_outbox()

    assert installation.reports() == 1


def test_an_end_that_the_watchdog_tells_makes_the_next_job(installation: OutboxInstallation) -> None:
    installation.wait_for_load(outcome="failed")
    installation.enqueue_loads()
    claim = claim_one(installation.store, installation.queue)

    assert reclaim(installation.store, die(claim, on_node_death=OnNodeDeath.FAIL)) == frozenset()
    installation.run_outbox()

    assert installation.reports() == 1


def test_a_job_that_comes_back_from_a_dead_node_has_not_ended(installation: OutboxInstallation) -> None:
    installation.wait_for_load()
    installation.enqueue_loads()
    claim = claim_one(installation.store, installation.queue)

    reclaim(installation.store, die(claim))
    installation.run_outbox()
    assert installation.reports() == 0
    assert finish(installation.store, succeed(claim)) == {claim.spec.id}, "a node that is back too late"
    installation.run_outbox()

    assert installation.reports() == 0


def test_ends_of_every_queue_are_taken(installation: OutboxInstallation) -> None:
    installation.definitions.define_node_type(NodeType(uuid=new_id(NOW), name="big"))
    installation.definitions.define_job_type(JobType(uuid=new_id(NOW), name="far", executor="log", node_type="big"))
    installation.define_configuration("after-far", needs("JOB", "far", 0), job={"job_type": "report"})
    installation.wait_for_load()
    installation.end_one()
    big = installation.definitions.node_type("big").uuid
    installation.enqueue("far")
    finish(installation.store, succeed(claim_one(installation.store, big)))

    installation.run_outbox()

    assert installation.reports() == 2


def test_an_end_counts_although_the_node_type_of_its_queue_is_gone(installation: OutboxInstallation) -> None:
    installation.wait_for_load()
    installation.run_outbox()
    installation.end_one()
    installation.remove_node_type()

    installation.clock.advance(LOOK_MS)
    installation.run_outbox()

    assert (installation.left(), installation.reports()) == (0, 1)


def test_the_outbox_of_a_queue_whose_node_type_is_gone_is_emptied_although_nobody_waits(
    installation: OutboxInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then the queue is not forgotten."""
    monkeypatch.setattr("rota.engine.events.outbox._PER_ROUND", 2)
    installation.run_outbox()
    installation.wait_for_load()
    installation.enqueue_loads(3)
    finish(installation.store, *map(succeed, claim_all(installation.store, installation.queue)))
    installation.wait_for_nothing()
    installation.remove_node_type()
    installation.clock.advance(LOOK_MS)

    waits = [installation.run_outbox() for _ in range(2)]

    assert (waits, installation.left()) == ([0.0, 0.25], 0)


def test_a_clock_that_was_set_back_keeps_no_end_waiting_in_a_queue_whose_node_type_is_gone(
    installation: OutboxInstallation,
) -> None:
    installation.outbox.run_once(installation.clock.now() + 3_600_000)
    installation.wait_for_load()
    installation.end_one()
    installation.remove_node_type()

    installation.run_outbox()

    assert (installation.left(), installation.reports()) == (0, 1)


def test_queues_that_cannot_be_listed_keep_no_end_waiting(installation: OutboxInstallation, faults: Faults) -> None:
    installation.wait_for_load()
    installation.end_one()

    faults.before("list_queues", be_away, be_away)
    with pytest.raises(StoreUnavailable):
        installation.run_outbox()

    assert (installation.left(), installation.reports()) == (0, 1)
    assert installation.run_outbox() == 0.25, "they are asked for again in a while"


def test_an_outbox_that_cannot_be_read_keeps_no_other_waiting(installation: OutboxInstallation, faults: Faults) -> None:
    """On a cluster one server may be away, and with it some of the queues."""
    installation.wait_for_load()
    installation.end_one()

    faults.before("read_outbox", be_away)  # the first queue by name, which is another one
    with pytest.raises(StoreUnavailable):
        installation.run_outbox()

    assert (installation.left(), installation.reports()) == (0, 1)
