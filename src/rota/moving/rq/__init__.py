"""RQ's names: `from rota.moving.rq import Queue` instead of `from rq import Queue`."""

from rota.moving.rq.job import Job, JobStatus, get_current_job
from rota.moving.rq.queue import Queue
from rota.moving.rq.retry import Retry

__all__ = ["Job", "JobStatus", "Queue", "Retry", "get_current_job"]
