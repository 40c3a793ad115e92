"""What the brokers say of a light scheduler, for whoever looks for problems. Nothing is changed."""

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from msgspec import Struct

from rota.clock import SystemClock
from rota.errors import StoreUnavailable
from rota.streaming.brokers.complaints import Complaints
from rota.streaming.brokers.topics import Topics
from rota.streaming.options import StreamOptions
from rota.streaming.restore import EARLIEST, LATEST, offsets_of

_TIMEOUT_S = 10.0


class Survey(Struct, frozen=True):
    brokers: int
    missing: tuple[str, ...]
    """Topics of the scheduler that are not there."""
    instances: int
    """Members of the group."""
    dead_letters: int


def survey(options: StreamOptions) -> Survey:
    """`StoreUnavailable` if the brokers do not answer or refuse us, `StoreRefused` if topics do not fit together."""
    complaints = Complaints(SystemClock())
    admin = AdminClient(options.client({"error_cb": complaints.take}))
    try:
        brokers = len(admin.list_topics(timeout=_TIMEOUT_S).brokers)
        missing = Topics(options, admin).missing()
        return Survey(brokers, missing, _members(options, admin), _dead_letters(options, admin, missing))
    except KafkaException as error:
        admin.poll(0)
        raise StoreUnavailable(complaints.current or f"the brokers did not answer: {error.args[0].str()}") from None


def _members(options: StreamOptions, admin: AdminClient) -> int:
    asked = admin.describe_consumer_groups([options.group], request_timeout=_TIMEOUT_S)
    return len(asked[options.group].result().members)


def _dead_letters(options: StreamOptions, admin: AdminClient, missing: tuple[str, ...]) -> int:
    """How many there are, and marks of transactions among them."""
    if options.dead_letter_topic in missing:
        return 0
    numbers = admin.list_topics(options.dead_letter_topic, timeout=_TIMEOUT_S).topics[options.dead_letter_topic]
    places = [TopicPartition(options.dead_letter_topic, number) for number in numbers.partitions]
    ends, firsts = offsets_of(admin, places, LATEST), offsets_of(admin, places, EARLIEST)
    return sum(ends.values()) - sum(firsts.values())
