"""Jobs that are handed in together share one round trip to the store.

Whoever comes while a batch is under way waits for it and goes with the next one, as commits of a database do. Under
load the batches grow by themselves; a single request waits for nobody.
"""

import asyncio
from collections.abc import Sequence

from rota.clock import Clock
from rota.engine.jobs.intake import Intake, JobRequest
from rota.engine.store_thread import StoreThread
from rota.model.job import JobSpec
from rota.store.jobs import Admission
from rota.store.store import Store

MOST_PER_BATCH = 1_000
_Wish = tuple[list[JobSpec], "asyncio.Future[list[Admission]]"]


class EnqueueBatcher:
    """Group commit for one event loop. Each request is accepted or refused for itself."""

    def __init__(self, store: Store, intake: Intake, clock: Clock) -> None:
        self._store = store
        self._intake = intake
        self._clock = clock
        self._thread: StoreThread | None = None
        self._waiting: list[_Wish] = []
        self._flight: asyncio.Task[None] | None = None

    async def enqueue(self, requests: Sequence[JobRequest]) -> list[Admission]:
        """Accept jobs: all of them or, if one is bad, none. One answer per request, in order."""
        now = self._clock.now()
        if not all(map(self._intake.is_known, requests)):
            # A name that is not known yet has to be looked up in the store, which must not stop the loop.
            await self._store_thread().call(lambda: [self._intake.make_spec(request, now) for request in requests])
        specs = [self._intake.make_spec(request, now) for request in requests]
        admitted: asyncio.Future[list[Admission]] = asyncio.get_running_loop().create_future()
        self._waiting.append((specs, admitted))
        if self._flight is None or self._flight.done():
            self._flight = asyncio.create_task(self._fly())
        return await admitted

    def close(self) -> None:
        """End the thread after what was handed in."""
        if self._thread is not None:
            self._thread.close()

    def _store_thread(self) -> StoreThread:
        if self._thread is None:
            self._thread = StoreThread("rota-enqueue")
        return self._thread

    async def _fly(self) -> None:
        while self._waiting:
            batch = self._take()
            specs = [spec for some, _ in batch for spec in some]
            try:
                answers = await self._store_thread().call(lambda specs=specs: self._admit(specs))  # type: ignore[misc]
            except Exception as error:
                for _, admitted in batch:
                    if not admitted.done():
                        admitted.set_exception(error)
            else:
                _hand_out(batch, answers)

    def _take(self) -> list[_Wish]:
        batch: list[_Wish] = []
        size = 0
        while self._waiting and (not batch or size + len(self._waiting[0][0]) <= MOST_PER_BATCH):
            batch.append(self._waiting.pop(0))
            size += len(batch[-1][0])
        return batch

    def _admit(self, specs: list[JobSpec]) -> list[Admission]:
        return self._store.enqueue_jobs(specs, now=self._clock.now())


def _hand_out(batch: list[_Wish], answers: list[Admission]) -> None:
    start = 0
    for specs, admitted in batch:
        if not admitted.done():
            admitted.set_result(answers[start : start + len(specs)])
        start += len(specs)
