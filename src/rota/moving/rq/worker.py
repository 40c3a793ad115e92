"""A worker in a program: `Worker(["default"], connection=redis).work()`."""

from collections.abc import Iterable

from rota.errors import InvalidInput
from rota.moving.common.refusing import Options
from rota.moving.rq.queue import Queue

_WORKER = Options(
    of="Worker",
    carried=("queues", "connection"),
    harmless=("name", "default_result_ttl", "default_worker_ttl", "log_job_description"),
    instead={"exception_handlers": "give each job an on_failure", "job_class": "leave it out"},
)
_WORK = Options(
    of="work",
    carried=("burst", "with_scheduler"),
    harmless=("logging_level", "date_format", "log_format"),
    instead={"max_jobs": "start rota worker with --max-jobs", "max_idle_time": "give it burst=True"},
)


class Worker:
    """Runs the jobs of one queue."""

    def __init__(
        self, queues: "Iterable[Queue | str] | Queue | str", connection: object = None, **options: object
    ) -> None:
        _WORKER.check(options)
        named = [queues] if isinstance(queues, Queue | str) else list(queues)
        if len(named) != 1:
            reason = f"must be one, got {len(named)}: a worker of Rota's serves one queue; start a worker for each"
            raise InvalidInput("queues", reason)
        self.queue = named[0] if isinstance(named[0], Queue) else Queue(named[0], connection=connection)

    @property
    def queues(self) -> list[Queue]:
        return [self.queue]

    def work(self, burst: bool = False, with_scheduler: bool = False, **options: object) -> bool:
        """Run jobs until a signal ends it; with `burst`, until none is left."""
        _WORK.check(options)
        self.queue.__rota_app__.run_worker(burst=burst, queue=self.queue.name)
        return True


class SimpleWorker(Worker):
    """The same: Rota's workers start no process for a job anyway."""
