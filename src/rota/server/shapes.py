"""The native JSON of jobs, job types, node types and nodes: seed 001's keys, and ours beside them.

The HTTP API and the command line give the same. Times are epoch milliseconds; what is absent is null.
"""

from collections.abc import Mapping

import msgspec

from rota.model.job import Job
from rota.model.job_type import JobType, Unique
from rota.model.log import LogEntry
from rota.model.node import Node, NodeType

Shape = dict[str, object]


def job_type_shape(job_type: JobType) -> Shape:
    return {
        "uuid": job_type.uuid,
        "name": job_type.name,
        "executor": job_type.executor,
        "metadata": job_type.metadata,
        "unique": _unique_shape(job_type.unique),
        "node_type": job_type.node_type,
        "timeout": job_type.timeout_ms,
        "retries": {field: getattr(job_type.retry, field) for field in job_type.retry.__struct_fields__},
        "on_node_death": job_type.on_node_death.value,
        "managed_by": job_type.managed_by or None,
    }


def _unique_shape(unique: Unique) -> bool | str:
    """Seed 001 knows true and false only."""
    return {Unique.NONE: False, Unique.WHILE_RUNNING: True}.get(unique, unique.value)


def node_type_shape(node_type: NodeType) -> Shape:
    return {
        "uuid": node_type.uuid,
        "name": node_type.name,
        "thread_count": node_type.thread_count,
        "managed_by": node_type.managed_by or None,
    }


def node_shape(node: Node, queue_names: Mapping[str, str], now: int) -> Shape:
    return {
        "uuid": node.uuid,
        "node_type_uuid": node.node_type,
        "node_type": queue_names.get(node.node_type),
        "last_ping": node.last_ping,
        "started_at": node.started_at,
        "host": node.host,
        "pid": node.pid,
        "version": node.version,
        "roles": list(node.roles),
        "slots": node.slots,
        "running": node.running,
        "alive": node.is_alive(now),
        "draining": node.draining,
    }


def job_shape(job: Job, job_type_names: Mapping[str, str], queue_names: Mapping[str, str]) -> Shape:
    spec = job.spec
    return {
        "uuid": spec.id,
        "job_type_uuid": spec.job_type,
        "job_type": job_type_names.get(spec.job_type),
        "node_type_uuid": spec.queue,
        "node_type": queue_names.get(spec.queue),
        "state": job.state.value,
        "arguments": spec.arguments,
        "priority": spec.priority,
        "executing_node": job.node,
        "enqueued_at": spec.enqueued_at,
        "run_at": spec.run_at,
        "available_at": job.available_at or spec.available_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "attempts": job.attempts,
        "deaths": job.deaths,
        "timeout": spec.timeout_ms,
        "unique_key": spec.unique_key,
        "cancel_requested": job.cancel_requested,
        "cause": msgspec.to_builtins(spec.cause),
        "results": job.results,
        "errors": job.errors,
    }


def log_shape(entry: LogEntry) -> Shape:
    return {"time": entry.time, "level": entry.level, "message": entry.message, "attempt": entry.attempt}
