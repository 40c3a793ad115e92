"""A store and a plain model of it go the same random way, step by step, and must agree after each step.

The model is as simple as the contract: a dictionary of jobs, and a sort for every claim.
"""

from dataclasses import dataclass, field

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec import structs

from rota.model.job import FINAL_STATES, Claim, Job, JobSpec, JobState, node_of_token, rank_of
from rota.model.job_type import OnNodeDeath
from rota.model.runs.outcome import INTERRUPTED, Outcome, cancelled, failed, refused, succeeded
from rota.model.runs.retry import RetryPolicy
from rota.model.runs.settlement import Settlement, settle
from rota.store import Store
from rota.store.contract.jobs import Admission, CancelAnswer, JobQuery
from tests.conftest import OpenStore
from tests.contract.building import (
    NOW,
    claims_of,
    counts,
    die,
    listed,
    log_batch,
    messages_of,
    new_node,
    new_queue,
    reclaim,
    renew,
    spec,
    succeed,
    token_of,
)

STEPS_MS = (8, 16, 48, 400, 1_000, 4_000, 16_000)
NODES = 3
EXAMPLES = {"sqlite-memory": 150, "redis": 100}
STEPS = 50
# Making a failure small takes thousands of runs, and a server is too slow for that.
PHASES = {"sqlite-memory": tuple(Phase), "redis": (Phase.explicit, Phase.reuse, Phase.generate)}

WAITING = frozenset({JobState.DELAYED, JobState.QUEUED})


@dataclass
class ModelJob:
    """What the model knows about one job."""

    spec: JobSpec
    state: JobState
    rank: int
    available_at: int
    attempts: int = 0
    deaths: int = 0
    token: str = ""
    cancel_requested: bool = False
    ended_at: int | None = None
    settlement: Settlement | None = None
    """What ended it, if a node did."""
    may_be_queued: bool = False
    """Due while its queue was paused: a store may make it ready then, or when the queue is resumed."""
    log: list[str] = field(default_factory=list)

    @property
    def place(self) -> tuple[int, str]:
        return self.rank, self.spec.id

    @property
    def is_live(self) -> bool:
        return not self.state.is_final

    @property
    def possible_states(self) -> frozenset[JobState]:
        """Where it may be."""
        return WAITING if self.may_be_queued else frozenset({self.state})

    def wait(self, run_at: int | None, rank: int, now: int) -> None:
        """Wait for its time, or in its queue."""
        self.may_be_queued = False
        self.state = JobState.DELAYED if run_at is not None and run_at > now else JobState.QUEUED
        self.rank, self.token, self.cancel_requested = rank, "", False
        self.available_at = run_at if run_at is not None else self.available_at

    def end(self, state: JobState, now: int, settlement: Settlement | None = None) -> None:
        self.state, self.ended_at, self.settlement, self.token = state, now, settlement, ""
        self.cancel_requested, self.may_be_queued = False, False


class Model:
    """One queue."""

    def __init__(self) -> None:
        self.jobs: dict[str, ModelJob] = {}
        self.pulses: set[str] = set()
        """Nodes that have one."""
        self.is_paused = False
        self.successes: set[tuple[str, str]] = set()
        """Which tokens ended which jobs in success."""

    def holder_of(self, unique_key: str | None) -> ModelJob | None:
        live = (job for job in self.jobs.values() if job.is_live and job.spec.unique_key == unique_key)
        return next(live, None) if unique_key is not None else None

    def enqueue(self, asked: JobSpec, now: int) -> Admission:
        holder = self.holder_of(asked.unique_key)
        if holder:
            return Admission(holder.spec.id, is_new=False)
        ready_at = now if asked.run_at is None else asked.run_at
        job = ModelJob(asked, JobState.QUEUED, 0, ready_at)
        job.wait(ready_at, rank_of(asked.priority, ready_at), now)
        self.jobs[asked.id] = job
        return Admission(asked.id, is_new=True)

    def due(self, now: int) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job.state is JobState.DELAYED and job.available_at <= now]

    def next_due(self) -> int | None:
        return min((job.available_at for job in self.jobs.values() if job.state is JobState.DELAYED), default=None)

    def claim(self, token: str, limit: int, now: int) -> list[Claim]:
        for job in self.due(now):
            job.state = JobState.DELAYED if self.is_paused else JobState.QUEUED
            job.may_be_queued = self.is_paused
        if self.is_paused:
            return []
        locks = {job.spec.lock_key for job in self.running()} - {None}
        claims: list[Claim] = []
        for job in sorted(self.in_state(JobState.QUEUED), key=lambda job: job.place):
            if len(claims) == limit:
                break
            if job.spec.lock_key in locks:
                continue
            locks |= {job.spec.lock_key} - {None}
            claims.append(Claim(job.spec, token, job.rank, job.attempts, job.deaths))
            job.state, job.token = JobState.RUNNING, token
        return claims

    def holds(self, claim: Claim) -> bool:
        job = self.jobs.get(claim.spec.id)
        return job is not None and job.state is JobState.RUNNING and job.token == claim.token

    def carry_out(self, settlement: Settlement, now: int) -> bool:
        """Whether the settlement was accepted."""
        if not self.holds(settlement.claim):
            return False
        job = self.jobs[settlement.claim.spec.id]
        job.attempts, job.deaths = settlement.attempts, settlement.deaths
        if settlement.state is JobState.SUCCEEDED:
            self.successes.add((job.spec.id, job.token))
        if settlement.ending:
            job.end(settlement.state, settlement.ending.ended_at, settlement)
        elif job.cancel_requested:
            job.end(JobState.CANCELLED, now)
        else:
            job.wait(settlement.run_at, settlement.rank, now)
        return True

    def cancel(self, job_id: str, now: int) -> CancelAnswer:
        job = self.jobs.get(job_id)
        if job is None:
            return CancelAnswer.UNKNOWN
        if job.state.is_final:
            return CancelAnswer.FINAL
        if job.state is JobState.RUNNING:
            job.cancel_requested = True
            return CancelAnswer.REQUESTED
        job.end(JobState.CANCELLED, now)
        return CancelAnswer.CANCELLED

    def retry(self, job_id: str, now: int) -> bool:
        job = self.jobs.get(job_id)
        if job is None or job.state not in (JobState.FAILED, JobState.CANCELLED):
            return False
        if self.holder_of(job.spec.unique_key):
            return False
        job.attempts, job.deaths, job.ended_at, job.settlement = 0, 0, None, None
        job.wait(now, rank_of(job.spec.priority, now), now)
        return True

    def in_state(self, *states: JobState) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job.state in states]

    def running(self, node: str | None = None) -> list[ModelJob]:
        jobs = self.in_state(JobState.RUNNING)
        return [job for job in jobs if node is None or node_of_token(job.token) == node]

    def put_back(self, jobs: list[ModelJob], now: int) -> None:
        """Their node does not run them: they return as they were, unless they were to be cancelled."""
        for job in jobs:
            if job.cancel_requested:
                job.end(JobState.CANCELLED, now)
            else:
                job.wait(None, job.rank, now)

    def to_trim(self, ended_before: int, keep: int) -> int:
        """How many ended jobs have a reason to be forgotten."""
        ended = self.in_state(*FINAL_STATES)
        old = sum(1 for job in ended if (job.ended_at or 0) < ended_before)
        return max(old, len(ended) - keep)


def without_fences(claims: list[Claim]) -> list[Claim]:
    """Without what the model does not keep: fencing numbers, and what is told of earlier attempts."""
    return [structs.replace(claim, fence=0, past=()) for claim in claims]


def outcomes() -> st.SearchStrategy[Outcome]:
    return st.sampled_from([succeeded({"n": 1}), failed("broken"), refused("bad", "never"), cancelled(), INTERRUPTED])


Wish = tuple[int | None, int, str | None, str | None]
"""Delay, priority, unique key and lock key of a job."""


def wishes() -> st.SearchStrategy[Wish]:
    return st.tuples(
        st.sampled_from([None, 0, 8, 40, 1_000, 5_000]),
        st.integers(-1, 1),
        st.sampled_from([None, None, None, "u1", "u2"]),
        st.sampled_from([None, None, "l1", "l2"]),
    )


class StoreMachine(RuleBasedStateMachine):
    """One run: a store, its model, and the steps between which they must not come apart."""

    open_store: OpenStore

    @initialize(wishes=st.lists(wishes(), min_size=5, max_size=10))
    def begin(self, wishes: list[Wish]) -> None:
        self.store: Store = self.open_store()
        self.model = Model()
        self.now = NOW
        self.queue = new_queue()
        self.nodes = [new_node() for _ in range(NODES)]
        self.ids: list[str] = []
        self.claims: list[Claim] = []
        """All claims ever given, the stale ones too."""
        self.last_fence = 0
        self.enqueue(wishes)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()

    # -- steps -----------------------------------------------------------------------------------------------------

    @rule(step=st.sampled_from(STEPS_MS))
    def time_passes(self, step: int) -> None:
        self.now += step

    @rule(wishes=st.lists(wishes(), min_size=1, max_size=5))
    def enqueue(self, wishes: list[Wish]) -> None:
        specs = [
            spec(
                self.queue,
                now=self.now,
                run_at=None if delay is None else self.now + delay,
                priority=priority,
                unique_key=unique_key,
                lock_key=lock_key,
            )
            for delay, priority, unique_key, lock_key in wishes
        ]

        answers = self.store.enqueue_jobs(specs, now=self.now)

        assert answers == [self.model.enqueue(each, self.now) for each in specs]
        self.ids += [each.id for each in specs]

    @rule(node=st.integers(0, NODES - 1), limit=st.integers(1, 4))
    def claim(self, node: int, limit: int) -> None:
        token = token_of(self.nodes[node])

        answer = self.store.claim_jobs(self.queue, token=token, limit=limit, now=self.now)

        assert without_fences(answer.claims) == self.model.claim(token, limit, self.now)
        assert self.model.is_paused or answer.next_due == self.model.next_due()
        self.given(node, answer.claims)

    @precondition(lambda self: self.model.running())
    @rule(node=st.integers(0, NODES - 1), limit=st.integers(1, 3), outcome=outcomes())
    def finish_and_claim(self, node: int, limit: int, outcome: Outcome) -> None:
        token = token_of(self.nodes[node])
        mine = [claim for claim in self.held_claims() if node_of_token(claim.token) == self.nodes[node]]
        settlements = [self.settled(claim, outcome, attempts=2) for claim in mine]

        answer = self.store.finish_and_claim_jobs(self.queue, settlements, token=token, limit=limit, now=self.now)

        assert all(self.model.carry_out(each, self.now) for each in settlements)
        assert answer.refused == frozenset()
        assert without_fences(answer.claims) == self.model.claim(token, limit, self.now)
        self.given(node, answer.claims)

    @precondition(lambda self: self.model.running())
    @rule(pick=st.integers(0, 1_000), outcome=outcomes(), attempts=st.integers(1, 3), is_repeated=st.booleans())
    def finish(self, pick: int, outcome: Outcome, attempts: int, is_repeated: bool) -> None:
        settlement = self.settled(self.held_claim(pick), outcome, attempts)

        for _ in range(1 + is_repeated):
            assert self.store.finish_jobs(self.queue, [settlement], now=self.now) == frozenset()

        assert self.model.carry_out(settlement, self.now)

    @rule(node=st.integers(0, NODES - 1), ends=st.lists(st.none() | outcomes(), min_size=2, max_size=6))
    def work(self, node: int, ends: list[Outcome | None]) -> None:
        """A node claims, ends some of what it was given, and holds the rest."""
        before = len(self.claims)
        self.claim(node, len(ends))
        settlements = [
            self.settled(claim, end, attempts=2)
            for claim, end in zip(self.claims[before:], ends, strict=False)
            if end is not None
        ]

        assert self.store.finish_jobs(self.queue, settlements, now=self.now) == frozenset()

        assert all(self.model.carry_out(each, self.now) for each in settlements)

    @precondition(lambda self: self.stale_claims())
    @rule(pick=st.integers(0, 1_000))
    def a_zombie_writes(self, pick: int) -> None:
        stale = self.stale_claims()
        claim = stale[pick % len(stale)]
        node = node_of_token(claim.token)

        assert self.store.append_logs([log_batch(claim, "boo", now=self.now)]) == {claim.spec.id}
        assert self.store.finish_jobs(self.queue, [succeed(claim, self.now)], now=self.now) == {claim.spec.id}
        renewal = renew(self.store, self.queue, node, claim)

        assert (renewal.lost, renewal.cancelled) == ([claim.spec.id], [])
        self.model.pulses.add(node)

    @precondition(lambda self: self.model.running())
    @rule(pick=st.integers(0, 1_000))
    def log(self, pick: int) -> None:
        claim = self.held_claim(pick)
        line = f"{len(self.claims)} at {self.now}"

        assert self.store.append_logs([log_batch(claim, line, now=self.now)]) == frozenset()

        self.model.jobs[claim.spec.id].log.append(line)
        assert messages_of(self.store, claim.spec.id) == self.model.jobs[claim.spec.id].log

    @rule(node=st.integers(0, NODES - 1))
    def renew(self, node: int) -> None:
        uuid = self.nodes[node]
        mine = [claim for claim in self.held_claims() if node_of_token(claim.token) == uuid]
        before = self.store.read_pulses(self.queue).get(uuid)

        renewal = renew(self.store, self.queue, uuid, *mine)

        assert renewal.lost == []
        cancelled_ids = [job.spec.id for job in self.model.running(uuid) if job.cancel_requested]
        assert sorted(renewal.cancelled) == sorted(cancelled_ids)
        self.model.pulses.add(uuid)
        assert self.store.read_pulses(self.queue)[uuid] != before

    @rule(node=st.integers(0, NODES - 1), known=st.integers(0, 3))
    def recover(self, node: int, known: int) -> None:
        mine = self.model.running(self.nodes[node])
        held = {job.spec.id: job.token for job in mine[:known]}

        assert self.store.recover_claims(self.queue, self.nodes[node], held, floor=0, now=self.now) == len(mine[known:])

        self.model.put_back(mine[known:], self.now)

    @rule(node=st.integers(0, NODES - 1))
    def leave(self, node: int) -> None:
        self.store.leave_queue(self.queue, self.nodes[node], floor=0, now=self.now)

        self.model.put_back(self.model.running(self.nodes[node]), self.now)
        self.model.pulses.discard(self.nodes[node])

    @rule(node=st.integers(0, NODES - 1), on_node_death=st.sampled_from(OnNodeDeath))
    def reclaim(self, node: int, on_node_death: OnNodeDeath) -> None:
        uuid = self.nodes[node]
        held = claims_of(self.store, self.queue, uuid)
        assert {claim.spec.id for claim in held} == {job.spec.id for job in self.model.running(uuid)}
        assert all(claim in without_fences(self.claims) for claim in without_fences(held))
        if not held:
            return
        settlements = [die(claim, self.now, on_node_death) for claim in held]

        assert reclaim(self.store, *settlements, now=self.now) == frozenset()

        assert all(self.model.carry_out(each, self.now) for each in settlements)

    @precondition(lambda self: self.model.running())
    @rule(pick=st.integers(0, 1_000))
    def reclaim_from_one_who_speaks_up(self, pick: int) -> None:
        claim = self.held_claim(pick)
        node = node_of_token(claim.token)
        seen = self.store.read_pulses(self.queue)[node]
        renew(self.store, self.queue, node, claim)

        refused_ids = self.store.reclaim_jobs(self.queue, [die(claim, self.now)], node=node, pulse=seen, now=self.now)

        assert refused_ids == {claim.spec.id}

    @precondition(lambda self: self.ids)
    @rule(picks=st.lists(st.integers(0, 1_000), min_size=1, max_size=3, unique=True))
    def cancel(self, picks: list[int]) -> None:
        ids = self.picked_ids(picks)

        answers = self.store.cancel_jobs(ids, now=self.now)

        assert answers == [self.model.cancel(job_id, self.now) for job_id in ids]

    @precondition(lambda self: self.ids)
    @rule(picks=st.lists(st.integers(0, 1_000), min_size=1, max_size=3, unique=True))
    def retry(self, picks: list[int]) -> None:
        ids = self.picked_ids(picks)

        answers = self.store.retry_jobs(ids, now=self.now)

        assert answers == [self.model.retry(job_id, self.now) for job_id in ids]

    @precondition(lambda self: self.ids)
    @rule(pick=st.integers(0, 1_000))
    def delete(self, pick: int) -> None:
        (job_id,) = self.picked_ids([pick])
        job = self.model.jobs.get(job_id)
        is_ended = job is not None and job.state.is_final

        assert self.store.delete_jobs([job_id]) == [is_ended]

        if is_ended:
            del self.model.jobs[job_id]

    @rule()
    def pause(self) -> None:
        if not self.model.is_paused:
            self.pause_or_resume()

    @precondition(lambda self: self.model.is_paused)
    @rule()
    def resume(self) -> None:
        self.pause_or_resume()

    def pause_or_resume(self) -> None:
        self.model.is_paused = not self.model.is_paused
        if self.model.is_paused:
            self.store.pause_queue(self.queue)
        else:
            self.store.resume_queue(self.queue)

        assert self.store.paused_queues() == ({self.queue} if self.model.is_paused else frozenset())

    @rule(age=st.sampled_from([0, 1_000, 20_000]), keep=st.integers(0, 6))
    def trim(self, age: int, keep: int) -> None:
        number = self.model.to_trim(self.now - age, keep)

        assert self.store.trim_history(self.queue, ended_before=self.now - age, keep=keep, limit=1_000) == number

        # Which ones of those that ended at the same instant are kept is the store's choice.
        ended = self.model.in_state(*FINAL_STATES)
        found = self.store.find_jobs([job.spec.id for job in ended])
        gone = [job for job, still in zip(ended, found, strict=True) if still is None]
        kept = [job for job, still in zip(ended, found, strict=True) if still is not None]
        assert len(gone) == number
        assert max((job.ended_at or 0 for job in gone), default=0) <= min(
            (job.ended_at or 0 for job in kept), default=self.now
        )
        for job in gone:
            assert messages_of(self.store, job.spec.id) == []
            del self.model.jobs[job.spec.id]

    @rule(limit=st.integers(1, 5))
    def list_everything(self, limit: int) -> None:
        assert sorted(listed(self.store, JobQuery(queue=self.queue), limit=limit)) == sorted(self.model.jobs)

    @rule()
    def bring_everything_to_its_end(self) -> None:
        """No job is stuck: with time and a node that lives, all of them come to their end, in order."""
        if self.model.is_paused:
            self.pause_or_resume()
        self.now += 1_000_000
        for node in range(NODES):
            self.reclaim(node, OnNodeDeath.REQUEUE)

        while self.model.in_state(*WAITING):
            token = token_of(self.nodes[0])
            claims = self.store.claim_jobs(self.queue, token=token, limit=3, now=self.now).claims
            assert without_fences(claims) == self.model.claim(token, 3, self.now) != []
            self.given(0, claims)
            settlements = [succeed(each, self.now) for each in claims]
            assert self.store.finish_jobs(self.queue, settlements, now=self.now) == frozenset()
            assert all(self.model.carry_out(each, self.now) for each in settlements)

    # -- what always holds -----------------------------------------------------------------------------------------

    @invariant()
    def who_claimed_or_renewed_has_a_pulse(self) -> None:
        assert self.store.read_pulses(self.queue).keys() == self.model.pulses

    @invariant()
    def every_job_is_as_the_model_says(self) -> None:
        for job_id, found in zip(self.ids, self.store.find_jobs(self.ids), strict=True):
            expected = self.model.jobs.get(job_id)
            if expected is None:
                assert found is None
            else:
                assert found is not None, f"job {job_id} is lost"
                self.check_job(found, expected)

    @invariant()
    def the_counts_are_right(self) -> None:
        found = counts(self.store, self.queue)
        jobs = self.model.jobs.values()

        for state in JobState:
            least = sum(job.possible_states == {state} for job in jobs)
            most = sum(state in job.possible_states for job in jobs)
            assert least <= found.get(state, 0) <= most
        assert sum(found.values()) == len(jobs)

    def check_job(self, found: Job, expected: ModelJob) -> None:
        assert found.spec == expected.spec
        assert found.state in expected.possible_states
        is_running = expected.state is JobState.RUNNING
        assert (found.attempts, found.deaths) == (expected.attempts + is_running, expected.deaths)
        assert found.ended_at == expected.ended_at
        if is_running:
            assert (found.token, found.cancel_requested) == (expected.token, expected.cancel_requested)
        if expected.state in WAITING:
            # A rank keeps the ready time in steps of 16 ms only.
            assert abs(found.available_at - expected.available_at) < 16
        ending = expected.settlement.ending if expected.settlement else None
        if ending:
            assert (found.results, found.errors, found.started_at) == (ending.results, ending.errors, ending.started_at)

    # -- small things ----------------------------------------------------------------------------------------------

    def given(self, node: int, claims: list[Claim]) -> None:
        """Remember what a node was given, which is a sign of life; a claim of nothing is none."""
        self.claims += claims
        if claims:
            self.model.pulses.add(self.nodes[node])
        for claim in claims:
            assert bool(claim.fence) == (claim.spec.lock_key is not None)
            assert not claim.fence or claim.fence > self.last_fence
            self.last_fence = max(self.last_fence, claim.fence)

    def settled(self, claim: Claim, outcome: Outcome, attempts: int) -> Settlement:
        policy = RetryPolicy(attempts=attempts, delay_ms=1_000, factor=2.0, jitter=0.0)
        return settle(claim, outcome, policy=policy, started_at=self.now, now=self.now, chance=0.0)

    def held_claims(self) -> list[Claim]:
        return [claim for claim in self.claims if self.model.holds(claim)]

    def held_claim(self, pick: int) -> Claim:
        held = self.held_claims()
        return held[pick % len(held)]

    def stale_claims(self) -> list[Claim]:
        """Claims that are no longer held, without those that ended in success: succeeding again is a repetition."""
        return [
            claim
            for claim in self.claims
            if not self.model.holds(claim) and (claim.spec.id, claim.token) not in self.model.successes
        ]

    def picked_ids(self, picks: list[int]) -> list[str]:
        return list(dict.fromkeys(self.ids[pick % len(self.ids)] for pick in picks))


# A file and a cluster run the same statements and scripts as these two, only slower.
@pytest.mark.stores(*EXAMPLES)
def test_the_store_agrees_with_its_model(store_kind: str, fresh_store: OpenStore) -> None:
    class Machine(StoreMachine):
        open_store = staticmethod(fresh_store)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES[store_kind],
            stateful_step_count=STEPS,
            deadline=None,
            print_blob=True,
            phases=PHASES[store_kind],
            suppress_health_check=list(HealthCheck),
        ),
    )
