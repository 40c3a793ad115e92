"""Tasks, as the task manager has them: a scheduler that adds them, a worker that runs them, and the Redis keys in which
both are seen.

entity/        a task: read, planned as a schedule, seen from its schedule and its job, written
names.py       its names among schedules, job types and node types
tasks.py       what can be done with tasks   (cleaning.py: with all of them)
backends/      the contract of a backend, and Rota's own
scheduler.py   `rota.Scheduler`
worker.py      `rota.Worker`
shown.py       what others see; opening.py: where   (options.py: `tasks:` of the configuration file)
redis/         the Redis keys
"""

from rota.dialects.manifest import Manifest

_HERE = "rota.dialects.tasks"
MANIFEST = Manifest(
    "tasks",
    f"{_HERE}.opening:open_dialect",
    keys=("tasks",),
    reader=f"{_HERE}.options:read_section",
)
