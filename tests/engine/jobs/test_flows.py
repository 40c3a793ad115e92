"""Flows: the jobs of a stage are made once, whatever goes wrong between the end of the one before and them."""

from collections.abc import Callable, Sequence

import pytest
from msgspec import structs

from rota.engine.events.outbox import MISSING_MS
from rota.engine.housekeeping.retention import Retention
from rota.engine.jobs.intake import JobRequest
from rota.errors import InvalidInput, StoreUnavailable
from rota.model.flows.flow import Flow, FlowCall, Stage
from rota.model.ids import new_id
from rota.model.job import Job, JobSpec, JobState
from rota.model.job_type import JobType, Unique
from rota.model.limits import MAX_PAYLOAD_BYTES
from rota.model.node import NodeType
from rota.model.runs.settlement import job_of_event
from rota.store import Store
from rota.store.contract.jobs import Admission, JobQuery
from rota.testing.faults import Faults
from tests.contract.building import NOW, claim_all, claim_one, die, ended_job, fail, finish, reclaim, succeed
from tests.installation import Installation


@pytest.fixture
def faults(store: Store) -> Faults:
    return Faults(store)


class FlowInstallation(Installation):
    """With the job types `count` and `add`, and a flow of two counts and what follows them."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        for name in ("count", "add"):
            self.definitions.define_job_type(JobType(uuid=new_id(NOW), name=name, executor="log"))
        self.queue = self.definitions.node_type("default").uuid

    def enqueue_flow(self, *, although_failed: bool = False, then: str = "add") -> Flow:
        add = FlowCall(job_type=then, arguments={"extra": 1}, into="numbers", priority=3)
        stage = Stage(calls=(add,), although_failed=although_failed)
        flow = Flow(id=new_id(NOW), made_at=NOW, count=2, is_group=True, rest=(stage,))
        self.engine.intake.enqueue([JobRequest(id=one, job_type="count", flow=flow) for one in flow.job_ids()])
        return flow

    def define_elsewhere(self, name: str) -> None:
        """A job type in a queue of its own."""
        self.definitions.ensure_node_type(NodeType(uuid=new_id(NOW), name="elsewhere"))
        self.definitions.define_job_type(JobType(uuid=new_id(NOW), name=name, executor="log", node_type="elsewhere"))

    def end(self, *results: object, now: int = NOW) -> None:
        """Claim what waits, and end it: a result, or None for a failure."""
        claims = claim_all(self.store, self.queue)
        for claim, result in zip(claims, results, strict=True):
            finish(self.store, fail(claim, now) if result is None else succeed(claim, now, results=result))

    def take_outbox(self, now: int | None = None) -> int:
        return self.engine.outbox.take(self.queue, self.clock.now() if now is None else now)

    def waiting(self) -> list[Job]:
        return self.store.list_jobs(JobQuery(states=frozenset({JobState.QUEUED})), limit=100).jobs


@pytest.fixture
def installation(faults: Faults) -> FlowInstallation:
    return FlowInstallation(faults.store)


def be_away() -> None:
    raise StoreUnavailable("the store is away")


def test_what_follows_is_made_when_all_have_ended_and_gets_their_results(installation: FlowInstallation) -> None:
    flow = installation.enqueue_flow()
    installation.end(10, 20)

    installation.take_outbox()

    (job,) = installation.waiting()
    assert job.id == flow.next_stage().job_id(2)
    assert job.spec.arguments == {"extra": 1, "numbers": [10, 20]}
    assert job.spec.priority == 3
    assert job.spec.cause is not None
    assert (job.spec.cause.kind, job.spec.cause.name) == ("flow", flow.id)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", ["read_outbox", "find_jobs", "enqueue_jobs", "clear_outbox"])
def test_what_follows_is_made_once_whatever_fails_on_the_way(
    installation: FlowInstallation, faults: Faults, call: str, when: str
) -> None:
    installation.enqueue_flow()
    installation.end(10, 20)
    (faults.before if when == "before" else faults.after)(call, be_away)

    with pytest.raises(StoreUnavailable):
        installation.take_outbox()
    installation.take_outbox()

    (job,) = installation.waiting()
    assert job.spec.arguments["numbers"] == [10, 20]
    assert installation.take_outbox() == 0


def test_nothing_follows_while_one_has_not_ended(installation: FlowInstallation) -> None:
    installation.enqueue_flow(although_failed=True)
    first, second = claim_all(installation.store, installation.queue)
    finish(installation.store, succeed(first))
    installation.take_outbox()
    assert installation.waiting() == []

    finish(installation.store, succeed(second))
    installation.take_outbox()

    assert len(installation.waiting()) == 1


def test_nothing_follows_a_failure_unless_it_is_for_that(installation: FlowInstallation) -> None:
    installation.enqueue_flow()
    installation.end(10, None)
    installation.take_outbox()
    assert installation.waiting() == []

    installation.enqueue_flow(although_failed=True)
    installation.end(10, None)
    installation.take_outbox()

    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[10, None]]


def test_one_that_is_cancelled_while_it_waits_has_ended_too(installation: FlowInstallation) -> None:
    flow = installation.enqueue_flow(although_failed=True)
    installation.engine.jobs.cancel(flow.job_ids()[1])
    installation.end(10)

    installation.take_outbox()

    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[10, None]]


def test_cancelling_the_last_one_that_waits_goes_on_with_the_flow(installation: FlowInstallation) -> None:
    flow = installation.enqueue_flow(although_failed=True)
    first, second = flow.job_ids()

    installation.engine.jobs.cancel_each([first, second])
    installation.take_outbox()

    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[None, None]]


def test_a_cancelled_one_of_a_flow_that_went_on_long_ago_makes_nothing_again(installation: FlowInstallation) -> None:
    first, second = installation.enqueue_flow(although_failed=True).job_ids()
    installation.engine.jobs.cancel_each([first, second])
    installation.take_outbox()
    installation.end(30)
    (after,) = installation.store.list_jobs(JobQuery(states=frozenset({JobState.SUCCEEDED})), limit=10).jobs
    installation.engine.jobs.delete(after.id)

    installation.engine.jobs.cancel_each([first, second])
    installation.take_outbox()

    assert installation.waiting() == []


def test_one_whose_node_died_while_it_was_to_be_cancelled_has_ended_too(installation: FlowInstallation) -> None:
    installation.enqueue_flow(although_failed=True)
    first, second = claim_all(installation.store, installation.queue)
    finish(installation.store, succeed(first, results=10))
    installation.engine.jobs.cancel(second.spec.id)
    reclaim(installation.store, die(second))

    installation.take_outbox()

    numbers = [10, None] if first.spec.id < second.spec.id else [None, 10]
    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [numbers]


@pytest.mark.parametrize("although_failed", [True, False])
def test_one_that_was_deleted_has_ended_without_success(installation: FlowInstallation, although_failed: bool) -> None:
    installation.enqueue_flow(although_failed=although_failed)
    first, second = claim_all(installation.store, installation.queue)
    finish(installation.store, succeed(first, results=10))
    installation.take_outbox(NOW)
    installation.engine.jobs.delete(first.spec.id)
    finish(installation.store, succeed(second, results=20))

    installation.take_outbox(NOW + MISSING_MS)

    numbers = [None, 20] if first.spec.id < second.spec.id else [20, None]
    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == ([numbers] if although_failed else [])
    assert installation.store.read_outbox(installation.queue, limit=10) == []


def test_one_that_is_still_on_its_way_into_its_queue_is_waited_for(installation: FlowInstallation) -> None:
    flow = installation.enqueue_flow(although_failed=True)
    (_, late), store = flow.job_ids(), installation.store
    installation.engine.jobs.cancel(late)
    installation.take_outbox(NOW)
    installation.engine.jobs.delete(late)  # so that it is as if it had not been handed in yet
    finish(store, succeed(claim_one(store, installation.queue), results=10))

    assert installation.take_outbox(NOW + MISSING_MS - 1) == 0
    assert installation.waiting() == []
    installation.engine.intake.enqueue([JobRequest(id=late, job_type="count", flow=flow)])
    installation.take_outbox(NOW + MISSING_MS - 1)
    finish(store, succeed(claim_one(store, installation.queue), results=20))
    installation.take_outbox(NOW + MISSING_MS - 1)

    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[10, 20]]


def test_of_a_stage_in_which_one_is_missing_only_one_end_stays_in_the_outbox(installation: FlowInstallation) -> None:
    stage = Stage(calls=(FlowCall(job_type="add"),))
    flow = Flow(id=new_id(NOW), made_at=NOW, count=4, is_group=True, rest=(stage,))
    there = flow.job_ids()[:3]
    installation.engine.intake.enqueue([JobRequest(id=one, job_type="count", flow=flow) for one in there])
    installation.end(1, 2, 3)

    assert installation.take_outbox(NOW) == 2

    assert len(installation.store.read_outbox(installation.queue, limit=10)) == 1
    assert installation.take_outbox(NOW) == 0


def keep_ends(installation: FlowInstallation, count: int) -> None:
    """So many ends that stay in the outbox for a while: each is of a stage in which one is missing."""
    stage = Stage(calls=(FlowCall(job_type="add"),))
    flows = [Flow(id=new_id(NOW), made_at=NOW, count=2, is_group=True, rest=(stage,)) for _ in range(count)]
    requests = [JobRequest(id=flow.job_ids()[0], job_type="count", flow=flow) for flow in flows]
    installation.engine.intake.enqueue(requests)
    installation.end(*range(count))


def test_ends_that_stay_in_the_outbox_are_in_nobodys_way(installation: FlowInstallation) -> None:
    keep_ends(installation, 1_020)
    flow = installation.enqueue_flow()
    installation.end(10, 20, now=NOW + 1)

    taken = [installation.take_outbox(NOW) for _ in range(4)]

    assert [job.id for job in installation.waiting()] == flow.next_stage().job_ids()
    assert taken == [0, 0, 2, 0]
    assert len(installation.store.read_outbox(installation.queue, limit=2_000)) == 1_020
    assert sum(installation.take_outbox(NOW + MISSING_MS) for _ in range(4)) == 1_020


def test_all_flows_go_on_before_jobs_are_forgotten_however_many_ends_stay_in_the_outbox(
    installation: FlowInstallation,
) -> None:
    keep_ends(installation, 520)
    flow = installation.enqueue_flow()
    installation.end(10, 20, now=NOW + 1)

    installation.engine.outbox.take_flows(NOW)

    assert [job.id for job in installation.waiting()] == flow.next_stage().job_ids()


def delete_all(installation: FlowInstallation) -> None:
    installation.engine.jobs.delete_all(JobQuery(queue=installation.queue), dry_run=False)


def forget_all(installation: FlowInstallation) -> None:
    engine = installation.engine
    retention = Retention(
        engine.store,
        engine.definitions,
        max_age_ms=0,
        max_count=0,
        take_flows=engine.outbox.take_flows,
        flow_queues=engine.intake.flow_queues.all,
    )
    retention.run_once(installation.clock.now())


def empty(installation: FlowInstallation) -> None:
    installation.engine.queues.empty("default")


@pytest.mark.parametrize("forget", [delete_all, forget_all, empty])
def test_a_flow_goes_on_before_its_jobs_are_forgotten(
    installation: FlowInstallation, forget: Callable[[FlowInstallation], None]
) -> None:
    installation.define_elsewhere("report")
    installation.enqueue_flow(then="report")
    installation.end(10, 20)

    forget(installation)

    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[10, 20]]
    assert sum(installation.store.count_jobs(installation.queue).values()) == 0


def test_a_flow_that_another_process_made_goes_on_before_its_jobs_are_forgotten(
    installation: FlowInstallation,
) -> None:
    installation.define_elsewhere("report")
    flow = installation.enqueue_flow(then="report")
    installation.end(10, 20)
    other = Installation(installation.store)

    assert other.engine.jobs.delete_each(flow.job_ids()) == [True, True]

    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[10, 20]]


def test_jobs_are_kept_while_an_outbox_cannot_be_read_that_may_tell_of_their_flow(
    installation: FlowInstallation, faults: Faults
) -> None:
    """On a cluster one server may be away. Where nothing ever was part of a flow, history is trimmed all the same."""
    installation.define_elsewhere("report")
    installation.enqueue_flow(then="report")
    installation.end(10, 20)
    elsewhere = installation.definitions.node_type("elsewhere").uuid
    ended = ended_job(installation.store, elsewhere, JobState.SUCCEEDED)

    faults.before("read_outbox", be_away)
    with pytest.raises(StoreUnavailable):
        forget_all(installation)
    assert sum(installation.store.count_jobs(installation.queue).values()) == 2
    assert installation.store.find_jobs([ended]) == [None]

    forget_all(installation)
    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[10, 20]]
    assert sum(installation.store.count_jobs(installation.queue).values()) == 0


def ends_of(installation: FlowInstallation) -> set[str]:
    """The jobs whose ends are in the outbox."""
    return {job_of_event(event) for event in installation.store.read_outbox(installation.queue, limit=100)}


def test_a_flow_that_cannot_go_on_keeps_no_other_waiting(installation: FlowInstallation, faults: Faults) -> None:
    """On a cluster the queue of its next stage, or of a job of this one, may be on a server that is away."""
    flows = [installation.enqueue_flow() for _ in range(3)]
    installation.end(1, 2, 3, 4, 5, 6)

    faults.before("enqueue_jobs", be_away)
    faults.after("enqueue_jobs", be_away)  # of the one behind it
    with pytest.raises(StoreUnavailable):
        installation.take_outbox()
    made, ends = {job.id for job in installation.waiting()}, ends_of(installation)
    assert sum(flow.next_stage().job_id(2) in made for flow in flows) == 2
    assert sorted(len(ends.intersection(flow.job_ids())) for flow in flows) == [0, 1, 1]

    installation.take_outbox()
    assert len(installation.waiting()) == 3
    assert ends_of(installation) == set()


class OneInReach(Faults):
    """A cluster of which only the server of one queue can be reached."""

    in_reach: str | None = None
    """Which queue; None while all can."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.tries: list[str] = []

    def enqueue_jobs(self, specs: Sequence[JobSpec], *, now: int) -> list[Admission]:
        if self.in_reach is not None and any(one.queue != self.in_reach for one in specs):
            self.tries.append("enqueue_jobs")
            be_away()
        return self.real.enqueue_jobs(specs, now=now)

    def find_jobs(self, job_ids: Sequence[str], *, queue: str | None = None) -> list[Job | None]:
        if self.in_reach not in (None, queue):
            self.tries.append("find_jobs")
            be_away()
        return self.real.find_jobs(job_ids, queue=queue)


def test_a_place_that_cannot_be_reached_is_tried_once_however_many_flows_need_it(store: Store) -> None:
    """A server that hangs takes its time with each try, and flows that do not need it go on."""
    cluster = OneInReach(store)
    installation = FlowInstallation(cluster.store)
    installation.define_elsewhere("far")
    far = [installation.enqueue_flow(then="far") for _ in range(3)]
    scattered = [installation.enqueue_flow() for _ in range(3)]
    installation.end(*range(1, 13))
    for flow in scattered:
        installation.store.delete_jobs([flow.job_ids()[0]])
    near = installation.enqueue_flow()
    installation.end(13, 14)

    cluster.in_reach = installation.queue
    with pytest.raises(StoreUnavailable):
        installation.take_outbox()
    cluster.in_reach = None
    assert sorted(cluster.tries) == ["enqueue_jobs", "find_jobs"]
    assert [job.id for job in installation.waiting()] == [near.next_stage().job_id(2)]

    installation.take_outbox(NOW + MISSING_MS)
    assert {job.id for job in installation.waiting()} == {flow.next_stage().job_id(2) for flow in (*far, near)}


@pytest.mark.parametrize(("call", "before"), [("enqueue_jobs", 0), ("find_jobs", 1)])
@pytest.mark.parametrize("age_ms", [0, MISSING_MS])
def test_ends_of_a_flow_that_cannot_go_on_are_heard_once_more_however_old_they_are(
    installation: FlowInstallation, faults: Faults, age_ms: int, call: str, before: int
) -> None:
    """A job of the stage that cannot be asked for is not gone."""
    flow = installation.enqueue_flow()
    installation.end(10, 20)

    faults.before(call, *[lambda: None] * before, be_away)
    with pytest.raises(StoreUnavailable):
        installation.take_outbox(NOW + age_ms)
    installation.take_outbox(NOW + age_ms)

    assert [job.id for job in installation.waiting()] == [flow.next_stage().job_id(2)]


def test_jobs_are_kept_while_one_flow_of_their_queue_cannot_go_on(
    installation: FlowInstallation, faults: Faults
) -> None:
    installation.enqueue_flow()
    installation.end(10, 20)

    faults.before("enqueue_jobs", be_away)
    with pytest.raises(StoreUnavailable):
        forget_all(installation)
    assert sum(installation.store.count_jobs(installation.queue).values()) == 2

    forget_all(installation)
    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[10, 20]]


def test_a_flow_whose_jobs_wait_in_a_queue_that_is_emptied_goes_on_elsewhere(installation: FlowInstallation) -> None:
    installation.define_elsewhere("report")
    installation.enqueue_flow(although_failed=True, then="report")

    installation.engine.queues.empty("default")

    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[None, None]]
    assert sum(installation.store.count_jobs(installation.queue).values()) == 0


def test_a_failed_one_that_is_brought_back_and_succeeds_is_followed(installation: FlowInstallation) -> None:
    flow = installation.enqueue_flow()
    installation.end(10, None)
    installation.take_outbox()

    failed = next(one for one in flow.job_ids() if installation.engine.jobs.find(one).state is JobState.FAILED)
    installation.engine.jobs.retry(failed)
    installation.end(20)
    installation.take_outbox()

    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[10, 20]]


@pytest.mark.parametrize("is_last", [True, False])
def test_ends_of_two_stages_of_a_flow_that_are_taken_together_are_both_followed(
    installation: FlowInstallation, is_last: bool
) -> None:
    """One of the first stage was brought back, and has ended again."""
    stage = Stage(calls=(FlowCall(job_type="add"),), although_failed=True)
    flow = Flow(id=new_id(NOW), made_at=NOW, rest=(stage, stage))
    installation.engine.intake.enqueue([JobRequest(id=flow.job_id(0), job_type="count", flow=flow)])
    installation.end(None)
    installation.take_outbox()
    installation.engine.jobs.retry(flow.job_id(0))

    claims = sorted(claim_all(installation.store, installation.queue), key=lambda one: one.spec.id)
    for claim in claims[::-1] if is_last else claims:
        finish(installation.store, succeed(claim))
    installation.take_outbox()

    assert [job.id for job in installation.waiting()] == [flow.job_id(2)]


def test_what_cannot_be_made_ends_its_flow_and_stops_no_other(installation: FlowInstallation) -> None:
    too_much, _ = installation.enqueue_flow(), installation.enqueue_flow()
    for claim in claim_all(installation.store, installation.queue):
        is_too_much = claim.spec.id in too_much.job_ids()
        finish(installation.store, succeed(claim, results="x" * 900_000 if is_too_much else 10))

    installation.take_outbox()

    assert [job.spec.arguments["numbers"] for job in installation.waiting()] == [[10, 10]]
    assert installation.take_outbox() == 0


def test_a_scheduler_looks_only_where_somebody_waits_for_ends(installation: FlowInstallation, faults: Faults) -> None:
    now, outbox = installation.clock.now(), installation.engine.outbox
    outbox.run_once(now)  # the first round looks everywhere
    faults.calls.clear()

    outbox.run_once(now)
    assert "read_outbox" not in faults.calls
    installation.enqueue_flow()
    installation.end(10, 20)
    outbox.run_once(now)

    assert len(installation.waiting()) == 1


def test_while_nobody_tells_where_flows_are_those_that_are_known_go_on(
    installation: FlowInstallation, faults: Faults
) -> None:
    """On a cluster the server that has the settings may be away."""
    flow = installation.enqueue_flow()
    installation.engine.outbox.run_once(installation.clock.now())  # the last round for configurations
    installation.end(10, 20)

    faults.before("list_settings", be_away)
    with pytest.raises(StoreUnavailable):
        installation.engine.outbox.run_once(installation.clock.now())

    assert [job.id for job in installation.waiting()] == [flow.next_stage().job_id(2)]


@pytest.mark.parametrize("name", ["count", "add"])
def test_a_flow_of_jobs_that_may_be_those_of_others_is_refused(store: Store, name: str) -> None:
    installation = FlowInstallation(store)
    known = installation.definitions.job_type(name)
    installation.definitions.define_job_type(structs.replace(known, unique=Unique.WHILE_PENDING))

    with pytest.raises(InvalidInput, match=f"'{name}', which is unique while pending"):
        installation.enqueue_flow()

    assert store.list_jobs(JobQuery(), limit=10).jobs == []


def test_a_flow_of_jobs_of_which_one_runs_at_a_time_is_taken(store: Store) -> None:
    installation = FlowInstallation(store)
    known = installation.definitions.job_type("add")
    installation.definitions.define_job_type(structs.replace(known, unique=Unique.WHILE_RUNNING))

    installation.enqueue_flow()

    assert len(installation.waiting()) == 2


def test_what_follows_has_as_many_arguments_in_all_as_one_job_may_have(installation: FlowInstallation) -> None:
    half = MAX_PAYLOAD_BYTES // 2 - len('{"text":""}')

    def enqueue(length: int) -> None:
        calls = (FlowCall(job_type="add", arguments={"text": "x" * half}),)
        more = (FlowCall(job_type="add", arguments={"text": "x" * length}),)
        flow = Flow(id=new_id(NOW), made_at=NOW, rest=(Stage(calls=calls), Stage(calls=more)))
        installation.engine.intake.enqueue([JobRequest(id=flow.job_id(0), job_type="count", flow=flow)])

    with pytest.raises(InvalidInput, match=f"has {MAX_PAYLOAD_BYTES + 1} bytes of arguments in later stages"):
        enqueue(half + 1)
    assert installation.waiting() == []
    enqueue(half)
