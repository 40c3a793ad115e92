"""What a node does about its own life: it renews whatever blocks it, gives up what must not run twice, and tells old
attempts from new ones."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from rota.clock import ManualClock, NodeClock
from rota.engine.liveness.heart import Heart
from rota.engine.liveness.presence import Presence, run_folder
from rota.engine.node.health import Health
from rota.engine.node.node import Node
from rota.engine.node.options import WORKER, NodeOptions
from rota.engine.observation.observers import Observers
from rota.engine.worker.attempt import Attempt
from rota.engine.worker.hands import Hands
from rota.engine.worker.held_claims import HeldClaims
from rota.engine.worker.times import WorkerTimes
from rota.errors import StoreUnavailable
from rota.model.job import Claim, JobSpec, JobState
from rota.model.job_type import Unique
from rota.model.liveness import Contact, contact_of_node
from rota.model.node import DEAD_AFTER_MS, NodeType
from rota.model.node import Node as NodeRecord
from rota.model.runs.settlement import SUSPECT_DEATHS, Settlement
from rota.store import Store
from rota.store.contract.claims import Claims, Lifeline, Renewal
from rota.testing import Faults
from tests.contract.building import (
    beat,
    claim,
    claim_one,
    die,
    enqueue,
    new_node,
    new_queue,
    reclaim,
    renew,
    spec,
    state_of,
)
from tests.engine.job_functions import new_stage
from tests.engine.liveness.watching import LOOK_MS, Watch
from tests.engine.working import is_listed, until, wait_until, working
from tests.installation import Installation
from tests.patience import DEADLINE_S
from tests.processes import is_alive

# Not on a cluster too: what a node does about itself is the same there, what its calls do is in tests/contract, which
# runs on one, and most tests here wait for a dead time.
pytestmark = pytest.mark.stores("sqlite-file", "redis")

HOURS_MS = 4 * 3_600_000


def be_away() -> None:
    raise StoreUnavailable("away")


SHORT_MS = 400


class Line:
    """A lifeline whose answers a test decides."""

    def __init__(self) -> None:
        self.is_cut = False
        self.calls: list[str] = []
        self.on_renewal: Callable[[], object] = lambda: None

    def renew_claims(self, queue: str, node: str, held: dict[str, str]) -> Renewal:
        self.on_renewal()
        self._call("renew")
        return Renewal([], [])

    def beat(self, node: NodeRecord) -> None:
        self._call("beat")

    def close(self) -> None:
        self.calls.append("close")

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.is_cut:
            raise StoreUnavailable("cut")


class Holder:
    """A worker, as the heart sees it."""

    def __init__(self) -> None:
        self.heard_at: list[float] = []
        self.is_in_haste = False

    def held(self) -> dict[str, str]:
        return {}

    def renewed(self, held: dict[str, str], renewal: Renewal, *, at: float) -> None:
        self.heard_at.append(at)


class Patient:
    """A heart, and what it is connected to."""

    def __init__(self) -> None:
        self.clock, self.line, self.holder = ManualClock(), Line(), Holder()
        self.contact, self.record_contact = (contact_of_node(DEAD_AFTER_MS / 1000) for _ in range(2))
        node, queue = new_node(), new_queue()
        self.heart = Heart(
            self.line,
            node=node,
            queue=queue,
            record=lambda: NodeRecord(uuid=node, node_type=queue, last_ping=self.clock.now()),
            holder=self.holder,
            clock=self.clock,
            contact=self.contact,
            record_contact=self.record_contact,
            health=Health(),
            dead_after_ms=DEAD_AFTER_MS,
        )


def test_the_renewal_is_the_first_thing_of_a_beat() -> None:
    patient = Patient()

    assert patient.heart.beat() == pytest.approx(5.0)

    assert patient.line.calls == ["renew", "beat"]
    assert (patient.contact.since(0.0), patient.record_contact.since(0.0)) == (0.0, 0.0)


def test_a_beat_that_fails_is_tried_again_soon() -> None:
    patient = Patient()
    patient.line.is_cut = True

    assert patient.heart.beat() == pytest.approx(1.0)

    assert (patient.contact.since(0.0), patient.record_contact.since(0.0)) == (None, None)


class Unrecorded:
    """A node whose record cannot be written, and its watchdog. On a cluster the server that has the records may refuse
    that alone, or be away."""

    def __init__(self, store: Store) -> None:
        self.faults = Faults(store)
        self.watch = Watch(self.faults.store)
        self.queue = Installation(store).queue
        self.heart = Heart(
            self.faults.lifeline(timeout_s=60),
            node=self.watch.node,
            queue=self.queue,
            record=lambda: NodeRecord(uuid=self.watch.node, node_type=self.queue, last_ping=self.watch.clock.now()),
            holder=Holder(),
            clock=self.watch.clock,
            contact=self.watch.contact,
            record_contact=self.watch.record_contact,
            health=Health(),
            dead_after_ms=DEAD_AFTER_MS,
        )

    def live(self, ms: int, others: Callable[[], object] = lambda: None) -> None:
        """Beat and look every second, beside what others do."""
        for _ in range(ms // LOOK_MS):
            self.watch.clock.advance(LOOK_MS)
            others()
            self.faults.before("beat", be_away)
            self.heart.beat()
            self.watch.look(can_write=False)


@pytest.fixture
def unrecorded(store: Store) -> Iterator[Unrecorded]:
    node = Unrecorded(store)
    yield node
    node.heart.stop()


def test_a_node_that_renews_judges_others_although_its_record_cannot_be_written(
    store: Store, unrecorded: Unrecorded
) -> None:
    enqueue(store, spec(unrecorded.queue))
    held = claim_one(store, unrecorded.queue)

    unrecorded.live(DEAD_AFTER_MS)
    assert state_of(store, held.spec.id) is JobState.RUNNING

    unrecorded.live(LOOK_MS)
    assert state_of(store, held.spec.id) is JobState.QUEUED


def test_nobody_is_judged_by_records_that_cannot_be_written(store: Store, unrecorded: Unrecorded) -> None:
    """Neither is the job of who renews taken, nor the record forgotten of who could not write it either."""
    node = new_node()
    enqueue(store, spec(unrecorded.queue))
    held = claim_one(store, unrecorded.queue, node=node)
    beat(store, NodeRecord(uuid=node, node_type=unrecorded.queue, last_ping=0))

    unrecorded.live(12 * DEAD_AFTER_MS, lambda: renew(store, unrecorded.queue, node, held))

    assert state_of(store, held.spec.id) is JobState.RUNNING
    assert [one.uuid for one in store.list_nodes(since=0)] == [node]


@pytest.mark.parametrize(("is_cut", "took_ms", "pause_s"), [(False, 4_000, 1.0), (False, 6_000, 0.0), (True, 900, 0.1)])
def test_the_pause_after_a_slow_beat_counts_from_its_beginning(is_cut: bool, took_ms: int, pause_s: float) -> None:
    patient = Patient()
    patient.line.is_cut = is_cut
    patient.line.on_renewal = lambda: patient.clock.advance(took_ms)

    assert patient.heart.beat() == pytest.approx(pause_s)


def test_a_holder_in_haste_is_not_kept_waiting_for_the_next_beat() -> None:
    patient = Patient()
    patient.heart.start()
    wait_until(lambda: patient.holder.heard_at == [0.0], "the first beat")  # the next is due by a clock that stands

    patient.holder.is_in_haste = True

    wait_until(lambda: len(patient.holder.heard_at) > 1, "another beat")
    patient.heart.stop()


def test_a_slow_renewal_counts_from_its_beginning_since_nobody_knows_when_it_was_heard() -> None:
    patient = Patient()
    patient.line.on_renewal = lambda: patient.clock.advance(4_000)

    patient.heart.beat()

    assert patient.holder.heard_at == [0.0]


def test_a_renewal_that_failed_was_not_heard() -> None:
    patient = Patient()
    patient.line.is_cut = True

    patient.heart.beat()

    assert patient.holder.heard_at == []


def test_a_contact_lasts_until_there_is_a_gap() -> None:
    contact = Contact(10.0)
    assert contact.since(0.0) is None

    for at in (0.0, 10.0, 20.0):
        contact.made(at)
    assert contact.since(30.0) == 0.0
    assert contact.since(30.1) is None

    contact.made(31.0)
    assert contact.since(31.0) == 31.0


def test_the_lock_of_a_process_that_lives_is_seen_by_all_others(tmp_path: Path) -> None:
    here, elsewhere = Presence(tmp_path), Presence(tmp_path)
    here.hold("node")

    assert elsewhere.gone(["node"]) == []
    assert elsewhere.gone(["unknown"]) == []
    assert here.gone(["node"]) == []

    here.release("node")
    assert list(tmp_path.iterdir()) == []


def test_user_code_that_blocks_the_loop_does_not_cost_the_node_its_life(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("block_the_loop")
        async with working(store, dead_after_ms=SHORT_MS, threads=2) as node:
            before = store.read_pulses(installation.queue)[node.uuid]
            seen = Pulses(store, installation.queue, node.uuid, on_enough=stage.release.set)
            job_id = installation.enqueue("block_the_loop", {"seconds": DEADLINE_S / 2})
            (job,) = await installation.ended(job_id)

            assert job.state is JobState.SUCCEEDED
            assert job.deaths == 0
            assert len(seen.stop() - {before}) >= 4

    asyncio.run(scene())


class Pulses:
    """Watches a node's pulse from a thread, since the loop is blocked, for longer than a node may be silent."""

    def __init__(self, store: Store, queue: str, node: str, *, on_enough: Callable[[], object]) -> None:
        self._seen: set[str] = set()
        self._on_enough = on_enough
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(store, queue, node))
        self._thread.start()

    def _watch(self, store: Store, queue: str, node: str) -> None:
        end = time.monotonic() + 4 * SHORT_MS / 1000
        while not self._is_over.wait(0.01):
            self._seen.add(store.read_pulses(queue)[node])
            if len(self._seen) > 5 and time.monotonic() > end:
                self._on_enough()

    def stop(self) -> set[str]:
        self._is_over.set()
        self._thread.join()
        return self._seen


def test_a_job_that_a_node_is_given_again_begins_when_the_old_run_has_ended(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        job_id = installation.enqueue("pass_gate")
        async with working(store, dead_after_ms=HOURS_MS, threads=2) as node:
            await until(lambda: stage.inside == 1, "the first run")
            first = installation.job(job_id).token

            # As after a death that was none: the job is queued again, and the same node has a free slot for it.
            held = store.claims_of_node(installation.queue, node.uuid, limit=1)
            assert reclaim(store, *[die(one, store.now()) for one in held], now=store.now()) == frozenset()
            await until(lambda: len(stage.started) == 2, "the second run")

            assert stage.most_inside == 1
            assert installation.job(job_id).token != first
            stage.gate.set()
            (job,) = await installation.ended(job_id)
            assert (job.state, job.attempts, job.deaths) == (JobState.SUCCEEDED, 1, 1)
        assert installation.counts() == {JobState.SUCCEEDED: 1}

    asyncio.run(scene())


def test_a_late_answer_to_a_renewal_of_the_old_attempt_does_not_stop_the_new_one(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        faults = Faults(store)
        installation.define_python("pass_gate")
        asked, may_go_on = threading.Event(), threading.Event()

        def take_long() -> None:
            asked.set()
            may_go_on.wait(DEADLINE_S)

        async with working(faults.store, dead_after_ms=SHORT_MS, roles=frozenset({"worker"})) as node:
            job_id = installation.enqueue("pass_gate", {"text": "x"})
            await until(lambda: stage.inside == 1, "the job to run")
            faults.before("renew_claims", take_long)
            await until(asked.is_set, "a renewal of the first attempt")

            # While it is on its way, the job is taken from the node, and given to it again.
            reclaim(store, *map(die, store.claims_of_node(installation.queue, node.uuid, limit=9)))
            await until(lambda: len(stage.started) == 2, "the second attempt")
            renewals = faults.calls.count("renew_claims")
            may_go_on.set()
            await until(lambda: faults.calls.count("renew_claims") > renewals + 1, "further renewals")

            assert (stage.started, stage.inside) == (["x", "x"], 1)
            stage.gate.set()
            (job,) = await installation.ended(job_id)
            assert (job.state, job.attempts, job.deaths) == (JobState.SUCCEEDED, 1, 1)

    asyncio.run(scene())


def test_a_node_that_cannot_renew_stops_only_what_must_not_run_twice(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        installation.define(
            "only_one", "python", {"function": "tests.engine.job_functions:pass_gate"}, unique=Unique.WHILE_RUNNING
        )
        faults = Faults(store)
        plain, locked = installation.enqueue("pass_gate"), installation.enqueue("only_one")
        async with working(faults.store, dead_after_ms=2_000, threads=4):
            await until(lambda: stage.inside == 2, "both to run")
            begun = len(stage.started)
            faults.cut_off()

            await until(lambda: stage.inside == 1, "one to be stopped")
            assert len(stage.started) == begun
            faults.reconnect()
            await until(lambda: len(stage.started) > begun, "the stopped one to run again")
            stage.gate.set()
            jobs = await installation.ended(plain, locked)

            assert [job.state for job in jobs] == [JobState.SUCCEEDED] * 2
            assert [job.deaths for job in jobs] == [0, 0]
            assert [job.attempts for job in jobs] == [1, 1]
            assert installation.job(locked).spec.lock_key is not None

    asyncio.run(scene())


def test_a_renewal_that_does_not_return_keeps_no_run_under_a_lock(store: Store, installation: Installation) -> None:
    """A call may take longer than it says, and others take over meanwhile."""

    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate")
        installation.define(
            "only_one", "python", {"function": "tests.engine.job_functions:pass_gate"}, unique=Unique.WHILE_RUNNING
        )
        faults, may_return, has_returned = Faults(store), threading.Event(), threading.Event()

        def hang() -> None:
            may_return.wait(DEADLINE_S)
            has_returned.set()

        installation.enqueue("pass_gate", {"text": "plain"})
        installation.enqueue("only_one", {"text": "locked"})
        async with working(faults.store, dead_after_ms=2_000, threads=4):
            await until(lambda: stage.inside == 2, "both to run")
            store.pause_queue(installation.queue)  # what is given back stays there
            before = len(stage.ended)  # a machine that stood still may have cost the node a run already
            faults.before("renew_claims", hang)
            try:
                await until(lambda: stage.inside < 2, "one to be stopped")

                assert not has_returned.is_set()
                assert stage.ended[before:] == ["locked"]
            finally:
                may_return.set()

    asyncio.run(scene())


def test_a_command_under_a_lock_ends_in_time_although_user_code_blocks_the_loop(
    store: Store, installation: Installation, tmp_path: Path
) -> None:
    async def scene() -> None:
        stage, faults, told = new_stage(), Faults(store), tmp_path / "told"
        installation.define_python("block_the_loop")
        installation.define_command(
            f"trap 'echo asked >> {told}; exit 0' TERM; echo begun $$ >> {told}; sleep 3600 & wait",
            unique=Unique.WHILE_RUNNING,
        )
        loop, loop_goes_on, ended_while_blocked = asyncio.get_running_loop(), threading.Event(), threading.Event()

        def cut_off_and_watch() -> None:
            """In a thread, since the loop is blocked."""
            wait_until(lambda: stage.started, "the loop to be blocked")
            loop.call_soon_threadsafe(loop_goes_on.set)
            faults.cut_off()
            # On a slow machine a shell that was asked to end may be killed before it can say so.
            shell = int(told.read_text().rpartition("begun ")[2].split()[0])
            wait_until(lambda: loop_goes_on.is_set() or not is_alive(shell), "the command to be stopped")
            if not loop_goes_on.is_set():
                ended_while_blocked.set()
            stage.release.set()

        async with working(faults.store, dead_after_ms=2_000, threads=4):
            locked = installation.enqueue("command")
            await until(lambda: told.exists() and "begun" in told.read_text(), "the command to run")
            watching = threading.Thread(target=cut_off_and_watch)
            watching.start()
            blocking = installation.enqueue("block_the_loop", {"seconds": DEADLINE_S / 4})
            await until(stage.release.is_set, "the loop to go on")
            watching.join()
            faults.reconnect()

            assert ended_while_blocked.is_set()
            # It says that it succeeded, but was cut short: it runs again, and only that counts.
            await until(lambda: told.read_text().count("begun") > 1, "the command to run again")
            store.cancel_jobs([locked], now=store.now())
            cancelled, _ = await installation.ended(locked, blocking)
            assert (cancelled.state, cancelled.deaths) == (JobState.CANCELLED, 0)

    asyncio.run(scene())


class JumpyClock(NodeClock):
    """A clock that counts a time for which nothing happened, as one does when the machine was suspended."""

    def __init__(self, ask: Callable[[], int]) -> None:
        super().__init__(ask)
        self._slept_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._slept_s

    def sleep(self, seconds: float) -> None:
        self._slept_s += seconds


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_job_that_was_claimed_before_the_process_stood_still_is_not_begun_after(
    store: Store, installation: Installation, is_heard: bool
) -> None:
    """Others may have it by then. A renewal that came before the answer to the claim knows nothing of the job."""

    async def scene() -> None:
        stage = new_stage()
        installation.define_python("note")
        job_id = installation.enqueue("note", {"text": "late"})
        faults = Faults(store)
        clock = JumpyClock(faults.store.now)
        tokens: list[str] = []

        def stand_still() -> None:
            tokens.append(installation.job(job_id).token)
            before = faults.calls.count("beat")
            clock.sleep(2 * HOURS_MS / 1000)
            while is_heard and faults.calls.count("beat") == before:  # its renewal comes first
                threading.Event().wait(0.01)
                clock.sleep(HOURS_MS / 3_000)  # for longer than it rests, if it has just begun to

        if not is_heard:
            faults.before("renew_claims", *[be_away] * 1_000)
        faults.after("finish_and_claim_jobs", stand_still)
        node = Node.open(faults.store, NodeOptions(dead_after_ms=HOURS_MS), clock=clock)
        task = asyncio.create_task(node.run())
        (job,) = await installation.ended(job_id)
        node.request_stop(at_once=True)
        await task

        assert tokens[0] != ""
        assert job.token != tokens[0]
        assert stage.started == ["late"]
        assert (job.state, job.attempts, job.deaths) == (JobState.SUCCEEDED, 1, 0)

    asyncio.run(scene())


def test_a_claim_that_was_answered_late_is_renewed_before_the_next_beat_is_due(
    store: Store, installation: Installation
) -> None:
    """It is old already when it arrives, and the beat that came meanwhile knew nothing of it."""

    async def scene() -> None:
        new_stage()
        installation.define_python("pass_gate")
        faults = Faults(store)
        clock = JumpyClock(faults.store.now)
        renewals: list[int] = []

        def hang_for_longer_than_a_beat() -> None:
            before = faults.calls.count("beat")
            clock.sleep(HOURS_MS / 2_000)
            wait_until(lambda: faults.calls.count("beat") > before, "a beat meanwhile")
            renewals.append(faults.calls.count("renew_claims"))

        installation.enqueue("pass_gate")
        faults.after("finish_and_claim_jobs", hang_for_longer_than_a_beat)
        node = Node.open(faults.store, NodeOptions(dead_after_ms=HOURS_MS), clock=clock)
        task = asyncio.create_task(node.run())
        await until(lambda: bool(renewals), "the answer")

        await until(lambda: faults.calls.count("renew_claims") > renewals[0], "a renewal, while the clock stands")
        node.request_stop(at_once=True)
        await task

    asyncio.run(scene())


def attempt_at(claimed_at: float) -> Attempt:
    spec = JobSpec(id="j", job_type="t", queue="q", enqueued_at=0)
    return Attempt(Claim(spec, token="n/1", rank=0, attempts=0, deaths=0), claimed_at)


@pytest.mark.parametrize(
    ("told", "at", "is_old"),
    [
        ({"j": "n/1"}, 100.0, False),
        ({"j": "n/1"}, 86.0, False),
        ({"j": "n/1"}, 85.0, True),
        ({"j": "n/0"}, 100.0, True),
        ({}, 100.0, True),
    ],
)
def test_a_claim_counts_from_when_the_store_was_told_of_it_for_certain(
    told: dict[str, str], at: float, is_old: bool
) -> None:
    """Not from the answer, which may have come much later, nor from what was told of others."""

    async def scene() -> None:
        clock = ManualClock(0)
        hands = Hands(on_end=lambda *_: None, on_change=lambda: None)
        claims = HeldClaims(hands, node="n", clock=clock, dead_after_s=20.0, observers=Observers())
        clock.advance(100_000)

        claims.renewed(told, Renewal([], []), at=at)
        await asyncio.sleep(0)

        assert claims.is_old(attempt_at(0.0)) is is_old
        assert not claims.is_old(attempt_at(86.0))

    asyncio.run(scene())


def test_a_run_under_a_lock_that_was_claimed_lately_is_not_given_up(store: Store, installation: Installation) -> None:
    """The claim was a sign of life, though the heart was not heard for long."""

    async def scene() -> None:
        stage = new_stage()
        installation.define(
            "only_one", "python", {"function": "tests.engine.job_functions:pass_gate"}, unique=Unique.WHILE_RUNNING
        )
        faults = Faults(store)
        clock = JumpyClock(faults.store.now)
        node = Node.open(faults.store, NodeOptions(dead_after_ms=60_000, threads=4), clock=clock)
        run = asyncio.create_task(node.run())
        await until(lambda: is_listed(store, node), "the node's first beat")
        faults.before("renew_claims", *[be_away] * 1_000)
        clock.sleep(60.0)
        silent = faults.calls.count("renew_claims")
        await until(lambda: faults.calls.count("renew_claims") > silent, "a beat in vain, after a long silence")
        job_id = installation.enqueue("only_one")
        await until(lambda: stage.inside == 1, "the job to run")
        before = faults.calls.count("renew_claims")
        await until(lambda: faults.calls.count("renew_claims") > before + 1, "further beats in vain")

        assert len(stage.started) == 1
        assert installation.job(job_id).state is JobState.RUNNING
        stage.gate.set()
        await installation.ended(job_id)
        node.request_stop(at_once=True)
        await run

    asyncio.run(scene())


def test_a_thread_under_a_lock_is_not_given_up_because_it_would_go_on(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        installation.define(
            "only_one", "python", {"function": "tests.engine.job_functions:block"}, unique=Unique.WHILE_RUNNING
        )
        faults = Faults(store)
        async with working(faults.store, dead_after_ms=1_000, threads=4):
            job_id = installation.enqueue("only_one", {"seconds": 3.0})
            await installation.running(job_id)
            faults.cut_off()
            await until(lambda: faults.calls.count("renew_claims") > 8, "the node to be silent for the dead time")
            faults.reconnect()
            (job,) = await installation.ended(job_id)

            assert (job.state, job.attempts, job.deaths) == (JobState.SUCCEEDED, 1, 0)

    asyncio.run(scene())


def test_a_run_under_a_lock_knows_its_fencing_number(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        name = installation.define_command("echo $ROTA_FENCING_NUMBER", unique=Unique.WHILE_RUNNING)
        installation.define_python("tell_fencing_number", unique=Unique.WHILE_RUNNING)
        installation.define_python("nothing")
        async with working(store):
            first, second = await installation.ended(installation.enqueue(name), installation.enqueue(name))
            third, fourth = await installation.ended(
                installation.enqueue("tell_fencing_number"), installation.enqueue("nothing")
            )

            numbers = [int(installation.messages(job.id)[0]) for job in (first, second)]
            assert 0 < numbers[0] < numbers[1]
            assert isinstance(third.results, int)
            assert third.results > 0
            assert fourth.state is JobState.SUCCEEDED

    asyncio.run(scene())


def test_a_suspect_runs_in_a_process_of_its_own_beside_others_and_is_cleared(store: Store) -> None:
    async def scene() -> None:
        new_stage()
        installation = Installation(store, threads=8)
        installation.define_python("tell_process")
        jobs = [installation.enqueue("tell_process") for _ in range(3)]
        for _ in range(SUSPECT_DEATHS):
            reclaim(store, *(die(held) for held in claim(store, installation.queue, now=installation.clock.now())))
        assert {installation.job(job_id).deaths for job_id in jobs} == {SUSPECT_DEATHS}
        innocent = installation.enqueue("tell_process")
        async with working(store):
            *suspects, plain = await installation.ended(*jobs, innocent)

            assert {job.state for job in suspects} == {JobState.SUCCEEDED}
            processes = {job.results for job in suspects}
            assert len(processes) == 3
            assert plain.results not in processes

    asyncio.run(scene())


def test_a_coroutine_that_swallows_its_cancellation_does_not_keep_the_node(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("swallow_cancellation")
        job_id = installation.enqueue("swallow_cancellation")
        async with working(store, worker_times=WorkerTimes(abandon_s=0.2)):
            await until(lambda: stage.inside == 1, "the job to run")
        assert stage.inside == 1
        assert installation.job(job_id).state is JobState.QUEUED
        assert installation.job(job_id).deaths == 0
        stage.gate.set()
        await until(lambda: stage.inside == 0, "the run to end after all")

    asyncio.run(scene())


@pytest.mark.parametrize("function", ["swallow_cancellation", "wait_for_release"])
def test_what_runs_on_under_a_lock_is_given_to_nobody_before_its_process_has_ended(
    store: Store, installation: Installation, function: str
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python(function, unique=Unique.WHILE_RUNNING)
        job_id = installation.enqueue(function)
        async with working(store, worker_times=WorkerTimes(abandon_s=0.2)) as node:
            await until(lambda: stage.inside == 1, "the job to run")
        inside, job, nodes = stage.inside, installation.job(job_id), list(store.read_pulses(installation.queue))
        known_gone = Presence(run_folder()).gone([node.uuid])
        stage.gate.set()
        stage.release.set()
        assert (inside, job.state, nodes, known_gone) == (1, JobState.RUNNING, [node.uuid], [])
        await until(lambda: stage.inside == 0, "the run to end after all")

    asyncio.run(scene())


def test_what_runs_on_under_a_lock_is_kept_when_a_stopping_node_compares_what_it_has(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage, faults = new_stage(), Faults(store)
        locked = installation.enqueue(installation.define_python("wait_for_release", unique=Unique.WHILE_RUNNING))
        other = installation.enqueue(installation.define_python("pass_gate"))
        async with working(faults.store, worker_times=WorkerTimes(retry_s=(0.001,), abandon_s=0.2)):
            await until(lambda: stage.inside == 2, "both jobs to run")
            faults.before("finish_jobs", be_away)
        inside, state = stage.inside, installation.job(locked).state
        stage.gate.set()
        stage.release.set()
        assert (inside, state, installation.job(other).state) == (1, JobState.RUNNING, JobState.QUEUED)
        assert faults.calls.count("recover_claims") > 0, "it compared"
        await until(lambda: stage.inside == 0, "the run to end after all")

    asyncio.run(scene())


def test_a_node_whose_loop_is_held_up_by_a_run_under_a_lock_does_not_say_that_it_has_gone(
    store: Store, installation: Installation
) -> None:
    async def scene() -> None:
        stage = new_stage()
        installation.define_python("pass_gate", unique=Unique.WHILE_RUNNING)
        job_id = installation.enqueue("pass_gate")
        async with working(store) as node:
            await until(lambda: stage.inside == 1, "the job to run")

            await asyncio.to_thread(node.give_up)

            state, nodes = installation.job(job_id).state, list(store.read_pulses(installation.queue))
            stage.gate.set()
            assert (state, nodes) == (JobState.RUNNING, [node.uuid])
            await installation.ended(job_id)

    asyncio.run(scene())


class MuteBeside(Faults):
    """A store to which only the first node of a process can give signs of life."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._lines = 0

    def lifeline(self, *, timeout_s: float) -> Lifeline:
        self._lines += 1
        if self._lines == 1:
            return super().lifeline(timeout_s=timeout_s)
        mute = Line()
        mute.is_cut = True
        return mute


@pytest.mark.parametrize("is_opened_alone", [False, True], ids=["beside it", "opened by itself"])
def test_a_node_whose_heart_is_mute_loses_nothing_to_another_of_its_process(
    store: Store, installation: Installation, is_opened_alone: bool
) -> None:
    async def scene() -> None:
        stage, muted = new_stage(), MuteBeside(store)
        second = NodeType(uuid=installation.new_id(), name="second")
        installation.definitions.define([second], [])
        installation.define_python("pass_gate", node_type=second.uuid)
        async with working(muted.store, dead_after_ms=SHORT_MS) as main:
            options = NodeOptions(node_type="second", dead_after_ms=SHORT_MS, roles=frozenset({WORKER}))
            side = Node.open(muted.store, options) if is_opened_alone else main.beside(options)
            run = asyncio.create_task(side.run())
            job_id = installation.enqueue("pass_gate")
            await until(lambda: stage.inside == 1, "the job to run")

            looks = muted.calls.count("read_pulses")
            await until(lambda: muted.calls.count("read_pulses") > looks + 300, "looks, beyond the dead time")

            assert len(stage.started) == 1
            assert (installation.job(job_id).state, installation.job(job_id).deaths) == (JobState.RUNNING, 0)
            stage.gate.set()
            await installation.ended(job_id)
            side.request_stop(at_once=True)
        await run

    asyncio.run(scene())


class LateClaims(Faults):
    """A network that delivers the first claim only after its sender has given it up and recovered."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._late: Callable[[], Claims] | None = None
        self.delivered: list[Claims] = []

    def finish_and_claim_jobs(
        self,
        queue: str,
        settlements: Sequence[Settlement],
        *,
        token: str,
        limit: int,
        now: int,
        begin: int | None = None,
    ) -> Claims:
        claim = {"token": token, "limit": limit, "now": self.real.now(), "begin": begin}
        deliver = partial(self.real.finish_and_claim_jobs, queue, settlements, **claim)  # type: ignore[arg-type]
        if self._late is None and limit and self.real.count_jobs(queue)[JobState.QUEUED]:
            self._late = deliver
            raise StoreUnavailable("the answer did not come")
        return deliver()

    def recover_claims(self, queue: str, node: str, held: dict[str, str], *, floor: int, now: int) -> int:
        recovered = self.real.recover_claims(queue, node, held, floor=floor, now=now)
        if self._late is not None and not self.delivered:
            self.delivered.append(self._late())
        return recovered


def test_a_claim_that_arrives_after_its_recovery_strands_no_job(store: Store, installation: Installation) -> None:
    async def scene() -> None:
        new_stage()
        installation.define_python("nothing")
        jobs = [installation.enqueue("nothing") for _ in range(5)]
        late = LateClaims(store)
        async with working(late.store, dead_after_ms=HOURS_MS):
            ended = await installation.ended(*jobs)

            assert late.delivered == [Claims([])]
            assert {(job.state, job.attempts, job.deaths) for job in ended} == {(JobState.SUCCEEDED, 1, 0)}

    asyncio.run(scene())


def test_the_claim_right_after_a_recovery_is_not_too_late_itself(
    store: Store, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody looks for jobs by himself.
    monkeypatch.setattr("rota.store.redis.nouns.queues.waker._LONGEST_WAIT_S", 3_600.0)

    async def scene() -> None:
        new_stage()
        installation.define_python("nothing")
        faults = Faults(store)
        async with working(faults.store, dead_after_ms=HOURS_MS, worker_times=WorkerTimes(idle_check_s=3_600.0)):
            faults.before("finish_and_claim_jobs", be_away)
            (job,) = await installation.ended(installation.enqueue("nothing"))

            assert "recover_claims" in faults.calls
            assert (job.state, job.attempts) == (JobState.SUCCEEDED, 1)

    asyncio.run(scene())
