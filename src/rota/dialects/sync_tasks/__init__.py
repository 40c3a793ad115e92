"""Sync tasks: sources and collections that are kept up to date, in the words of EventNative.

names.py       how a collection is known among job types
section.py     `sources:` and `sync_tasks:` of the configuration file   (options.py: its values)
times.py       instants as ISO text and back
task.py        a job as a task
task_log.py    its log
tasks.py       what can be asked of tasks, and how one is made
sources.py     every collection with its schedule and its latest tasks
routes.py      the HTTP API   (admin_token.py: who may ask)
pages/         its screens in the dashboard
verbs.py       `rota sources`, `rota sync`, `rota tasks`
notices.py     the duty that tells when a collection's status changes
opening.py     its duties for a node
redis/         the Redis keys of the original
"""

from rota.dialects.manifest import Manifest

_HERE = "rota.dialects.sync_tasks"
MANIFEST = Manifest(
    "sync_tasks",
    f"{_HERE}.opening:open_dialect",
    keys=("sources", "sync_tasks"),
    reader=f"{_HERE}.section:read_section",
    operations=f"{_HERE}.routes:make_operations",
    pages=f"{_HERE}.pages:make_pages",
    side_queues=f"{_HERE}.options:side_queues",
    title="Sync tasks",
    verbs={
        "sources": (f"{_HERE}.verbs:sources", "List sources and their collections."),
        "sync": (f"{_HERE}.verbs:sync", "Synchronise a collection now; wait for it or follow its log."),
        "tasks": (f"{_HERE}.verbs:tasks", "List the tasks of a source; show one."),
    },
)
