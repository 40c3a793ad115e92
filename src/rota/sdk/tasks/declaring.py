"""Brings the tasks of an app into the store, where the app owns them."""

from collections.abc import Sequence

from rota.engine.definitions.file import Wanted
from rota.engine.definitions.ownership import owner_of_app
from rota.engine.engine import Engine
from rota.model.ids import new_id
from rota.model.node import NodeType
from rota.sdk.tasks.plan import Plan


def declare(engine: Engine, app: str, plans: Sequence[Plan], *, removes: bool) -> None:
    """Make job types and schedules of the tasks. A queue that nobody defined is made with them, and is nobody's."""
    for queue in sorted({plan.queue for plan in plans}):
        engine.definitions.ensure_node_type(NodeType(uuid=new_id(engine.clock.now()), name=queue))
    wanted = Wanted(
        job_types=[plan.job_type() for plan in plans],
        schedules=[request for plan in plans if (request := plan.schedule())],
        owner=owner_of_app(app),
        keeps=not removes,
    )
    engine.file.apply(wanted)
