"""The worker: claims jobs of one queue, runs them, settles them.

    claim   ask the store for jobs, together with the settlements of those that ended: one round trip for both
    run     a free slot takes the next claimed job and awaits its executor
    settle  the outcome becomes a settlement, which goes out with the next claim

Slots are lasting tasks, one per job that may run at a time. A slot awaits an executor directly, so a job costs no
task, no timer and no thread of its own unless it needs one. Everything here happens on the event loop; the store is
called through a store thread, and a listener thread waits for news from it.

Its parts: `Demand` (how many jobs it wants, and when it asks), `Exchange` (a conversation with the store), `Hands` (the
jobs it has), `Runner` (from an attempt to its outcome), `PendingSettlements` (what it has to tell), `Telling` (when it
does), `HeldClaims` (what the heart renews), `Slots` (the tasks that run jobs), `Stopping` (how it comes to its end).
"""

import asyncio
import random
from contextlib import suppress

from rota.clock import Clock
from rota.engine.bridge.store_thread import StoreThread
from rota.engine.definitions.definitions import Definitions
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.node.health import Health
from rota.engine.observation.happenings import Fault
from rota.engine.observation.observers import Observers
from rota.engine.worker.attempt import Attempt, Runner, Stop
from rota.engine.worker.demand.demand import Demand
from rota.engine.worker.exchange import Exchange, Request, earliest_due
from rota.engine.worker.hands import Hands
from rota.engine.worker.held_claims import HeldClaims
from rota.engine.worker.listener import Listener
from rota.engine.worker.logs.log_writer import LogWriter
from rota.engine.worker.pending_settlements import PendingSettlements, not_settled, tellable
from rota.engine.worker.slots import Slots
from rota.engine.worker.stopping import Stopping
from rota.engine.worker.telling import Telling
from rota.engine.worker.times import WorkerTimes
from rota.errors import NodeStrained, StoreError
from rota.model.runs.outcome import INTERRUPTED, Outcome
from rota.model.runs.settlement import settle
from rota.store.contract.claims import Claims
from rota.store.contract.queues import Cancellation
from rota.store.contract.store import Store

MAX_BUFFERED_S = 0.1
"""A job that was claimed ahead and found no free slot for this long goes back, because others may be idle."""
TOLD_AFTER_MS = 50
"""Of a job that was claimed ahead and runs for this long, the store is told that it has begun."""
_LOOK_S = 0.05
"""What is in hand is looked after this often at most."""


class Worker:
    """Serves one queue with a number of slots."""

    def __init__(
        self,
        store: Store,
        *,
        queue: str,
        node: str,
        slots: int,
        definitions: Definitions,
        executors: ExecutorRegistry,
        clock: Clock,
        health: Health,
        observers: Observers,
        stop_grace_s: float,
        dead_after_ms: int,
        times: WorkerTimes,
    ) -> None:
        self._slots = Slots(slots, serve=self._serve)
        self._clock = clock
        self._health = health
        self._observers = observers
        self._changed = asyncio.Event()
        self._thread = StoreThread("rota-store")
        self._listener = Listener(store.waker(queue, node), on_news=self._on_news)
        self._log_writer = LogWriter(
            store, clock=clock, health=health, observers=observers, on_written=self._on_lines_written
        )
        self._logs = self._log_writer.logs
        self._demand = Demand(slots, at=clock.monotonic(), idle_check_s=times.idle_check_s)
        self._hands = Hands(on_end=self._settle, on_change=self._changed.set)
        self._exchange = Exchange(
            store,
            self._thread,
            queue=queue,
            node=node,
            clock=clock,
            log_writer=self._log_writer,
            definitions=definitions,
            observers=observers,
            retry_s=times.retry_s,
        )
        self._runner = Runner(
            definitions, executors, self._logs, self._thread, observers=observers, on_strain=self._ran_short
        )
        self._pending = PendingSettlements(self._logs)
        self._telling = Telling(on_due=self._changed.set)
        self.claims = HeldClaims(
            self._hands, node=node, clock=clock, dead_after_s=dead_after_ms / 1000, observers=observers
        )
        """What the heart renews."""
        self.stopping = Stopping(
            self._hands,
            grace_s=stop_grace_s,
            abandon_s=times.abandon_s,
            observers=observers,
            on_change=self._on_stopping,
        )
        self._abandon_s = times.abandon_s
        self._answered_at = clock.monotonic()
        self._runs = self._run_ms = 0
        """How many runs ended since the last exchange, and how long they took together."""
        self._looked_at = self._answered_at
        self._begun: list[Attempt] = []
        """Claimed ahead, and running since a while; the store is to be told."""

    # -- what the node asks ----------------------------------------------------------------------------------------

    @property
    def running(self) -> int:
        """Jobs that its slots run. What was claimed ahead is still queued."""
        return self._hands.running

    @property
    def holds_lock(self) -> bool:
        """Whether a run under a lock may go on until the process has ended. Asked from any thread."""
        return bool(self.stopping.left_locked) or any(one.claim.spec.lock_key is not None for one in self._hands)

    @property
    def slots(self) -> int:
        """How many jobs it may run at a time."""
        return self._slots.count

    def resize(self, slots: int) -> None:
        """Run more jobs at a time, or fewer: those that are too many run to their end, and none follows them."""
        self._slots.resize(slots)
        self._demand.resize(slots)
        self._hands.wake_slots(self._slots.surplus)
        self._demand.unanswered()  # there may be jobs for which there was no room
        self._changed.set()

    @property
    def serial(self) -> int:
        """Of the last claim."""
        return self._exchange.serial

    async def run(self) -> None:
        """Work until it is to stop (`stopping`) and nothing is left in hand."""
        self._slots.open()
        self.claims.watch()
        log_writing = asyncio.create_task(self._log_writer.run(), name="rota-logs")
        self._listener.start()
        is_in_order = False
        try:
            is_in_order = await self._exchange_until_done()
        finally:
            self.claims.close()
            log_writing.cancel()
            for attempt in self._hands:
                attempt.stop(Stop.INTERRUPTED)
            ending = {log_writing, *self._slots.close()}
            await self._thread.call(self._listener.stop)  # which may wait for the store
            # A run that was left behind has a slot which never ends; others may not be known yet to be such.
            await asyncio.wait(ending, timeout=0 if self.stopping.has_abandoned else self._abandon_s)
            await asyncio.wait({log_writing})
            if is_in_order:
                await self._signal_others()
            await self._thread.end()

    # -- claim -----------------------------------------------------------------------------------------------------

    async def _exchange_until_done(self) -> bool:
        """The main loop: exchange with the store whenever there is something to tell or to ask. Returns whether the
        store answered at last."""
        while not self._is_done():
            if not await self._wait_for_reason():
                continue
            request = self._make_request()
            if not request:
                continue
            asked_at = self._clock.monotonic()
            self._tell_pace(asked_at)
            try:
                answer = await self._exchange.hold(request, held=self._held(request))
            except Exception as error:
                # Whatever it is, it must not end the node; what is no trouble of the store is a fault of ours.
                await self._keep(request, error)
            else:
                self._receive(request, answer, asked_at)
        return self._exchange.failures == 0

    def _is_done(self) -> bool:
        """Nothing is left in hand; or the node must go and the store does not listen, and others will notice."""
        if self.stopping.is_at_once and self._exchange.failures > 1:
            return True
        return self.stopping.is_draining and not self._hands and not self._pending

    async def _wait_for_reason(self) -> bool:
        """Wait until something has to be told or asked; whether it has is told, since it may have been in vain."""
        demand, at, now = self._demand, self._clock.monotonic(), self._clock.now()
        if at - self._looked_at >= _LOOK_S:
            self._look_after_hands(at, now)
        if demand.is_relieved(at):
            self._health.strain_ended()
        if self._has_reason(at):
            self._changed.clear()
            return True
        has_room = demand.room(len(self._hands), at) > 0
        if self._listener.listen(wants_jobs=has_room, timeout_s=demand.longest_wait_s(now, has_room=has_room)):
            self._thread.post(self._listener.nudge)
        is_busy = bool(self._hands) or self._logs.has_lines()
        await self._pause(demand.pause_s(at, now, is_busy=is_busy, has_room=has_room))
        at = self._clock.monotonic()
        demand.time_passed(at, self._clock.now())
        return self._has_reason(at)

    def _has_reason(self, at: float) -> bool:
        has_to_tell = self._pending.can_be_told and not self._telling.may_wait(has_more=bool(self._hands.waiting))
        return bool(has_to_tell or self._demand.must_signal or self._wanted(at) or self._begun)

    async def _pause(self, longest_s: float) -> None:
        """Until something changes, or it is time to look after what is in hand."""
        timer = asyncio.get_running_loop().call_later(longest_s, self._changed.set)
        try:
            await self._changed.wait()
        finally:
            timer.cancel()
        self._changed.clear()

    def _wanted(self, at: float) -> int:
        return self._demand.wanted(len(self._hands), at, has_idle_slot=self._hands.has_idle_slot)

    def _make_request(self) -> Request:
        self._telling.told()
        settlements, batches = self._pending.take(at_once=self.stopping.is_at_once)
        begun, self._begun = [one for one in self._begun if one.task is not None], []
        for attempt in begun:
            attempt.is_known_to_run = True
        return Request(
            settlements=settlements,
            batches=batches,
            begun=[one.claim for one in begun],
            wanted=self._wanted(self._clock.monotonic()),
            begin=max(self._slots.count - len(self._hands) - len(self._pending), 0),
            signals=self._demand.take_signal(),
            next_due=self._demand.next_due,
        )

    def _held(self, request: Request) -> dict[str, str] | None:
        """The jobs in hand, if the store is to compare them with its own. What has ended is in hand until the store
        knows it, also if its end waits for the lines of its log; and so is what goes on under a lock."""
        if not self._exchange.must_compare:
            return None
        return request.tokens() | self._pending.tokens() | self.stopping.left_locked | self._hands.tokens()

    async def _keep(self, request: Request, error: Exception) -> None:
        """The store did not answer: keep what was to be told, and try again a little later."""
        settlements = request.settlements
        if not isinstance(error, StoreError):
            self._observers.tell(Fault("worker", "exchange with the store failed", error))
            settlements = [tellable(one, self._clock.now()) for one in settlements]
        if self._exchange.has_written_lines:
            self._logs.written(request.batches)
        self._pending.put_back(settlements, [] if self._exchange.has_written_lines else request.batches)
        for claim in request.begun:
            if attempt := self._hands.find(claim.spec.id):
                attempt.is_known_to_run = False
        self._demand.unanswered(signals=request.signals)
        self._health.store_failed("worker", error)
        await asyncio.sleep(self._exchange.retry_s)

    def _receive(self, request: Request, answer: Claims, asked_at: float) -> None:
        """The store answered: it knows what was told, and what it gave is taken in hand."""
        self._answered_at = self._clock.monotonic()
        self._health.store_answered("worker")
        self._logs.written(request.batches)
        self._demand.next_due = earliest_due(request.settlements, answer.next_due)
        if request.wanted:
            got, in_hand = len(answer.claims), len(self._hands)
            self._demand.answered(wanted=request.wanted, got=got, in_hand=in_hand, at=asked_at)
        self._hands.take_all([Attempt(claim, asked_at) for claim in answer.claims])
        if answer.claims:
            self.claims.took(asked_at=asked_at)

    def _look_after_hands(self, at: float, now: int) -> None:
        """Return what was claimed ahead and found no slot in time; see which of it runs longer than it looked like."""
        self._looked_at = at
        if self._hands.give_back(claimed_before=at - MAX_BUFFERED_S):
            self._demand.rest()
        self._begun = self._hands.untold(started_before=now - TOLD_AFTER_MS)

    def _tell_pace(self, at: float) -> None:
        """How many runs ended since the last answer, and how long they took."""
        self._demand.ended(self._runs, run_s=self._run_ms / 1000, within_s=at - self._answered_at)
        self._runs = self._run_ms = 0

    async def _signal_others(self) -> None:
        """The listener may have heard of jobs after the last exchange, such as those that were given back in it, and
        then nobody else has. A claim of none signals another node, if there is something to be had."""
        with suppress(StoreError):  # others ask by themselves, a little later
            await self._exchange.hold(Request(signals=True))

    # -- run -------------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        """One slot: take the next job, run it, settle it, until there are too many slots."""
        task, hands, slots = asyncio.current_task(), self._hands, self._slots
        assert task is not None
        while not slots.has_surplus:
            attempt = hands.waiting.popleft() if hands.waiting else await hands.next_attempt()
            if attempt is None:
                await _forget_cancels(task)
                continue
            if self.claims.is_old(attempt):  # this process stood still between the claim and now
                hands.end(attempt, INTERRUPTED)
                continue
            attempt.task = task
            if attempt.reason is None:
                attempt.started_at = self._clock.now()
                outcome = await self._runner.run(attempt)
                if task.cancelling():
                    await _forget_cancels(task)
            else:
                outcome = self._runner.stopped(attempt)
            attempt.task = None
            if attempt.reason is Stop.INTERRUPTED and not attempt.can_be_stopped:
                self.stopping.leave_behind(attempt)
            hands.end(attempt, outcome)
        slots.leave(task)

    def _ran_short(self, error: NodeStrained) -> None:
        """A job could not be started for want of something that is this process's. Those that wait would fare no
        better."""
        others = self._hands.running - 1
        self._demand.ran_short(others, self._clock.monotonic())
        self._health.strained(error)
        self._hands.give_back()

    # -- settle ----------------------------------------------------------------------------------------------------

    def _settle(self, attempt: Attempt, outcome: Outcome) -> None:
        """The outcome of an attempt becomes a settlement, to be told with the next exchange."""
        now, started_at = self._clock.now(), attempt.started_at
        if started_at is not None:
            self._runs += 1
            self._run_ms += now - started_at
        try:
            policy, chance = self._runner.retry_policy(attempt.claim, outcome), random.random()
            settlement = settle(attempt.claim, outcome, policy=policy, started_at=started_at, now=now, chance=chance)
        except Exception as error:  # whatever it is, the slot lives on, and the job does not run for ever
            self._observers.tell(Fault("worker", "an attempt could not be settled", error))
            settlement = not_settled(attempt.claim, error, started_at=started_at, now=now)
        self._pending.add(settlement)

    # -- news ------------------------------------------------------------------------------------------------------

    def _on_news(self, cancellations: list[Cancellation]) -> None:
        """The listener heard something: jobs may be there, or some are to be cancelled."""
        self._hands.cancel_attempts(cancellations)
        self._demand.woken(len(self._hands), self._clock.monotonic())
        self._changed.set()

    def _on_stopping(self) -> None:
        """Nothing is wanted any more. Once the node must go, no end waits for the lines of its log."""
        self._demand.close()
        if self.stopping.is_at_once:
            self._log_writer.stop()
            self._pending.let_out()
        self._changed.set()

    def _on_lines_written(self) -> None:
        if self._pending.let_out():
            self._changed.set()


async def _forget_cancels(task: asyncio.Task[None]) -> None:
    """The slot lives on: what a run was asked, or a job's code did to its task, is not for the next job. A slot that is
    to end knows it from its slots."""
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)  # what was asked in the last step of a run has not arrived yet
    while task.uncancel():
        pass
