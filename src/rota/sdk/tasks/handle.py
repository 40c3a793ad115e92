"""A job as the program that enqueued it sees it. Each question is asked of the store anew."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from msgspec import Struct

from rota.errors import Conflict, JobFailed
from rota.model.job import Job, JobState
from rota.model.runs.log import LogEntry
from rota.sdk.tasks.connection import Connection

if TYPE_CHECKING:
    from rota.engine.jobs.watch import Watch
    from rota.model.runs.progress import Progress

R = TypeVar("R")


class Handle(Struct, Generic[R], frozen=True, eq=False, gc=False):
    """One job. It can be made again from its id, in any process: `app.handle(id)`."""

    # Nothing that it holds leads back to it, so the garbage collector need not look at the thousands that `map` makes.
    _connection: Connection
    id: str
    is_new: bool = False
    """Whether this enqueue made it; False if a live job had its unique key and counts instead."""

    def __repr__(self) -> str:
        return f"<job {self.id}>"

    @property
    def job(self) -> Job:
        """All that is known of it now."""
        return self._connection.engine.jobs.find(self.id)

    @property
    def status(self) -> JobState:
        """`delayed`, `queued`, `running`, `succeeded`, `failed` or `cancelled`."""
        return self.job.state

    @property
    def result(self) -> R:
        """What the function returned, as JSON carries it. `JobFailed` if it did not, `Conflict` if it has not ended."""
        job = self.job
        if not job.state.is_final:
            raise Conflict(f"job {self.id} is {job.state.value} and has no result yet; get(timeout) waits for it")
        return self._result(job)

    def get(self, timeout: float | None = None) -> R:
        """Wait for its end, this many seconds at most (`TimeoutError`), and give its result."""
        from rota.engine.jobs.watch import WaitedTooLong

        try:
            return self._result(self._watch(timeout).until_ended())
        except WaitedTooLong:
            raise self._late(timeout) from None

    def get_when_made(self, timeout: float | None = None, *, may_come: Callable[[], bool] = lambda: True) -> R:
        """The same as `get` for a job that is yet to be made; `NotFound` once `may_come` says that it will not be."""
        from rota.engine.jobs.watch import WaitedTooLong

        watch = self._watch(timeout)
        try:
            watch.until_made(may_come=may_come)
            return self._result(watch.until_ended())
        except WaitedTooLong:
            raise self._late(timeout) from None

    async def aget(self, timeout: float | None = None) -> R:
        """The same as `get`, without blocking the event loop or a thread meanwhile."""
        import asyncio

        from rota.engine.jobs.watch import WaitedTooLong

        watch = await asyncio.to_thread(self._watch, timeout)
        try:
            while not (job := await asyncio.to_thread(watch.look)).state.is_final:  # noqa: ASYNC110  a store wakes only nodes
                await asyncio.sleep(watch.next_pause_s())
        except WaitedTooLong:
            raise self._late(timeout) from None
        return self._result(job)

    @property
    def progress(self) -> "Progress | None":
        """How far it said it has come, if it ever did."""
        engine = self._connection.engine
        queue = engine.jobs.find(self.id).spec.queue
        return engine.store.read_progress(queue, [self.id]).get(self.id)

    def logs(self) -> Iterator[LogEntry]:
        """The lines of its log so far, of all attempts, oldest first."""
        return self._watch(None).new_entries()

    def why(self) -> str:
        """Why it is where it is, as a sentence."""
        return self._connection.engine.why.job(self.id).lead.sentence

    def cancel(self) -> bool:
        """Cancel it: one that waits at once, one that runs as soon as its node hears of it. False if it has ended."""
        from rota.store.contract.jobs import CancelAnswer

        answer = self._connection.engine.jobs.cancel_each([self.id])[0]
        return answer in (CancelAnswer.CANCELLED, CancelAnswer.REQUESTED)

    def _watch(self, timeout: float | None) -> "Watch":
        from rota.engine.jobs.watch import Watch

        engine = self._connection.engine
        return Watch(engine.store, self.id, engine.clock, timeout)

    def _late(self, timeout: float | None) -> TimeoutError:
        return TimeoutError(f"job {self.id} has not ended after {timeout:g} s; it goes on, and can be waited for again")

    def _result(self, job: Job) -> R:
        if job.state is not JobState.SUCCEEDED:
            raise JobFailed(self.id, job.state.value, job.errors)
        return cast(R, job.results)
