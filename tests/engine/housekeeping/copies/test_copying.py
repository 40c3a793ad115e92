"""Copies that break off, meet a source that goes on, or are made of a living installation."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from msgspec import structs

from rota.clock import SystemClock
from rota.engine.engine import Engine
from rota.engine.housekeeping.copies.copying import Copied, Copying
from rota.engine.housekeeping.copies.unfinished import refuse_unfinished
from rota.engine.jobs.intake import JobRequest
from rota.errors import Conflict, StoreError, StoreRefused, StoreUnavailable
from rota.model.flows.flow import Flow, FlowCall, Stage
from rota.model.ids import new_id
from rota.model.job import JobState, make_token
from rota.model.node import Node, NodeType
from rota.model.runs.progress import Progress
from rota.store import Store, open_store
from rota.store.contract.jobs import JobQuery
from rota.testing import Faults
from rota.testing.faults import away
from tests.contract.building import beat, claim_one, finish, log_batch, messages_of, new_node, succeed
from tests.contract.schedules.scheduling import firing, put, schedule
from tests.engine.events.installation import EventsInstallation, needs

FIRST, SECOND = "0190b0c0-0000-7000-8000-00000000000a", "0190b0c0-0000-7000-8000-00000000000b"
"""Queues; they are copied in this order."""
LONG_AGO_MS = 3_600_000


class Moved(EventsInstallation):
    """Two queues, a job type `load` in the second and `report` in the first, a schedule, a configuration that waits for
    files, and a waiting job."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        for queue, name in ((FIRST, "report"), (SECOND, "load")):
            self.definitions.ensure_node_type(NodeType(uuid=queue, name=f"for-{name}"))
            self.define(name, node_type=f"for-{name}")
        self.schedule = put(store, schedule(FIRST, "often"))
        self.define_configuration("files", needs("FILE", "/in/", 60), job={"job_type": "report"})
        self.waiting = self.enqueue("load")


@pytest.fixture
def source(store: Store) -> Moved:
    return Moved(store)


@pytest.fixture
def target() -> Iterator[Store]:
    with closing(open_store("sqlite://:memory:")) as opened:
        yield opened


def copy(source: Moved, target: Store, **options: bool) -> Copied:
    return Copying(source.store, target).run("the source", **options)


def break_off(source: Moved, target: Store, call: str) -> None:
    """A copy that comes as far as a call."""
    faults = Faults(target)
    faults.before(call, away)
    with pytest.raises(StoreUnavailable):
        copy(source, faults.store)
    with pytest.raises(StoreRefused, match="a copy of the source that broke off"):
        refuse_unfinished(target)


CALLS = ["restore_jobs", "put_schedules", "fire_schedules", "apply_verdicts", "restore_queue", "put_job_types"]


@pytest.mark.parametrize("call", CALLS)
def test_a_copy_that_broke_off_goes_on_when_it_is_done_again(source: Moved, target: Store, call: str) -> None:
    break_off(source, target, call)

    copied = copy(source, target)

    assert (copied.jobs, copied.schedules, copied.configurations) == (1, 1, 1)
    refuse_unfinished(target)
    (entry,) = target.list_schedules(limit=9).entries
    assert entry.state == source.schedule.state


@pytest.mark.parametrize("lines", [(), ("one", "two")])
@pytest.mark.parametrize("says", [Progress(done=3, total=7, time=1), None])
def test_how_far_a_job_has_come_is_copied_with_its_log(
    source: Moved, target: Store, lines: tuple[str, ...], says: Progress | None
) -> None:
    held = claim_one(source.store, SECOND, now=source.store.now())
    source.store.append_logs([structs.replace(log_batch(held, *lines), progress=says)])
    finish(source.store, succeed(held))

    copy(source, target)

    assert target.read_progress(SECOND, [held.spec.id]) == ({} if says is None else {held.spec.id: says})
    assert messages_of(target, held.spec.id) == list(lines)


def enqueue_another(source: Moved) -> None:
    source.enqueue("load")


def end_one(source: Moved) -> None:
    finish(source.store, succeed(claim_one(source.store, SECOND, now=source.store.now())))


def fire(source: Moved) -> None:
    assert source.store.fire_schedules(FIRST, [firing(source.schedule)], now=source.store.now()) == [True]


def post_an_event(source: Moved) -> None:
    source.post("FILE", "/in/a", at=1)


def define_another(source: Moved) -> None:
    source.define("another")


CHANGES = [enqueue_another, end_one, fire, post_an_event, define_another]


@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_that_broke_off_does_not_go_on_with_a_source_that_went_on(
    source: Moved, target: Store, change: Callable[[Moved], None]
) -> None:
    break_off(source, target, "put_job_types")
    change(source)

    with pytest.raises(Conflict, match="empty it, and do this again"):
        copy(source, target)

    with pytest.raises(StoreRefused):
        refuse_unfinished(target)


@pytest.mark.parametrize("change", CHANGES)
def test_a_source_that_changes_while_it_is_copied_is_not_taken_for_copied(
    source: Moved, target: Store, change: Callable[[Moved], None]
) -> None:
    faults = Faults(target)
    faults.before("put_job_types", lambda: change(source))

    with pytest.raises(Conflict, match="has changed while it was copied"):
        copy(source, faults.store)

    with pytest.raises(StoreRefused):
        refuse_unfinished(target)


@pytest.mark.parametrize("call", ["restore_jobs", "append_audit"])
def test_a_node_that_begins_to_work_on_the_source_is_noticed(source: Moved, target: Store, call: str) -> None:
    faults = Faults(target)
    node = Node(uuid=new_node(), node_type="", last_ping=source.store.now(), host="here")
    faults.before(call, lambda: beat(source.store, node))

    with pytest.raises(Conflict, match="1 nodes work on"):
        copy(source, faults.store)


def test_of_two_copies_into_one_store_the_first_gives_up(source: Moved, target: Store) -> None:
    faults = Faults(target)
    faults.before("put_job_types", lambda: copy(source, target))

    with pytest.raises(Conflict, match="somebody else copies"):
        copy(source, faults.store)

    refuse_unfinished(target)
    assert target.find_jobs([source.waiting])[0] is not None


def test_what_people_are_told_of_events_is_copied(source: Moved, target: Store) -> None:
    for _ in range(3):
        post_an_event(source)
    copy(source, target)

    assert len(target.list_events(limit=10)) >= 3
    assert target.list_events(limit=10) == source.store.list_events(limit=10)


def test_what_an_older_version_left_of_a_copy_is_not_gone_on_with(source: Moved, target: Store) -> None:
    target.put_setting("unfinished copy", "the source")

    with pytest.raises(StoreRefused, match="a copy of the source that broke off"):
        refuse_unfinished(target)
    with pytest.raises(Conflict, match="empty it"):
        copy(source, target)


def test_what_signs_sessions_stays_behind(source: Moved, target: Store) -> None:
    source.store.put_setting("session_secret", "00" * 32)
    source.store.put_setting("api_key_hash", "a hash")

    copy(source, target)

    assert (target.get_setting("session_secret"), target.get_setting("api_key_hash")) == (None, "a hash")


def test_a_schedule_that_is_not_taken_is_an_error(source: Moved, target: Store) -> None:
    other = structs.replace(source.schedule.schedule, created_at=1)
    faults = Faults(target)
    faults.before("put_schedules", lambda: put(target, other))

    with pytest.raises(StoreError, match="schedule 'often' was not copied"):
        copy(source, faults.store)


def enqueue_flow(source: Moved) -> Flow:
    """A job in the second queue, and one that follows in the first."""
    made_at = source.store.now()
    flow = Flow(id=new_id(made_at), made_at=made_at, rest=(Stage(calls=(FlowCall(job_type="report"),)),))
    source.intake.enqueue([JobRequest(id=flow.job_id(0), job_type="load", flow=flow, priority=9)])
    return flow


def waiting_in(store: Store, queue: str) -> list[str]:
    query = JobQuery(queue=queue, states=frozenset({JobState.QUEUED}))
    return [job.id for job in store.list_jobs(query, limit=9).jobs]


@pytest.mark.parametrize("is_ended_before", [True, False])
def test_what_follows_in_a_queue_that_was_copied_before_is_made_in_the_copy(
    source: Moved, target: Store, is_ended_before: bool
) -> None:
    flow = enqueue_flow(source)

    def end() -> None:
        now = source.store.now() - (LONG_AGO_MS if is_ended_before else 0)
        finish(source.store, succeed(claim_one(source.store, SECOND, now=now), now), now=now)

    def go_on() -> None:
        if not is_ended_before:
            end()
        source.engine.outbox.take(SECOND, source.store.now())

    if is_ended_before:
        end()
    faults = Faults(source.store)
    before = sorted(source.store.list_queues()).index(FIRST)
    faults.after("copy_queue", *[lambda: None] * before, go_on)
    Copying(faults.store, target).run("the source", is_live=True)
    assert waiting_in(target, FIRST) == [], "the queue was copied before"

    Engine(target, SystemClock()).outbox.take(SECOND, source.store.now())

    assert waiting_in(target, FIRST) == waiting_in(source.store, FIRST) == [flow.next_stage().job_id(1)]


def test_what_a_copy_cancels_is_told_there_once(source: Moved, target: Store) -> None:
    flow = enqueue_flow(source)
    token = make_token(new_node(), 1)
    (claim,) = source.store.claim_jobs(SECOND, token=token, limit=1, now=source.store.now()).claims
    source.store.cancel_jobs([claim.spec.id], now=source.store.now())
    break_off(source, target, "put_job_types")

    copy(source, target)

    assert target.find_jobs([flow.job_id(0)])[0].state is JobState.CANCELLED  # type: ignore[union-attr]
    assert [event.outcome for event in target.read_outbox(SECOND, limit=9)] == ["cancelled"]
