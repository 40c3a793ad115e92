"""Tasks, as the task manager has them: a scheduler that adds them, a worker that runs them, and the Redis keys in which
both are seen.

task.py        a task   (reading.py, writing.py: from and to JSON)
names.py       its names among schedules, job types and node types
planning.py    the schedule that it is to the engine; view.py: what it is, seen from its schedule and its job
tasks.py       what can be done with tasks   (cleaning.py: with all of them)
backend.py     the contract of a backend; store_backend.py: Rota's own   (delivery.py: a run on its way to a handler)
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
