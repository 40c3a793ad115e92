"""The native API's operations, one file per noun. A new file is added to `ALL`."""

from rota.server.operations import Operation
from rota.server.routes import (
    bulk,
    configurations,
    events,
    job_lists,
    job_types,
    jobs,
    logs,
    node_types,
    nodes,
    queues,
    schedules,
    system,
)

ALL: tuple[Operation, ...] = tuple(
    operation
    for routes in (
        jobs.routes,
        bulk.routes,
        job_lists.routes,
        logs.routes,
        job_types.routes,
        node_types.routes,
        queues.routes,
        schedules.routes,
        nodes.routes,
        events.routes,
        configurations.routes,
        system.routes,
    )
    for operation in routes.operations
)
