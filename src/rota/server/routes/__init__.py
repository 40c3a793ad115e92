"""The native API's operations, one file or folder per noun. A new one is added to `ALL`."""

from rota.server.operations import Operation
from rota.server.routes import (
    audit,
    configurations,
    events,
    job_types,
    node_types,
    nodes,
    overview,
    partitions,
    queues,
    schedules,
    system,
    topics,
)
from rota.server.routes.jobs import bulk, jobs, lists, logs

ALL: tuple[Operation, ...] = tuple(
    operation
    for routes in (
        jobs.routes,
        bulk.routes,
        lists.routes,
        logs.routes,
        job_types.routes,
        node_types.routes,
        queues.routes,
        overview.routes,
        schedules.routes,
        nodes.routes,
        events.routes,
        configurations.routes,
        topics.routes,
        audit.routes,
        partitions.routes,
        system.routes,
    )
    for operation in routes.operations
)
