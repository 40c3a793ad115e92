"""Ends what a dead instance left open.

A transaction that its owner cannot end any more keeps everybody who reads what is committed from going on, and its
offsets from being told, until the brokers give it up: its time-out, and up to ten seconds more. Whoever takes over a
partition ends it at once, by taking the name under which it was begun; a zombie that wakes up is refused.
"""

import logging
from threading import Thread

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from rota.errors import StoreUnavailable
from rota.streaming.brokers.administration import Administration
from rota.streaming.options import StreamOptions, instance_of
from rota.streaming.records.position import read_cursor

_TIMEOUT_S = 20.0
_FENCE_S = 5.0
_logger = logging.getLogger("rota.streaming")


def begin_fencing(options: StreamOptions, numbers: list[int]) -> None:
    """Have the open transactions ended of those who fired these partitions last and are no longer members. Nobody waits
    for it: whoever asks for the offsets waits until they are settled, and should this fail, the brokers' own time-out
    ends such a transaction later."""
    Thread(target=_fence_former_owners, args=(options, numbers), name="rota-fencing", daemon=True).start()


def _fence_former_owners(options: StreamOptions, numbers: list[int]) -> None:
    # Of its own: a client that has lived through an outage may look for the group at a broker that is gone.
    administration = Administration(options)
    try:
        former = administration.ask(lambda admin: _last_owners(options, admin, numbers))
        members = administration.ask(lambda admin: _members(options, admin)) if former else set()
    except StoreUnavailable as error:
        _logger.info("former owners are not fenced", extra={"error": str(error)})
        return
    for owner in former:
        if owner.partition(".")[0] not in members:
            Thread(target=_fence, args=(options, owner), name="rota-fence", daemon=True).start()


def _last_owners(options: StreamOptions, admin: AdminClient, numbers: list[int]) -> set[str]:
    """As the offsets tell that count already; those of an open transaction are not asked for. Each is the name of an
    instance, and behind a dot the number of its producer."""
    places = [TopicPartition(options.input_topic, number) for number in numbers]
    asked = [ConsumerGroupTopicPartitions(options.group, places)]
    answers = admin.list_consumer_group_offsets(asked, require_stable=False, request_timeout=_TIMEOUT_S)
    found = answers[options.group].result().topic_partitions
    return {read_cursor(place.metadata).owner for place in found} - {""}


def _members(options: StreamOptions, admin: AdminClient) -> set[str]:
    found = admin.describe_consumer_groups([options.group], request_timeout=_TIMEOUT_S)[options.group].result()
    return {instance_of(member.client_id)[0] for member in found.members}


def _fence(options: StreamOptions, owner: str) -> None:
    producer = Producer(options.client({"transactional.id": options.transactional_id(owner)}))
    try:
        producer.init_transactions(_FENCE_S)
    except KafkaException as error:
        # Another one does the same at this moment, and was later; that is as good. Or the transaction does not end yet,
        # because a topic in it cannot be reached: the owner is fenced all the same, and whoever reads the offsets waits
        # until they are settled.
        _logger.info("an owner is being fenced", extra={"owner": owner, "error": str(error)})
