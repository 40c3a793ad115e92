"""The conversation of a worker with the store: last log lines, ends of jobs and a claim of new ones, in one go."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from rota.clock import Clock
from rota.engine.bridge.store_thread import StoreThread
from rota.engine.definitions.definitions import Definitions
from rota.engine.observation.happenings import AttemptsFailed, JobsClaimed, JobsSettled, SettlementRefused
from rota.engine.observation.observers import Observers
from rota.engine.worker.logs.log_writer import LogWriter
from rota.model.job import Claim, JobState, make_token
from rota.model.runs.settlement import Settlement
from rota.store.contract.claims import Claims
from rota.store.contract.logs import LogBatch
from rota.store.contract.store import Store


class Request(Struct, frozen=True, kw_only=True):
    """What a worker has to tell the store, and what it asks of it."""

    settlements: list[Settlement] = []
    batches: list[LogBatch] = []
    """The last log lines of the jobs that ended."""
    begun: list[Claim] = []
    """Jobs that were claimed ahead and run now."""
    wanted: int = 0
    """How many jobs to claim."""
    begin: int = 0
    """How many of them begin at once; the others are claimed ahead."""
    signals: bool = False
    """Whether another node is to be signalled if there are jobs that are not claimed here."""
    next_due: int | None = None
    """When the next delayed job is ready, as far as it is known. It is asked for where jobs are claimed."""

    def __bool__(self) -> bool:
        return bool(self.settlements or self.batches or self.begun or self.wanted or self.signals)

    def tokens(self) -> dict[str, str]:
        """The jobs that ended, id to token."""
        return {one.claim.spec.id: one.claim.token for one in self.settlements}


class Exchange:
    """Holds conversations, one after the other, each with a serial of its own."""

    def __init__(
        self,
        store: Store,
        thread: StoreThread,
        *,
        queue: str,
        node: str,
        clock: Clock,
        log_writer: LogWriter,
        definitions: Definitions,
        observers: Observers,
        retry_s: Sequence[float],
    ) -> None:
        self._store = store
        self._thread = thread
        self._queue = queue
        self._node = node
        self._clock = clock
        self._log_writer = log_writer
        self._definitions = definitions
        self._observers = observers
        self._retry_s = retry_s
        self.serial = 0
        """Of the last conversation. Tokens of a node grow with it."""
        self.failures = 0
        """Conversations that failed since the last answer of the store."""
        self.has_written_lines = False
        """Whether the log lines of the last conversation are in the store, also if what came after them failed."""
        self._compared_at = store.contacts
        """The contacts of the store when last it was told what is in hand; now nothing is."""

    @property
    def retry_s(self) -> float:
        """How long to wait after a failure."""
        return self._retry_s[min(self.failures, len(self._retry_s)) - 1]

    @property
    def must_compare(self) -> bool:
        """Whether the store and the node may differ about who has which job: an answer was lost, or the store is
        another one than before, which may lack what that had acknowledged."""
        return self.failures > 0 or self._store.contacts != self._compared_at

    async def hold(self, request: Request, *, held: dict[str, str] | None = None) -> Claims:
        """Tell and ask. `held` says which jobs are in hand, if that must be compared."""
        self.serial += 1
        self.has_written_lines = False
        contacts = self._store.contacts
        try:
            answer = await self._thread.call(self._prepare(request, held))
        except Exception:
            self.failures += 1
            raise
        self.failures = 0
        if held is not None:
            self._compared_at = contacts
        self._tell(request.settlements, answer)
        return answer

    def _prepare(self, request: Request, held: dict[str, str] | None) -> Callable[[], Claims]:
        token, now, floor = make_token(self._node, self.serial), self._clock.now(), self.serial - 1

        def talk() -> Claims:
            if held is not None:
                # The answer to a failed claim may have been lost on its way, and its jobs with it; or the store forgot
                # the end of a job.
                self._store.recover_claims(self._queue, self._node, held, floor=floor, now=now)
            # Log lines first, since only a running job may have more of them.
            if request.batches:
                self._log_writer.write(request.batches)
                self.has_written_lines = True
            if request.wanted or request.signals:
                # Even a claim of none signals another node, if there is something to be had.
                answer = self._store.finish_and_claim_jobs(
                    self._queue, request.settlements, token=token, limit=request.wanted, now=now, begin=request.begin
                )
            else:
                answer = Claims([], request.next_due, self._finish(request.settlements, now))
            if request.begun:
                # After the ends: at no time there are more running jobs than slots.
                self._store.begin_jobs(self._queue, request.begun, now=now)
            return answer

        return talk

    def _finish(self, settlements: Sequence[Settlement], now: int) -> frozenset[str]:
        """The ids of those that were refused."""
        return self._store.finish_jobs(self._queue, settlements, now=now) if settlements else frozenset()

    def _tell(self, settlements: Sequence[Settlement], answer: Claims) -> None:
        """What this conversation was about. Nothing is put together for nobody."""
        observers = self._observers
        for job_id in answer.refused:
            observers.tell(SettlementRefused(job_id))
        if len(settlements) > len(answer.refused) and observers.wants(JobsSettled):
            settled = [one for one in settlements if one.claim.spec.id not in answer.refused]
            observers.tell(JobsSettled(self._queue, self._node, settled, self._names_of_types(settled)))
        failed = [one for one in settlements if one.state is not JobState.SUCCEEDED and one.failure]
        if failed and (told := [one for one in failed if one.claim.spec.id not in answer.refused]):
            observers.tell(AttemptsFailed(told, self._names_of_types(told)))
        if answer.claims and observers.wants(JobsClaimed):
            observers.tell(JobsClaimed(self._queue, self._node, answer.claims))

    def _names_of_types(self, settlements: Sequence[Settlement]) -> dict[str, str]:
        found = map(self._definitions.known_job_type, {one.claim.spec.job_type for one in settlements})
        return {one.uuid: one.name for one in found if one is not None}


def earliest_due(settlements: Sequence[Settlement], next_due: int | None) -> int | None:
    """When the next delayed job is ready: one that just returned to its queue, or the next that the store knows."""
    due = [one.run_at for one in settlements if one.run_at is not None]
    if next_due is not None:
        due.append(next_due)
    return min(due, default=None)
