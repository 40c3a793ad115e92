"""Everything that happens in a node is told, and told once."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from rota.clock import NodeClock
from rota.engine.engine import Engine
from rota.engine.events.events import Events
from rota.engine.housekeeping.retention import Retention
from rota.engine.liveness.draining import request_drain
from rota.engine.liveness.presence import Presence
from rota.engine.liveness.watchdog import Watchdog
from rota.engine.node.duty import Round
from rota.engine.node.health import Health
from rota.engine.node.news import News
from rota.engine.node.node import Node
from rota.engine.node.options import WORKER, NodeOptions
from rota.engine.observation.happenings import (
    ClaimLost,
    ClaimsTaken,
    ClockFollowed,
    ClockJumped,
    DrainRequested,
    DutyFailed,
    EventsJudged,
    ExecutorFailed,
    Fault,
    HistoryTrimmed,
    JobsClaimed,
    JobsSettled,
    LeaveFailed,
    LockedRunStopped,
    LogLinesDropped,
    LogLinesWritten,
    NodeJoined,
    NodeLeft,
    OrphansFound,
    QueueForgotten,
    RunLeftBehind,
    SchedulePaused,
    ScheduleUndecided,
    SettlementRefused,
    StoreAnswered,
    StoreFailed,
    StoreReplaced,
    TicksDecided,
    TroubleBegan,
    TroubleEnded,
)
from rota.engine.schedules.ticker import Ticker
from rota.engine.worker.times import WorkerTimes
from rota.errors import InvalidInput, NodeStrained, StoreFull, StoreUnavailable
from rota.model.events.evaluation import Verdict
from rota.model.job import JobState
from rota.model.job_type import Unique
from rota.model.runs.retry import RetryPolicy
from rota.model.schedules.schedule import TickStatus
from rota.store import Store
from rota.testing import Faults
from tests.contract.building import claim_one, enqueue, new_node, new_queue, spec
from tests.engine.events.installation import EventsInstallation, needs
from tests.engine.job_functions import new_stage
from tests.engine.liveness.watching import Watch
from tests.engine.observation.hearing import Heard
from tests.engine.schedules.installation import MINUTE, SchedulesInstallation
from tests.engine.working import install_plug_in, is_listed, until, working
from tests.installation import Installation
from tests.patience import DEADLINE_S

# What is told does not depend on the store.
pytestmark = pytest.mark.stores("sqlite-file")

HOUR_MS = 4 * 3_600_000
"""Beats and looks are an hour away."""
SHORT_MS = 400


def be_away() -> None:
    raise StoreUnavailable("the store is away")


def break_down() -> None:
    raise RuntimeError("a bug")


# -- jobs ----------------------------------------------------------------------------------------------------------


def test_a_job_that_is_claimed_and_ends(store: Store) -> None:
    async def scene() -> None:
        new_stage()
        heard, installation = Heard(), Installation(store)
        installation.define_python("note")
        async with working(store, observers=heard.observers, dead_after_ms=HOUR_MS) as node:
            (job,) = await installation.ended(installation.enqueue("note", {"text": "x"}))
            await until(lambda: bool(heard.of(JobsSettled)), "the end to be told")

        claimed, settled = heard.the(JobsClaimed), heard.the(JobsSettled)
        assert [one.spec.id for one in claimed.claims] == [job.id]
        assert (claimed.queue, claimed.node) == (settled.queue, settled.node) == (installation.queue, node.uuid)
        (settlement,) = settled.ended
        assert settled.returned == []
        assert (settlement.claim.spec.id, settlement.state) == (job.id, JobState.SUCCEEDED)
        assert settlement.ran == (job.started_at, job.ended_at)
        assert settled.job_types[job.spec.job_type] == "note"

    asyncio.run(scene())


def test_jobs_of_one_exchange_are_told_together(store: Store) -> None:
    async def scene() -> None:
        new_stage()
        heard, installation = Heard(), Installation(store, threads=16)
        installation.define_python("nothing")
        jobs = [installation.enqueue("nothing") for _ in range(16)]
        async with working(store, observers=heard.observers, dead_after_ms=HOUR_MS):
            await installation.ended(*jobs)
            await until(lambda: sum(len(one.ended) for one in heard.of(JobsSettled)) == 16, "all ends to be told")

        assert sorted(one.spec.id for told in heard.of(JobsClaimed) for one in told.claims) == sorted(jobs)
        assert len(heard.of(JobsClaimed)) == 1

    asyncio.run(scene())


def test_a_job_that_returns_to_be_tried_again(store: Store) -> None:
    async def scene() -> None:
        new_stage()
        heard, installation = Heard(), Installation(store)
        installation.define_python("fail_until", retry=RetryPolicy(attempts=2, delay_ms=1))
        async with working(store, observers=heard.observers, dead_after_ms=HOUR_MS):
            await installation.ended(installation.enqueue("fail_until", {"attempt": 2}))
            await until(lambda: len(heard.of(JobsSettled)) == 2, "both runs to be told")

        first, second = heard.of(JobsSettled)
        (returned,) = first.returned
        assert returned.state is JobState.DELAYED
        assert returned.ran is not None
        assert returned.ran[0] <= returned.ran[1]
        assert [one.claim.attempt for one in second.ended] == [2]

    asyncio.run(scene())


def test_an_end_whose_answer_was_lost_is_told_once(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        heard, installation, faults = Heard(), Installation(store), Faults(store)
        installation.define_python("pass_gate")
        async with working(faults.store, observers=heard.observers, dead_after_ms=HOUR_MS):
            job_id = installation.enqueue("pass_gate")
            await until(lambda: stage.inside == 1, "the job to run")
            faults.after("finish_jobs", be_away)
            faults.after("finish_and_claim_jobs", be_away)
            stage.gate.set()
            await installation.ended(job_id)
            await until(lambda: bool(heard.of(JobsSettled)), "the end to be told")

        assert len(heard.the(JobsSettled).ended) == 1
        assert str(heard.the(StoreFailed).error) == "the store is away"
        assert len(heard.of(StoreAnswered)) == 1

    asyncio.run(scene())


def test_a_settlement_that_is_refused(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        heard, installation = Heard(), Installation(store)
        installation.define_python("pass_gate")
        async with working(store, observers=heard.observers, threads=1, dead_after_ms=HOUR_MS) as node:
            job_id = installation.enqueue("pass_gate")
            await until(lambda: stage.inside == 1, "the job to start")
            store.pause_queue(installation.queue)
            assert store.recover_claims(installation.queue, node.uuid, {}, floor=0, now=store.now()) == 1
            stage.gate.set()
            await until(lambda: bool(heard.of(SettlementRefused)), "the refusal")

        assert heard.the(SettlementRefused).job_id == job_id
        assert heard.of(JobsSettled) == []

    asyncio.run(scene())


def test_a_claim_that_is_lost(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        heard, installation = Heard(), Installation(store)
        installation.define_python("pass_gate")
        async with working(store, observers=heard.observers, threads=1, dead_after_ms=SHORT_MS) as node:
            job_id = installation.enqueue("pass_gate")
            await until(lambda: stage.inside == 1, "the job to start")
            store.pause_queue(installation.queue)
            store.recover_claims(installation.queue, node.uuid, {}, floor=0, now=store.now())
            await until(lambda: stage.inside == 0, "the run to be stopped")

        assert heard.the(ClaimLost) == ClaimLost(job_id, node.uuid)

    asyncio.run(scene())


def test_a_claim_that_is_lost_is_told_once_however_long_its_run_takes_to_end(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        heard, installation, faults = Heard(), Installation(store), Faults(store)
        installation.define_python("swallow_cancellation")
        async with working(faults.store, observers=heard.observers, threads=1, dead_after_ms=SHORT_MS) as node:
            job_id = installation.enqueue("swallow_cancellation")
            await until(lambda: stage.inside == 1, "the job to start")
            store.pause_queue(installation.queue)
            store.recover_claims(installation.queue, node.uuid, {}, floor=0, now=store.now())
            await until(lambda: bool(heard.of(ClaimLost)), "the loss to be told")
            beats = faults.calls.count("renew_claims")
            await until(lambda: faults.calls.count("renew_claims") > beats + 2, "more beats")
            stage.gate.set()

        assert heard.the(ClaimLost) == ClaimLost(job_id, node.uuid)

    asyncio.run(scene())


def test_a_run_under_a_lock_that_is_stopped_because_the_store_is_away(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        heard, installation, faults = Heard(), Installation(store), Faults(store)
        installation.define_python("pass_gate", unique=Unique.WHILE_RUNNING)
        # Long enough that it is not stopped before, should the machine be slow.
        async with working(faults.store, observers=heard.observers, dead_after_ms=2_000):
            job_id = installation.enqueue("pass_gate")
            await until(lambda: stage.inside == 1, "the job to start")
            faults.cut_off()
            await until(lambda: stage.inside == 0, "the run to be stopped")
            faults.reconnect()

        assert {one.job_id for one in heard.of(LockedRunStopped)} == {job_id}

    asyncio.run(scene())


def test_a_run_that_is_left_behind(store: Store) -> None:
    async def scene() -> None:
        stage = new_stage()
        heard, installation = Heard(), Installation(store)
        installation.define_python("swallow_cancellation")
        job_id = installation.enqueue("swallow_cancellation")
        async with working(store, observers=heard.observers, worker_times=WorkerTimes(abandon_s=0.1)):
            await until(lambda: stage.inside == 1, "the job to run")
        stage.gate.set()
        await until(lambda: stage.inside == 0, "the run to end after all")

        assert heard.the(RunLeftBehind).job_id == job_id

    asyncio.run(scene())


def test_an_executor_that_fails(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install_plug_in(tmp_path, odd="tests.engine.job_functions:RaisesStoreError")

    async def scene() -> None:
        heard, installation = Heard(), Installation(store)
        installation.define("odd", "odd")
        async with working(store, observers=heard.observers):
            job_id = installation.enqueue("odd")
            await installation.ended(job_id)

        assert heard.the(ExecutorFailed) == ExecutorFailed(job_id, "StoreUnavailable")

    asyncio.run(scene())


def test_log_lines_for_which_the_store_has_no_room(store: Store) -> None:
    def be_full() -> None:
        raise StoreFull("no room")

    async def scene() -> None:
        stage = new_stage()
        stage.gate.set()
        heard, installation, faults = Heard(), Installation(store), Faults(store)
        installation.define_python("speak_and_wait")
        async with working(faults.store, observers=heard.observers, dead_after_ms=HOUR_MS):
            faults.before("append_logs", be_full, be_full)
            for _ in range(3):
                await installation.ended(installation.enqueue("speak_and_wait", {"lines": 3}))

        assert str(heard.the(LogLinesDropped).error) == "no room"
        assert heard.the(LogLinesWritten).dropped == 6

    asyncio.run(scene())


def watchdog_of(watch: Watch, heard: Heard) -> Watchdog:
    return Watchdog(
        watch.store,
        watch.definitions,
        node=watch.node,
        clock=watch.clock,
        contact=watch.contact,
        record_contact=watch.record_contact,
        presence=Presence(None),
        observers=heard.observers,
    )


def test_claims_that_are_taken_from_a_dead_node(store: Store) -> None:
    heard, watch = Heard(), Watch(store)
    watch.watchdog = watchdog_of(watch, heard)
    queue, dead = Installation(store).queue, new_node()
    enqueue(store, spec(queue))
    claim_one(store, queue, node=dead)

    watch.watch_it_die(times=2)

    assert heard.the(ClaimsTaken) == ClaimsTaken(queue, dead, 1)


def test_claims_of_unknown_nodes(store: Store) -> None:
    heard, watch = Heard(), Watch(store)
    watch.watchdog = watchdog_of(watch, heard)
    queue, node = Installation(store).queue, new_node()
    enqueue(store, spec(queue))
    claim_one(store, queue, node=node)
    store.forget_pulse(queue, node, pulse=store.read_pulses(queue)[node])

    for _ in range(10_000):  # they are looked for by chance
        watch.look()
        if heard.of(OrphansFound):
            break

    assert heard.the(OrphansFound).queue == queue


def test_history_that_is_forgotten(store: Store) -> None:
    heard, installation = Heard(), SchedulesInstallation(store)
    installation.define()
    installation.schedule(cron="* * * * *")
    installation.pass_time(MINUTE)
    for claim in installation.claim():
        installation.end(claim)
    gone = new_queue()
    job_ids = enqueue(store, spec(gone, now=installation.clock.now()), now=installation.clock.now())
    store.cancel_jobs(job_ids, now=installation.clock.now())
    retention = Retention(store, installation.definitions, max_age_ms=0, max_count=0, observers=heard.observers)

    for _ in range(5):
        installation.clock.advance(1_000)
        retention.run_once(installation.clock.now())

    assert sorted(one.queue for one in heard.of(HistoryTrimmed)) == sorted([installation.queue, gone])
    assert {one.jobs for one in heard.of(HistoryTrimmed)} == {1}
    assert heard.the(QueueForgotten).queue == gone


# -- triggers ------------------------------------------------------------------------------------------------------


@pytest.fixture
def installation(store: Store) -> SchedulesInstallation:
    made = SchedulesInstallation(store)
    made.define()
    return made


def ticker_of(installation: SchedulesInstallation, heard: Heard) -> Ticker:
    return Ticker(installation.store, installation.definitions, node=new_node(), observers=heard.observers)


def test_ticks_that_are_fired_skipped_and_missed(installation: SchedulesInstallation) -> None:
    heard = Heard()
    installation.ticker = ticker_of(installation, heard)
    installation.schedule(name="minutely", cron="* * * * *", overlap="skip", catch_up="none")

    installation.pass_time(2 * MINUTE)
    installation.clock.advance(60 * MINUTE)
    installation.pass_time(1_000)

    told = heard.of(TicksDecided)
    assert {(one.schedule, one.queue) for one in told} == {("minutely", installation.queue)}
    fates = [tick.status for one in told for tick in one.ticks]
    assert fates[:2] == [TickStatus.FIRED, TickStatus.SKIPPED]
    assert TickStatus.MISSED in fates
    assert [tick.nominal for one in told for tick in one.ticks] == [
        row.nominal for row in installation.rows(_only(installation))
    ]


def test_a_tick_whose_job_was_refused_for_its_unique_key_is_told_as_its_row_has_it(
    installation: SchedulesInstallation,
) -> None:
    heard = Heard()
    installation.ticker = ticker_of(installation, heard)
    installation.define("alone", unique=Unique.WHILE_PENDING)
    installation.schedule(job_type="alone", cron="* * * * *", overlap="allow")

    installation.pass_time(3 * MINUTE)

    told = [tick for one in heard.of(TicksDecided) for tick in one.ticks]
    assert [tick.status for tick in told] == [TickStatus.FIRED, TickStatus.SKIPPED, TickStatus.SKIPPED]
    assert told == installation.rows(_only(installation))


def _only(installation: SchedulesInstallation) -> str:
    (entry,) = installation.store.list_schedules(limit=10).entries
    return entry.schedule.uuid


def test_of_two_tickers_one_tells_of_a_tick(installation: SchedulesInstallation) -> None:
    heard = Heard()
    tickers = [ticker_of(installation, heard) for _ in range(2)]
    installation.schedule(cron="* * * * *")

    for _ in range(60):
        installation.clock.advance(1_000)
        for ticker in tickers:
            ticker.run_once(installation.clock.now())

    assert len(heard.the(TicksDecided).ticks) == 1


def test_a_schedule_that_pauses_itself(installation: SchedulesInstallation) -> None:
    heard = Heard()
    installation.ticker = ticker_of(installation, heard)
    installation.schedule(name="careful", cron="* * * * *", pause_on_failure=True)
    installation.pass_time(MINUTE)
    (claim,) = installation.claim()

    installation.end(claim, well=False)
    installation.pass_time(2 * MINUTE)

    paused = heard.the(SchedulePaused)
    assert paused.schedule == "careful"
    assert claim.spec.id in paused.note


def test_a_pause_that_somebody_was_faster_with_is_not_told(installation: SchedulesInstallation) -> None:
    heard, faults = Heard(), Faults(installation.store)
    slow = Ticker(faults.store, installation.definitions, node=new_node(), observers=heard.observers)
    uuid = installation.schedule(cron="* * * * *", pause_on_failure=True)
    installation.pass_time(MINUTE)
    installation.end(installation.claim()[0], well=False)
    installation.clock.advance(MINUTE)

    faults.before("put_schedules", lambda: installation.schedules.pause(uuid, "by hand"))
    slow.run_once(installation.clock.now())

    assert not faults.awaits("put_schedules")
    assert heard.of(SchedulePaused) == []
    assert installation.schedules.find(uuid).schedule.pause_note == "by hand"


def test_a_schedule_that_cannot_be_decided(installation: SchedulesInstallation) -> None:
    heard = Heard()
    installation.ticker = ticker_of(installation, heard)
    installation.schedule(name="orphan", cron="* * * * *")
    installation.store.delete_job_types([installation.definitions.job_type("report").uuid])

    installation.clock.advance(MINUTE)
    installation.tick()

    assert heard.the(ScheduleUndecided).schedule == "orphan"


def test_events_that_are_judged(store: Store) -> None:
    heard, installation = Heard(), EventsInstallation(store)
    installation.events = Events(store, installation.definitions, installation.clock, observers=heard.observers)
    installation.define_configuration("both", needs("FILE", "a"), needs("FILE", "b"))

    installation.post("FILE", "a", 1)
    installation.post("FILE", "nobody", 2)
    answer = installation.post("FILE", "b", 3)

    first, second = heard.of(EventsJudged)
    assert first.configuration == second.configuration == "both"
    assert [one.verdict for one in first.evaluations] == [Verdict.WAITING]
    assert [one.verdict for one in second.evaluations] == [Verdict.TRIGGERED]
    assert (first.jobs, second.jobs) == ([], [one.job for one in answer.triggered])


# -- nodes ---------------------------------------------------------------------------------------------------------


def test_a_node_that_joins_and_leaves(store: Store) -> None:
    async def scene() -> None:
        heard, installation = Heard(), Installation(store)
        roles = frozenset({WORKER})
        async with working(store, observers=heard.observers, roles=roles, dead_after_ms=HOUR_MS) as node:
            assert heard.the(NodeJoined) == NodeJoined(node.uuid, installation.queue, frozenset({WORKER}))
            assert heard.of(NodeLeft) == []

        assert heard.the(NodeLeft) == NodeLeft(node.uuid, installation.queue)
        assert [type(one) for one in heard.told] == [NodeJoined, NodeLeft]

    asyncio.run(scene())


def test_a_node_that_cannot_take_leave(store: Store) -> None:
    async def scene() -> None:
        heard, faults = Heard(), Faults(store)
        async with working(faults.store, observers=heard.observers, dead_after_ms=HOUR_MS) as node:
            faults.before("leave_queue", be_away)

        failed = heard.the(LeaveFailed)
        assert (failed.node, str(failed.error)) == (node.uuid, "the store is away")
        assert heard.of(NodeLeft) == []

    asyncio.run(scene())


def test_a_node_that_is_asked_to_drain(store: Store) -> None:
    async def scene() -> None:
        heard = Heard()
        node = Node.open(store, NodeOptions(dead_after_ms=SHORT_MS), observers=heard.observers)
        run = asyncio.create_task(node.run())
        await until(lambda: is_listed(store, node), "the node to join")
        request_drain(store, node.uuid)
        await asyncio.wait_for(run, DEADLINE_S)

        assert len(heard.of(DrainRequested)) == 1

    asyncio.run(scene())


def test_a_request_to_drain_is_told_once_however_long_the_running_jobs_take(store: Store) -> None:
    async def scene() -> None:
        stage, heard, faults = new_stage(), Heard(), Faults(store)
        installation = Installation(store)
        installation.define_python("pass_gate")
        node = Node.open(faults.store, NodeOptions(dead_after_ms=SHORT_MS), observers=heard.observers)
        run = asyncio.create_task(node.run())
        installation.enqueue("pass_gate")
        await until(lambda: stage.inside == 1, "the job to run")
        request_drain(store, node.uuid)
        await until(lambda: bool(heard.of(DrainRequested)), "the request to be heard")
        faults.calls.clear()
        await until(lambda: faults.calls.count("troubles") > 2, "the node to hear of its store again")
        stage.gate.set()
        await asyncio.wait_for(run, DEADLINE_S)

        assert len(heard.of(DrainRequested)) == 1

    asyncio.run(scene())


def test_a_store_that_was_emptied(store: Store) -> None:
    async def scene() -> None:
        heard = Heard()
        async with working(store, observers=heard.observers, dead_after_ms=SHORT_MS):
            store.put_setting("epoch", "another")
            await until(lambda: bool(heard.of(StoreReplaced)), "the node to notice")

        assert len(heard.of(StoreReplaced)) == 1

    asyncio.run(scene())


class Skewed(Faults):
    """A store whose clock a test sets."""

    skew_ms = 0

    def now(self) -> int:
        return self.real.now() + self.skew_ms


def test_a_clock_that_drifts_is_followed_and_no_news(store: Store) -> None:
    heard, skewed, health = Heard(), Skewed(store), Health()
    clock = NodeClock(skewed.now)
    news = News(Engine(skewed.store, clock, observers=heard.observers), clock, node=new_node(), health=health)
    news.hear(Round())
    heard.told.clear()
    before = clock.offset_ms

    skewed.skew_ms = 500
    news.hear(Round())

    assert clock.offset_ms > before
    assert not heard.of(ClockJumped)
    assert not heard.of(ClockFollowed)


def test_a_clock_that_jumps_and_is_followed(store: Store) -> None:
    async def scene() -> None:
        heard, skewed = Heard(), Skewed(store)
        async with working(skewed.store, observers=heard.observers, dead_after_ms=SHORT_MS):
            skewed.skew_ms = 3_600_000
            await until(lambda: bool(heard.of(ClockFollowed)), "the node to follow")

        assert 3_590_000 < heard.the(ClockJumped).ms < 3_610_000
        assert 3_590_000 < heard.the(ClockFollowed).ms < 3_610_000

    asyncio.run(scene())


def test_trouble_is_told_when_it_begins_and_when_it_is_over() -> None:
    heard = Heard()
    health = Health(heard.observers)

    health.strained(NodeStrained("no more descriptors: 1"))
    health.strained(NodeStrained("no more descriptors: 2"))
    health.strain_ended()
    health.strain_ended()

    assert heard.the(TroubleBegan).finder == "node"
    assert "no more descriptors: 1" in heard.the(TroubleBegan).trouble
    assert heard.the(TroubleEnded) == TroubleEnded("node")


def test_a_store_that_fails_is_told_once_until_it_answers() -> None:
    heard = Heard()
    health = Health(heard.observers)

    for _ in range(2):
        health.store_failed("worker", StoreUnavailable("away"))
        health.store_failed("worker", StoreUnavailable("still away"))
        health.store_answered("worker")
        health.store_answered("worker")

    assert [type(one) for one in heard.told] == [StoreFailed, StoreAnswered] * 2


def refuse() -> None:
    raise InvalidInput("field", "is bad")


@pytest.mark.parametrize("fault", [break_down, refuse])
def test_a_duty_that_fails(store: Store, fault: Callable[[], None]) -> None:
    async def scene() -> None:
        heard, faults = Heard(), Faults(store)
        faults.before("read_pulses", fault)
        async with working(faults.store, observers=heard.observers, dead_after_ms=SHORT_MS):
            await until(lambda: faults.calls.count("read_pulses") > 1, "another round")

        assert heard.the(DutyFailed).duty == "Watchdog"

    asyncio.run(scene())


def test_a_fault_of_the_worker(store: Store) -> None:
    async def scene() -> None:
        new_stage()
        heard, installation, faults = Heard(), Installation(store), Faults(store)
        installation.define_python("nothing")
        async with working(faults.store, observers=heard.observers, dead_after_ms=HOUR_MS):
            faults.before("finish_and_claim_jobs", break_down)
            await installation.ended(installation.enqueue("nothing"))

        fault = heard.the(Fault)
        assert (fault.part, fault.what, str(fault.error)) == ("worker", "exchange with the store failed", "a bug")

    asyncio.run(scene())


def test_a_fault_of_the_heart(store: Store) -> None:
    async def scene() -> None:
        heard, faults = Heard(), Faults(store)
        async with working(faults.store, observers=heard.observers, dead_after_ms=200):
            faults.before("beat", break_down)
            before = faults.calls.count("beat")
            await until(lambda: faults.calls.count("beat") > before + 1, "another beat")

        assert (heard.the(Fault).part, heard.the(Fault).what) == ("node", "beat failed")

    asyncio.run(scene())
