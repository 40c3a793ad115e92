"""The light scheduler: tasks that are put onto topics when they are due, in the words of light-scheduler.

routes.py      the HTTP API, `/schedulers`
status.py      how it tells errors
options.py     `light:` of the configuration file
opening.py     which scheduler a process has
"""

from rota.dialects.manifest import Manifest

_HERE = "rota.dialects.light"
MANIFEST = Manifest(
    "light",
    f"{_HERE}.opening:open_dialect",
    keys=("light",),
    reader=f"{_HERE}.options:read_section",
    operations=f"{_HERE}.routes:make_operations",
    side_queues=f"{_HERE}.options:side_queues",
)
