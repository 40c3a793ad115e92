"""Dramatiq's names: `import rota.moving.dramatiq as dramatiq` instead of `import dramatiq`."""

from rota.moving.dramatiq.actor import Actor, actor
from rota.moving.dramatiq.broker import Broker, get_broker, set_broker
from rota.moving.dramatiq.composition import Message, group, pipeline
from rota.moving.dramatiq.errors import DramatiqError, Retry

__all__ = [
    "Actor",
    "Broker",
    "DramatiqError",
    "Message",
    "Retry",
    "actor",
    "get_broker",
    "group",
    "pipeline",
    "set_broker",
]
