"""The watchdog: what dead nodes left is settled on their behalf, by the rules of the job's type; and nobody is taken
for dead who was not seen to be silent."""

import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from rota.engine.definitions.definitions import Definitions
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.liveness.draining import is_drain_requested, request_drain
from rota.engine.liveness.presence import Presence
from rota.errors import StoreUnavailable
from rota.model.ids import new_id
from rota.model.job import Claim, JobState, node_of_token
from rota.model.job_type import JobType, OnNodeDeath
from rota.model.liveness import BEATS_PER_DEATH
from rota.model.node import DEAD_AFTER_MS, NodeType
from rota.model.node import Node as NodeRecord
from rota.model.runs.settlement import MOST_DEATHS
from rota.store import Store
from rota.testing import Faults
from rota.testing.faults import away
from tests.contract.building import (
    NOW,
    beat,
    claim,
    claim_one,
    counts,
    enqueue,
    find,
    finish,
    new_node,
    renew,
    spec,
    state_of,
    succeed,
)
from tests.engine.liveness.watching import LOOK_MS, Watch
from tests.patience import DEADLINE_S

pytestmark = pytest.mark.stores("sqlite-memory", "redis", "redis-cluster")

QUEUE = new_id(NOW)
SECOND_QUEUE = new_id(NOW)
GOES_BACK = new_id(NOW)
FAILS = new_id(NOW)


@pytest.fixture
def watch(store: Store) -> Watch:
    definitions = Definitions(store, ExecutorRegistry())
    definitions.define(
        [NodeType(uuid=QUEUE, name="default"), NodeType(uuid=SECOND_QUEUE, name="second")],
        [
            JobType(uuid=GOES_BACK, name="goes_back", executor="log"),
            JobType(uuid=FAILS, name="fails", executor="log", on_node_death=OnNodeDeath.FAIL),
        ],
    )
    return Watch(store)


def running_job(store: Store, *, node: str | None = None, job_type: str = GOES_BACK) -> Claim:
    enqueue(store, spec(QUEUE, job_type=job_type))
    return claim_one(store, QUEUE, node=node)


# -- who is dead ---------------------------------------------------------------------------------------------------


def test_a_node_is_left_alone_until_it_was_seen_silent_for_the_whole_dead_time(store: Store, watch: Watch) -> None:
    held = running_job(store)
    watch.look()

    watch.watch(DEAD_AFTER_MS - LOOK_MS)
    assert state_of(store, held.spec.id) is JobState.RUNNING

    watch.watch(LOOK_MS)
    assert state_of(store, held.spec.id) is JobState.QUEUED


def test_a_node_that_gives_signs_of_life_keeps_its_jobs(store: Store, watch: Watch) -> None:
    node = new_node()
    held = running_job(store, node=node)
    watch.look()

    for _ in range(4):
        watch.watch(DEAD_AFTER_MS - LOOK_MS)
        renew(store, QUEUE, node, held)
    watch.watch(DEAD_AFTER_MS - LOOK_MS)

    assert state_of(store, held.spec.id) is JobState.RUNNING


def test_a_watchdog_that_comes_late_must_first_watch(store: Store, watch: Watch) -> None:
    """However old the last sign of life is by any clock."""
    held = running_job(store)
    watch.clock.advance(1_000 * DEAD_AFTER_MS)

    watch.look()

    assert state_of(store, held.spec.id) is JobState.RUNNING


def test_after_a_gap_the_observation_begins_anew(store: Store, watch: Watch) -> None:
    """The store was away, or this machine asleep: the others could not be heard."""
    held = running_job(store)
    watch.look()
    watch.watch(DEAD_AFTER_MS - LOOK_MS)
    watch.clock.advance(2 * DEAD_AFTER_MS)

    watch.look()
    watch.watch(DEAD_AFTER_MS - LOOK_MS)
    assert state_of(store, held.spec.id) is JobState.RUNNING

    watch.watch(LOOK_MS)
    assert state_of(store, held.spec.id) is JobState.QUEUED


def test_whoever_cannot_write_may_not_judge(store: Store, watch: Watch) -> None:
    """A foreign lock on the file: it can be read, but nobody can renew."""
    held = running_job(store)
    watch.look()

    watch.watch(3 * DEAD_AFTER_MS, can_write=False)
    watch.watch(DEAD_AFTER_MS - LOOK_MS)
    assert state_of(store, held.spec.id) is JobState.RUNNING

    watch.watch(2 * LOOK_MS)
    assert state_of(store, held.spec.id) is JobState.QUEUED


class HeldUp(Faults):
    """A store that somebody else locks in the moment in which a watchdog has found a node silent: reading goes on."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.watch = Watch(self.store)
        self.waits_ms = 0

    def try_to_write(self, queue: str) -> None:
        self.watch.clock.advance(self.waits_ms)
        self.real.try_to_write(queue)


def test_whoever_had_to_wait_with_taking_claims_watches_anew(store: Store, watch: Watch) -> None:
    """The silent one could not write either meanwhile, and may have been about to."""
    held, held_up = running_job(store), HeldUp(store)
    held_up.watch.look()
    held_up.watch.watch(DEAD_AFTER_MS - LOOK_MS)

    held_up.waits_ms = DEAD_AFTER_MS // 2
    held_up.watch.watch(LOOK_MS)
    assert state_of(store, held.spec.id) is JobState.RUNNING

    held_up.waits_ms = 0
    held_up.watch.watch(DEAD_AFTER_MS + 2 * LOOK_MS)
    assert state_of(store, held.spec.id) is JobState.QUEUED


class Refusing(Faults):
    """A store of which one place answers who reads, and refuses all writes for a while."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.watch = Watch(self.store)
        self.refuses = False

    def try_to_write(self, queue: str) -> None:
        if self.refuses:
            away()
        self.real.try_to_write(queue)

    def watch_and_renew(self, ms: int, *held: Claim) -> None:
        """Look every second, while the nodes that hold these give their signs of life, if they can."""
        for _ in range(ms // LOOK_MS):
            self.watch.clock.advance(LOOK_MS)
            for one in held if not self.refuses else ():
                renew(self.real, QUEUE, node_of_token(one.token), one)
            with suppress(StoreUnavailable):
                self.watch.look()


def test_nobody_is_judged_by_a_time_in_which_no_sign_of_life_could_be_written_there(store: Store, watch: Watch) -> None:
    """A server of a cluster may refuse to write alone: the watchdog's own signs of life go to another one."""
    held, refusing = running_job(store), Refusing(store)
    refusing.watch_and_renew(DEAD_AFTER_MS, held)

    refusing.refuses = True
    refusing.watch_and_renew(2 * DEAD_AFTER_MS, held)
    refusing.refuses = False
    refusing.watch_and_renew(DEAD_AFTER_MS - LOOK_MS)  # of the node nothing is heard yet
    assert state_of(store, held.spec.id) is JobState.RUNNING

    refusing.watch_and_renew(2 * LOOK_MS)
    assert state_of(store, held.spec.id) is JobState.QUEUED


def test_a_node_is_judged_by_its_silence_although_others_were_the_last_to_write(store: Store, watch: Watch) -> None:
    silent, other = running_job(store), running_job(store)
    refusing = Refusing(store)
    refusing.watch_and_renew(DEAD_AFTER_MS, silent, other)

    refusing.watch_and_renew(DEAD_AFTER_MS - LOOK_MS, other)
    assert state_of(store, silent.spec.id) is JobState.RUNNING

    refusing.watch_and_renew(LOOK_MS, other)
    assert [state_of(store, one.spec.id) for one in (silent, other)] == [JobState.QUEUED, JobState.RUNNING]


def test_where_somebody_lives_a_watchdog_writes_nothing(store: Store, watch: Watch) -> None:
    """Others see by his signs of life that there can be written."""
    node, faults = new_node(), Faults(store)
    held, watching = running_job(store, node=node), Watch(faults.store)
    watching.look()
    faults.calls.clear()

    for _ in range(20):
        watching.watch(DEAD_AFTER_MS // BEATS_PER_DEATH)
        renew(store, QUEUE, node, held)

    assert "try_to_write" not in faults.calls


def test_a_step_of_the_wall_clock_kills_nobody(store: Store, watch: Watch) -> None:
    held = running_job(store)
    watch.look()

    for step in (3_600_000, -7_200_000):
        watch.clock.set(watch.clock.now() + step)
        watch.look()

    assert state_of(store, held.spec.id) is JobState.RUNNING


def test_nobody_takes_jobs_from_himself(store: Store, watch: Watch) -> None:
    held = running_job(store, node=watch.node)

    watch.watch_it_die()

    assert state_of(store, held.spec.id) is JobState.RUNNING


@pytest.mark.parametrize("has_folder", [True, False])
def test_nobody_takes_jobs_from_a_node_of_his_own_process(
    store: Store, watch: Watch, tmp_path: Path, has_folder: bool
) -> None:
    """Whether or not there is a place for lock files. One that has ended in good order has nothing left that runs."""
    presence, beside, ended = Presence(tmp_path if has_folder else None), new_node(), new_node()
    presence.hold(beside)
    presence.hold(ended)
    presence.release(ended)
    kept, gone = running_job(store, node=beside), running_job(store, node=ended)
    beat(store, NodeRecord(uuid=beside, node_type=QUEUE, last_ping=0))
    beat(store, NodeRecord(uuid=ended, node_type=QUEUE, last_ping=0))

    Watch(store, presence).watch_it_die(times=10)

    assert [state_of(store, one.spec.id) for one in (kept, gone)] == [JobState.RUNNING, JobState.QUEUED]
    assert [one.uuid for one in store.list_nodes(since=0)] == [beside]
    presence.release(beside)


def test_only_the_silent_node_loses_its_jobs(store: Store, watch: Watch) -> None:
    alive, silent = new_node(), new_node()
    kept, gone = running_job(store, node=alive), running_job(store, node=silent)
    watch.look()
    watch.watch(DEAD_AFTER_MS - LOOK_MS)
    renew(store, QUEUE, alive, kept)

    watch.watch(LOOK_MS)

    assert state_of(store, kept.spec.id) is JobState.RUNNING
    assert state_of(store, gone.spec.id) is JobState.QUEUED
    assert store.read_pulses(QUEUE).keys() == {alive}


def test_a_process_that_is_known_to_be_gone_is_dead_at_once(store: Store, watch: Watch, tmp_path: Path) -> None:
    here, elsewhere = Presence(tmp_path), Presence(tmp_path)
    living, dead, foreign = new_node(), new_node(), new_node()
    here.hold(living)
    (tmp_path / dead).touch()
    kept, gone, unknown = (running_job(store, node=node) for node in (living, dead, foreign))

    Watch(store, elsewhere).look()

    assert state_of(store, kept.spec.id) is JobState.RUNNING
    assert state_of(store, gone.spec.id) is JobState.QUEUED
    assert state_of(store, unknown.spec.id) is JobState.RUNNING
    here.release(living)


def test_claims_without_any_pulse_are_found(store: Store, watch: Watch) -> None:
    node = new_node()
    held = running_job(store, node=node)
    store.forget_pulse(QUEUE, node, pulse=store.read_pulses(QUEUE)[node])

    # They are looked for once in a while, by chance.
    for _ in range(2_000):
        watch.look()
        if node in store.read_pulses(QUEUE):
            break
    watch.watch_it_die()

    assert state_of(store, held.spec.id) is JobState.QUEUED


# -- what it costs --------------------------------------------------------------------------------------------------


class Sweeps(Faults):
    """Knows which queues were looked through for claims without a pulse."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.swept = Counter[str]()

    def mark_orphans(self, queue: str) -> int:
        self.swept[queue] += 1
        return self.real.mark_orphans(queue)


def test_a_look_reads_one_pulse_per_node_whatever_they_all_run(store: Store, watch: Watch) -> None:
    """All running jobs are read by one look of sixty, whoever takes it: of a hundred nodes one look of six thousand."""
    nodes, looks, sweeps = 100, 1_500, Sweeps(store)
    for _ in range(nodes):
        running_job(store, node=new_node())
    crowded = Watch(sweeps.store)
    crowded.look()
    sweeps.calls.clear()

    for _ in range(looks):
        crowded.look()

    # Whether definitions changed is asked too.
    assert {*sweeps.calls} <= {"read_pulses", "definitions_version"}
    assert sweeps.calls.count("read_pulses") == 2 * looks
    assert sweeps.swept[QUEUE] < 10, "0.25 are expected"
    assert sweeps.swept[SECOND_QUEUE] < 100, "25 are expected, since nobody else is there"


def test_the_records_of_nodes_are_read_once_in_the_dead_time(store: Store, watch: Watch) -> None:
    faults = Faults(store)

    Watch(faults.store).watch_it_die(times=5)

    assert faults.calls.count("list_nodes") == 1 + 5


# -- a queue on a server that hangs -----------------------------------------------------------------------------------


class Hanging(Faults):
    """A store of which the place of one queue hangs: a look takes a long time by the clock if it is taken in the test's
    own thread, and does not come back before it is over if it is taken in another."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.watch = Watch(self.store)
        self.hung = self.came_back = 0
        self.here = threading.current_thread()
        self.is_over = threading.Event()
        self.looked_by: dict[str, threading.Thread] = {}

    def read_pulses(self, queue: str) -> dict[str, str]:
        self.looked_by[queue] = threading.current_thread()
        if queue == QUEUE:
            self.hang()
        return self.real.read_pulses(queue)

    def hang(self) -> None:
        if self.is_over.is_set():
            return
        self.hung += 1
        if threading.current_thread() is self.here:
            self.watch.clock.advance(DEAD_AFTER_MS // 2)
        else:
            self.is_over.wait(DEADLINE_S)
        self.came_back += 1
        away()

    def watch_through(self, ms: int) -> None:
        for _ in range(ms // LOOK_MS):
            self.watch.clock.advance(LOOK_MS)
            with suppress(StoreUnavailable):
                self.watch.look()

    def end(self) -> None:
        """It is over, also for the look that is under way."""
        self.is_over.set()
        self.watch.watchdog.end()


def test_a_queue_that_hangs_makes_the_looks_at_others_no_rarer(store: Store, watch: Watch) -> None:
    """On a cluster one server may hang, and with it some of the queues."""
    ids = enqueue(store, spec(QUEUE, job_type=GOES_BACK), spec(SECOND_QUEUE, job_type=GOES_BACK))
    claim(store, QUEUE)
    claim(store, SECOND_QUEUE)
    hanging = Hanging(store)

    hanging.watch_through(2 * DEAD_AFTER_MS)
    assert [state_of(store, job_id) for job_id in ids] == [JobState.RUNNING, JobState.QUEUED]
    assert hanging.hung == 2, "one look at it is under way at most"

    hanging.end()
    hanging.watch_through(DEAD_AFTER_MS)
    assert state_of(store, ids[0]) is JobState.RUNNING, "it could not be seen before"

    hanging.watch_through(DEAD_AFTER_MS)
    assert state_of(store, ids[0]) is JobState.QUEUED


def test_only_what_hangs_is_looked_at_apart_and_only_until_it_was_quick_for_a_while(store: Store, watch: Watch) -> None:
    hanging = Hanging(store)
    hanging.watch_through(3 * LOOK_MS)
    assert [hanging.looked_by[queue] is hanging.here for queue in (QUEUE, SECOND_QUEUE)] == [False, True]

    hanging.end()
    hanging.watch_through(3 * LOOK_MS)
    assert hanging.looked_by[QUEUE] is not hanging.here

    hanging.watch_through(2 * DEAD_AFTER_MS)
    assert hanging.looked_by[QUEUE] is hanging.here


class DefinitionsHang(Hanging):
    """The same of the definitions, once they are known."""

    def read_pulses(self, queue: str) -> dict[str, str]:
        return self.real.read_pulses(queue)

    def definitions_version(self) -> int:
        if self.watch.definitions.known_node_types():
            self.hang()
        return self.real.definitions_version()


def test_definitions_that_hang_keep_nobody_from_looking_at_the_queues_that_are_known(
    store: Store, watch: Watch
) -> None:
    (job_id,) = enqueue(store, spec(SECOND_QUEUE, job_type=GOES_BACK))
    claim(store, SECOND_QUEUE)
    hanging = DefinitionsHang(store)

    hanging.watch_through(2 * DEAD_AFTER_MS)

    assert (state_of(store, job_id), hanging.hung) == (JobState.QUEUED, 2)
    hanging.end()


def test_to_end_a_watchdog_waits_for_the_looks_that_are_under_way(store: Store, watch: Watch) -> None:
    hanging = Hanging(store)
    hanging.watch_through(2 * LOOK_MS)
    assert (hanging.hung, hanging.came_back) == (2, 1)

    hanging.end()

    assert hanging.came_back == 2


# -- what becomes of their jobs ------------------------------------------------------------------------------------


def test_a_dead_nodes_job_goes_back_and_only_the_death_counts(store: Store, watch: Watch) -> None:
    held = running_job(store)

    watch.watch_it_die()

    job = find(store, held.spec.id)
    assert (job.state, job.attempts, job.deaths) == (JobState.QUEUED, 0, 1)


def test_a_dead_nodes_job_fails_if_its_type_says_so(store: Store, watch: Watch) -> None:
    held = running_job(store, job_type=FAILS)

    watch.watch_it_die()

    job = find(store, held.spec.id)
    assert (job.state, job.deaths) == (JobState.FAILED, 1)
    assert isinstance(job.errors, dict)
    assert job.errors["type"] == "node_lost"


def test_a_job_of_a_type_that_is_gone_goes_back(store: Store, watch: Watch) -> None:
    held = running_job(store, job_type=new_id(NOW))

    watch.watch_it_die()

    assert state_of(store, held.spec.id) is JobState.QUEUED


def test_a_job_that_outlived_its_nodes_again_and_again_is_not_run_any_more(store: Store, watch: Watch) -> None:
    (job_id,) = enqueue(store, spec(QUEUE, job_type=GOES_BACK))

    for deaths in range(1, MOST_DEATHS):
        claim_one(store, QUEUE)
        watch.watch_it_die()
        assert (find(store, job_id).state, find(store, job_id).deaths) == (JobState.QUEUED, deaths)
    claim_one(store, QUEUE)
    watch.watch_it_die()

    job = find(store, job_id)
    assert (job.state, job.deaths) == (JobState.FAILED, MOST_DEATHS)
    assert isinstance(job.errors, dict)
    assert job.errors["type"] == "poison"


def test_a_rule_that_was_changed_a_moment_ago_is_obeyed(store: Store, watch: Watch) -> None:
    held = running_job(store)
    watch.look()
    elsewhere = Definitions(store, ExecutorRegistry())
    elsewhere.define_job_type(JobType(uuid=GOES_BACK, name="goes_back", executor="log", on_node_death=OnNodeDeath.FAIL))

    watch.watch(DEAD_AFTER_MS)

    assert state_of(store, held.spec.id) is JobState.FAILED


def test_a_node_that_was_only_slow_cannot_end_a_job_that_was_taken_from_it(store: Store, watch: Watch) -> None:
    slow = running_job(store)
    watch.watch_it_die()
    now = watch.clock.now()
    second = claim_one(store, QUEUE, now=now)

    refused = finish(store, succeed(slow, now, results="too late"), now=now)

    assert refused == {slow.spec.id}
    assert finish(store, succeed(second, now, results="in time"), now=now) == frozenset()
    assert find(store, slow.spec.id).results == "in time"


@pytest.mark.parametrize("name", ["claims_of_node", "reclaim_jobs", "forget_pulse"])
def test_a_node_that_speaks_up_at_the_last_moment_keeps_what_it_has(store: Store, watch: Watch, name: str) -> None:
    node, faults = new_node(), Faults(store)
    held = running_job(store, node=node)
    watch = Watch(faults.store)
    faults.before(name, lambda: renew(store, QUEUE, node, held))

    watch.watch_it_die()

    assert not faults.awaits(name)
    assert node in store.read_pulses(QUEUE)
    if name != "forget_pulse":  # by then its jobs were taken
        found = find(store, held.spec.id)
        assert (found.state, found.token, found.deaths) == (JobState.RUNNING, held.token, 0)


def test_a_job_that_ends_while_its_node_is_taken_for_dead_has_ended(store: Store, watch: Watch) -> None:
    node, faults = new_node(), Faults(store)
    ended, left = running_job(store, node=node), running_job(store, node=node)
    watch = Watch(faults.store)
    faults.before("reclaim_jobs", lambda: finish(store, succeed(ended)))

    watch.watch_it_die()

    assert [state_of(store, one.spec.id) for one in (ended, left)] == [JobState.SUCCEEDED, JobState.QUEUED]
    assert find(store, ended.spec.id).deaths == 0


def test_every_queue_is_watched(store: Store, watch: Watch) -> None:
    ids = enqueue(store, spec(QUEUE, job_type=GOES_BACK), spec(SECOND_QUEUE, job_type=GOES_BACK))
    claim(store, QUEUE)
    claim(store, SECOND_QUEUE)

    watch.watch_it_die()

    assert [state_of(store, job_id) for job_id in ids] == [JobState.QUEUED] * 2


def test_a_round_that_leaves_something_is_followed_by_another_at_once(
    store: Store, watch: Watch, tmp_path: Path
) -> None:
    node = new_node()
    (tmp_path / node).touch()
    enqueue(store, *(spec(QUEUE, job_type=GOES_BACK) for _ in range(1_200)))
    assert len(claim(store, QUEUE, node=node, limit=1_000)) == 1_000
    here = Watch(store, Presence(tmp_path))

    rounds = 1
    while here.look() == 0.0:
        rounds += 1

    assert rounds == 3
    assert counts(store, QUEUE) == {JobState.QUEUED: 1_200}


def test_two_watchdogs_count_a_death_once(store: Store, watch: Watch) -> None:
    held = running_job(store)
    other = Watch(store)

    watch.watch_it_die()
    other.watch_it_die()

    assert find(store, held.spec.id).deaths == 1


# -- records of nodes ----------------------------------------------------------------------------------------------


def test_with_nothing_to_do_a_twentieth_of_the_dead_time_passes_between_two_looks(watch: Watch) -> None:
    assert watch.look() == pytest.approx(1.0)


def test_a_dead_node_is_shown_for_a_while_and_then_forgotten(store: Store, watch: Watch) -> None:
    beat(store, NodeRecord(uuid=new_node(), node_type=QUEUE, last_ping=0))
    watch.look()

    watch.watch(10 * DEAD_AFTER_MS - LOOK_MS)
    assert len(store.list_nodes(since=0)) == 1

    watch.watch(LOOK_MS)
    assert store.list_nodes(since=0) == []


def test_what_is_left_of_a_dead_node_goes_before_its_record_and_is_tried_again_at_the_next_look(
    store: Store, tmp_path: Path
) -> None:
    node, faults = new_node(), Faults(store)
    watch = Watch(faults.store, Presence(tmp_path))
    beat(store, NodeRecord(uuid=node, node_type=QUEUE, last_ping=0))
    request_drain(store, node)
    (tmp_path / node).touch()
    watch.look()
    watch.watch(10 * DEAD_AFTER_MS - LOOK_MS)
    faults.before("delete_setting", away)

    watch.clock.advance(LOOK_MS)
    with pytest.raises(StoreUnavailable):
        watch.look()
    assert [one.uuid for one in store.list_nodes(since=0)] == [node]

    watch.watch(LOOK_MS)
    assert store.list_nodes(since=0) == []
    assert not is_drain_requested(store, node)
    assert not (tmp_path / node).exists()


def test_the_record_of_a_node_that_beats_stays(store: Store, watch: Watch) -> None:
    node = new_node()
    watch.look()

    for minute in range(8):
        beat(store, NodeRecord(uuid=node, node_type=QUEUE, last_ping=minute))
        watch.watch(60_000)

    assert [one.uuid for one in store.list_nodes(since=0)] == [node]


def test_a_queue_that_cannot_be_looked_at_keeps_no_other_waiting(store: Store, watch: Watch) -> None:
    """On a cluster one server may be away, and with it some of the queues."""
    ids = enqueue(store, spec(QUEUE, job_type=GOES_BACK), spec(SECOND_QUEUE, job_type=GOES_BACK))
    claim(store, QUEUE)
    claim(store, SECOND_QUEUE)
    faults = Faults(store)
    watching = Watch(faults.store)

    for _ in range(1 + DEAD_AFTER_MS // LOOK_MS):
        faults.before("read_pulses", away)  # the first queue by name
        with pytest.raises(StoreUnavailable):
            watching.look()
        watching.clock.advance(LOOK_MS)

    assert [state_of(store, job_id) for job_id in ids] == [JobState.RUNNING, JobState.QUEUED]
