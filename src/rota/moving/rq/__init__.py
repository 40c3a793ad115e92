"""RQ's names: `from rota.moving.rq import Queue` instead of `from rq import Queue`."""

from rota.moving.rq.extras import Callback
from rota.moving.rq.job import Job, JobStatus, get_current_job
from rota.moving.rq.queue import Queue
from rota.moving.rq.retry import Retry
from rota.moving.rq.worker import SimpleWorker, Worker

__all__ = ["Callback", "Job", "JobStatus", "Queue", "Retry", "SimpleWorker", "Worker", "get_current_job"]
