"""The light scheduler on Kafka, as one part of a process: opened from the settings, closed with the process."""

import hmac
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import structs

from rota.engine.access.keys.admin_key import KeyPlan
from rota.engine.access.keys.dev_key import DEV_KEY, is_dev_key
from rota.engine.executors.built_in.topic import TopicExecutor
from rota.engine.node.node import Node
from rota.errors import MissingExtra
from rota.settings import Settings

if TYPE_CHECKING:
    from rota.streaming.options import StreamOptions
    from rota.streaming.survey import Survey

_PEER = b"rota light scheduler"
_ANYWHERE = ("0.0.0.0", "::")
_logger = logging.getLogger("rota.node")


def without_store(settings: Settings) -> Settings:
    """With Kafka nothing else is needed: unless a store is named, jobs and schedules are kept in memory."""
    if not settings.kafka or settings.source_of("store") != "default":
        return settings
    _logger.warning(
        "Kafka keeps the task definitions; jobs, schedules and keys are in memory until --store names a place"
    )
    return structs.replace(settings, store="sqlite://:memory:")


@contextmanager
def kafka_scheduler(settings: Settings, node: Node, *, address: str, key_plan: KeyPlan) -> Iterator[None]:
    """The node takes commands from Kafka and sends due tasks, until the end."""
    try:
        from rota.streaming.brokers.sender import KafkaPublisher
        from rota.streaming.scheduler import KafkaScheduler
    except ImportError as error:
        raise MissingExtra("Kafka", "kafka") from error
    options = structs.replace(
        _stream_options(settings), address=advertised(settings, address), peer_key=_peer_key(settings, key_plan)
    )
    scheduler = KafkaScheduler(options, node.engine.clock)
    node.engine.light = scheduler
    node.provide("topic", TopicExecutor(KafkaPublisher(options), node.engine.clock))
    scheduler.start()
    try:
        yield
    finally:
        scheduler.close()


def survey_of(settings: Settings) -> "Survey":
    """What the brokers say of the scheduler. See `rota.streaming.survey.survey` for the errors."""
    try:
        from rota.streaming.survey import survey
    except ImportError as error:
        raise MissingExtra("Kafka", "kafka") from error
    return survey(_stream_options(settings))


def _stream_options(settings: Settings) -> "StreamOptions":
    from rota.streaming.options import StreamOptions

    return StreamOptions(
        brokers=settings.kafka,
        input_topic=settings.kafka_input_topic,
        partitions=settings.kafka_partitions,
        replication=settings.kafka_replication,
        session_timeout_s=settings.kafka_session_timeout_s,
        client_options=dict(option.partition("=")[::2] for option in settings.kafka_options),
    )


def _peer_key(settings: Settings, key_plan: KeyPlan) -> str:
    """Derived from the admin key, which instances share and no other program is to see. Without one it is `dev_key`,
    where that works."""
    if settings.api_key is None or is_dev_key(settings.api_key):
        return DEV_KEY if key_plan.allows_dev_key else ""
    return hmac.new(settings.api_key.encode(), _PEER, "sha256").hexdigest()


def advertised(settings: Settings, address: str) -> str:
    """The URL at which others reach this server: of one on all addresses, by the name of the machine."""
    if settings.advertise is not None:
        return settings.advertise.rstrip("/")
    if settings.host not in _ANYWHERE:
        return address
    parts = urlsplit(address)
    return f"{parts.scheme}://{socket.gethostname()}:{parts.port}"
