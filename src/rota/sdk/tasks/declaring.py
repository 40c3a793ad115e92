"""Brings the tasks of an app into the store, where the app owns them."""

from collections.abc import Sequence

from rota.engine.definitions.file import Wanted
from rota.engine.definitions.ownership import owner_of_app
from rota.engine.engine import Engine
from rota.model.ids import new_id
from rota.model.node import NodeType
from rota.model.schedules.request import ScheduleRequest
from rota.sdk.tasks.plan import Plan


def declare(
    engine: Engine, app: str, plans: Sequence[Plan], schedules: Sequence[ScheduleRequest] = (), *, removes: bool
) -> None:
    """Make job types and schedules of the tasks, and further schedules. A queue that nobody defined is made with them,
    and is nobody's."""
    ensure_queues(engine, sorted({plan.queue for plan in plans}))
    wanted = Wanted(
        job_types=[plan.job_type() for plan in plans],
        schedules=[*(request for plan in plans if (request := plan.schedule())), *schedules],
        owner=owner_of_app(app),
        keeps=not removes,
    )
    engine.file.apply(wanted)


def ensure_queues(engine: Engine, names: Sequence[str]) -> None:
    """Make those that nobody has defined."""
    for name in names:
        if engine.definitions.known_node_type(name) is None:
            engine.definitions.ensure_node_type(NodeType(uuid=new_id(engine.clock.now()), name=name))
