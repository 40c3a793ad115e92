"""The worker: claims jobs of one queue, runs them, settles them.

    claim   ask the store for jobs, together with the settlements of those that ended: one round trip for both
    run     a free slot takes the next claimed job and awaits its executor
    settle  the outcome becomes a settlement, which goes out with the next claim

Slots are lasting tasks, one per job that may run at a time. A slot awaits an executor directly, so a job costs no
task, no timer and no thread of its own unless it needs one. Everything here happens on the event loop; the store is
called through a store thread, and a listener thread waits for news from it.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from rota.clock import Clock
from rota.engine.definitions.definitions import Definitions
from rota.engine.executors.registry import ExecutorRegistry
from rota.engine.health import Health
from rota.engine.store_thread import StoreThread
from rota.engine.worker.attempt import Attempt, Runner, Stop
from rota.engine.worker.listener import Listener
from rota.engine.worker.log_writer import LOG_DELAY_S, LogWriter
from rota.engine.worker.look_ahead import LookAhead
from rota.engine.worker.strain import Strain
from rota.errors import NodeStrained, StoreError
from rota.model.job import Claim, make_token
from rota.model.liveness import let_go_grace_s, must_let_go
from rota.model.outcome import INTERRUPTED, Outcome, cancelled
from rota.model.retry import RetryPolicy
from rota.model.settlement import Settlement, settle
from rota.store.claims import Claims, Renewal
from rota.store.logs import LogBatch
from rota.store.store import Store

MAX_BUFFERED_S = 0.25
"""A job that was claimed ahead and found no free slot for so long goes back, because others may be idle."""
IDLE_CHECK_S = 5.0
"""A waiting worker asks for jobs at least this often, should ever a wake-up be lost."""
ABANDON_S = 7.0
"""Runs that do not end so long after they were told to, when the node must go, are left behind. Longer than the grace
that executors give to what they stop."""
_RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_logger = logging.getLogger("rota.worker")
_job_logger = logging.getLogger("rota.jobs")


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
        stop_grace_s: float,
        dead_after_ms: int,
    ) -> None:
        self._store = store
        self._queue = queue
        self._node = node
        self._slots = slots
        self._definitions = definitions
        self._clock = clock
        self._health = health
        self._stop_grace_s = stop_grace_s
        self._dead_after_s = dead_after_ms / 1000
        self._loop = asyncio.get_running_loop()
        self._thread = StoreThread("rota-store")
        self._listener = Listener(store.waker(queue, node), on_news=self._on_news)
        self._log_writer = LogWriter(store, clock=clock, health=health, on_written=self._on_lines_written)
        self._logs = self._log_writer.logs
        self._runner = Runner(definitions, executors, self._logs, self._thread, on_strain=self._ran_short)
        self._strain = Strain(slots)
        self._look_ahead = LookAhead(slots)
        self._attempts: dict[str, Attempt] = {}
        self._buffer: deque[Attempt] = deque()
        self._idle_slots: deque[asyncio.Future[Attempt]] = deque()
        self._settled: list[Settlement] = []
        self._held_back = 0
        """How many of them wait until the log lines of their jobs are written."""
        self._serial = 0
        self._heard_at = clock.monotonic()
        self._may_have_jobs = True
        self._last_asked = clock.monotonic()
        self._word_to_pass_on = False
        self._left_in_order = False
        self._next_due: int | None = None
        self._changed = asyncio.Event()
        self._is_draining = False
        self._stopping_at_once = False
        self._has_abandoned = False

    # -- what the node asks ----------------------------------------------------------------------------------------

    @property
    def running(self) -> int:
        """Jobs in this worker's hands."""
        return len(self._attempts)

    @property
    def serial(self) -> int:
        """Of the last claim."""
        return self._serial

    async def run(self) -> None:
        """Work until `drain` or `stop` was called and nothing is left in hand."""
        slots = [asyncio.create_task(self._serve(), name=f"rota-slot-{n}") for n in range(self._slots)]
        slots.append(asyncio.create_task(self._log_writer.run(), name="rota-logs"))
        self._listener.start()
        try:
            await self._exchange_until_done()
        finally:
            self._listener.stop()
            for slot in slots:
                slot.cancel()
            # A run that was left behind has a slot which never ends.
            await asyncio.wait(slots, timeout=0 if self._has_abandoned else None)
            if self._left_in_order:
                await self._leave_word()
            self._thread.close()

    def drain(self) -> None:
        """Claim nothing more. What was claimed ahead goes back; running jobs go on, and are interrupted after the
        grace."""
        if not self._is_draining:
            self._is_draining = True
            self._give_back(list(self._buffer))
            self._loop.call_later(self._stop_grace_s, self.stop)
            self._changed.set()

    def stop(self) -> None:
        """Interrupt what runs, now. The jobs go back to their queue; their attempts do not count."""
        if self._stopping_at_once:
            return
        self._is_draining = self._stopping_at_once = True
        self._log_writer.stop()
        self._held_back = 0
        self._give_back(list(self._buffer))
        for attempt in list(self._attempts.values()):
            attempt.stop(Stop.INTERRUPTED)
        self._loop.call_later(ABANDON_S, self._abandon)
        self._changed.set()

    def _abandon(self) -> None:
        """Give up on runs that swallow their cancellation; the process ends, and they with it."""
        for attempt in list(self._attempts.values()):
            _logger.error("run does not end, left behind", extra={"job_id": attempt.claim.spec.id})
            self._has_abandoned = True
            self._settle(attempt, INTERRUPTED)

    # -- what the heart asks, from its own thread ------------------------------------------------------------------

    def held(self) -> dict[str, str]:
        """The jobs in hand, id to token."""
        return {job_id: attempt.claim.token for job_id, attempt in list(self._attempts.items())}

    def renewed(self, held: dict[str, str], renewal: Renewal) -> None:
        """The store was told what is held; hear which jobs are to be cancelled and which are no longer ours."""
        self._heard_at = self._clock.monotonic()
        if renewal.cancelled or renewal.lost:
            self._loop.call_soon_threadsafe(self._obey, held, renewal)

    def let_go(self) -> None:
        """The store has not heard of this node for long: end the runs that promise to be the only ones. May be said
        again and again."""
        self._loop.call_soon_threadsafe(self._stop_locked_runs)

    def _obey(self, held: dict[str, str], renewal: Renewal) -> None:
        self._cancel(renewal.cancelled)
        for job_id in renewal.lost:
            attempt = self._attempts.get(job_id)
            # What was lost is the attempt that the store was told of. This node may have been given the job again.
            if attempt is not None and attempt.claim.token == held[job_id]:
                _logger.warning("claim lost, run stopped", extra={"job_id": job_id, "node": self._node})
                self._stop_attempt(attempt, Stop.LOST)

    def _stop_locked_runs(self) -> None:
        locked = [attempt for attempt in self._attempts.values() if attempt.claim.spec.lock_key is not None]
        for attempt in [one for one in locked if self._must_be_given_up(one)]:
            _logger.warning("store not reached, run under a lock stopped", extra={"job_id": attempt.claim.spec.id})
            attempt.shorten_grace(let_go_grace_s(self._dead_after_s))
            self._stop_attempt(attempt, Stop.INTERRUPTED)

    def _must_be_given_up(self, attempt: Attempt) -> bool:
        """What was claimed lately is known to be ours. What cannot be stopped would only run beside its successor."""
        return attempt.reason is None and attempt.can_be_stopped and self._is_old(attempt)

    def _is_old(self, attempt: Attempt) -> bool:
        """Whether its claim, which was a sign of life too, and the last renewal are so long ago that others may have
        the job."""
        heard_at = max(attempt.claimed_at, self._heard_at)
        return must_let_go(self._clock.monotonic() - heard_at, self._dead_after_s)

    # -- claim -----------------------------------------------------------------------------------------------------

    async def _exchange_until_done(self) -> None:
        """The main loop: exchange with the store whenever there is something to tell or to ask."""
        last_end, failures = self._clock.monotonic(), 0
        while not self._is_done(failures):
            await self._wait_for_reason()
            settlements, batches = self._take_settled()
            wanted = self._wanted()
            if not (settlements or batches or wanted or self._word_to_pass_on):
                continue
            asked_at = self._clock.monotonic()
            if settlements:
                self._look_ahead.ended(len(settlements), asked_at - last_end)
            try:
                answer = await self._thread.call(
                    self._exchange(settlements, batches, wanted, after_failure=failures > 0)
                )
            except Exception as error:
                # Whatever it is, it must not end the node; what is no trouble of the store is a fault of ours.
                if not isinstance(error, StoreError):
                    _logger.exception("exchange with the store failed")
                self._take_back(settlements, batches)
                self._health.store_failed(error)
                await asyncio.sleep(_RETRY_S[min(failures, len(_RETRY_S) - 1)])
                failures += 1
                continue
            failures = 0
            last_end = self._clock.monotonic()
            self._health.store_answered()
            self._logs.written(batches)
            self._receive(settlements, answer, wanted, asked_at)
        self._left_in_order = failures == 0

    async def _leave_word(self) -> None:
        """The listener may have heard of jobs after the last exchange, such as those that were given back in it, and
        then nobody else has. A claim of none leaves word for another node, if there is something to be had."""
        self._word_to_pass_on = True
        with suppress(StoreError):  # others ask by themselves, a little later
            await self._thread.call(self._exchange([], [], 0, after_failure=False))

    def _is_done(self, failures: int) -> bool:
        """Nothing is left in hand; or the node must go and the store does not listen, and others will notice."""
        if self._stopping_at_once and failures > 1:
            return True
        return self._is_draining and not self._attempts and not self._settled

    async def _wait_for_reason(self) -> None:
        """Wait until something ended or was logged, or jobs may be had."""
        if len(self._settled) > self._held_back or self._word_to_pass_on or self._wanted():
            self._changed.clear()
            return
        if self._listener.listen(wants_jobs=self._room() > 0, timeout_s=self._longest_wait()):
            self._thread.post(self._listener.nudge)
        try:
            await asyncio.wait_for(self._changed.wait(), self._pause())
        except TimeoutError:
            self._give_back_stale()
        self._changed.clear()
        if self._is_time_to_ask():
            self._may_have_jobs = True

    def _take_settled(self) -> tuple[list[Settlement], list[LogBatch]]:
        """The ends that can be told now, and the last log lines of their jobs. One who wrote a lot waits until the
        lines are in the store, and keeps nobody else waiting."""
        settled, self._settled = self._settled, []
        if not self._logs.has_lines():
            self._held_back = 0
            return settled, []
        batches, late = self._logs.last_lines((one.claim for one in settled), at_once=self._stopping_at_once)
        self._settled = [one for one in settled if one.claim.spec.id in late]
        self._held_back = len(self._settled)
        return [one for one in settled if one.claim.spec.id not in late], batches

    def _on_lines_written(self) -> None:
        if self._held_back:
            self._held_back = 0
            self._changed.set()

    def _is_time_to_ask(self) -> bool:
        """Whether jobs may be there of which the listener has not heard: one became due, or a wake-up was lost."""
        is_due = self._next_due is not None and self._next_due <= self._clock.now()
        return is_due or self._clock.monotonic() - self._last_asked >= IDLE_CHECK_S

    def _pause(self) -> float:
        if self._logs.has_lines() or self._attempts:
            return LOG_DELAY_S
        return self._longest_wait()

    def _longest_wait(self) -> float:
        """Until the next delayed job is due, at most the idle check."""
        if self._next_due is None:
            return IDLE_CHECK_S
        return min(max((self._next_due - self._clock.now()) / 1000, 0.001), IDLE_CHECK_S)

    def _room(self) -> int:
        """How many more jobs this worker can take."""
        if self._is_draining:
            return 0
        most_held = self._look_ahead.most_held
        if self._strain.is_on:
            most_held = min(most_held, self._strained_limit())
        return max(most_held - len(self._attempts), 0)

    def _strained_limit(self) -> int:
        limit = self._strain.most_held(self._clock.monotonic())
        if not self._strain.is_on:
            self._health.strain_ended()
        return limit

    def _ran_short(self, error: NodeStrained) -> None:
        """A job could not be started for want of something that is this process's. Those that wait would fare no
        better."""
        running = len(self._attempts) - len(self._buffer) - 1
        self._strain.ran_short(running, self._clock.monotonic())
        self._health.strained(error)
        self._give_back(list(self._buffer))

    def _wanted(self) -> int:
        """How many jobs to ask for now. Half a batch or more at a time, unless slots are free."""
        room = self._room()
        if not self._may_have_jobs or room == 0:
            return 0
        return room if self._idle_slots or room * 2 >= self._look_ahead.most_held else 0

    def _exchange(
        self, settlements: Sequence[Settlement], batches: Sequence[LogBatch], wanted: int, *, after_failure: bool
    ) -> Callable[[], Claims]:
        """One conversation with the store: last log lines first, since only a running job may have more of them."""
        self._serial += 1
        token, now, floor = make_token(self._node, self._serial), self._clock.now(), self._serial - 1
        # What has ended is in hand until the store knows it, also if its end waits for the lines of its log.
        untold = {one.claim.spec.id: one.claim.token for one in [*settlements, *self._settled]}
        held = untold | self.held() if after_failure else {}
        next_due = self._next_due
        passes_on, self._word_to_pass_on = self._word_to_pass_on, False

        def talk() -> Claims:
            if after_failure:
                # The answer to the failed claim may have been lost on its way, and its jobs with it.
                self._store.recover_claims(self._queue, self._node, held, floor=floor, now=now)
            if batches:
                self._log_writer.write(batches)
            if wanted or passes_on:
                # Even a claim of none leaves word for another node, if there is something to be had.
                return self._store.finish_and_claim_jobs(self._queue, settlements, token=token, limit=wanted, now=now)
            refused = self._store.finish_jobs(self._queue, settlements, now=now) if settlements else frozenset()
            return Claims([], next_due, refused)

        return talk

    def _receive(self, settlements: Sequence[Settlement], answer: Claims, wanted: int, asked_at: float) -> None:
        for job_id in answer.refused:
            _logger.warning("settlement refused: another attempt has the job", extra={"job_id": job_id})
        returns = [one.run_at for one in settlements if one.run_at is not None]
        self._next_due = min([*returns, *([] if answer.next_due is None else [answer.next_due])], default=None)
        if wanted:
            self._last_asked = asked_at
            self._may_have_jobs = len(answer.claims) >= wanted
            if not answer.claims and not self._attempts:
                self._look_ahead.rest()
        for claim in answer.claims:
            self._receive_attempt(Attempt(claim, asked_at))

    def _receive_attempt(self, attempt: Attempt) -> None:
        """Take a claimed job in hand. If an earlier attempt at it still runs here, that one is lost: it is stopped, and
        the new one begins when it has ended."""
        earlier = self._attempts.get(attempt.claim.spec.id)
        self._attempts[attempt.claim.spec.id] = attempt
        if earlier is None:
            self._hand_over(attempt)
        else:
            earlier.heir = attempt
            self._stop_attempt(earlier, Stop.LOST)

    def _hand_over(self, attempt: Attempt) -> None:
        """Give a claimed job to a free slot, or let it wait for one. A worker that stops meanwhile gives it back."""
        if self._is_draining:
            self._settle(attempt, INTERRUPTED)
            return
        while self._idle_slots:
            slot = self._idle_slots.popleft()
            if not slot.done():
                slot.set_result(attempt)
                return
        self._buffer.append(attempt)

    def _take_back(self, settlements: list[Settlement], batches: list[LogBatch]) -> None:
        """The store did not answer: keep what was to be told, and claim anew."""
        self._settled = settlements + self._settled
        self._logs.put_back(batches)
        self._may_have_jobs = True

    def _give_back_stale(self) -> None:
        """Return what was claimed ahead and found no slot in time."""
        oldest = self._clock.monotonic() - MAX_BUFFERED_S
        stale = [attempt for attempt in self._buffer if attempt.claimed_at < oldest]
        if stale:
            self._look_ahead.rest()
            self._give_back(stale)

    def _give_back(self, attempts: list[Attempt]) -> None:
        for attempt in attempts:
            self._buffer.remove(attempt)
            self._settle(attempt, INTERRUPTED)

    # -- run -------------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        """One slot: take the next job, run it, settle it, for ever."""
        task = asyncio.current_task()
        while True:
            attempt = self._buffer.popleft() if self._buffer else await self._next_attempt()
            if self._is_old(attempt):  # this process stood still between the claim and now
                self._settle(attempt, INTERRUPTED)
                continue
            attempt.task = task
            attempt.started_at = self._clock.now()
            outcome = self._runner.stopped(attempt) if attempt.reason else await self._runner.run(attempt)
            attempt.task = None
            self._settle(attempt, outcome)

    async def _next_attempt(self) -> Attempt:
        waiting: asyncio.Future[Attempt] = asyncio.get_running_loop().create_future()
        self._idle_slots.append(waiting)
        self._changed.set()
        return await waiting

    # -- settle ----------------------------------------------------------------------------------------------------

    def _settle(self, attempt: Attempt, outcome: Outcome) -> None:
        """The outcome of an attempt becomes a settlement, to be told with the next exchange."""
        claim = attempt.claim
        if self._attempts.get(claim.spec.id) is attempt:
            del self._attempts[claim.spec.id]
        elif attempt.heir is None:
            return  # it was left behind, and its end comes too late
        self._changed.set()
        if attempt.heir is not None:
            self._hand_over(attempt.heir)
            return
        if attempt.reason is Stop.LOST:
            return
        settlement = settle(
            claim,
            outcome,
            policy=self._policy(claim),
            started_at=attempt.started_at,
            now=self._clock.now(),
            chance=random.random(),
        )
        self._settled.append(settlement)
        if _job_logger.isEnabledFor(logging.DEBUG):
            self._tell(attempt, settlement)

    def _policy(self, claim: Claim) -> RetryPolicy:
        if claim.spec.retry is not None:
            return claim.spec.retry
        job_type = self._definitions.known_job_type(claim.spec.job_type)
        return job_type.retry if job_type else RetryPolicy()

    def _tell(self, attempt: Attempt, settlement: Settlement) -> None:
        job_type = self._definitions.known_job_type(attempt.claim.spec.job_type)
        fields = {
            "job_id": attempt.claim.spec.id,
            "job_type": job_type.name if job_type else attempt.claim.spec.job_type,
            "state": settlement.state.value,
            "attempt": attempt.claim.attempt,
            "ms": self._clock.now() - (attempt.started_at or self._clock.now()),
        }
        _job_logger.debug("job ended" if settlement.ending else "job returned", extra=fields)

    # -- news ------------------------------------------------------------------------------------------------------

    def _on_news(self, cancelled_ids: list[str]) -> None:
        """The listener heard something: jobs may be there, or some are to be cancelled."""
        self._cancel(cancelled_ids)
        self._may_have_jobs = True
        self._word_to_pass_on = self._room() == 0
        self._changed.set()

    def _cancel(self, job_ids: Iterable[str]) -> None:
        for job_id in job_ids:
            if attempt := self._attempts.get(job_id):
                self._stop_attempt(attempt, Stop.CANCELLED)

    def _stop_attempt(self, attempt: Attempt, reason: Stop) -> None:
        """Stop a run; a job that only waits for a slot is settled at once."""
        if attempt in self._buffer:
            self._buffer.remove(attempt)
            attempt.reason = reason
            self._settle(attempt, cancelled() if reason is Stop.CANCELLED else INTERRUPTED)
        else:
            attempt.stop(reason)
