"""Rota: one scheduler for everything that has to run: at a time, on a rhythm, when data arrives, or now.

What a program imports from here is loaded when it is first used, so that `import rota` costs nothing.
"""

from typing import TYPE_CHECKING

from rota.lazy_names import lazy_names

if TYPE_CHECKING:
    from rota.dialects.tasks.entity.task import Task
    from rota.dialects.tasks.scheduler import Scheduler
    from rota.dialects.tasks.worker import Worker
    from rota.errors import Conflict, GiveUp, InvalidInput, JobFailed, NotFound, RotaError, TryAgain
    from rota.model.runs.retry import RetryPolicy
    from rota.sdk.outbox.outbox import create_outbox
    from rota.sdk.outbox.relay import relay_outbox
    from rota.sdk.tasks.app import Rota
    from rota.sdk.tasks.current_job import current_job
    from rota.sdk.tasks.flow import Flow, group
    from rota.sdk.tasks.flow_handle import FlowHandle
    from rota.sdk.tasks.handle import Handle

__version__ = "0.1.0"
__all__ = [
    "Conflict",
    "Flow",
    "FlowHandle",
    "GiveUp",
    "Handle",
    "InvalidInput",
    "JobFailed",
    "NotFound",
    "RetryPolicy",
    "Rota",
    "RotaError",
    "Scheduler",
    "Task",
    "TryAgain",
    "Worker",
    "__version__",
    "create_outbox",
    "current_job",
    "group",
    "relay_outbox",
]

_HOMES = {
    "Conflict": "rota.errors",
    "Flow": "rota.sdk.tasks.flow",
    "FlowHandle": "rota.sdk.tasks.flow_handle",
    "GiveUp": "rota.errors",
    "Handle": "rota.sdk.tasks.handle",
    "InvalidInput": "rota.errors",
    "JobFailed": "rota.errors",
    "NotFound": "rota.errors",
    "RetryPolicy": "rota.model.runs.retry",
    "Rota": "rota.sdk.tasks.app",
    "RotaError": "rota.errors",
    "Scheduler": "rota.dialects.tasks.scheduler",
    "Task": "rota.dialects.tasks.entity.task",
    "TryAgain": "rota.errors",
    "Worker": "rota.dialects.tasks.worker",
    "create_outbox": "rota.sdk.outbox.outbox",
    "current_job": "rota.sdk.tasks.current_job",
    "group": "rota.sdk.tasks.flow",
    "relay_outbox": "rota.sdk.outbox.relay",
}


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # type checkers would take every misspelt name for one of ours
    __getattr__ = lazy_names(__name__, _HOMES)
