"""Which light scheduler a process has: the one on Kafka if it was given brokers, else the one on its store."""

from rota.engine.engine import Engine
from rota.engine.node.dialect import Dialect
from rota.engine.topics.light.in_store import StoreScheduler
from rota.engine.topics.light.scheduler import LightScheduler
from rota.settings import Settings
from rota.store import Store


def open_dialect(settings: Settings, store: Store) -> Dialect | None:
    """It has no duties of its own: on a store its definitions are schedules, which the ticker fires."""
    return None


def scheduler_of(engine: Engine) -> LightScheduler:
    """The scheduler that the API talks to."""
    return engine.light or StoreScheduler(engine)
