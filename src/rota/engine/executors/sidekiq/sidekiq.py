"""Executor `sidekiq`: gives a job to Ruby's Sidekiq.

Metadata: `class`, `queue`, `redis`, `retry`, `timestamps`, `completion`, `poll_ms`, `retry_beside`. The job's `args`
are the arguments of `perform`, or its `sidekiq_arguments` the only one. `completion` says when the job is done: `push`
when it is in the queue, `observe` when it has left Sidekiq, `report` when Sidekiq says how it ended (needs
contrib/sidekiq). With `rails_dir` and `sidekiq_worker` instead, Ruby itself pushes the job. What Sidekiq has begun
cannot be stopped: over its time it is not tried again beside that, unless `retry_beside` is true.
"""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from rota.engine.executors.executor import ExecutorOptions, Run
from rota.engine.executors.output import LogCap, capped_log
from rota.engine.executors.process.keeper import retire_keeper
from rota.engine.executors.references import resolved
from rota.engine.executors.shortage import raise_if_short
from rota.engine.executors.sidekiq.job import (
    Completion,
    PushedJob,
    SidekiqError,
    SidekiqPlan,
    read_arguments,
    read_plan,
    read_redis,
)
from rota.engine.executors.sidekiq.rails import check_rails, is_rails, push_by_rails
from rota.engine.executors.sidekiq.watch import Watch
from rota.engine.executors.threads import Threads
from rota.errors import InvalidInput, NodeStrained
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome, failed, refused, succeeded

if TYPE_CHECKING:
    from rota.engine.executors.sidekiq.redis import SidekiqRedis


class SidekiqExecutor:
    """Pushes jobs, and looks after them if asked to."""

    def __init__(self, options: ExecutorOptions = ExecutorOptions()) -> None:  # noqa: B008 a frozen value
        self._options = options
        self._threads = Threads()
        self._connections: dict[str, SidekiqRedis] = {}

    def check(self, job_type: JobType) -> None:
        if is_rails(job_type.metadata):
            check_rails(job_type.metadata)
        else:
            read_plan(job_type.metadata)

    async def run(self, run: Run) -> Outcome:
        try:
            self.check(run.job_type)
        except InvalidInput as error:
            return refused("job_type", str(error))
        if is_rails(run.job_type.metadata):
            return await push_by_rails(run, self._options)
        plan = read_plan(run.job_type.metadata)
        try:
            args = read_arguments(run.spec.arguments)
            connection = self._connect(read_redis(resolved("metadata.redis", plan.redis)))
        except InvalidInput as error:
            return refused("arguments", str(error))
        except OSError as error:  # the driver is imported here
            raise_if_short(error)
            raise
        except ImportError:
            message = "the executor sidekiq needs the Redis driver; install it with: pip install 'rota[redis]'"
            return failed({"type": "driver", "message": message})
        return await self._push(connection, plan, run, args)

    async def close(self) -> None:
        self._threads.close()
        connections, self._connections = self._connections, {}
        for connection in connections.values():
            connection.close()
        retire_keeper()

    def _connect(self, url: str) -> "SidekiqRedis":
        """The connections to one Redis; they open when they are used."""
        from rota.engine.executors.sidekiq.redis import SidekiqRedis

        if url not in self._connections:
            self._connections[url] = SidekiqRedis(url)
        return self._connections[url]

    async def _push(self, connection: "SidekiqRedis", plan: SidekiqPlan, run: Run, args: list[object]) -> Outcome:
        log = capped_log(run)
        push = asyncio.ensure_future(self._threads.call(partial(connection.push, plan, run, args)))
        try:
            # A push that is under way cannot be called back: first it has to end, then the job can be taken out.
            job = await asyncio.shield(push)
            run.partial_results = results = {"jid": job.jid, "queue": plan.queue, "state": "pushed"}
            log(f"pushed {plan.class_name} to the queue {plan.queue} with the jid {job.jid}")
            if plan.completion is Completion.PUSH:
                return succeeded(results)
            return await self._look_after(connection, job, run, log)
        except SidekiqError as error:
            log(str(error), "error")
            return failed({"type": "redis", "message": str(error)})
        except asyncio.CancelledError:
            run.can_be_stopped = False  # also if this is cancelled once more
            run.can_be_stopped = await self._take_back(connection, push, log)
            raise

    async def _look_after(self, connection: "SidekiqRedis", job: PushedJob, run: Run, log: LogCap) -> Outcome:
        """Look for the job now and then, until it has ended. Redis may be away for a while, or this process short of
        something: the job is pushed, and to fail now would run it twice."""
        watch = Watch(job, log)
        is_away = False
        while True:
            await asyncio.sleep(job.plan.poll_ms / 1000)
            try:
                sighting = await self._threads.call(partial(connection.look_for, job))
            except (SidekiqError, NodeStrained) as error:
                if not is_away:
                    log(f"{error}; looking for the job goes on", "warning")
                is_away = True
                continue
            is_away = False
            run.can_be_stopped = sighting.is_withdrawable
            if outcome := watch.judge(sighting):
                return outcome

    async def _take_back(self, connection: "SidekiqRedis", push: asyncio.Future[PushedJob], log: LogCap) -> bool:
        """Take the job out of Sidekiq's queue; whether it will not run there. A push that failed left nothing there, as
        for a run that is not stopped."""
        try:
            job = await push
        except (SidekiqError, NodeStrained):
            return True
        try:
            is_withdrawn = await self._threads.call(partial(connection.withdraw, job))
        except (SidekiqError, NodeStrained) as error:
            log(f"{error}; the job could not be taken out of Sidekiq's queue", "warning")
            return False
        if is_withdrawn:
            log("taken out of Sidekiq's queue again")
        else:
            log("Sidekiq has begun the job or ended it; it cannot be asked to stop", "warning")
        return is_withdrawn
