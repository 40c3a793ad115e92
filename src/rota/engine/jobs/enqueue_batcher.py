"""Jobs that are handed in together share one round trip to the store (`engine/bridge/batcher.py`)."""

from collections.abc import Sequence

from rota.clock import Clock
from rota.engine.access.keys.access import Caller
from rota.engine.bridge.batcher import Batcher
from rota.engine.jobs.intake import Intake, JobRequest
from rota.model.job import JobSpec
from rota.store.contract.jobs import Admission
from rota.store.contract.store import Store

MOST_PER_BATCH = 1_000


class EnqueueBatcher(Batcher[JobSpec, list[Admission]]):
    """Takes jobs for one event loop. Each request is accepted or refused for itself."""

    def __init__(self, store: Store, intake: Intake, clock: Clock) -> None:
        super().__init__("rota-enqueue", most_per_batch=MOST_PER_BATCH)
        self._store = store
        self._intake = intake
        self._clock = clock

    async def enqueue(self, requests: Sequence[JobRequest], *, by: Caller | None) -> list[Admission]:
        """Accept jobs: all of them or, if one is bad, none. One answer per request, in order."""
        now = self._clock.now()
        if not all(map(self._intake.is_known, requests)):
            # A name that is not known yet has to be looked up in the store, which must not stop the loop.
            await self._in_thread(lambda: [self._intake.make_spec(request, now, by) for request in requests])
        return await self._hand_in([self._intake.make_spec(request, now, by) for request in requests])

    def _carry_out(self, items: list[JobSpec]) -> list[Admission]:
        return self._store.enqueue_jobs(items, now=self._clock.now())

    def _share_out(self, answer: list[Admission], sizes: Sequence[int]) -> list[list[Admission]]:
        admissions = iter(answer)
        return [[next(admissions) for _ in range(size)] for size in sizes]
