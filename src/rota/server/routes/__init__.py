"""The native API's operations, one file or folder per noun. A new one is added to `ALL`."""

from rota.server.operations import Operation
from rota.server.routes import configurations, events, nodes, overview, partitions, queues, topics
from rota.server.routes.definitions import files, job_types, node_types
from rota.server.routes.jobs import bulk, jobs, lists, logs
from rota.server.routes.schedules import schedules
from rota.server.routes.system import audit, doctor, keys, server

ALL: tuple[Operation, ...] = tuple(
    operation
    for routes in (
        jobs.routes,
        bulk.routes,
        lists.routes,
        logs.routes,
        job_types.routes,
        node_types.routes,
        files.routes,
        queues.routes,
        overview.routes,
        schedules.routes,
        nodes.routes,
        events.routes,
        configurations.routes,
        topics.routes,
        audit.routes,
        keys.routes,
        doctor.routes,
        partitions.routes,
        server.routes,
    )
    for operation in routes.operations
)
