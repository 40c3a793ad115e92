"""A worker that runs one job when it is told to, in no time: for tests and simulations, whose clock somebody moves."""

import asyncio

from rota.clock import Clock
from rota.engine.bridge.store_thread import StoreThread
from rota.engine.engine import Engine
from rota.engine.worker.attempt import Attempt, Runner
from rota.engine.worker.logs.log_stream import LogStream
from rota.errors import NodeStrained
from rota.model.ids import new_id
from rota.model.job import Claim, make_token
from rota.model.runs.settlement import Settlement, settle


class SingleStep:
    """Claims, runs and settles as a worker does, one job after the other. Back-off has no jitter."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._node = new_id(clock.now())
        self._serial = 0
        self._logs = LogStream(clock)
        self._thread = StoreThread("rota-step")
        self._runner = Runner(
            engine.definitions,
            engine.executors,
            self._logs,
            self._thread,
            observers=engine.observers,
            on_strain=_refuse,
            has_own_task=False,
        )

    def claim(self, queue: str) -> Claim | None:
        """Take a job and leave it at that: as a node does that dies with it."""
        self._serial += 1
        token, now = make_token(self._node, self._serial), self._clock.now()
        found = self._engine.store.claim_jobs(queue, token=token, limit=1, now=now).claims
        return found[0] if found else None

    async def run_one(self, queue: str) -> Settlement | None:
        """Run the next job that is ready; None if there is none."""
        claim = self.claim(queue)
        if claim is None:
            return None
        attempt = Attempt(claim, self._clock.monotonic())
        attempt.task, attempt.started_at = asyncio.current_task(), self._clock.now()
        outcome = await self._runner.run(attempt)
        policy, now = self._runner.retry_policy(claim, outcome), self._clock.now()
        settlement = settle(claim, outcome, policy=policy, started_at=attempt.started_at, now=now, chance=0.0)
        self._write_log(claim)
        self._engine.store.finish_jobs(queue, [settlement], now=now)
        return settlement

    def _write_log(self, claim: Claim) -> None:
        """All of its lines are in the store before its end is."""
        while True:
            batches, more = self._logs.last_lines([claim])
            if not batches:
                return
            self._engine.store.append_logs(batches)
            self._logs.written(batches)
            if not more:
                return

    def close(self) -> None:
        self._thread.close()


def _refuse(error: NodeStrained) -> None:
    raise error
